//! Watchers cannot delay an agent; an agent that rests costs nothing but its state.
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Say, Script, check_record, echo};
use machine_adapter::Request;
use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, Event};
use machine_core::response::{Finish, Finished};
use machine_host::{Agent, CommandError, Editor, Fleet, Lagged, ModelOut, Place};

#[tokio::test(start_paused = true)]
async fn c_e04_a_watcher_that_never_reads_delays_nothing_and_is_told() {
    const PROMPTS: usize = 300;
    let (agent, mut events) =
        Agent::builder().model(Script::default()).journal(common::journal()).open_watched().await.unwrap();
    let mut late = agent.events();
    for _ in 0..PROMPTS {
        assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    }
    let Some(Err(Lagged(missed))) = events.next().await else { panic!("it fell behind") };
    let Some(Ok(first)) = events.next().await else { panic!("it goes on after what it missed") };
    let (Place::Durable(n) | Place::Live { after: Some(n) }) = first.place else { panic!("{first:?}") };
    assert!(missed >= n, "{missed} events were missed, {n} of them durable");
    let missed = agent.recorded(0).await.unwrap();
    assert!(missed.len() as u64 > n);
    drop(events);
    agent.close().await.unwrap();
    while late.next().await.is_some() {}
    assert!(agent.events().next().await.is_none(), "nothing will come any more");
}

#[tokio::test(start_paused = true)]
async fn c_h07_what_is_waited_for_can_be_seen() {
    let (agent, mut events) = Agent::builder().model(Script::of([Say::Hang])).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    common::wait_for(&mut events, |event| matches!(event, Event::Delta { .. })).await;
    let waits: Vec<_> =
        agent.outstanding().await.unwrap().iter().map(|open| open.ask.question.kind()).collect();
    assert_eq!(waits, ["Attempt", "Timer"]);
    let state = agent.state().await.unwrap();
    assert_eq!(state.turn.unwrap().state.last(), Some(&"Receiving"));
    assert!(state.waits[0].since > 0);
}

/// A response that comes in one piece, and one that comes in many, also faster than anybody reads.
#[tokio::test(start_paused = true)]
async fn c_e03_deltas_do_not_renumber_the_record() {
    let record = async |pieces: &'static [&'static str]| {
        let says = move |_: Request, out: ModelOut| async move {
            for piece in pieces {
                out.text(*piece).await;
            }
            Ok(Finished::new(Finish::EndTurn))
        };
        let journal = common::journal();
        let builder = Agent::builder().model(says).branch(1).journal(journal);
        let (agent, mut events) = builder.open_watched().await.unwrap();
        agent.prompt(machine_host::Say::text("go").id("p")).await.unwrap();
        let mut seen = Vec::new();
        while let Some(Ok(event)) = events.try_next() {
            seen.extend(matches!(event.place, Place::Durable(_)).then_some(event));
        }
        assert_eq!(agent.recorded(0).await.unwrap(), seen, "the order of the record");
        seen.into_iter().map(|seen| (seen.place, seen.event)).collect::<Vec<_>>()
    };
    let whole = record(&["one two three"]).await;
    assert_eq!(record(&["one", " two", " three"]).await, whole);
    let numbers = whole.iter().map(|(place, _)| *place);
    assert!(numbers.eq((0..whole.len() as u64).map(Place::Durable)));
}

/// `idle()` waits for a turn and for all that wakes, and not for what does not.
#[tokio::test(start_paused = true)]
async fn c_h08_idle_waits_for_turns_and_all_that_wakes() {
    let script = Script::default();
    let slow = |_: u32, _: Editor| async {
        tokio::time::sleep(Duration::from_secs(9)).await;
        Ok(())
    };
    let agent = Agent::builder().model(script.clone()).maintenance(slow).open().await.unwrap();
    agent.idle().await.unwrap();
    agent.inject("does not wake").await.unwrap();
    agent.idle().await.unwrap();
    assert!(script.asked().is_empty());
    for id in ["a", "b", "c"] {
        agent.submit(machine_host::Say::text(id).id(id)).await.unwrap();
    }
    agent.idle().await.unwrap();
    assert_eq!(script.asked().len(), 3);
    let tidies = tokio::spawn({
        let agent = agent.clone();
        async move { agent.maintain().await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    agent.idle().await.unwrap();
    assert!(agent.state().await.unwrap().agent.contains(&"Idle"), "maintenance is over");
    tidies.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_rests_wakes_for_a_command_and_is_read_where_it_is() {
    let agent = Agent::builder().model(Script::default()).open().await.unwrap();
    assert!(agent.is_resting());
    assert!(agent.history().await.unwrap().is_empty());
    assert!(agent.is_resting(), "reading does not wake it");
    for _ in 0..3 {
        agent.prompt("go").await.unwrap();
        assert!(!agent.is_resting());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(agent.is_resting());
    }
    assert_eq!(agent.history().await.unwrap().len(), 6);
    let parked = agent.park().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap_err(), CommandError::Gone.into());
    let agent = Agent::builder().model(Script::default()).parked(parked).open().await.unwrap();
    assert_eq!(agent.history().await.unwrap().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_sees_an_agent_through_its_rests() {
    let (agent, mut events) = Agent::builder().model(Script::default()).open_watched().await.unwrap();
    for _ in 0..3 {
        agent.prompt("go").await.unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let ends = check_record(&mut events).into_iter().filter(|event| matches!(event, Event::TurnEnded(_)));
    assert_eq!(ends.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn c_h06_ten_thousand_idle_agents_have_no_task_each() {
    const AGENTS: u32 = 10_000;
    let fleet = Fleet::new();
    let script = Script::default();
    let echo = Arc::new(echo());
    for n in 0..AGENTS {
        let agent = Agent::builder().model(script.clone()).shared_tool(echo.clone()).branch(n).open().await;
        assert!(fleet.insert(n, agent.unwrap()).is_none());
    }
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert_eq!((fleet.len(), fleet.resting(), alive()), (10_000, 10_000, 0));

    let agent = fleet.get(&7_000).unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().turn.branch, 7_000);
    assert_eq!(fleet.resting(), 9_999);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((fleet.resting(), alive()), (10_000, 0));
    assert_eq!(fleet.get(&7_000).unwrap().history().await.unwrap().len(), 2);

    agent.close().await.unwrap();
    assert!(fleet.get(&7_000).is_none(), "its key is free");
    fleet.close().await;
    assert_eq!(fleet.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c_p15_a_tool_that_never_stops_talking_holds_nothing_up() {
    let enough = Arc::new(AtomicBool::new(false));
    let talk = {
        let enough = enough.clone();
        move |_: common::Args, cx: machine_host::ToolCx| {
            let enough = enough.clone();
            async move {
                while !enough.load(Ordering::SeqCst) {
                    cx.progress("and another thing");
                    tokio::task::yield_now().await;
                }
                cx.text("that was all")
            }
        }
    };
    let talk = machine_host::tool("talk", "", talk).touches_nothing().drop_on_cancel(false);
    let calls = Say::Calls(vec![("talk", "{}"), ("echo", "{}")]);
    let agent = Agent::builder()
        .model(Script::of([calls, Say::Text("ok")]))
        .tool(talk)
        .tool(echo())
        .config(|config| config.calls.grace_ms = 10)
        .open()
        .await
        .unwrap();
    agent.submit("go").await.unwrap();
    // Its sibling comes to its end in spite of it.
    while agent.state().await.unwrap().calls.len() != 1 {
        tokio::task::yield_now().await;
    }
    agent.abort(Cause::by(By::User)).await.unwrap();
    assert_eq!(agent.prompt("and now").await.unwrap().reason, EndReason::DONE);
    enough.store(true, Ordering::SeqCst);
    agent.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_meet_a_driver_going_to_rest_are_not_lost() {
    let agent = Agent::builder().model(Script::default()).rest_after(Duration::ZERO).open().await.unwrap();
    let clients = (0..4).map(|_| {
        let agent = agent.clone();
        tokio::spawn(async move {
            for _ in 0..250 {
                agent.inject("x").await.unwrap_or_else(|error| panic!("{error}"));
                agent.withdraw("nobody").await.unwrap_err();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    assert_eq!(agent.state().await.unwrap().next_step, 1_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_meets_a_driver_going_to_rest() {
    for _ in 0..300 {
        let agent =
            Agent::builder().model(Script::default()).rest_after(Duration::ZERO).open().await.unwrap();
        agent.inject("x").await.unwrap();
        let closing =
            [agent.clone(), agent.clone()].map(|agent| tokio::spawn(async move { agent.close().await }));
        for closed in closing {
            closed.await.unwrap().unwrap();
        }
        assert!(agent.is_gone());
    }
}

#[tokio::test(start_paused = true)]
async fn events_have_exactly_the_time_that_the_test_made() {
    let journal = common::journal();
    let clock = machine_host::WallClock::starting_at(0);
    let slow = |_: common::Args, cx: machine_host::ToolCx| async move {
        tokio::time::sleep(Duration::from_millis(7)).await;
        cx.text("done")
    };
    let (agent, mut events) = Agent::builder()
        .model(Script::of([Say::Calls(vec![("slow", "{}")]), Say::Text("ok")]))
        .tool(machine_host::tool("slow", "", slow))
        .journal(journal)
        .clock(clock)
        .open_watched()
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(agent.is_resting());
    agent.prompt("go").await.unwrap();
    let mut seen = Vec::new();
    while let Some(Ok(event)) = events.try_next() {
        if matches!(event.place, Place::Durable(_)) {
            seen.push(event);
        }
    }
    let at = |wanted: fn(&Event) -> bool| seen.iter().find(|seen| wanted(&seen.event)).unwrap().at;
    assert_eq!(at(|event| matches!(event, Event::CallStarted { .. })), 5_000, "a rest stops no clock");
    assert_eq!(at(|event| matches!(event, Event::CallSettled { .. })), 5_007);
    assert_eq!(agent.recorded(0).await.unwrap(), seen);
}
