//! Hooks of every point that are slow, fail, panic, hang, refuse and rewrite.
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Approval, Gated, Proceed, Recovery, Remedy, Screened, StopVerdict};
use machine_core::config::{Settings, ToolSpec};
use machine_core::event::EndReason;
use machine_core::ids::CallId;
use machine_core::input::{Command, Input};
use machine_core::message::{Content, Entry, Origin, Part, Said, text_content};
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, ModelError};
use machine_host::{
    ApproveQuestion, BeforeCall, BoxError, CallQuestion, Decision, Editor, EndedStep, EndedTurn,
    FinalizeQuestion, GateQuestion, HookFuture, Hooks, RecoverQuestion, Rule, Say, ScreenQuestion,
    SessionQuestion, StopQuestion, Wants,
};

use super::fault::Fault;
use super::job::named;
use super::tool::RAW;
use super::world::{World, fall};

/// What a seal takes out (J11).
pub(super) const SECRET: &str = "secret";

/// One hook at all points that it wants.
pub(super) struct Meddler {
    pub(super) world: Arc<World>,
    pub(super) name: &'static str,
    pub(super) wants: Wants,
}

/// Which points a run has hooks for; the same in all its openings.
pub(super) fn drawn(world: &World) -> Wants {
    let wants = || world.random.percent(50);
    let approve = world.knows(Fault::ApprovalByRule) || world.knows(Fault::ApprovalUnanswered);
    Wants {
        session_start: wants(),
        screen: wants(),
        gate: wants(),
        recover: wants(),
        before_call: wants(),
        approve: approve || wants(),
        finalize: wants(),
        stop: wants(),
        step_ended: wants(),
        turn_ended: wants(),
        maintain: wants(),
        seal: wants(),
    }
}

impl Meddler {
    async fn trouble(&self, point: &'static str) -> Result<(), BoxError> {
        self.world.book().tally.count(point);
        if self.world.strikes(Fault::HookSlow) {
            self.world.pause().await;
        }
        if self.world.strikes(Fault::HookHangs) {
            self.world.until_healed().await;
        }
        if self.world.strikes(Fault::HookPanics) {
            fall("the hook fell over");
        }
        if self.world.strikes(Fault::HookFails) { Err("the hook failed".into()) } else { Ok(()) }
    }

    fn refuses(&self) -> bool {
        self.world.strikes(Fault::HookRefuses)
    }

    fn rewrites(&self) -> bool {
        self.world.strikes(Fault::HookRewrites)
    }

    /// The first half of history becomes a summary. A cut within a batch is refused, and then nothing changes.
    async fn compact(&self, editor: &Editor) -> bool {
        let history = editor.history();
        let summary = Entry::user(Origin::Summary, None, text_content("what was before"));
        history.len() > 3 && editor.fold(history.len() / 2, vec![summary]).await.is_ok()
    }

    fn said(&self) -> Said {
        Said::from(text_content(format!("the hook {} has something to say", self.name)))
    }

    async fn proceed(&self, editor: &Editor) -> Proceed {
        let mut proceed = Proceed::default();
        if !self.rewrites() {
            return proceed;
        }
        let random = &self.world.random;
        if random.percent(40) {
            self.compact(editor).await;
        }
        if random.percent(30) {
            let hidden = ToolSpec { name: "hidden".into(), description: "".into(), parameters: "{}".into() };
            proceed.tools = Some([hidden].into());
        }
        if random.percent(30) {
            proceed.system = Some("Be brief.".into());
        }
        if random.percent(30) {
            proceed.settings = Some(Arc::new(Settings { model: "another".into(), ..Settings::default() }));
        }
        if random.percent(50) {
            proceed.messages.push(self.said());
        }
        proceed
    }
}

impl Hooks for Meddler {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn name(&self) -> &str {
        self.name
    }

    fn session_start(&self, _: SessionQuestion) -> HookFuture<'_, Vec<Say>> {
        Box::pin(async {
            self.trouble("hook session start").await?;
            Ok(vec![Say::text("this is how we work here")])
        })
    }

    fn screen(&self, prompt: ScreenQuestion) -> HookFuture<'_, Screened> {
        Box::pin(async move {
            self.trouble("hook screen").await?;
            if self.refuses() {
                return Ok(Screened::Block("not this".into()));
            }
            let more = [&prompt.message[..], &[Part::text("please")]].concat();
            Ok(if self.rewrites() { Screened::Rewrite(more.into()) } else { Screened::Admit })
        })
    }

    fn gate(&self, _: GateQuestion, editor: Editor) -> HookFuture<'_, Gated> {
        Box::pin(async move {
            self.trouble("hook gate").await?;
            if self.refuses() {
                return Ok(Gated::Block("not now".into()));
            }
            Ok(Gated::Proceed(Arc::new(self.proceed(&editor).await)))
        })
    }

    fn recover(&self, failed: RecoverQuestion, editor: Editor) -> HookFuture<'_, Recovery> {
        Box::pin(async move {
            self.trouble("hook recover").await?;
            if self.refuses() {
                let error = ModelError::new(Failure::Unknown, format!("given up: {}", failed.error));
                return Ok(Recovery::End(Arc::new(error)));
            }
            if !self.rewrites() {
                return Ok(Recovery::Decline);
            }
            let random = &self.world.random;
            let progress = self.compact(&editor).await;
            let instead =
                random.percent(30).then(|| Proceed { system: Some("Shorter.".into()), ..Proceed::default() });
            Ok(Recovery::Retry(Arc::new(Remedy {
                strategy: random.of(&["compact", "again"]).into(),
                progress,
                instead,
                for_turn: random.percent(50),
                usage: random.percent(50).then_some(machine_core::usage::Usage {
                    input: 5,
                    output: 5,
                    cached: 0,
                }),
            })))
        })
    }

    fn before_call(&self, call: CallQuestion) -> HookFuture<'_, BeforeCall> {
        Box::pin(async move {
            self.trouble("hook before call").await?;
            if self.refuses() {
                return Ok(match self.world.random.below(4) {
                    0 => BeforeCall::Deny("no".into()),
                    1 => BeforeCall::Skip("not needed".into()),
                    2 => BeforeCall::Answer(ToolResult::text(format!("{RAW} answered by a hook"))),
                    _ => BeforeCall::Approve,
                });
            }
            if self.wants.approve && self.world.random.percent(20) {
                return Ok(BeforeCall::Approve);
            }
            Ok(match named(&call.args).filter(|_| self.rewrites()) {
                Some(n) => BeforeCall::Rewrite(format!("{{\"n\": {n}, \"more\": true}}").into()),
                None => BeforeCall::Proceed,
            })
        })
    }

    fn approve(&self, call: ApproveQuestion) -> HookFuture<'_, Option<Decision>> {
        Box::pin(async move {
            self.trouble("hook approve").await?;
            if self.world.strikes(Fault::ApprovalUnanswered) {
                return Ok(None);
            }
            if self.world.strikes(Fault::ApprovalByRule) {
                let even = |question: &ApproveQuestion| question.call.index.is_multiple_of(2);
                return Ok(Some(Rule::new("even ones", even).into()));
            }
            let denied = Approval::Denied(format!("not {}", call.tool).into());
            let refused = self.world.random.of(&[true, false]);
            Ok(Some(Decision::Once(match self.refuses() {
                true if refused => denied,
                true => Approval::Expired,
                false => Approval::Granted,
            })))
        })
    }

    fn finalize(&self, call: FinalizeQuestion) -> HookFuture<'_, ToolResult> {
        Box::pin(async move {
            self.trouble("hook finalize").await?;
            let mut result = call.result;
            for part in &mut result.output {
                if let Some(text) = part.as_text() {
                    *part = Part::text(text.replace(RAW, "clean"));
                }
            }
            if self.rewrites() {
                result.note = Some("looked at".into());
            }
            Ok(result)
        })
    }

    fn stop(&self, _: StopQuestion) -> HookFuture<'_, StopVerdict> {
        Box::pin(async move {
            self.trouble("hook stop").await?;
            let goes_on = self.refuses();
            Ok(if goes_on { StopVerdict::Continue([self.said()].into()) } else { StopVerdict::End })
        })
    }

    fn step_ended(&self, step: EndedStep) -> HookFuture<'_, ()> {
        Box::pin(async move {
            self.trouble("hook step ended").await?;
            let sound = step.history.audit();
            self.world.check(sound.is_ok(), || format!("V05: after {}: {sound:?}", step.step));
            Ok(())
        })
    }

    fn turn_ended(&self, turn: EndedTurn) -> HookFuture<'_, ()> {
        Box::pin(async move {
            self.trouble("hook turn ended").await?;
            let (sound, faulted) = (turn.history.audit(), matches!(turn.end.reason, EndReason::Failed(_)));
            self.world.check(sound.is_ok() || faulted, || format!("V05: after {}: {sound:?}", turn.end.turn));
            Ok(())
        })
    }

    fn maintain(&self, _: u32, editor: Editor) -> HookFuture<'_, ()> {
        Box::pin(async move {
            self.trouble("hook maintain").await?;
            self.compact(&editor).await;
            Ok(())
        })
    }

    fn seal(&self, input: &mut Input) {
        if self.world.rarely(Fault::SealPanics) {
            fall("the seal fell over");
        }
        match input {
            Input::Command(Command::Submit(submit)) => {
                let sealed = sealed(&submit.message);
                Arc::make_mut(submit).message = sealed;
            }
            Input::Command(Command::Notify(note) | Command::Inject(note)) => {
                let sealed = sealed(&note.message);
                Arc::make_mut(note).message = sealed;
            }
            _ => {}
        }
    }

    fn progress(&self, _: CallId, text: Text) -> Option<Text> {
        if self.world.strikes(Fault::ProgressPanics) {
            fall("the filter fell over");
        }
        (!self.world.strikes(Fault::ProgressHidden)).then_some(text)
    }
}

fn sealed(message: &Content) -> Content {
    let seal = |part: &Part| match part.as_text() {
        Some(text) => Part::text(text.replace(SECRET, "***")),
        None => part.clone(),
    };
    message.iter().map(seal).collect()
}
