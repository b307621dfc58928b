//! Answers for hosts that drive the engine by hand and do not care for every question.
use alloc::sync::Arc;

use machine_core::ask::{
    Answer, Approval, Approved, Ask, Gated, Plan, Prepared, Proceed, Question, Recovery, Screened,
    StopVerdict,
};
use machine_core::input::Input;
use machine_core::outcome::ToolResult;

/// The default answer to a question: prompts are admitted, steps and calls may go on with nothing beside them, results
/// stay as they are, turns may end. Approvals are denied: nobody was asked. None for acts and timers, which are the
/// host's work.
pub fn default_answer(ask: &Ask) -> Option<Input> {
    let answer = match &ask.question {
        Question::Screen { .. } => Answer::Screen(Screened::Admit),
        Question::Gate { .. } => Answer::Gate(Gated::Proceed(Arc::new(Proceed::default()))),
        Question::Recover { .. } => Answer::Recover(Recovery::Decline),
        Question::Prepare { .. } => Answer::Prepare(Prepared::Ready(Arc::new(Plan::default()))),
        Question::Approve { digest, .. } => {
            let approval = Approval::Denied("nobody was asked".into());
            Answer::Approve(Arc::new(Approved { digest: *digest, approval, rule: None }))
        }
        Question::Finalize { result, .. } => {
            Answer::Finalize(result.clone().unwrap_or_else(|| Arc::new(ToolResult::default())))
        }
        Question::Stop { .. } => Answer::Stop(StopVerdict::End),
        Question::Maintain { .. } => Answer::Maintained,
        Question::Attempt { .. } | Question::Execute { .. } | Question::Timer { .. } => return None,
    };
    Some(Input::Answer { ask: ask.id, answer })
}
