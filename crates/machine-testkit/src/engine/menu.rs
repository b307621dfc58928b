//! What the host of an explored engine may answer: a small menu per question, so that the space stays finite and
//! every kind of answer is in it.
use std::sync::Arc;

use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{
    Answer, Approval, Approved, AtTurnEnd, Executed, Gated, HookError, HookFailure, Piece, Plan, Prepared,
    Proceed, Question, Recovery, Remedy, Screened, StopVerdict, Timer,
};
use machine_core::config::{AfterAbort, AfterFailure};
use machine_core::ids::CallId;
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};

/// How large the world is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Menu {
    /// Calls in the first response of a turn.
    pub calls: u32,
    /// Steps with calls before a final answer.
    pub steps: u32,
    /// Failed attempts in the whole world.
    pub failures: u32,
    /// What may come besides answers.
    pub may: Allowed,
    /// Whether the calls of a batch touch the same path.
    pub conflict: bool,
}

/// What else may happen, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Allowed {
    /// Aborts.
    pub abort: u32,
    /// Prompts that join the running turn.
    pub steer: u32,
    /// Notifications.
    pub notify: u32,
    /// Prompts besides the first.
    pub prompts: u32,
    /// Calls that detach.
    pub detach: u32,
    /// Executions that nobody carries out any more.
    pub lost: u32,
    /// `cancel_call`.
    pub cancel: u32,
    /// `pause`; `resume` is then owed.
    pub pause: u32,
    /// Crashes of the host.
    pub crash: u32,
    /// `close`.
    pub close: u32,
    /// Whether calls ask for approval.
    pub approve: bool,
    /// Whether the first call of a batch may end it.
    pub stop_batch: bool,
    /// Whether calls have a timeout that may fire.
    pub timeout: bool,
    /// Whether hooks may fail or say no.
    pub refusals: bool,
    /// Maintenance.
    pub maintain: u32,
    /// Whether everything that fits nothing is tried after every input.
    pub stray: bool,
    /// What calls and the inbox choose.
    pub policies: Policies,
}

/// Choices of calls and of the inbox that change what happens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policies {
    /// Whether the first call of a batch is cut by prompts that join (C14).
    pub cut: bool,
    /// What the end of a turn means for calls in the background (C15).
    pub at_turn_end: AtTurnEnd,
    /// Whether calls may fail fatally (C09).
    pub fatal: bool,
    /// After a failed turn (A14).
    pub after_failure: AfterFailure,
    /// After an aborted turn (A15).
    pub after_abort: AfterAbort,
    /// Whether notifications are screened where prompts are (A11).
    pub screen_notifications: bool,
}

impl Menu {
    /// The answers that the host owes to a question.
    pub(crate) fn answers(&self, question: &Question, failures: u32, detach: u32) -> Vec<Reply> {
        let refusals = self.may.refusals;
        let failed = || Reply::Answer(Answer::Failed(HookError::new(HookFailure::Failed, "no")));
        let or = |yes: Vec<Reply>, no: Vec<Reply>| if refusals { [yes, no].concat() } else { yes };
        match question {
            Question::Screen { .. } => or(
                vec![Reply::Answer(Answer::Screen(Screened::Admit))],
                vec![Reply::Answer(Answer::Screen(Screened::Block("no".into()))), failed()],
            ),
            Question::Gate { .. } => or(
                vec![Reply::Answer(Answer::Gate(Gated::Proceed(Arc::new(Proceed::default()))))],
                vec![Reply::Answer(Answer::Gate(Gated::Block("no".into()))), failed()],
            ),
            Question::Attempt { attempt } => {
                let mut replies =
                    vec![Reply::Respond { calls: if attempt.step <= self.steps { self.calls } else { 0 } }];
                if failures > 0 {
                    replies.push(Reply::FailAttempt);
                }
                replies
            }
            Question::Recover { .. } => or(
                vec![Reply::Answer(Answer::Recover(Recovery::Decline))],
                vec![Reply::Answer(Answer::Recover(Recovery::Retry(Arc::new(remedy())))), failed()],
            ),
            Question::Prepare { call, .. } => or(
                vec![Reply::Answer(Answer::Prepare(Prepared::Ready(Arc::new(self.plan(*call)))))],
                vec![Reply::Answer(Answer::Prepare(Prepared::UnknownTool("no such tool".into()))), failed()],
            ),
            Question::Approve { digest, .. } => [Approval::Granted, Approval::Denied("no".into())]
                .map(|approval| {
                    Reply::Answer(Answer::Approve(Arc::new(Approved {
                        digest: *digest,
                        approval,
                        rule: None,
                    })))
                })
                .to_vec(),
            Question::Execute { .. } => {
                let done = Answer::Execute(Executed::Done(Arc::new(ToolResult::text("ok"))));
                let mut replies =
                    or(vec![Reply::Answer(done)], vec![Reply::Answer(Answer::Execute(Executed::Nothing))]);
                if self.may.policies.fatal {
                    let fatal = ToolResult { fatal: true, ..ToolResult::error("no") };
                    replies.push(Reply::Answer(Answer::Execute(Executed::Done(Arc::new(fatal)))));
                }
                if detach > 0 {
                    replies.push(Reply::Detach);
                }
                replies
            }
            Question::Finalize { .. } => {
                or(vec![Reply::Answer(Answer::Finalize(Arc::new(ToolResult::text("final"))))], vec![failed()])
            }
            Question::Stop { continued, .. } => {
                let go_on = StopVerdict::Continue(Arc::from([text_content("go on").into()]));
                let more = *continued == 0;
                or(
                    vec![Reply::Answer(Answer::Stop(StopVerdict::End))],
                    if more { vec![Reply::Answer(Answer::Stop(go_on)), failed()] } else { vec![failed()] },
                )
            }
            Question::Maintain { .. } => or(vec![Reply::Answer(Answer::Maintained)], vec![failed()]),
            Question::Timer { .. } => vec![Reply::Answer(Answer::Fired)],
        }
    }

    /// What a call touches.
    pub(crate) fn plan(&self, call: CallId) -> Plan {
        let path = if self.conflict { "/same".to_owned() } else { format!("/{}", call.index) };
        Plan {
            access: Access::from(Touch::path(Mode::Write, path)),
            approval: self.may.approve && call.index == 0,
            stop_batch: self.may.stop_batch && call.index == 0,
            timeout_ms: self.may.timeout.then_some(1_000),
            cut_by_steer: self.may.policies.cut && call.index == 0,
            at_turn_end: self.may.policies.at_turn_end,
            ..Plan::default()
        }
    }
}

/// Whether somebody must answer: a timer that only guards against silence may never fire, an execution that was taken
/// back may never end.
pub(crate) fn is_owed(question: &Question, withdrawn: bool) -> bool {
    match question {
        Question::Timer { timer: Timer::StreamIdle(_) | Timer::CallTimeout(_), .. } => false,
        Question::Execute { .. } => !withdrawn,
        _ => true,
    }
}

/// An answer, or several inputs that make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Answer(Answer),
    Respond { calls: u32 },
    FailAttempt,
    Detach,
}

fn remedy() -> Remedy {
    Remedy { strategy: "shorter".into(), progress: false, instead: None, for_turn: false, usage: None }
}

/// The pieces of a response: text, then calls.
pub(crate) fn pieces(calls: u32) -> Vec<Piece> {
    let start = |index| ModelEvent::CallStart { index, id: "id".into(), tool: "tool".into() };
    let text = ModelEvent::Text("text".into());
    std::iter::once(text).chain((0..calls).map(start)).map(Piece::Model).collect()
}

/// A proper end.
pub(crate) fn finished() -> Answer {
    Answer::Finished(Arc::new(Finished::new(Finish::EndTurn)))
}

/// A failure that is worth a retry.
pub(crate) fn failed_attempt() -> Answer {
    Answer::AttemptFailed(Arc::new(ModelError::new(Failure::Overloaded, "busy")))
}
