//! An agent in a call of another one (H04).
mod common;

use common::{Args, Say, Script, check_record, hang, results, wait_for};
use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, Event};
use machine_core::outcome::{ErrorCode, Outcome};
use machine_host::{Agent, Events, Tool, ToolCx, tool};
use tokio::sync::mpsc;

/// A tool that runs a child agent, and shows its events to the test.
fn delegate(script: Script, steps: Option<u32>) -> (impl Tool, mpsc::UnboundedReceiver<Events>) {
    let (show, shown) = mpsc::unbounded_channel();
    let run = move |args: Args, cx: ToolCx| {
        let (script, show) = (script.clone(), show.clone());
        async move {
            let child = Agent::builder()
                .child_of(&cx)
                .model(script)
                .tool(hang())
                .config(|config| config.turn.max_steps = steps);
            let (child, events) = child.open_watched().await?;
            show.send(events)?;
            cx.delegate(&child, args.text).await
        }
    };
    (tool("delegate", "asks another agent", run).touches_nothing().drop_on_cancel(false), shown)
}

fn one_call() -> Script {
    Script::of([Say::Calls(vec![("delegate", r#"{"text": "think"}"#)]), Say::Text("ok")])
}

#[tokio::test(start_paused = true)]
async fn c_h04_a_child_says_what_it_found() {
    let (delegate, mut shown) = delegate(Script::of([Say::Text("42")]), None);
    let agent = Agent::builder().model(one_call()).tool(delegate).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    let results = results(&agent).await;
    assert_eq!((results[0].1.clone(), &*results[0].2), (Outcome::Ok, "42"));
    check_record(&mut shown.recv().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn c_h04_an_abort_reaches_the_child_and_its_end_is_told_as_it_was() {
    let script = Script::of([Say::Calls(vec![("hang", "{}")]), Say::Text("never")]);
    let (delegate, mut shown) = delegate(script, None);
    let (agent, mut events) = Agent::builder().model(one_call()).tool(delegate).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    let mut child = shown.recv().await.unwrap();
    wait_for(&mut child, |event| matches!(event, Event::CallStarted { .. })).await;
    let aborted = agent.abort(Cause::by(By::User)).await.unwrap();
    assert_eq!(aborted.end.unwrap().reason, EndReason::Aborted(Cause::by(By::User)));
    let end = wait_for(&mut child, |event| matches!(event, Event::TurnEnded(_))).await;
    let Event::TurnEnded(end) = end else { unreachable!() };
    assert_eq!(end.reason, EndReason::Aborted(Cause::by(By::Parent)));
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::Cancelled { may_have_run: true });
    assert!(results[0].2.contains("did not finish: aborted"), "{}", results[0].2);
    check_record(&mut events);
}

#[tokio::test(start_paused = true)]
async fn c_h04_a_step_limit_is_no_success() {
    let script = Script::of([Say::Calls(vec![("nosuch", "{}")]), Say::Text("never")]);
    let (delegate, _shown) = delegate(script, Some(1));
    let agent = Agent::builder().model(one_call()).tool(delegate).open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::error(ErrorCode::Failed));
    assert!(results[0].2.contains("step limit"), "{}", results[0].2);
}

#[tokio::test(start_paused = true)]
async fn c_h08_a_child_cannot_wait_for_its_parent() {
    let script = one_call();
    let holder: std::sync::Arc<std::sync::Mutex<Option<Agent>>> = std::sync::Arc::default();
    let parent = holder.clone();
    let run = move |_: Args, cx: ToolCx| {
        let parent = parent.lock().unwrap().clone().unwrap();
        async move {
            let ask_parent = move |_: Args, cx: ToolCx| {
                let parent = parent.clone();
                async move { cx.text(parent.idle().await.unwrap_err().to_string()) }
            };
            let script = Script::of([Say::Calls(vec![("ask", "{}")]), Say::Text("asked")]);
            let child = Agent::builder().child_of(&cx).model(script).tool(tool("ask", "", ask_parent));
            let child = child.open().await?;
            child.prompt("go").await?;
            cx.text(results(&child).await[0].2.clone())
        }
    };
    let agent = Agent::builder().model(script).tool(tool("delegate", "", run)).open().await.unwrap();
    *holder.lock().unwrap() = Some(agent.clone());
    agent.prompt("go").await.unwrap();
    assert!(results(&agent).await[0].2.contains("wait for itself"));
    holder.lock().unwrap().take();
}
