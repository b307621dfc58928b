//! Tools that come and go, and a stopped call that nobody waits for.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Args, Run, Say, Script, check_record, echo, quick, results, wait_for};
use machine_core::ask::{Approval, By, Cause};
use machine_core::event::{EndReason, Event};
use machine_core::outcome::{ErrorCode, Outcome};
use machine_host::{Agent, BoxFuture, OpenError, Tool, ToolError, ToolSource, TypedTool};
use tokio::sync::Barrier;

/// What it has, for the test to change.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<Arc<dyn Tool>>>>);

impl Shelf {
    fn put(&self, tools: impl IntoIterator<Item = TypedTool<Args, Run>>) {
        *self.0.lock().unwrap() = tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect();
    }
}

impl ToolSource for Shelf {
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<dyn Tool>>> {
        let tools = self.0.lock().unwrap().clone();
        Box::pin(async move { tools })
    }
}

fn named(name: &'static str) -> TypedTool<Args, Run> {
    quick(name, |_, cx| Box::pin(async move { cx.text("done") }))
}

fn offered(script: &Script) -> Vec<Vec<String>> {
    let names = |tools: &[machine_core::config::ToolSpec]| {
        tools.iter().map(|spec| spec.name.to_string()).collect::<Vec<_>>()
    };
    script.asked().iter().map(|request| names(&request.tools)).collect()
}

/// The call that changes the source comes first in its batch: its sibling still runs.
#[tokio::test(start_paused = true)]
async fn c_t04_the_tools_of_a_source_change_from_one_step_to_the_next() {
    let shelf = Shelf::default();
    shelf.put([named("old")]);
    let swap = {
        let shelf = shelf.clone();
        machine_host::tool("swap", "changes the source", move |_: Args, cx| {
            shelf.put([named("new")]);
            async move { cx.text("swapped") }
        })
    };
    let script = Script::of([
        Say::Calls(vec![("swap", "{}"), ("old", "{}"), ("new", "{}")]),
        Say::Calls(vec![("new", "{}"), ("old", "{}")]),
        Say::Text("done"),
    ]);
    let builder = Agent::builder().model(script.clone()).tool(swap).tools_from(shelf);
    let (agent, mut events) = builder.journal(common::journal()).open_watched().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let unknown = Outcome::error(ErrorCode::UnknownTool);
    let outcomes: Vec<_> = results(&agent).await.into_iter().map(|(_, outcome, _)| outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, unknown.clone(), Outcome::Ok, unknown]);
    assert_eq!(offered(&script), [["swap", "old"], ["swap", "new"], ["swap", "new"]]);
    check_record(&mut events);
}

#[tokio::test(start_paused = true)]
async fn c_t04_two_tools_of_one_name_are_refused_at_opening_and_left_out_later() {
    let shelf = Shelf::default();
    shelf.put([named("echo")]);
    let builder = || Agent::builder().model(Script::default()).tool(echo()).tools_from(shelf.clone());
    let error = builder().open().await.err().unwrap();
    assert!(matches!(&error, OpenError::SameToolFrom { tool, .. } if &**tool == "echo"), "{error}");
    let both = "the agent itself has one, and a source of tools has one";
    assert!(error.to_string().contains(both), "{error}");

    shelf.put([]);
    let script = Script::of([Say::Calls(vec![("echo", r#"{"text": "mine"}"#)]), Say::Text("done")]);
    let agent = builder().model(script.clone()).open().await.unwrap();
    shelf.put([named("echo")]);
    agent.prompt("go").await.unwrap();
    assert_eq!(results(&agent).await[0].2, "mine");
    assert_eq!(offered(&script), [["echo"], ["echo"]]);
}

/// Panics when it is asked.
struct Falls;

impl ToolSource for Falls {
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<dyn Tool>>> {
        Box::pin(async { unreachable!("the source fell over") })
    }
}

/// Has its tool only when the other one is asked, too.
#[derive(Clone)]
struct Meets(Arc<Barrier>, &'static str);

impl ToolSource for Meets {
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<dyn Tool>>> {
        Box::pin(async move {
            self.0.wait().await;
            vec![Arc::new(named(self.1)) as Arc<dyn Tool>]
        })
    }
}

#[tokio::test(start_paused = true)]
async fn c_h03_a_source_that_panics_is_an_error_at_opening() {
    let opened = Agent::builder().model(Script::default()).tools_from(Falls).open().await;
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("the source fell over"), "{error}");
}

/// However long each may take, a step waits for the slowest alone.
#[tokio::test(start_paused = true)]
async fn c_h02_all_sources_are_asked_at_once() {
    let both = Arc::new(Barrier::new(2));
    let script = Script::of([Say::Text("done")]);
    let builder = Agent::builder().model(script.clone());
    let builder = builder.tools_from(Meets(both.clone(), "one")).tools_from(Meets(both, "two"));
    let agent = builder.open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(offered(&script), [["one", "two"]]);
}

/// The tools of a turn that goes on elsewhere are those that are there, not those that its configuration names (T04).
#[tokio::test(start_paused = true)]
async fn c_t04_a_turn_that_goes_on_elsewhere_is_offered_what_is_there() {
    let shelf = Shelf::default();
    shelf.put([named("old")]);
    let calls = Say::Calls(vec![("echo", "{}")]);
    let builder = |script: &Script| {
        let builder = Agent::builder().model(script.clone()).tool(echo().approval(true));
        builder.tools_from(shelf.clone())
    };
    let agent = builder(&Script::of([calls])).open().await.unwrap();
    let mut watch = agent.events();
    agent.submit("go").await.unwrap();
    let Event::ApprovalAsked { call, digest, .. } =
        wait_for(&mut watch, |event| matches!(event, Event::ApprovalAsked { .. })).await
    else {
        unreachable!("it was waited for")
    };
    let parked = agent.park().await.unwrap();
    shelf.put([named("new")]);
    let script = Script::of([Say::Text("done")]);
    let agent = builder(&script).parked(parked).open().await.unwrap();
    agent.decide(call, digest, Approval::Granted).await.unwrap();
    agent.idle().await.unwrap();
    assert_eq!(offered(&script), [["echo", "new"]]);
}

/// It gives its place back, and has no late outcome to tell (X06, B07).
#[tokio::test(start_paused = true)]
async fn c_x06_a_stopped_call_may_end_without_an_outcome_also_late() {
    let patient = quick("patient", |_, cx| {
        Box::pin(async move {
            cx.cancelled().await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            Err(ToolError::abandoned())
        })
    });
    let script = Script::of([Say::Calls(vec![("patient", "{}")])]);
    let builder = Agent::builder().model(script).tool(patient.drop_on_cancel(false));
    let (agent, mut events) = builder.open_watched().await.unwrap();
    let mut watch = agent.events();
    let prompt = tokio::spawn({
        let agent = agent.clone();
        async move { agent.prompt("go").await }
    });
    wait_for(&mut watch, |event| matches!(event, Event::CallStarted { .. })).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    prompt.await.unwrap().unwrap();
    assert_eq!(agent.state().await.unwrap().calls.len(), 1);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(agent.state().await.unwrap().calls.len(), 0);
    let late = |event: &Event| matches!(event, Event::LateResult { .. } | Event::Stray { .. });
    assert!(!check_record(&mut events).iter().any(late));
}
