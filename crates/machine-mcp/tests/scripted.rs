//! What servers may do that no well-behaved one does when it is asked to: answer late, twice, or not as they should.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;
mod fake;

use std::sync::Arc;
use std::time::Duration;

use common::{Script, agent, call, progress, prompted, seen, told, wait_for};
use fake::Fake;
use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, Event};
use machine_core::outcome::{ErrorCode, Outcome};
use machine_host::{Agent, ToolSource};
use machine_mcp::{OpenError, Server};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

fn abort(agent: &Agent) -> JoinHandle<()> {
    let agent = agent.clone();
    let why = Cause { by: By::User, reason: Some("enough".into()) };
    tokio::spawn(async move { drop(agent.abort(Arc::new(why)).await.unwrap()) })
}

/// The server is told of the abort, with the id of the request and the user's words.
async fn cancelled(fake: &mut Fake, request: &Value) {
    let told = fake.asked("notifications/cancelled").await;
    assert_eq!(told["params"], json!({ "requestId": request["id"], "reason": "enough" }));
}

#[tokio::test(start_paused = true)]
async fn c_x03_an_outcome_within_the_grace_of_an_abort_counts() {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, mut events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    let aborted = abort(&agent);
    cancelled(&mut fake, &request).await;
    fake.answer_text(&request, "just done").await;
    aborted.await.unwrap();
    assert!(matches!(turn.await.unwrap().unwrap().reason, EndReason::Aborted(_)));
    assert_eq!(told(&agent).await, [(Outcome::Ok, "just done".to_owned())]);
    assert!(!seen(&mut events).iter().any(|event| matches!(event, Event::LateResult { .. })));
}

/// Nobody waits for it any more when it comes a second time.
#[tokio::test(start_paused = true)]
async fn c_x06_the_first_late_outcome_is_told_and_late_progress_is_not() {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, mut events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    fake.progress(&request, 1, "half").await;
    wait_for(&mut events, |event| matches!(event, Event::Progress { .. })).await;
    let aborted = abort(&agent);
    cancelled(&mut fake, &request).await;
    aborted.await.unwrap();
    assert!(matches!(turn.await.unwrap().unwrap().reason, EndReason::Aborted(_)));
    assert_eq!(told(&agent).await[0].0, Outcome::Cancelled { may_have_run: true });

    fake.progress(&request, 2, "nearly").await;
    fake.answer_text(&request, "done all the same").await;
    fake.answer_text(&request, "and again").await;
    let late = wait_for(&mut events, |event| matches!(event, Event::LateResult { .. })).await;
    assert!(matches!(late, Event::LateResult { outcome: Outcome::Ok, .. }), "{late:?}");
    assert_eq!(agent.prompt("next").await.unwrap().reason, EndReason::DONE);
    let rest = seen(&mut events);
    assert_eq!(progress(&rest), Vec::<String>::new());
    assert!(!rest.iter().any(|event| matches!(event, Event::LateResult { .. } | Event::Stray { .. })));
    assert_eq!(told(&agent).await.len(), 1, "it is in no history");
}

/// However short the wait for what is late: the grace is the agent's.
#[tokio::test(start_paused = true)]
async fn c_x03_the_grace_is_waited_for_also_where_nothing_late_is() {
    let (mut fake, server) = Fake::open_with(|o| o.late_within(Duration::ZERO), &["work"]).await;
    let (agent, _events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    let aborted = abort(&agent);
    cancelled(&mut fake, &request).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    fake.answer_text(&request, "just done").await;
    aborted.await.unwrap();
    turn.await.unwrap().unwrap();
    assert_eq!(told(&agent).await, [(Outcome::Ok, "just done".to_owned())]);
}

/// Servers that obey never answer. The call holds what it accesses for a while, and then lets the next one run (B07).
#[tokio::test(start_paused = true)]
async fn c_b07_a_call_that_is_never_answered_gives_back_its_accesses() {
    let (mut fake, server) = Fake::open_with(|o| o.late_within(Duration::from_secs(8)), &["work"]).await;
    let (agent, mut events) = agent(Script::of([call("work"), call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    let aborted = abort(&agent);
    cancelled(&mut fake, &request).await;
    let begun = tokio::time::Instant::now();
    aborted.await.unwrap();
    turn.await.unwrap().unwrap();
    let turn = prompted(&agent);
    // `rmcp` is told that nobody waits any more, and tells the server once more.
    fake.asked("notifications/cancelled").await;
    let again = fake.asked("tools/call").await;
    assert_eq!(begun.elapsed().as_secs(), 8, "virtual time");
    fake.answer_text(&again, "at last").await;
    turn.await.unwrap().unwrap();
    assert_eq!(told(&agent).await[1], (Outcome::Ok, "at last".to_owned()));
    assert!(!seen(&mut events).iter().any(|event| matches!(event, Event::LateResult { .. })));
}

/// It says of no request that it is its answer: nobody will ever answer.
#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_is_lost_fails_and_is_cancelled() {
    for lost in ["{ no JSON".to_owned(), " ".repeat(17 << 20)] {
        let (mut fake, server) = Fake::open(&["work"]).await;
        let (agent, _events) = agent(Script::of([call("work")]), &server).await;
        let turn = prompted(&agent);
        let request = fake.asked("tools/call").await;
        fake.line(&lost).await;
        let told_server = fake.asked("notifications/cancelled").await;
        assert_eq!(told_server["params"]["requestId"], request["id"]);
        assert_eq!(turn.await.unwrap().unwrap().reason, EndReason::DONE);
        let told = told(&agent).await;
        assert_eq!(told[0].0, Outcome::error(ErrorCode::Failed));
        for words in ["the server `fake`", "600 s", "may still run", "effect is not known"] {
            assert!(told[0].1.contains(words), "{told:?}");
        }
    }
}

/// It is the silence that is bounded, not the call.
#[tokio::test(start_paused = true)]
async fn progress_of_a_call_begins_its_wait_anew() {
    let (mut fake, server) = Fake::open_with(|o| o.call_within(Duration::from_secs(10)), &["work"]).await;
    let (agent, _events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    for step in 1..=5 {
        tokio::time::sleep(Duration::from_secs(8)).await;
        fake.progress(&request, step, "at it").await;
    }
    tokio::time::sleep(Duration::from_secs(8)).await;
    fake.answer_text(&request, "at last").await;
    turn.await.unwrap().unwrap();
    assert_eq!(told(&agent).await, [(Outcome::Ok, "at last".to_owned())]);
}

/// A server that answers a request may say before that its tools are others.
#[tokio::test(start_paused = true)]
async fn c_t04_a_changed_list_is_the_table_of_the_next_step() {
    let (mut fake, server) = Fake::open(&["old", "both"]).await;
    let script = Script::of([call("old"), call("new"), call("old")]);
    let (agent, _events) = agent(script.clone(), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    fake.notify("notifications/tools/list_changed", json!({})).await;
    fake.answer_text(&request, "one").await;
    fake.list(&["both", "new"]).await;
    let request = fake.asked("tools/call").await;
    assert_eq!(request["params"]["name"], "new");
    fake.answer_text(&request, "two").await;
    assert_eq!(turn.await.unwrap().unwrap().reason, EndReason::DONE);
    let outcomes: Vec<_> = told(&agent).await.into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::error(ErrorCode::UnknownTool)]);
    assert_eq!(script.offers()[..2], [["old", "both"], ["both", "new"]]);
}

/// The step goes on with what there was, and the next one asks again.
#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_does_not_hold_up_the_turn() {
    let (mut fake, server) = Fake::open(&["old"]).await;
    let script = Script::of([call("old")]);
    let (agent, _events) = agent(script.clone(), &server).await;
    fake.notify("notifications/tools/list_changed", json!({})).await;
    let turn = prompted(&agent);
    fake.asked("tools/list").await;
    fake.asked("notifications/cancelled").await;
    let request = fake.asked("tools/call").await;
    fake.answer_text(&request, "one").await;
    fake.list(&["new"]).await;
    assert_eq!(turn.await.unwrap().unwrap().reason, EndReason::DONE);
    assert_eq!(script.offers(), [["old"], ["new"]]);
}

/// Nothing can be said to it any more, whatever it still says.
#[tokio::test(start_paused = true)]
async fn c_t04_a_server_that_closed_its_input_is_gone() {
    let (fake, server) = Fake::open(&["work"]).await;
    let script = Script::of([call("work")]);
    let (agent, _events) = agent(script.clone(), &server).await;
    let _open = fake.close_input();
    assert_eq!(prompted(&agent).await.unwrap().unwrap().reason, EndReason::DONE);
    let told = told(&agent).await;
    assert_eq!(told[0].0, Outcome::error(ErrorCode::Failed));
    assert!(told[0].1.starts_with("the server `fake` is gone"), "{told:?}");
    assert_eq!(script.offers(), [vec!["work".to_owned()], vec![]]);
    assert!(server.is_gone());
}

/// The names of its tools now.
async fn names(server: &Server) -> Vec<String> {
    server.tools().await.iter().map(|tool| tool.spec().name.to_string()).collect()
}

/// A step that is dropped while it waits for the list, and another agent's step meanwhile, take the change from nobody.
#[tokio::test(start_paused = true)]
async fn c_t04_a_change_is_not_lost_with_who_first_asked_for_it() {
    let (mut fake, server) = Fake::open(&["old"]).await;
    fake.notify("notifications/tools/list_changed", json!({})).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let dropped = tokio::time::timeout(Duration::from_secs(1), server.tools()).await;
    assert!(dropped.is_err(), "nobody answered");
    fake.asked("tools/list").await;
    fake.asked("notifications/cancelled").await;
    let other = server.clone();
    let answers = async {
        fake.list(&["new"]).await;
        fake.list(&["new"]).await;
    };
    let (one, two, ()) = tokio::join!(names(&server), names(&other), answers);
    assert_eq!((one, two), (vec!["new".to_owned()], vec!["new".to_owned()]));
}

/// One call with this answer.
async fn answered(result: Value) -> (Outcome, String) {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, _events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    fake.answer(&request, result).await;
    assert_eq!(turn.await.unwrap().unwrap().reason, EndReason::DONE);
    told(&agent).await.remove(0)
}

#[tokio::test(start_paused = true)]
async fn what_is_no_result_is_malformed() {
    for broken in [
        json!(7),
        json!({}),
        json!({ "tools": [] }),
        json!({ "content": "text" }),
        json!({ "content": [{ "type": "hologram", "data": "…" }] }),
        json!({ "content": [{ "type": "text" }] }),
    ] {
        let (outcome, text) = answered(broken.clone()).await;
        assert_eq!(outcome, Outcome::error(ErrorCode::MalformedResult), "{broken}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_result_keeps_all_its_parts() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let result = json!({
        "isError": true,
        "content": [text("no such page"), text("try another")],
        "structuredContent": { "code": 404 },
    });
    let told = answered(result).await;
    assert_eq!(told.0, Outcome::error(ErrorCode::Failed));
    assert_eq!(told.1, "no such page\ntry another\n{\"code\":404}");
}

/// As a server for files gives them: the string that is the text.
#[tokio::test(start_paused = true)]
async fn structured_content_that_the_texts_say_is_not_told_again() {
    let texts = json!([{ "type": "text", "text": "line" }, { "type": "text", "text": r#"{"n": 1}"# }]);
    let of = |structured: Value| json!({ "content": texts, "structuredContent": structured });
    let both = "line\n{\"n\": 1}";
    assert_eq!(answered(of(json!({ "content": "line" }))).await.1, both);
    assert_eq!(answered(of(json!({ "n": 1 }))).await.1, both);
    let two = json!({ "content": "line", "other": { "n": 1 } });
    for other in
        [two, json!({ "content": "line", "lines": 1 }), json!({}), json!([]), json!("lin"), json!(null)]
    {
        assert_eq!(answered(of(other.clone())).await.1, format!("{both}\n{other}"));
    }
}

#[tokio::test(start_paused = true)]
async fn c_v11_a_result_without_content_is_not_empty_for_the_model() {
    let (outcome, text) = answered(json!({ "content": [] })).await;
    assert_eq!(outcome, Outcome::Ok);
    assert!(!text.is_empty());
}

#[tokio::test(start_paused = true)]
async fn two_tools_that_would_have_one_name_are_refused_at_opening() {
    let (mut fake, builder) = Fake::new();
    let (server, ()) = tokio::join!(builder.prefix("x_").open(), fake.greet(&["a.b", "a/b"]));
    let Err(error) = server else { unreachable!("both are `x_a_b`") };
    assert!(matches!(error, OpenError::SameName { .. }), "{error:?}");
    assert_eq!(error.to_string(), "two tools of the server `fake` would be named `x_a_b`: `a.b` and `a/b`");
}

/// It is called by its own name, whatever it is called here (V10).
#[tokio::test(start_paused = true)]
async fn c_v10_a_name_that_no_provider_takes_is_made_legal() {
    let (mut fake, server) = Fake::open(&["files.read"]).await;
    let (agent, _events) = agent(Script::of([call("files_read")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    assert_eq!(request["params"]["name"], "files.read");
    fake.answer_text(&request, "fine").await;
    turn.await.unwrap().unwrap();
    assert_eq!(told(&agent).await[0].0, Outcome::Ok);
}

/// What a dropped agent leaves at the server is cancelled there.
#[tokio::test(start_paused = true)]
async fn a_call_whose_agent_goes_away_is_cancelled() {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, _events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    turn.abort();
    let _ = turn.await;
    drop(agent);
    let told = fake.asked("notifications/cancelled").await;
    assert_eq!(told["params"]["requestId"], request["id"]);
}
