//! A hook from one closure: what the builder makes of `.approve(…)` and its like.
use machine_core::ask::{Gated, Recovery, Screened, StopVerdict};
use machine_core::input::Input;
use machine_core::outcome::ToolResult;

use crate::approvals::Decision;
use crate::editor::Editor;
use crate::error::BoxError;
use crate::hooks::{
    ApproveQuestion, BeforeCall, CallQuestion, EndedStep, EndedTurn, FinalizeQuestion, GateQuestion,
    HookFuture, Hooks, RecoverQuestion, ScreenQuestion, SessionQuestion, StopQuestion, Wants,
};
use crate::say::Say;

macro_rules! closure {
    ($(#[$doc:meta])* $name:ident: $question:ident($($arg:ident: $type:ty),+) -> $answer:ty) => {
        $(#[$doc])*
        pub(crate) struct $name<F>(pub(crate) F);

        impl<F, Fut> Hooks for $name<F>
        where
            F: Fn($($type),+) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<$answer, BoxError>> + Send + 'static,
        {
            fn wants(&self) -> Wants {
                Wants { $question: true, ..Wants::NOTHING }
            }

            fn name(&self) -> &str {
                concat!("the closure `", stringify!($question), "`")
            }

            fn $question(&self, $($arg: $type),+) -> HookFuture<'_, $answer> {
                Box::pin((self.0)($($arg),+))
            }
        }
    };
}

closure! {
    /// `.session_start(…)`
    OnSessionStart: session_start(session: SessionQuestion) -> Vec<Say>
}
closure! {
    /// `.step_ended(…)`
    OnStepEnded: step_ended(step: EndedStep) -> ()
}
closure! {
    /// `.turn_ended(…)`
    OnTurnEnded: turn_ended(turn: EndedTurn) -> ()
}
closure! {
    /// `.screen(…)`
    OnScreen: screen(prompt: ScreenQuestion) -> Screened
}
closure! {
    /// `.gate(…)`
    OnGate: gate(step: GateQuestion, editor: Editor) -> Gated
}
closure! {
    /// `.recover(…)`
    OnRecover: recover(failed: RecoverQuestion, editor: Editor) -> Recovery
}
closure! {
    /// `.before_call(…)`
    OnCall: before_call(call: CallQuestion) -> BeforeCall
}
closure! {
    /// `.finalize(…)`
    OnFinalize: finalize(call: FinalizeQuestion) -> ToolResult
}
closure! {
    /// `.stop(…)`
    OnStop: stop(turn: StopQuestion) -> StopVerdict
}
closure! {
    /// `.maintenance(…)`
    OnMaintain: maintain(n: u32, editor: Editor) -> ()
}

/// `.approve(…)`: a closure that always decides.
pub(crate) struct OnApprove<F>(pub(crate) F);

impl<F, Fut> Hooks for OnApprove<F>
where
    F: Fn(ApproveQuestion) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Into<Decision>> + Send + 'static,
{
    fn wants(&self) -> Wants {
        Wants { approve: true, ..Wants::NOTHING }
    }

    fn name(&self) -> &str {
        "the closure `approve`"
    }

    fn approve(&self, call: ApproveQuestion) -> HookFuture<'_, Option<Decision>> {
        let deciding = (self.0)(call);
        Box::pin(async move { Ok(Some(deciding.await.into())) })
    }
}

/// `.seal(…)`
pub(crate) struct OnSeal<F>(pub(crate) F);

impl<F: Fn(&mut Input) + Send + Sync + 'static> Hooks for OnSeal<F> {
    fn wants(&self) -> Wants {
        Wants { seal: true, ..Wants::NOTHING }
    }

    fn name(&self) -> &str {
        "the closure `seal`"
    }

    fn seal(&self, input: &mut Input) {
        (self.0)(input);
    }
}
