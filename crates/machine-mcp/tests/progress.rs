//! Progress of calls, also much of it, and at once.
mod common;
mod fake;

use common::{Script, agent, call, progress, prompted, seen, told, wait_for};
use fake::Fake;
use machine_core::event::Event;
use machine_core::outcome::Outcome;
use serde_json::json;

/// What says nothing new is not told: the same text, and less than a hundredth of the whole.
#[tokio::test(start_paused = true)]
async fn c_c07_a_burst_of_progress_is_told_in_steps() {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, mut events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    let token = &request["params"]["_meta"]["progressToken"];
    for step in 0..=5_000 {
        let params = json!({ "progressToken": token, "progress": step, "total": 5_000 });
        fake.notify("notifications/progress", params).await;
    }
    for step in 5_001..6_000 {
        fake.progress(&request, step, "tidies").await;
    }
    fake.progress(&request, 6_000, "tidied").await;
    let mut told_texts = Vec::new();
    while told_texts.last().is_none_or(|text| text != "tidied") {
        let Event::Progress { text, .. } =
            wait_for(&mut events, |event| matches!(event, Event::Progress { .. })).await
        else {
            unreachable!()
        };
        told_texts.push(text.to_string());
    }
    let steps = (0..=100).map(|percent| format!("{}/5000", percent * 50));
    let all: Vec<_> = steps.chain(["tidies".to_owned(), "tidied".to_owned()]).collect();
    assert_eq!(told_texts, all);
    fake.answer_text(&request, "fine").await;
    turn.await.unwrap().unwrap();
    assert_eq!(progress(&seen(&mut events)), Vec::<String>::new());
}

/// A server may be quicker than whoever has just sent it the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c_c07_progress_that_comes_at_once_is_heard() {
    const CALLS: usize = 500;
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, mut events) = agent(Script::of((0..CALLS).map(|_| call("work"))), &server).await;
    let serving = tokio::spawn(async move {
        for _ in 0..CALLS {
            let request = fake.asked("tools/call").await;
            fake.progress(&request, 1, "at it").await;
            // Whoever is told of it lets the call end.
            wait_for(&mut events, |event| matches!(event, Event::Progress { .. })).await;
            fake.answer_text(&request, "fine").await;
        }
        fake
    });
    agent.prompt("go").await.unwrap();
    serving.await.unwrap();
    assert!(told(&agent).await.iter().all(|(outcome, _)| *outcome == Outcome::Ok));
}

/// A notification may be late, and says nothing any more then.
#[tokio::test(start_paused = true)]
async fn c_c07_progress_that_goes_back_is_dropped() {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, mut events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    let token = &request["params"]["_meta"]["progressToken"];
    let mut all = Vec::new();
    for step in [5, 3, 6] {
        fake.notify("notifications/progress", json!({ "progressToken": token, "progress": step })).await;
        // Each is handled before the next comes.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        all.extend(progress(&seen(&mut events)));
    }
    assert_eq!(all, ["5", "6"]);
    fake.answer_text(&request, "fine").await;
    turn.await.unwrap().unwrap();
}
