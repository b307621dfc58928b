//! Model, tools and hooks of a scenario, as the real host calls them.
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

use machine_adapter::Request;
use machine_core::Text;
use machine_core::ask::{Executed, Gated, Plan, Recovery, Screened, StopVerdict};
use machine_core::config::ToolSpec;
use machine_core::ids::CallId;
use machine_core::outcome::ToolResult;
use machine_core::response::{Finished, ModelError};
use machine_host::{
    BeforeCall, BoxError, BoxFuture, CallQuestion, Editor, FinalizeQuestion, GateQuestion, HookFuture, Hooks,
    Model, ModelOut, RecoverQuestion, Reject, Say, ScreenQuestion, StopQuestion, Tool, ToolCx, ToolError,
    Wants,
};

use crate::scenario::call::{Call, Delegate, Ends, OnCancel, Prepare, ReportAt};
use crate::scenario::cast::{Named, Take, TakeEnd};
use crate::scenario::file::Role;
use crate::scenario::hook::Hook;
use crate::scenario::hosted::house::{House, Seat};
use crate::scenario::hosted::lock;
use crate::scenario::hosted::stage::Waiting;
use crate::scenario::says;

/// One agent's model, and what its tools and hooks know.
#[derive(Clone)]
pub(crate) struct Player {
    pub(crate) house: Arc<House>,
    pub(crate) seat: Arc<Seat>,
    /// The opening in which it plays.
    pub(crate) opening: u32,
}

impl Player {
    fn arrange(&self, after: u64) -> Waiting {
        self.house.stage.arrange(self.seat.rank, after)
    }

    /// What a dead process still begins uses up nothing of the script.
    async fn is_on_stage(&self) {
        if self.opening != self.seat.opening() {
            std::future::pending().await
        }
    }
}

impl Model for Player {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(async move {
            self.is_on_stage().await;
            let Take { pieces, ends_at, end } = lock(&self.seat.cast).take(request);
            let arranged: Vec<_> = pieces.into_iter().map(|(at, event)| (self.arrange(at), event)).collect();
            let over = self.arrange(ends_at);
            for (waiting, event) in arranged {
                waiting.turn().await;
                out.event(event).await;
            }
            if matches!(end, TakeEnd::Silent) {
                drop(over);
                return std::future::pending().await;
            }
            over.turn().await;
            match end {
                TakeEnd::Finished(finished) => Ok(finished),
                TakeEnd::Failed(error) => Err(error),
                TakeEnd::Panics(why) => panics(&why),
                TakeEnd::Silent => std::future::pending().await,
            }
        })
    }
}

/// A tool of a scenario. How a call of it goes is found by the call's id.
pub(crate) struct Prop {
    player: Player,
    spec: ToolSpec,
    /// Every call of it obeys a cancel at once.
    obeys: bool,
    plans: Arc<Mutex<Option<CallId>>>,
}

impl Prop {
    pub(crate) fn new(player: Player, spec: ToolSpec, role: &Role) -> Self {
        let obeys = |call: &Call| {
            matches!(call.on_cancel, OnCancel::Obeys) && !matches!(call.ends, Some(Ends::Agent(_)))
        };
        let obeys = role.calls_of(&spec.name).all(obeys);
        let plans = lock(&player.seat.cast).planning.clone();
        Self { player, spec, obeys, plans }
    }

    fn named(&self, call: CallId) -> Option<Named> {
        lock(&self.player.seat.cast).named(call).cloned()
    }
}

/// What a call does at a time.
enum Act {
    Progress(Text),
    Output(Text),
    Detach(Text),
    End(Executed),
}

impl Tool for Prop {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn plan(&self, _: &str) -> Result<Plan, Reject> {
        // The host asks the hook before a call and then the tool, with nothing between.
        let call = lock(&self.plans).take();
        let Some(named) = call.and_then(|call| self.named(call)) else { return Ok(Plan::default()) };
        match &named.call.prepare {
            Some(Prepare::Invalid(why)) => Err(Reject::Invalid(why.clone())),
            _ => Ok(named.call.planned()),
        }
    }

    fn call(&self, _: Text, cx: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            self.player.is_on_stage().await;
            let name = lock(&self.player.seat.cast).names.call(cx.call());
            lock(&self.player.seat.cast).starts.push(name.clone());
            let Some(named) = self.named(cx.call()) else { return std::future::pending().await };
            if let Some(Ends::Agent(delegate)) = &named.call.ends {
                return self.delegate(&name, delegate, &cx).await;
            }
            let on_cancel = named.call.on_cancel.clone();
            tokio::select! {
                biased;
                end = self.go(&name, &named.call, &cx) => end,
                report = stopped(&cx, &on_cancel) => {
                    let Some(report) = report else { return ended(Executed::Nothing) };
                    self.player.arrange(report.at).turn().await;
                    match named.call.done(&report.ends) {
                        Some(end) => ended(end),
                        None => std::future::pending().await,
                    }
                }
            }
        })
    }

    fn drop_on_cancel(&self) -> bool {
        self.obeys
    }
}

impl Prop {
    /// Everything that the call does by itself, in the order of the simulator.
    async fn go(&self, name: &str, call: &Call, cx: &ToolCx) -> Result<ToolResult, ToolError> {
        let mut acts: Vec<(u64, Act)> = Vec::new();
        acts.extend(call.progress.iter().map(|said| (said.at, Act::Progress(said.text.clone()))));
        acts.extend(call.output.iter().map(|said| (said.at, Act::Output(said.text.clone()))));
        acts.extend(call.detach.iter().map(|said| (said.at, Act::Detach(said.text.clone()))));
        acts.extend(call.end(name).map(|(at, end)| (at, Act::End(end))));
        let mut acts: Vec<_> = acts.into_iter().map(|(at, act)| (at, self.player.arrange(at), act)).collect();
        acts.sort_by_key(|(at, ..)| *at);
        for (_, waiting, act) in acts {
            waiting.turn().await;
            match act {
                Act::Progress(text) => cx.progress(text),
                Act::Output(text) => cx.output(text).await,
                Act::Detach(text) => cx.detach(text).await,
                Act::End(end) => return ended(end),
            }
        }
        std::future::pending().await
    }

    /// Runs an agent as this call.
    async fn delegate(&self, call: &str, delegate: &Delegate, cx: &ToolCx) -> Result<ToolResult, ToolError> {
        let Player { house, seat, .. } = &self.player;
        let name = if seat.name.is_empty() { call.to_owned() } else { format!("{}/{call}", seat.name) };
        self.player.arrange_first(delegate.opens_after).turn().await;
        let child = Box::pin(house.open(&delegate.role, &name, Some((cx, seat)))).await?;
        let Some(agent) = child.agent() else { return Err(ToolError::failed("it is gone")) };
        let end = cx.delegate(&agent, Say::text(delegate.prompt.as_str()).id("prompt")).await;
        drop(agent);
        child.leave().await;
        end
    }
}

impl Player {
    /// The opening of an agent comes before what agents bring at the same tick.
    fn arrange_first(&self, after: u64) -> Waiting {
        self.house.stage.arrange(0, after)
    }
}

/// What a call does when it is cancelled; none: it stops without a word.
async fn stopped(cx: &ToolCx, on_cancel: &OnCancel) -> Option<ReportAt> {
    let report = match on_cancel {
        OnCancel::Ignores => return std::future::pending().await,
        OnCancel::Obeys => None,
        OnCancel::Ends(report) => Some(report.clone()),
    };
    cx.cancelled().await;
    report
}

fn ended(end: Executed) -> Result<ToolResult, ToolError> {
    match end {
        Executed::Done(result) => Ok((*result).clone()),
        Executed::Malformed(why) => Err(ToolError::malformed(why)),
        Executed::Panicked(why) => panics(&why),
        Executed::Nothing => Err(ToolError::failed("")),
    }
}

/// A panic without the message that the panic hook would print.
fn panics(why: &str) -> ! {
    resume_unwind(Box::new(why.to_owned()))
}

/// The hooks of a scenario.
pub(crate) struct Hooked {
    player: Player,
    wants: Wants,
    plans: Arc<Mutex<Option<CallId>>>,
}

impl Hooked {
    pub(crate) fn new(player: Player, role: &Role) -> Self {
        let hooks = &role.hooks;
        let wants = Wants {
            screen: hooks.screen.is_some(),
            gate: hooks.gate.is_some(),
            recover: hooks.recover.is_some(),
            before_call: true,
            finalize: role.finalizes(),
            stop: hooks.stop.is_some(),
            maintain: hooks.maintain.is_some(),
            ..Wants::NOTHING
        };
        let plans = lock(&player.seat.cast).planning.clone();
        Self { player, wants, plans }
    }

    /// What a hook does this time; without a script it agrees.
    async fn play<T>(&self, hook: Option<Hook<T>>, editor: Option<Editor>) -> Result<Option<T>, BoxError> {
        let Some(Hook { takes, edits, says, fails, panics: panic, hangs }) = hook else { return Ok(None) };
        self.player.arrange(takes).turn().await;
        if let Some(editor) = editor {
            for edit in edits.into_iter().map(says::edit) {
                // One that is refused is reported; the script goes on.
                let _ = editor.edit(edit).await;
            }
        }
        match (fails, panic) {
            _ if hangs => std::future::pending().await,
            (Some(why), _) => Err(BoxError::from(&*why)),
            (None, Some(why)) => panics(&why),
            (None, None) => Ok(says),
        }
    }
}

impl Hooks for Hooked {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn name(&self) -> &str {
        says::HOOK
    }

    fn screen(&self, _: ScreenQuestion) -> HookFuture<'_, Screened> {
        Box::pin(async move {
            self.player.is_on_stage().await;
            let hook = lock(&self.player.seat.cast).hook("screen", |role| &role.hooks.screen);
            Ok(self.play(hook, None).await?.map_or(Screened::Admit, says::screened))
        })
    }

    fn gate(&self, _: GateQuestion, editor: Editor) -> HookFuture<'_, Gated> {
        Box::pin(async move {
            self.player.is_on_stage().await;
            let hook = lock(&self.player.seat.cast).hook("gate", |role| &role.hooks.gate);
            let says = self.play(hook, Some(editor)).await?;
            Ok(says.map_or_else(|| Gated::Proceed(Arc::default()), says::gated))
        })
    }

    fn recover(&self, _: RecoverQuestion, editor: Editor) -> HookFuture<'_, Recovery> {
        Box::pin(async move {
            self.player.is_on_stage().await;
            let hook = lock(&self.player.seat.cast).hook("recover", |role| &role.hooks.recover);
            Ok(self.play(hook, Some(editor)).await?.map_or(Recovery::Decline, says::recovery))
        })
    }

    fn before_call(&self, question: CallQuestion) -> HookFuture<'_, BeforeCall> {
        Box::pin(async move {
            self.player.is_on_stage().await;
            let named = lock(&self.player.seat.cast).named(question.call).cloned();
            let call = named.map(|named| named.call).unwrap_or_default();
            if matches!(call.prepare, Some(Prepare::Hangs)) {
                return std::future::pending().await;
            }
            self.player.arrange(call.prepare_takes).turn().await;
            *lock(&self.plans) = Some(question.call);
            Ok(match call.prepare {
                Some(Prepare::Rewrite(args)) => BeforeCall::Rewrite(args.0.text()),
                Some(Prepare::Deny(why)) => BeforeCall::Deny(why),
                Some(Prepare::Skip(why)) => BeforeCall::Skip(why),
                Some(Prepare::Answer(text)) => BeforeCall::Answer(ToolResult::text(text)),
                Some(Prepare::Fails(why)) => return Err(BoxError::from(&*why)),
                Some(Prepare::Panics(why)) => panics(&why),
                None | Some(Prepare::Unknown | Prepare::Invalid(_) | Prepare::Hangs) => BeforeCall::Proceed,
            })
        })
    }

    fn finalize(&self, question: FinalizeQuestion) -> HookFuture<'_, ToolResult> {
        Box::pin(async move {
            self.player.is_on_stage().await;
            let hook =
                lock(&self.player.seat.cast).named(question.call).and_then(|n| n.call.finalize.clone());
            Ok(says::finalized(self.play(hook, None).await?, question.result))
        })
    }

    fn stop(&self, _: StopQuestion) -> HookFuture<'_, StopVerdict> {
        Box::pin(async move {
            self.player.is_on_stage().await;
            let hook = lock(&self.player.seat.cast).hook("stop", |role| &role.hooks.stop);
            Ok(self.play(hook, None).await?.map_or(StopVerdict::End, says::stop))
        })
    }

    fn maintain(&self, _: u32, editor: Editor) -> HookFuture<'_, ()> {
        Box::pin(async move {
            self.player.is_on_stage().await;
            let hook = lock(&self.player.seat.cast).hook("maintain", |role| &role.hooks.maintain);
            self.play(hook, Some(editor)).await.map(drop)
        })
    }
}
