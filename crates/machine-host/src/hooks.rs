//! What a host decides beyond running model and tools (H01).
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Approval, Gated, Proceed, Recovery, Screened, StopVerdict};
use machine_core::digest::Digest;
use machine_core::ids::{AttemptId, CallId, InputId, StepId, TurnId};
use machine_core::message::Content;
use machine_core::outcome::{Outcome, ToolResult};
use machine_core::response::ModelError;

use crate::editor::Editor;
use crate::error::BoxError;
use crate::model::BoxFuture;

/// A hook's answer. An error, a panic or a time that is up is reported, and the question takes its closed default:
/// a prompt is dropped, a step fails, a call does not run, a result is withheld, a turn ends (H02).
pub type HookFuture<'a, T> = BoxFuture<'a, Result<T, BoxError>>;

/// Answers questions. Those that no hook [`wants`](Self::wants) are never asked and cost nothing.
///
/// Several hooks form a chain in the order in which the builder got them: each sees what those before it changed, and
/// the first that blocks, denies, recovers or continues decides (H01). Every hook but an approval has a time, and all
/// of them end when what they are asked for is no longer needed: their future is dropped (X02).
///
/// Who only wants to watch subscribes to [`Agent::events`](crate::Agent::events).
pub trait Hooks: Send + Sync + 'static {
    /// Which questions it wants. Asked once, when the agent is opened.
    fn wants(&self) -> Wants;

    /// Stands in reports about it.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// May this prompt open a turn, or join one? (A11)
    fn screen(&self, prompt: ScreenQuestion) -> HookFuture<'_, Screened> {
        let _ = prompt;
        ready(Screened::Admit)
    }

    /// May this step begin, and with what? The safe point to edit history (T02, A18).
    fn gate(&self, step: GateQuestion, editor: Editor) -> HookFuture<'_, Gated> {
        let _ = (step, editor);
        ready(Gated::Proceed(Arc::new(Proceed::default())))
    }

    /// An attempt failed: what now? (M08)
    fn recover(&self, failed: RecoverQuestion, editor: Editor) -> HookFuture<'_, Recovery> {
        let _ = (failed, editor);
        ready(Recovery::Decline)
    }

    /// Before a call is judged: rewrite its arguments, deny it, answer in its place (C03).
    fn before_call(&self, call: CallQuestion) -> HookFuture<'_, BeforeCall> {
        let _ = call;
        ready(BeforeCall::Proceed)
    }

    /// May exactly this run? It may take as long as a person takes. None: that is for another to say (C04).
    fn approve(&self, call: ApproveQuestion) -> HookFuture<'_, Option<Approval>> {
        let _ = call;
        ready(None)
    }

    /// The result of a call as it may be told; nothing of it went anywhere before (C11).
    fn finalize(&self, call: FinalizeQuestion) -> HookFuture<'_, ToolResult> {
        ready(call.result)
    }

    /// The turn would end: may it? (T15)
    fn stop(&self, turn: StopQuestion) -> HookFuture<'_, StopVerdict> {
        let _ = turn;
        ready(StopVerdict::End)
    }

    /// Maintenance was begun: compact, import (A17). Its edits count when the last hook is done.
    fn maintain(&self, n: u32, editor: Editor) -> HookFuture<'_, ()> {
        let _ = (n, editor);
        ready(())
    }

    /// What a call says of itself, before anyone sees it; none hides it (C07). Always asked, and must be quick.
    fn progress(&self, call: CallId, text: Text) -> Option<Text> {
        let _ = call;
        Some(text)
    }
}

/// Which questions a hook wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// [`Hooks::screen`].
    pub screen: bool,
    /// [`Hooks::gate`].
    pub gate: bool,
    /// [`Hooks::recover`].
    pub recover: bool,
    /// [`Hooks::before_call`].
    pub before_call: bool,
    /// [`Hooks::approve`].
    pub approve: bool,
    /// [`Hooks::finalize`].
    pub finalize: bool,
    /// [`Hooks::stop`].
    pub stop: bool,
    /// [`Hooks::maintain`].
    pub maintain: bool,
}

impl Wants {
    /// None of them.
    pub const NOTHING: Self = Self {
        screen: false,
        gate: false,
        recover: false,
        before_call: false,
        approve: false,
        finalize: false,
        stop: false,
        maintain: false,
    };
}

/// A prompt before its turn.
#[derive(Clone, Debug)]
pub struct ScreenQuestion {
    /// Its id.
    pub prompt: InputId,
    /// What it says.
    pub message: Content,
}

/// A step before its request. History is in the editor.
#[derive(Clone, Debug)]
pub struct GateQuestion {
    /// The step.
    pub step: StepId,
}

/// A failed attempt.
#[derive(Clone, Debug)]
pub struct RecoverQuestion {
    /// The attempt.
    pub attempt: AttemptId,
    /// Why it failed.
    pub error: Arc<ModelError>,
    /// Strategies that were used in this step.
    pub tried: Arc<[Text]>,
}

/// A call before it is judged.
#[derive(Clone, Debug)]
pub struct CallQuestion {
    /// The call.
    pub call: CallId,
    /// Its tool; it exists.
    pub tool: Text,
    /// Its arguments so far, the text of a JSON object.
    pub args: Text,
}

/// What to do with a call before it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeforeCall {
    /// Nothing.
    Proceed,
    /// Run it with these arguments, a JSON object. They are judged, approved and run (C03).
    Rewrite(Text),
    /// Run it if someone approves, whatever the tool says.
    Approve,
    /// Deny it.
    Deny(Text),
    /// Leave it out.
    Skip(Text),
    /// Answer in its place.
    Answer(ToolResult),
}

/// A call that needs an approval.
#[derive(Clone, Debug)]
pub struct ApproveQuestion {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: Text,
    /// Its final arguments: exactly these run.
    pub args: Text,
    /// Over tool and final arguments.
    pub digest: Digest,
}

/// A call that is over, before anyone is told.
#[derive(Clone, Debug)]
pub struct FinalizeQuestion {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: Text,
    /// How it ended; that stays.
    pub outcome: Outcome,
    /// What it brought.
    pub result: ToolResult,
}

/// A turn that would end.
#[derive(Clone, Debug)]
pub struct StopQuestion {
    /// The turn.
    pub turn: TurnId,
    /// How often it continued since the last input from outside.
    pub continued: u32,
    /// What was said.
    pub history: machine_core::history::History,
}

fn ready<'a, T: Send + 'a>(answer: T) -> HookFuture<'a, T> {
    Box::pin(std::future::ready(Ok(answer)))
}
