//! What a host decides beyond running model and tools (H01).
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Gated, Proceed, Recovery, Screened, StopVerdict};
use machine_core::digest::Digest;
use machine_core::event::{Sealed, TurnEnd};
use machine_core::history::History;
use machine_core::ids::{AttemptId, CallId, InputId, StepId, TurnId};
use machine_core::input::Input;
use machine_core::message::Content;
use machine_core::outcome::{Outcome, ToolResult};
use machine_core::response::ModelError;

use crate::approvals::Decision;
use crate::editor::Editor;
use crate::error::BoxError;
use crate::model::BoxFuture;
use crate::say::Say;

/// A hook's answer. An error, a panic or a time that is up is reported, and the question takes its closed default:
/// a prompt is dropped, a step fails, a call does not run, a result is withheld, a turn ends (H02).
pub type HookFuture<'a, T> = BoxFuture<'a, Result<T, BoxError>>;

/// Answers questions. Those that no hook [`wants`](Self::wants) are never asked and cost nothing.
///
/// Several hooks form a chain, in the order in which the builder got them unless
/// [`runs_before`](crate::AgentBuilder::runs_before) or [`runs_after`](crate::AgentBuilder::runs_after) say otherwise:
/// each sees what those before it changed, and the first that blocks, denies, recovers or continues decides (H01).
/// Every hook but an approval and maintenance has a time, and all of them end when what they are asked for is no longer
/// needed: their future is dropped (X02).
///
/// | when | method | may |
/// |---|---|---|
/// | a session starts | [`session_start`](Self::session_start) | tell the first request something |
/// | before a prompt | [`screen`](Self::screen) | rewrite, block |
/// | before a step | [`gate`](Self::gate) | set tools, system text, settings; add messages; edit history; block |
/// | a request failed | [`recover`](Self::recover) | edit history, ask again, end |
/// | before a call | [`before_call`](Self::before_call) | rewrite, deny, skip, answer, demand an approval |
/// | a call needs an approval | [`approve`](Self::approve) | grant, deny, leave it to others |
/// | after a call | [`finalize`](Self::finalize) | rewrite the result |
/// | a step is over | [`step_ended`](Self::step_ended) | watch |
/// | a turn would end | [`stop`](Self::stop) | continue |
/// | a turn is over | [`turn_ended`](Self::turn_ended) | watch |
/// | maintenance | [`maintain`](Self::maintain) | edit history |
/// | an input is written | [`seal`](Self::seal) | take out what must not be kept |
///
/// Hooks that watch are told after it happened, each in its own time and in order; the turn does not wait for them. One
/// that fails, panics or takes too long is reported in the log (a `tracing` warning), nothing else; one that falls
/// too far behind misses some. To see everything subscribe to [`Agent::events`](crate::Agent::events) (E04).
pub trait Hooks: Send + Sync + 'static {
    /// Which questions it wants. Asked once, when the agent is opened.
    fn wants(&self) -> Wants;

    /// Stands in reports about it; no other hook of the agent may have it.
    /// [`AgentBuilder::named`](crate::AgentBuilder::named) gives another.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// A session starts: what is to be known from the first request on. Each text is journaled as an injection, in the
    /// order of the hooks. Asked at each opening until the session had its first turn; what an earlier opening brought
    /// stays as it is. If it fails, or its texts cannot all be taken (an id twice, more than `inbox.next_step`), the agent
    /// is not opened.
    fn session_start(&self, session: SessionQuestion) -> HookFuture<'_, Vec<Say>> {
        let _ = session;
        ready(Vec::new())
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

    /// May exactly this run? It may take as long as a person takes. None: that is for another to say (C04). With a
    /// [`Rule`](crate::Rule) it also answers for what the rule covers (C16).
    fn approve(&self, call: ApproveQuestion) -> HookFuture<'_, Option<Decision>> {
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

    /// A step is over. Watches only.
    fn step_ended(&self, step: EndedStep) -> HookFuture<'_, ()> {
        let _ = step;
        ready(())
    }

    /// A turn is over. Watches only.
    fn turn_ended(&self, turn: EndedTurn) -> HookFuture<'_, ()> {
        let _ = turn;
        ready(())
    }

    /// Maintenance was begun: compact, import (A17). Its edits count when the last hook is done.
    fn maintain(&self, n: u32, editor: Editor) -> HookFuture<'_, ()> {
        let _ = (n, editor);
        ready(())
    }

    /// Maps an input before it is written to the journal: secrets, personal data (J11). What comes out is written *and*
    /// handled: what is taken out here the model does not see either. Content may change; which input it is, what it
    /// answers and its id may not. Each is seen once, deltas of a stream one by one; the configuration as the command
    /// that sets it. It must be quick, and give the same for the same configuration. If it panics the input is neither
    /// written nor handled, and the agent is faulted (J10).
    fn seal(&self, input: &mut Input) {
        let _ = input;
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
    /// [`Hooks::session_start`].
    pub session_start: bool,
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
    /// [`Hooks::step_ended`].
    pub step_ended: bool,
    /// [`Hooks::turn_ended`].
    pub turn_ended: bool,
    /// [`Hooks::maintain`].
    pub maintain: bool,
    /// [`Hooks::seal`].
    pub seal: bool,
}

impl Wants {
    /// None of them.
    pub const NOTHING: Self = Self {
        session_start: false,
        screen: false,
        gate: false,
        recover: false,
        before_call: false,
        approve: false,
        finalize: false,
        stop: false,
        step_ended: false,
        turn_ended: false,
        maintain: false,
        seal: false,
    };
}

/// A session that had no turn yet.
#[derive(Clone, Debug)]
pub struct SessionQuestion {
    /// It stands in every id of the session (V02).
    pub branch: u32,
}

/// A step that is over.
#[derive(Clone, Debug)]
pub struct EndedStep {
    /// The step.
    pub step: StepId,
    /// Why it was cut short, if it was (T06).
    pub sealed: Option<Sealed>,
    /// What was said.
    pub history: History,
}

/// A turn that is over.
#[derive(Clone, Debug)]
pub struct EndedTurn {
    /// How it ended.
    pub end: TurnEnd,
    /// What was said.
    pub history: History,
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
    pub history: History,
}

fn ready<'a, T: Send + 'a>(answer: T) -> HookFuture<'a, T> {
    Box::pin(std::future::ready(Ok(answer)))
}
