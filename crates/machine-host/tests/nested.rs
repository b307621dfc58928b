//! An agent in a call of another one (H04).
mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Args, Say, Script, check_record, hang, outcomes, results, wait_for};
use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, Event};
use machine_core::outcome::{ErrorCode, Outcome};
use machine_host::{Agent, BoxError, BoxFuture, Events, Journal, Tool, ToolCx, ToolError, tool};
use machine_journal::{MemoryJournal, Record};
use tokio::sync::{Notify, mpsc};

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
    let holder: Arc<std::sync::Mutex<Option<Agent>>> = Arc::default();
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

/// A tool that runs a child which has a tool that runs a child, so many levels down. The lowest hangs.
fn levels(below: u32, show: &mpsc::UnboundedSender<Events>) -> impl Tool + use<> {
    let show = show.clone();
    let run = move |_: Args, cx: ToolCx| -> BoxFuture<'static, Result<_, ToolError>> {
        let show = show.clone();
        Box::pin(async move {
            let child = Agent::builder().child_of(&cx);
            let child = match below {
                0 => child.model(Script::of([Say::Calls(vec![("hang", "{}")])])).tool(hang()),
                _ => child.model(one_call()).tool(levels(below - 1, &show)),
            };
            let (child, events) = child.open_watched().await?;
            show.send(events)?;
            cx.delegate(&child, "go").await
        })
    };
    tool("delegate", "asks another agent", run).touches_nothing().drop_on_cancel(false)
}

#[tokio::test(start_paused = true)]
async fn c_h04_s85_an_abort_reaches_a_child_of_a_child() {
    let (show, mut shown) = mpsc::unbounded_channel();
    let builder = Agent::builder().model(one_call()).tool(levels(2, &show));
    let (agent, mut events) = builder.open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    let mut below = [shown.recv().await, shown.recv().await, shown.recv().await].map(Option::unwrap);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = tokio::time::Instant::now();
    let aborted = agent.abort(Cause::by(By::User)).await.unwrap();
    assert!(before.elapsed() < Duration::from_millis(2_500), "each level is done within its parent's grace");
    let told: Vec<_> = aborted.calls.into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(told, [Outcome::Cancelled { may_have_run: true }]);
    let said = results(&agent).await[0].2.clone();
    assert!(
        said.contains("did not finish: aborted by the end of its call"),
        "it has what the child did: {said}"
    );
    tokio::time::sleep(Duration::from_secs(100)).await;
    check_record(&mut events);
    for events in &mut below {
        let all = check_record(events);
        let ends: Vec<_> = all
            .iter()
            .filter_map(|event| match event {
                Event::TurnEnded(end) => Some(end.reason.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(ends, [EndReason::Aborted(Cause::by(By::Parent))]);
        let requests = all.iter().filter(|event| matches!(event, Event::AttemptStarted { .. }));
        assert_eq!(requests.count(), 1, "nothing is requested after the abort");
    }
}

#[tokio::test(start_paused = true)]
async fn c_h04_s85_an_abort_while_the_child_is_built_is_not_lost() {
    let built = Arc::new(Notify::new());
    let script = Script::default();
    let (show, mut shown) = mpsc::unbounded_channel();
    let run = {
        let (built, script) = (built.clone(), script.clone());
        move |_: Args, cx: ToolCx| {
            let (built, script, show) = (built.clone(), script.clone(), show.clone());
            async move {
                let child = Agent::builder().child_of(&cx).model(script);
                built.notified().await;
                let (child, events) = child.open_watched().await?;
                show.send(events)?;
                cx.delegate(&child, "go").await
            }
        }
    };
    let delegate = tool("delegate", "", run).touches_nothing().drop_on_cancel(false);
    let (agent, mut events) = Agent::builder().model(one_call()).tool(delegate).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::CallStarted { .. })).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let abort = tokio::spawn({
        let agent = agent.clone();
        async move { agent.abort(Cause::by(By::User)).await }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    built.notify_one();
    let aborted = abort.await.unwrap().unwrap();
    assert_eq!(aborted.calls[0].1, Outcome::Cancelled { may_have_run: true });
    assert!(script.asked().is_empty(), "the child never asked its model");
    let child = check_record(&mut shown.recv().await.unwrap());
    let ended = |event: &Event| matches!(event, Event::TurnEnded(end) if end.reason == EndReason::Aborted(Cause::by(By::Parent)));
    assert!(child.iter().any(ended), "{child:?}");
}

/// A tool that runs this child, and gives its handle to the test.
fn open_child(script: Script, detach: bool) -> (impl Tool, mpsc::UnboundedReceiver<Agent>) {
    let (show, shown) = mpsc::unbounded_channel();
    let run = move |_: Args, cx: ToolCx| {
        let (script, show) = (script.clone(), show.clone());
        async move {
            let child = Agent::builder().child_of(&cx).model(script).tool(hang()).open().await?;
            show.send(child.clone())?;
            if detach {
                cx.detach("it works in the background").await;
            }
            cx.delegate(&child, "go").await
        }
    };
    (tool("delegate", "", run).touches_nothing().drop_on_cancel(false), shown)
}

#[tokio::test(start_paused = true)]
async fn c_h04_s86_a_child_that_is_aborted_alone_is_an_error_and_its_parent_goes_on() {
    let script = Script::of([Say::Calls(vec![("nosuch", "{}")]), Say::Hang]);
    let (delegate, mut shown) = open_child(script, false);
    let (agent, mut events) = Agent::builder().model(one_call()).tool(delegate).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    let child = shown.recv().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let reason = Some("wrong way".into());
    child.abort(Arc::new(Cause { by: By::User, reason })).await.unwrap();
    agent.idle().await.unwrap();
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::error(ErrorCode::Failed));
    assert!(
        results[0].2.contains("aborted by the user, wrong way. Its last words: well"),
        "{}",
        results[0].2
    );
    let end = check_record(&mut events).into_iter().find_map(|event| match event {
        Event::TurnEnded(end) => Some(end.reason),
        _ => None,
    });
    assert_eq!(end, Some(EndReason::DONE), "H04: a child's abort does not reach its parent");
}

#[tokio::test(start_paused = true)]
async fn c_h04_s86_an_empty_response_is_no_success() {
    let (delegate, _shown) = delegate(Script::of(vec![Say::Text(""); 9]), None);
    let agent = Agent::builder().model(one_call()).tool(delegate).open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::error(ErrorCode::Failed));
    assert!(results[0].2.contains("failed: the model answered with nothing"), "{}", results[0].2);
}

#[tokio::test(start_paused = true)]
async fn c_h04_s31_a_limit_binds_the_child_that_has_it() {
    let always = Script::of(vec![Say::Calls(vec![("nosuch", "{}")]); 9]);
    let (delegate, mut shown) = delegate(always.clone(), Some(2));
    let parent = one_call();
    let agent = Agent::builder().model(parent.clone()).tool(delegate).open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!((always.asked().len(), parent.asked().len()), (2, 2));
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::error(ErrorCode::Failed));
    assert!(results[0].2.contains("step limit"), "{}", results[0].2);
    check_record(&mut shown.recv().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn c_h04_s85_a_child_in_the_background_is_left_and_listed_until_its_parent_closes() {
    let (delegate, mut shown) = open_child(Script::of([Say::Calls(vec![("hang", "{}")])]), true);
    let script = Script::of([Say::Calls(vec![("delegate", "{}")]), Say::Hang]);
    let agent = Agent::builder().model(script).tool(delegate).open().await.unwrap();
    agent.submit("go").await.unwrap();
    let child = shown.recv().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::Ok], "C08: the acknowledgement");
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(child.state().await.unwrap().turn.is_some(), "X09: it works on");
    assert_eq!(agent.state().await.unwrap().calls.len(), 1, "A25: it is listed");
    let mut ended = child.events();
    agent.close().await.unwrap();
    let end = wait_for(&mut ended, |event| matches!(event, Event::TurnEnded(_))).await;
    assert!(matches!(end, Event::TurnEnded(end) if end.reason == EndReason::Aborted(Cause::by(By::Parent))));
}

/// A journal that takes its time.
#[derive(Default)]
struct Slow(MemoryJournal);

impl Journal for Slow {
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Journal::open(&mut self.0)
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Journal::read(&mut self.0)
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Journal::append(&mut self.0, record).await
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        Journal::sync(&mut self.0)
    }
}

#[tokio::test(start_paused = true)]
async fn c_h04_a_child_that_begins_after_its_parent_stopped_makes_no_request() {
    let script = Script::default();
    let run = {
        let script = script.clone();
        move |_: Args, cx: ToolCx| {
            let script = script.clone();
            async move {
                cx.cancelled().await;
                let child = Agent::builder().child_of(&cx).model(script).journal(Slow::default());
                cx.delegate(&child.open().await?, "go").await
            }
        }
    };
    let delegate = tool("delegate", "", run).touches_nothing().drop_on_cancel(false);
    let (agent, mut events) = Agent::builder().model(one_call()).tool(delegate).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::CallStarted { .. })).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    assert!(results(&agent).await[0].2.contains("aborted by the end of its call"));
    assert!(script.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn c_h04_a_child_that_is_configured_keeps_its_short_grace() {
    let run = |_: Args, cx: ToolCx| async move {
        let child = Agent::builder().child_of(&cx).model(Script::default()).open().await?;
        let short = child.config().await?.calls.grace_ms;
        let mut config = (*child.config().await?).clone();
        config.calls.grace_ms = short + 60_000;
        child.configure(config).await?;
        cx.text(format!("{} of {short}", child.config().await?.calls.grace_ms))
    };
    let agent = Agent::builder().model(one_call()).tool(tool("delegate", "", run));
    let agent = agent.config(|config| config.calls.grace_ms = 2_000).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(results(&agent).await[0].2, "1000 of 1000");
}
