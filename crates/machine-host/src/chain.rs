//! Hooks in order: rewriting ones pass on what they changed, the first that says no decides (H01).
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Gated, HookError, HookFailure, Proceed, Recovery, Screened, StopVerdict};
use machine_core::config::{Questions, ToolSpec};
use machine_core::ids::CallId;
use machine_core::input::Note;
use machine_core::message::Said;
use machine_core::outcome::ToolResult;

use crate::approvals::Decision;
use crate::editor::Editor;
use crate::hooks::{
    ApproveQuestion, BeforeCall, CallQuestion, FinalizeQuestion, GateQuestion, HookFuture, Hooks,
    RecoverQuestion, ScreenQuestion, SessionQuestion, StopQuestion, Wants,
};
use crate::order::{Asked, Placed};
use crate::unwind::caught;

/// All hooks of an agent, in order.
pub(crate) struct Chain {
    hooks: Vec<Placed>,
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
    pub(crate) fn of(hooks: Vec<Placed>) -> Self {
        Self { hooks }
    }

    pub(crate) fn hooks(&self) -> &[Placed] {
        &self.hooks
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

    pub(crate) fn finalizes(&self) -> bool {
        self.wants(|wants| wants.finalize)
    }

    pub(crate) fn sees_calls(&self) -> bool {
        self.wants(|wants| wants.before_call)
    }

    pub(crate) fn approves(&self) -> bool {
        self.wants(|wants| wants.approve)
    }

    /// What the session begins with. The id of each text names its hook, and makes a repeat harmless (A10).
    pub(crate) async fn session_start(&self, question: SessionQuestion) -> Answered<Vec<Arc<Note>>> {
        let mut notes = Vec::new();
        for placed in self.those(|wants| wants.session_start) {
            let says = placed.asked(|hook| hook.session_start(question.clone())).await?;
            for (n, say) in (1..).zip(says) {
                notes.push(say.or_id(|| format!("session start, {} {n}", placed.name)).into_note());
            }
        }
        Ok(notes)
    }

    pub(crate) async fn screen(&self, mut question: ScreenQuestion) -> Answered<Screened> {
        let mut answer = Screened::Admit;
        for placed in self.those(|wants| wants.screen) {
            match placed.asked(|hook| hook.screen(question.clone())).await? {
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

    /// `tools`: what is offered, if it is not what is configured. A hook has the last word.
    pub(crate) async fn gate(
        &self,
        question: GateQuestion,
        editor: &Editor,
        tools: Option<Arc<[ToolSpec]>>,
    ) -> Answered<Gated> {
        let mut all = Proceed { tools, ..Proceed::default() };
        for placed in self.those(|wants| wants.gate) {
            match placed.asked(|hook| hook.gate(question.clone(), editor.clone())).await? {
                Gated::Proceed(with) => overlay(&mut all, &with, &placed.name),
                Gated::Block(why) => return Ok(Gated::Block(why)),
            }
        }
        Ok(Gated::Proceed(Arc::new(all)))
    }

    pub(crate) async fn recover(&self, question: RecoverQuestion, editor: &Editor) -> Answered<Recovery> {
        for placed in self.those(|wants| wants.recover) {
            match placed.asked(|hook| hook.recover(question.clone(), editor.clone())).await? {
                Recovery::Decline => {}
                decided => return Ok(decided),
            }
        }
        Ok(Recovery::Decline)
    }

    pub(crate) async fn before_call(&self, mut question: CallQuestion) -> Answered<Before> {
        let mut before = Before::default();
        for placed in self.those(|wants| wants.before_call) {
            match placed.asked(|hook| hook.before_call(question.clone())).await? {
                BeforeCall::Proceed => {}
                BeforeCall::Approve => before.approval = true,
                BeforeCall::Rewrite(args) if !machine_core::history::is_object(&args) => {
                    return Err(placed.failed("the rewritten arguments are no JSON object"));
                }
                BeforeCall::Rewrite(args) => {
                    question.args = args.clone();
                    before.args = Some(args);
                }
                // What it adds for the model is the hook's own text (H09).
                BeforeCall::Answer(result) => {
                    let result = credit(&ToolResult::default(), result, &placed.name);
                    return Ok(Before { instead: Some(BeforeCall::Answer(result)), ..before });
                }
                instead => return Ok(Before { instead: Some(instead), ..before }),
            }
        }
        Ok(before)
    }

    /// None: no hook decides, somebody else may.
    pub(crate) async fn approve(&self, question: ApproveQuestion) -> Answered<Option<Decision>> {
        for placed in self.those(|wants| wants.approve) {
            let answer = placed.asked(|hook| hook.approve(question.clone())).await?;
            if answer.is_some() {
                return Ok(answer);
            }
        }
        Ok(None)
    }

    pub(crate) async fn finalize(&self, mut question: FinalizeQuestion) -> Answered<ToolResult> {
        for placed in self.those(|wants| wants.finalize) {
            let result = placed.asked(|hook| hook.finalize(question.clone())).await?;
            question.result = credit(&question.result, result, &placed.name);
        }
        Ok(question.result)
    }

    pub(crate) async fn stop(&self, question: StopQuestion) -> Answered<StopVerdict> {
        for placed in self.those(|wants| wants.stop) {
            match placed.asked(|hook| hook.stop(question.clone())).await? {
                StopVerdict::End => {}
                StopVerdict::Continue(messages) => {
                    let messages = messages.iter().map(|said| named(said.clone(), &placed.name)).collect();
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
        for placed in self.those(|wants| wants.maintain) {
            placed.asked(|hook| hook.maintain(n, editor.clone())).await?;
        }
        Ok(())
    }

    /// A filter that panics hides the text.
    pub(crate) fn progress(&self, call: CallId, text: Text) -> Option<Text> {
        let filter = || self.hooks.iter().try_fold(text, |text, placed| placed.hook.progress(call, text));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(filter)).unwrap_or(None)
    }

    fn wants(&self, what: impl Fn(&Wants) -> bool) -> bool {
        self.hooks.iter().any(|placed| what(&placed.wants))
    }

    fn those(&self, what: fn(&Wants) -> bool) -> impl Iterator<Item = &Placed> {
        self.hooks.iter().filter(move |placed| what(&placed.wants))
    }
}

impl Placed {
    /// A failure and a panic are told with the name of the hook (H02, H03, H09).
    async fn asked<'a, T>(&'a self, ask: impl FnOnce(&'a dyn Hooks) -> HookFuture<'a, T>) -> Answered<T> {
        Asked::set(&self.name);
        match caught(async { ask(&*self.hook).await }).await {
            Ok(answer) => answer.map_err(|error| self.failed(&error.to_string())),
            Err(panic) => Err(HookError::new(HookFailure::Panicked, format!("{}: {panic}", self.name))),
        }
    }

    fn failed(&self, error: &str) -> Arc<HookError> {
        HookError::new(HookFailure::Failed, format!("{}: {error}", self.name))
    }
}

/// What a later hook says takes the place of what an earlier one said; messages add up.
fn overlay(all: &mut Proceed, with: &Proceed, hook: &Text) {
    let Proceed { tools, system, settings, messages } = with.clone();
    all.tools = tools.or(all.tools.take());
    all.system = system.or(all.system.take());
    all.settings = settings.or(all.settings.take());
    all.messages.extend(messages.into_iter().map(|said| named(said, hook)));
}

/// The engine is told whose message it is (H09).
fn named(said: Said, hook: &Text) -> Said {
    Said { hook: hook.clone(), ..said }
}

/// What a hook added to a result is its own (H09).
fn credit(before: &ToolResult, after: ToolResult, hook: &Text) -> ToolResult {
    let added = after.note != before.note || after.deliver != before.deliver;
    let by = if added { Some(hook.clone()) } else { before.hook.clone() };
    ToolResult { hook: by, ..after }
}
