//! Hooks and watchers at their worst: every point panics, every point hangs (H02, H03, H08, E04, X02).
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Args, Say, Script, check_record, echo, outcomes, quick, seen, wait_for};
use machine_core::ask::{By, Cause, Gated, Recovery, Screened, StopVerdict};
use machine_core::event::{EndReason, Event, MaintenanceEnd};
use machine_core::ids::CallId;
use machine_core::outcome::{ErrorCode, Outcome, ToolResult};
use machine_core::response::{Failure, ModelError};
use machine_host::{
    Agent, AgentBuilder, ApproveQuestion, BeforeCall, CallQuestion, CommandError, Decision, Editor,
    EndedTurn, FinalizeQuestion, GateQuestion, HookFuture, Hooks, Lagged, PromptError, RecoverQuestion,
    ScreenQuestion, StopQuestion, ToolCx, Wants, tool,
};

/// Answers nothing: at one point it panics, or hangs.
#[derive(Clone, Copy)]
struct Bad {
    at: &'static str,
    panics: bool,
}

const POINTS: [&str; 7] = ["screen", "gate", "recover", "before_call", "approve", "finalize", "stop"];

impl Bad {
    fn answer<T: Send + 'static>(self) -> HookFuture<'static, T> {
        Box::pin(async move {
            assert!(!self.panics, "`{}` fell over", self.at);
            std::future::pending().await
        })
    }
}

impl Hooks for Bad {
    fn wants(&self) -> Wants {
        Wants {
            screen: self.at == "screen",
            gate: self.at == "gate",
            recover: self.at == "recover",
            before_call: self.at == "before_call",
            approve: self.at == "approve",
            finalize: self.at == "finalize",
            stop: self.at == "stop",
            maintain: self.at == "maintain",
            ..Wants::NOTHING
        }
    }

    fn name(&self) -> &str {
        "bad"
    }

    fn screen(&self, _: ScreenQuestion) -> HookFuture<'_, Screened> {
        self.answer()
    }

    fn gate(&self, _: GateQuestion, _: Editor) -> HookFuture<'_, Gated> {
        self.answer()
    }

    fn recover(&self, _: RecoverQuestion, _: Editor) -> HookFuture<'_, Recovery> {
        self.answer()
    }

    fn before_call(&self, _: CallQuestion) -> HookFuture<'_, BeforeCall> {
        self.answer()
    }

    fn approve(&self, _: ApproveQuestion) -> HookFuture<'_, Option<Decision>> {
        self.answer()
    }

    fn finalize(&self, _: FinalizeQuestion) -> HookFuture<'_, ToolResult> {
        self.answer()
    }

    fn stop(&self, _: StopQuestion) -> HookFuture<'_, StopVerdict> {
        self.answer()
    }

    fn maintain(&self, _: u32, _: Editor) -> HookFuture<'_, ()> {
        self.answer()
    }
}

/// A turn that passes every point: a failed request, a call that needs an approval, an end.
fn builder(bad: Bad) -> AgentBuilder {
    let failed = Say::Fail(ModelError::new(Failure::InvalidRequest, "no"));
    let script = match bad.at {
        "recover" => Script::of([failed]),
        _ => Script::of([Say::Calls(vec![("echo", r#"{"text": "x"}"#)]), Say::Text("ok")]),
    };
    Agent::builder().model(script).tool(echo().approval(bad.at == "approve")).hooks(bad)
}

#[tokio::test(start_paused = true)]
async fn c_h03_a_hook_that_panics_anywhere_is_named_and_the_agent_lives() {
    for at in POINTS {
        let (agent, mut events) = builder(Bad { at, panics: true }).open_watched().await.unwrap();
        let end = agent.prompt("go").await;
        let events = check_record(&mut events);
        let said = format!("{events:?}");
        assert!(said.contains(&format!("bad: `{at}` fell over")), "{at}: {said}");
        match at {
            "screen" => assert!(matches!(end, Err(PromptError::Dropped(_))), "{end:?}"),
            "gate" | "recover" => assert_eq!(end.unwrap().reason.name(), "failed", "{at}"),
            _ => assert_eq!(end.unwrap().reason, EndReason::DONE, "{at}"),
        }
        match at {
            "before_call" => assert_eq!(outcomes(&agent).await, [Outcome::error(ErrorCode::HookFailed)]),
            "finalize" => assert_eq!(outcomes(&agent).await, [Outcome::error(ErrorCode::Withheld)]),
            "approve" => assert!(!outcomes(&agent).await[0].is_ok(), "it did not run"),
            _ => {}
        }
        agent.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn c_x02_a_hook_that_hangs_anywhere_does_not_hold_an_abort_up() {
    for at in POINTS {
        let (agent, mut events) = builder(Bad { at, panics: false }).open_watched().await.unwrap();
        let prompt = tokio::spawn({
            let agent = agent.clone();
            async move { agent.prompt("go").await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!prompt.is_finished(), "{at} hangs");
        let before = tokio::time::Instant::now();
        agent.abort(Cause::by(By::User)).await.unwrap();
        // A result that is being finalized has the grace (X03); all else ends at once.
        let grace = if at == "finalize" { Duration::from_millis(2_500) } else { Duration::ZERO };
        assert_eq!(before.elapsed(), grace, "{at}");
        match prompt.await.unwrap() {
            Ok(end) => assert_eq!(end.reason, EndReason::Aborted(Cause::by(By::User)), "{at}"),
            Err(error) => {
                assert!(at == "screen" && matches!(error, PromptError::Dropped(_)), "{at}: {error}")
            }
        }
        assert!(agent.outstanding().await.unwrap().is_empty(), "H07: nobody waits any more");
        check_record(&mut events);
        agent.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn c_h03_maintenance_that_panics_failed_and_one_that_hangs_is_aborted() {
    let agent = builder(Bad { at: "maintain", panics: true }).open().await.unwrap();
    let MaintenanceEnd::Failed(why) = agent.maintain().await.unwrap() else { panic!("it panicked") };
    assert!(format!("{why:?}").contains("bad: `maintain` fell over"), "{why:?}");

    let agent = builder(Bad { at: "maintain", panics: false }).open().await.unwrap();
    let maintaining = tokio::spawn({
        let agent = agent.clone();
        async move { agent.maintain().await }
    });
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    // Idle waits for maintenance, and for the prompt that came meanwhile (H08, A17).
    let idle = tokio::spawn({
        let agent = agent.clone();
        async move { agent.idle().await }
    });
    agent.submit("go").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!idle.is_finished() && !maintaining.is_finished());
    agent.abort(Cause::by(By::User)).await.unwrap();
    assert_eq!(maintaining.await.unwrap().unwrap(), MaintenanceEnd::Aborted);
    idle.await.unwrap().unwrap();
    assert_eq!(agent.history().await.unwrap().len(), 4, "the turn of the prompt is over too");
}

/// Panics when somebody says something.
struct Deaf;

impl Hooks for Deaf {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn progress(&self, _: CallId, _: machine_core::Text) -> Option<machine_core::Text> {
        panic!("the filter fell over")
    }
}

#[tokio::test(start_paused = true)]
async fn c_h03_a_progress_filter_that_panics_hides_the_text() {
    let talks = quick("talks", |_, cx| {
        Box::pin(async move {
            cx.progress("a secret");
            cx.text("done")
        })
    });
    let script = Script::of([Say::Calls(vec![("talks", "{}")]), Say::Text("ok")]);
    let builder = Agent::builder().model(script).tool(talks).hooks(Deaf);
    let (agent, mut events) = builder.open_watched().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(outcomes(&agent).await, [Outcome::Ok]);
    assert!(!format!("{:?}", check_record(&mut events)).contains("a secret"));
}

#[tokio::test(start_paused = true)]
async fn c_e04_a_watcher_with_the_smallest_buffer_holds_nothing_up_and_is_told() {
    let script = Script::of([Say::Calls(vec![("echo", "{}"); 20]), Say::Text("a b c d e f g h")]);
    let (agent, mut events) =
        Agent::builder().model(script).tool(echo()).watch_buffer(1).open_watched().await.unwrap();
    let before = tokio::time::Instant::now();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(before.elapsed(), Duration::ZERO);
    let Some(Err(Lagged(missed))) = events.next().await else { panic!("it fell behind") };
    assert!(missed > 20, "{missed}");
    assert_eq!(seen(&mut events).len(), 1);
    // A watcher that falls over takes only itself along.
    let fell = tokio::spawn(async move {
        let _ = events.next().await;
        panic!("the watcher fell over");
    });
    let mut other = agent.events();
    assert_eq!(agent.prompt("again").await.unwrap().reason, EndReason::DONE);
    assert!(fell.await.unwrap_err().is_panic());
    assert!(matches!(other.next().await, Some(Err(Lagged(_)))));
}

#[tokio::test(start_paused = true)]
async fn c_h08_hooks_that_would_wait_for_their_own_agent_get_an_error() {
    let holder: Arc<Mutex<Option<Agent>>> = Arc::default();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let ask = {
        let (holder, errors) = (holder.clone(), errors.clone());
        move || {
            let (agent, errors) = (holder.lock().unwrap().clone().unwrap(), errors.clone());
            async move {
                let error = agent.idle().await.unwrap_err();
                errors.lock().unwrap().push(error);
                let prompt = agent.prompt("me").await.unwrap_err();
                assert_eq!(prompt, PromptError::Command(CommandError::Inside));
            }
        }
    };
    let (gate, watch, approve, runs) = (ask.clone(), ask.clone(), ask.clone(), ask);
    let run = move |_: Args, cx: ToolCx| {
        let asked = runs();
        async move {
            asked.await;
            cx.text("asked")
        }
    };
    let agent = Agent::builder()
        .model(Script::of([Say::Calls(vec![("me", "{}")]), Say::Text("ok")]))
        .tool(tool("me", "", run).approval(true))
        .gate(move |_: GateQuestion, _: Editor| {
            let asked = gate();
            async move {
                asked.await;
                Ok(Gated::Proceed(Arc::default()))
            }
        })
        .approve(move |_: ApproveQuestion| {
            let asked = approve();
            async move {
                asked.await;
                machine_core::ask::Approval::Granted
            }
        })
        .turn_ended(move |_: EndedTurn| {
            let asked = watch();
            async move {
                asked.await;
                Ok(())
            }
        });
    let (agent, mut events) = agent.open_watched().await.unwrap();
    *holder.lock().unwrap() = Some(agent.clone());
    agent.prompt("go").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::TurnEnded(_))).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let errors = errors.lock().unwrap();
    assert_eq!(*errors, vec![CommandError::Inside; 5], "two gates, an approval, a call, a watcher");
    holder.lock().unwrap().take();
}
