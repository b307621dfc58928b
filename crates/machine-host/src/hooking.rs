//! How hooks are given to an agent: whole, or one closure at a time, and in which order (H01).
use std::panic::Location;
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Gated, Recovery, Screened, StopVerdict};
use machine_core::input::Input;
use machine_core::outcome::ToolResult;

use crate::approvals::Decision;
use crate::builder::AgentBuilder;
use crate::closures::{
    OnApprove, OnCall, OnFinalize, OnGate, OnMaintain, OnRecover, OnScreen, OnSeal, OnSessionStart,
    OnStepEnded, OnStop, OnTurnEnded,
};
use crate::editor::Editor;
use crate::error::BoxError;
use crate::hooks::{
    ApproveQuestion, BeforeCall, CallQuestion, EndedStep, EndedTurn, FinalizeQuestion, GateQuestion, Hooks,
    RecoverQuestion, ScreenQuestion, SessionQuestion, StopQuestion,
};
use crate::say::Say;

impl AgentBuilder {
    /// Hooks. They run in the order in which they are added, unless their names say otherwise: then, of those that may
    /// come next, the one that was added first does (H01).
    #[track_caller]
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.add(Arc::new(hooks), Location::caller());
        self
    }

    /// Names the hook that was added last, in place of its own [`name`](Hooks::name). Names are unique:
    /// `.finalize(redact).named("redact").runs_before("audit")`.
    #[track_caller]
    pub fn named(mut self, name: impl Into<Text>) -> Self {
        self.hooks.named(name.into(), Location::caller());
        self
    }

    /// The hook that was added last runs before the one of this name, wherever that is added (H01).
    #[track_caller]
    pub fn runs_before(mut self, other: impl Into<Text>) -> Self {
        self.hooks.before(other.into(), Location::caller());
        self
    }

    /// The hook that was added last runs after the one of this name, wherever that is added (H01).
    #[track_caller]
    pub fn runs_after(mut self, other: impl Into<Text>) -> Self {
        self.hooks.after(other.into(), Location::caller());
        self
    }

    /// A hook: [`Hooks::session_start`].
    #[track_caller]
    pub fn session_start<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(SessionQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Say>, BoxError>> + Send + 'static,
    {
        self.closure(OnSessionStart(hook))
    }

    /// A hook that watches: [`Hooks::step_ended`].
    #[track_caller]
    pub fn step_ended<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(EndedStep) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.closure(OnStepEnded(hook))
    }

    /// A hook that watches: [`Hooks::turn_ended`].
    #[track_caller]
    pub fn turn_ended<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(EndedTurn) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.closure(OnTurnEnded(hook))
    }

    /// A hook: [`Hooks::screen`].
    #[track_caller]
    pub fn screen<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(ScreenQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Screened, BoxError>> + Send + 'static,
    {
        self.closure(OnScreen(hook))
    }

    /// A hook: [`Hooks::gate`].
    #[track_caller]
    pub fn gate<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(GateQuestion, Editor) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Gated, BoxError>> + Send + 'static,
    {
        self.closure(OnGate(hook))
    }

    /// A hook: [`Hooks::recover`].
    #[track_caller]
    pub fn recover<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(RecoverQuestion, Editor) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Recovery, BoxError>> + Send + 'static,
    {
        self.closure(OnRecover(hook))
    }

    /// A hook: [`Hooks::before_call`].
    #[track_caller]
    pub fn before_call<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(CallQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<BeforeCall, BoxError>> + Send + 'static,
    {
        self.closure(OnCall(hook))
    }

    /// A hook that decides every approval, with an [`Approval`](machine_core::ask::Approval) or a
    /// [`Rule`](crate::Rule): [`Hooks::approve`]. Without one an approval waits for
    /// [`Agent::decide`](crate::Agent::decide).
    #[track_caller]
    pub fn approve<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(ApproveQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: Into<Decision>> + Send + 'static,
    {
        self.closure(OnApprove(hook))
    }

    /// A hook: [`Hooks::finalize`].
    #[track_caller]
    pub fn finalize<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(FinalizeQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ToolResult, BoxError>> + Send + 'static,
    {
        self.closure(OnFinalize(hook))
    }

    /// A hook: [`Hooks::stop`].
    #[track_caller]
    pub fn stop<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(StopQuestion) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<StopVerdict, BoxError>> + Send + 'static,
    {
        self.closure(OnStop(hook))
    }

    /// A hook: [`Hooks::maintain`].
    #[track_caller]
    pub fn maintenance<F, Fut>(self, hook: F) -> Self
    where
        F: Fn(u32, Editor) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.closure(OnMaintain(hook))
    }

    /// A hook: [`Hooks::seal`].
    #[track_caller]
    pub fn seal(self, hook: impl Fn(&mut Input) + Send + Sync + 'static) -> Self {
        self.closure(OnSeal(hook))
    }

    #[track_caller]
    fn closure(mut self, hook: impl Hooks) -> Self {
        self.hooks.add_closure(Arc::new(hook), Location::caller());
        self
    }
}
