//! Stopping what runs.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Waker};
use std::time::Duration;

use common::{Say, Script, check_record, echo, hang, outcomes, quick, results, wait_for};
use machine_core::Text;
use machine_core::ask::{By, Cause, Gated, Plan, WithdrawnBecause};
use machine_core::config::ToolSpec;
use machine_core::event::{EndReason, Event, TurnEnd};
use machine_core::input::{Refused, Target};
use machine_core::message::{Entry, Origin, text_content};
use machine_core::outcome::{Outcome, SkipCode, ToolResult};
use machine_host::{
    Aborted, Agent, AgentBuilder, BoxFuture, CommandError, Editor, GateQuestion, PromptError, Reject, Tool,
    ToolCx, ToolError,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

fn started(event: &Event) -> bool {
    matches!(event, Event::CallStarted { .. })
}

fn user() -> Arc<Cause> {
    Cause::by(By::User)
}

#[tokio::test(start_paused = true)]
async fn c_x11_calls_whose_results_were_folded_away_are_told_too() {
    let script = Script::of([Say::Calls(vec![("echo", "{}")]), Say::Calls(vec![("hang", "{}")])]);
    let compact = |_: GateQuestion, editor: Editor| async move {
        let entries = editor.history().len();
        if entries > 1 {
            let summary = Entry::user(Origin::Summary, None, text_content("what was before"));
            editor.fold(entries, vec![summary]).await?;
        }
        Ok(Gated::Proceed(Arc::default()))
    };
    let (agent, _events, _prompt) =
        running(Agent::builder().model(script).tool(echo()).tool(hang()).gate(compact)).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let aborted = agent.abort(user()).await.unwrap();
    let told: Vec<_> = aborted.calls.into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(told, [Outcome::Ok, Outcome::Cancelled { may_have_run: true }]);
}

/// The answered call waits in the batch behind the other one when the agent is handed over.
#[tokio::test(start_paused = true)]
async fn c_x11_calls_that_were_answered_before_a_hand_over_are_told_too() {
    let calls = Say::Calls(vec![("hang", "{}"), ("echo", "{}")]);
    let builder = |script| Agent::builder().model(script).tool(hang().approval(true)).tool(echo());
    let (agent, _events, _prompt) = running(builder(Script::of([calls]))).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let parked = agent.park().await.unwrap();
    let agent = builder(Script::default()).parked(parked).open().await.unwrap();
    let aborted = agent.abort(user()).await.unwrap();
    let told: Vec<_> = aborted.calls.into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(told, [Outcome::skipped(SkipCode::Abort), Outcome::Ok]);
}

/// Prompts, and waits until a call runs.
async fn running(
    builder: AgentBuilder,
) -> (Agent, machine_host::Events, JoinHandle<Result<TurnEnd, PromptError>>) {
    let (agent, mut events) = builder.open_watched().await.unwrap();
    let mut watch = agent.events();
    let prompt = tokio::spawn({
        let agent = agent.clone();
        async move { agent.prompt("go").await }
    });
    wait_for(&mut watch, started).await;
    // What came so far is checked from the start.
    let _ = &mut events;
    (agent, events, prompt)
}

fn one_call(tool: &'static str) -> Script {
    Script::of([Say::Calls(vec![(tool, "{}")]), Say::Text("next")])
}

#[tokio::test(start_paused = true)]
async fn c_x11_an_abort_is_answered_with_what_became_of_it() {
    let script = Script::of([Say::Calls(vec![("echo", "{}"), ("hang", "{}")]), Say::Text("next")]);
    let builder = Agent::builder().model(script).tool(echo()).tool(hang()).journal(common::journal());
    let (agent, mut events, prompt) = running(builder).await;
    tokio::task::yield_now().await;
    let aborted = agent.abort(user()).await.unwrap();
    let end = prompt.await.unwrap().unwrap();
    assert_eq!(aborted.end, Some(end.clone()));
    assert_eq!(end.reason, EndReason::Aborted(user()));
    let told: Vec<_> = aborted.calls.into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(told, [Outcome::Ok, Outcome::Cancelled { may_have_run: true }]);
    assert_eq!(agent.prompt("and now").await.unwrap().reason, EndReason::DONE);
    check_record(&mut events);
}

/// A steer that waits opens the next turn in the moment in which this one ends.
#[tokio::test(start_paused = true)]
async fn c_x11_the_answer_is_whole_when_the_next_turn_begins_at_once() {
    let script = Script::of([Say::Calls(vec![("hang", "{}")]), Say::Text("next")]);
    let (agent, _events, prompt) = running(Agent::builder().model(script).tool(hang())).await;
    agent.steer("also this").await.unwrap();
    let aborted = agent.abort(user()).await.unwrap();
    let told: Vec<_> = aborted.calls.into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(told, [Outcome::Cancelled { may_have_run: true }]);
    assert!(matches!(prompt.await.unwrap().unwrap().reason, EndReason::Aborted(_)));
    agent.idle().await.unwrap();
}

/// Stops its agent while its first call is judged.
#[derive(Clone)]
struct StopsInPlan(Arc<Stopping>);

#[derive(Default)]
struct Stopping {
    agent: OnceLock<Agent>,
    planned: AtomicUsize,
    abort: Mutex<Option<BoxFuture<'static, Result<Aborted, CommandError>>>>,
}

impl Tool for StopsInPlan {
    fn spec(&self) -> ToolSpec {
        echo().spec()
    }

    fn plan(&self, _: &str) -> Result<Plan, Reject> {
        if self.0.planned.fetch_add(1, Ordering::Relaxed) == 0 {
            let agent = self.0.agent.get().unwrap().clone();
            let mut abort = Box::pin(async move { agent.abort(user()).await });
            // It is sent when it is polled first: from elsewhere, as a tool must not wait for its own agent (H08).
            let mut poll = || abort.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
            assert!(std::thread::scope(|scope| scope.spawn(&mut poll).join().unwrap()));
            *self.0.abort.lock().unwrap() = Some(abort);
        }
        Ok(Plan::default())
    }

    fn call(&self, _: Text, _: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(std::future::pending())
    }

    fn drop_on_cancel(&self) -> bool {
        true
    }
}

/// Calls are judged by the agent's own task, one after the other; an abort does not wait for all of them.
#[tokio::test(start_paused = true)]
async fn c_x02_an_abort_comes_between_two_calls_that_are_judged() {
    let tool = StopsInPlan(Arc::default());
    let script = Script::of([Say::Calls(vec![("echo", "{}"), ("echo", "{}"), ("echo", "{}")])]);
    let agent = Agent::builder().model(script).tool(tool.clone()).open().await.unwrap();
    assert!(tool.0.agent.set(agent.clone()).is_ok());
    let end = agent.prompt("go").await.unwrap();
    assert_eq!(end.reason, EndReason::Aborted(user()));
    assert_eq!(tool.0.planned.load(Ordering::Relaxed), 1);
    let abort = tool.0.abort.lock().unwrap().take().unwrap();
    let told: Vec<_> = abort.await.unwrap().calls.into_iter().map(|(_, outcome)| outcome).collect();
    let skipped = Outcome::skipped(SkipCode::Abort);
    assert_eq!(told, [Outcome::Cancelled { may_have_run: true }, skipped.clone(), skipped]);
}

#[tokio::test(start_paused = true)]
async fn c_x03_what_a_tool_brings_within_the_grace_counts() {
    let careful = quick("careful", |_, cx| {
        Box::pin(async move {
            let stopped = cx.cancelled().await;
            assert_eq!(stopped.why, WithdrawnBecause::Cancelled(user()));
            assert_eq!(stopped.grace, Duration::from_millis(2_500));
            tokio::time::sleep(stopped.grace / 2).await;
            cx.text("saved what I had")
        })
    });
    let builder = Agent::builder().model(one_call("careful")).tool(careful.drop_on_cancel(false));
    let (agent, mut events, prompt) = running(builder).await;
    agent.abort(user()).await.unwrap();
    assert_eq!(prompt.await.unwrap().unwrap().reason, EndReason::Aborted(user()));
    assert_eq!(results(&agent).await[0].1, Outcome::Ok);
    assert_eq!(results(&agent).await[0].2, "saved what I had");
    check_record(&mut events);
}

#[tokio::test(start_paused = true)]
async fn c_x06_a_deaf_tool_is_answered_for_and_reports_late() {
    let deaf = quick("deaf", |_, cx| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert!(cx.is_cancelled());
            cx.text("oh, was I to stop?")
        })
    });
    let builder = Agent::builder().model(one_call("deaf")).tool(deaf.drop_on_cancel(false));
    let (agent, mut events, prompt) = running(builder).await;
    let mut watch = agent.events();
    agent.abort(user()).await.unwrap();
    prompt.await.unwrap().unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::Cancelled { may_have_run: true }]);
    assert_eq!(agent.prompt("and now").await.unwrap().reason, EndReason::DONE);
    let late = wait_for(&mut watch, |event| matches!(event, Event::LateResult { .. })).await;
    assert!(matches!(late, Event::LateResult { outcome: Outcome::Ok, .. }));
    assert_eq!(outcomes(&agent).await, [Outcome::Cancelled { may_have_run: true }]);
    check_record(&mut events);
}

#[tokio::test(start_paused = true)]
async fn c_x04_a_second_abort_drops_the_grace() {
    let deaf = quick("deaf", |_, _| Box::pin(std::future::pending()));
    let mut builder = Agent::builder().model(one_call("deaf")).tool(deaf.drop_on_cancel(false));
    builder = builder.config(|config| config.calls.grace_ms = u64::MAX / 2);
    let (agent, mut events, prompt) = running(builder).await;
    let first = tokio::spawn({
        let agent = agent.clone();
        async move { agent.abort(user()).await }
    });
    tokio::task::yield_now().await;
    let second = agent.abort(Cause::by(By::Program)).await.unwrap();
    assert_eq!(first.await.unwrap().unwrap(), second);
    let end = prompt.await.unwrap().unwrap();
    assert_eq!(end.reason, EndReason::Aborted(user()), "X01: the first one counts");
    assert_eq!(second.end, Some(end));
    check_record(&mut events);
}

#[tokio::test(start_paused = true)]
async fn c_x12_an_abort_may_name_its_turn() {
    let builder = Agent::builder().model(one_call("hang")).tool(hang());
    let (agent, _, prompt) = running(builder).await;
    let other = agent.abort_only(Target::Prompt("nobody".into()), user()).await;
    assert_eq!(other, Err(CommandError::Refused(Refused::NotThatTurn)));
    assert!(!prompt.is_finished());
    agent.abort(user()).await.unwrap();
    assert_eq!(agent.abort(user()).await.unwrap().end, None, "A13: nothing runs");
}

#[tokio::test(start_paused = true)]
async fn c_c13_one_call_is_cancelled_and_no_other() {
    let go_on = Arc::new(Notify::new());
    let wait = {
        let go_on = go_on.clone();
        move |_: common::Args, cx: ToolCx| {
            let go_on = go_on.clone();
            async move {
                go_on.notified().await;
                cx.text("done")
            }
        }
    };
    let script = Script::of([Say::Calls(vec![("hang", "{}"), ("wait", "{}")]), Say::Text("ok")]);
    let wait = machine_host::tool("wait", "", wait).touches_nothing();
    let (agent, mut events, prompt) = running(Agent::builder().model(script).tool(hang()).tool(wait)).await;
    let call = agent.state().await.unwrap().calls[0].id;
    agent.cancel_call(call, user()).await.unwrap();
    go_on.notify_one();
    assert_eq!(prompt.await.unwrap().unwrap().reason, EndReason::DONE);
    assert_eq!(outcomes(&agent).await, [Outcome::Cancelled { may_have_run: true }, Outcome::Ok]);
    check_record(&mut events);
}

#[tokio::test(start_paused = true)]
async fn c_c05_an_abort_takes_an_approval_back() {
    let script = Script::of([Say::Calls(vec![("echo", "{}")])]);
    let (agent, mut events) =
        Agent::builder().model(script).tool(echo().approval(true)).open_watched().await.unwrap();
    let prompt = tokio::spawn({
        let agent = agent.clone();
        async move { agent.prompt("go").await }
    });
    let asked = wait_for(&mut events, |event| matches!(event, Event::ApprovalAsked { .. })).await;
    let Event::ApprovalAsked { call, digest, .. } = asked else { unreachable!() };
    agent.abort(user()).await.unwrap();
    prompt.await.unwrap().unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::skipped(SkipCode::Abort)]);
    let late = agent.decide(call, digest, machine_core::ask::Approval::Granted).await;
    assert_eq!(late, Err(CommandError::NotAsked));
}

#[tokio::test(start_paused = true)]
async fn c_a19_closing_stops_everything_in_order_and_is_idempotent() {
    let background = quick("background", |_, cx| {
        Box::pin(async move {
            cx.detach("it runs").await;
            std::future::pending().await
        })
    });
    let script = Script::of([Say::Calls(vec![("background", "{}"), ("hang", "{}")])]);
    let builder = Agent::builder().model(script).tool(background).tool(hang()).journal(common::journal());
    let (agent, mut events, prompt) = running(builder).await;
    agent.submit(machine_host::Say::text("later").id("later")).await.unwrap();
    agent.close().await.unwrap();
    assert!(matches!(prompt.await.unwrap().unwrap().reason, EndReason::Aborted(_)));
    agent.close().await.unwrap();
    assert!(agent.is_gone());
    assert_eq!(agent.submit("more").await, Err(CommandError::Gone));
    let events = check_record(&mut events);
    assert_eq!(events.last(), Some(&Event::Closed));
}

/// Tells when it is dropped.
struct Told(Arc<Notify>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test(start_paused = true)]
async fn c_x02_a_hook_that_is_no_longer_needed_is_dropped() {
    let (asked, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let gate = {
        let (asked, dropped) = (asked.clone(), dropped.clone());
        move |_: GateQuestion, _: Editor| {
            asked.notify_one();
            let told = Told(dropped.clone());
            async move {
                let _told = told;
                std::future::pending().await
            }
        }
    };
    let agent = Agent::builder().model(Script::default()).gate(gate).open().await.unwrap();
    agent.submit("go").await.unwrap();
    asked.notified().await;
    agent.abort(user()).await.unwrap();
    dropped.notified().await;
    assert!(agent.outstanding().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_drops_everything() {
    let dropped = Arc::new(Notify::new());
    let never = {
        let dropped = dropped.clone();
        move |_: common::Args, _: ToolCx| {
            let told = Told(dropped.clone());
            async move {
                let _told = told;
                std::future::pending().await
            }
        }
    };
    let never = machine_host::tool("never", "", never).drop_on_cancel(false);
    let (agent, mut events, prompt) = running(Agent::builder().model(one_call("never")).tool(never)).await;
    prompt.abort();
    drop(agent);
    dropped.notified().await;
    while events.next().await.is_some() {}
}
