//! Hooks in order: rewriting ones pass on what they changed, the first that says no decides (H01).
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Approval, Gated, HookError, HookFailure, Proceed, Recovery, Screened, StopVerdict};
use machine_core::config::Questions;
use machine_core::ids::CallId;
use machine_core::message::Said;
use machine_core::outcome::ToolResult;

use crate::editor::Editor;
use crate::error::BoxError;
use crate::hooks::{
    ApproveQuestion, BeforeCall, CallQuestion, FinalizeQuestion, GateQuestion, Hooks, RecoverQuestion,
    ScreenQuestion, StopQuestion, Wants,
};

/// All hooks of an agent, each with what it wants.
#[derive(Clone, Default)]
pub(crate) struct Chain {
    hooks: Vec<(Wants, Arc<dyn Hooks>)>,
}

/// What the hooks before a call leave of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    /// Other arguments.
    pub(crate) args: Option<Text>,
    /// Someone must approve it.
    pub(crate) approval: bool,
    /// It will not run.
    pub(crate) instead: Option<BeforeCall>,
}

type Answered<T> = Result<T, Arc<HookError>>;

impl Chain {
    pub(crate) fn add(&mut self, hooks: Arc<dyn Hooks>) {
        self.hooks.push((hooks.wants(), hooks));
    }

    /// Switches on what somebody wants, and off what nobody does.
    pub(crate) fn questions(&self, timeout_ms: u64) -> Questions {
        Questions {
            screen: self.wants(|wants| wants.screen),
            gate: self.wants(|wants| wants.gate),
            recover: self.wants(|wants| wants.recover),
            finalize: self.wants(|wants| wants.finalize),
            stop: self.wants(|wants| wants.stop),
            timeout_ms,
        }
    }

    pub(crate) fn approves(&self) -> bool {
        self.wants(|wants| wants.approve)
    }

    pub(crate) async fn screen(&self, mut question: ScreenQuestion) -> Answered<Screened> {
        let mut answer = Screened::Admit;
        for hook in self.those(|wants| wants.screen) {
            match hook.screen(question.clone()).await.map_err(|error| failed(hook, &*error))? {
                Screened::Admit => {}
                Screened::Rewrite(message) => {
                    question.message = message.clone();
                    answer = Screened::Rewrite(message);
                }
                Screened::Block(why) => return Ok(Screened::Block(why)),
            }
        }
        Ok(answer)
    }

    pub(crate) async fn gate(&self, question: GateQuestion, editor: &Editor) -> Answered<Gated> {
        let mut all = Proceed::default();
        for hook in self.those(|wants| wants.gate) {
            let answer = hook.gate(question.clone(), editor.clone()).await;
            match answer.map_err(|error| failed(hook, &*error))? {
                Gated::Proceed(with) => overlay(&mut all, &with, hook),
                Gated::Block(why) => return Ok(Gated::Block(why)),
            }
        }
        Ok(Gated::Proceed(Arc::new(all)))
    }

    pub(crate) async fn recover(&self, question: RecoverQuestion, editor: &Editor) -> Answered<Recovery> {
        for hook in self.those(|wants| wants.recover) {
            let answer = hook.recover(question.clone(), editor.clone()).await;
            match answer.map_err(|error| failed(hook, &*error))? {
                Recovery::Decline => {}
                decided => return Ok(decided),
            }
        }
        Ok(Recovery::Decline)
    }

    pub(crate) async fn before_call(&self, mut question: CallQuestion) -> Answered<Before> {
        let mut before = Before::default();
        for hook in self.those(|wants| wants.before_call) {
            match hook.before_call(question.clone()).await.map_err(|error| failed(hook, &*error))? {
                BeforeCall::Proceed => {}
                BeforeCall::Approve => before.approval = true,
                BeforeCall::Rewrite(args) if !machine_core::history::is_object(&args) => {
                    return Err(failed(hook, &*BoxError::from("the rewritten arguments are no JSON object")));
                }
                BeforeCall::Rewrite(args) => {
                    question.args = args.clone();
                    before.args = Some(args);
                }
                instead => return Ok(Before { instead: Some(instead), ..before }),
            }
        }
        Ok(before)
    }

    /// None: no hook decides, somebody else may.
    pub(crate) async fn approve(&self, question: ApproveQuestion) -> Answered<Option<Approval>> {
        for hook in self.those(|wants| wants.approve) {
            let answer = hook.approve(question.clone()).await.map_err(|error| failed(hook, &*error))?;
            if answer.is_some() {
                return Ok(answer);
            }
        }
        Ok(None)
    }

    pub(crate) async fn finalize(&self, mut question: FinalizeQuestion) -> Answered<ToolResult> {
        for hook in self.those(|wants| wants.finalize) {
            let result = hook.finalize(question.clone()).await.map_err(|error| failed(hook, &*error))?;
            question.result = credit(&question.result, result, hook);
        }
        Ok(question.result)
    }

    pub(crate) async fn stop(&self, question: StopQuestion) -> Answered<StopVerdict> {
        for hook in self.those(|wants| wants.stop) {
            match hook.stop(question.clone()).await.map_err(|error| failed(hook, &*error))? {
                StopVerdict::End => {}
                StopVerdict::Continue(messages) => {
                    let messages = messages.iter().map(|said| named(said.clone(), hook)).collect();
                    return Ok(StopVerdict::Continue(messages));
                }
            }
        }
        Ok(StopVerdict::End)
    }

    /// Maintenance that nobody does has failed.
    pub(crate) async fn maintain(&self, n: u32, editor: &Editor) -> Answered<()> {
        if !self.wants(|wants| wants.maintain) {
            return Err(HookError::new(HookFailure::Failed, "no hook does maintenance"));
        }
        for hook in self.those(|wants| wants.maintain) {
            hook.maintain(n, editor.clone()).await.map_err(|error| failed(hook, &*error))?;
        }
        Ok(())
    }

    /// A filter that panics hides the text.
    pub(crate) fn progress(&self, call: CallId, text: Text) -> Option<Text> {
        let filter = || self.hooks.iter().try_fold(text, |text, (_, hook)| hook.progress(call, text));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(filter)).unwrap_or(None)
    }

    fn wants(&self, what: impl Fn(&Wants) -> bool) -> bool {
        self.hooks.iter().any(|(wants, _)| what(wants))
    }

    fn those(&self, what: fn(&Wants) -> bool) -> impl Iterator<Item = &dyn Hooks> {
        self.hooks.iter().filter(move |(wants, _)| what(wants)).map(|(_, hook)| &**hook)
    }
}

/// The report names the hook (H09).
fn failed(hook: &dyn Hooks, error: &(dyn std::error::Error + Send + Sync)) -> Arc<HookError> {
    HookError::new(HookFailure::Failed, format!("{}: {error}", hook.name()))
}

/// What a later hook says takes the place of what an earlier one said; messages add up.
fn overlay(all: &mut Proceed, with: &Proceed, hook: &dyn Hooks) {
    let Proceed { tools, system, settings, messages } = with.clone();
    all.tools = tools.or(all.tools.take());
    all.system = system.or(all.system.take());
    all.settings = settings.or(all.settings.take());
    all.messages.extend(messages.into_iter().map(|said| named(said, hook)));
}

/// The engine is told whose message it is (H09).
fn named(said: Said, hook: &dyn Hooks) -> Said {
    Said { hook: hook.name().into(), ..said }
}

/// What a hook added to a result is its own (H09).
fn credit(before: &ToolResult, after: ToolResult, hook: &dyn Hooks) -> ToolResult {
    let added = after.note != before.note || after.deliver != before.deliver;
    let by = if added { Some(hook.name().into()) } else { before.hook.clone() };
    ToolResult { hook: by, ..after }
}
