//! What a log or trace shows of an agent: a span for a turn, and below it one for each request to the model and one for each call
//! that runs. Their names are in [`names`]. Only what is done has a span, not what is played again.
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};

use machine_adapter::engine::Admitted;
use machine_adapter::trace::{Transition, Who};
use machine_adapter::{Engine, Out, Request};
use machine_core::Text;
use machine_core::event::{AttemptEnd, EndReason, Event, TurnEnd};
use machine_core::ids::{AttemptId, CallId, TurnId};
use machine_core::machine::Step;
use machine_core::outcome::Outcome;
use machine_core::response::ModelEvent;
use machine_core::usage::Usage;
use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Span, debug, info_span, trace, warn};

use crate::model::{Model, ModelIdentity};
use crate::names;
use crate::waiters::Waiters;

mod words;

/// The spans that are open. One that nobody wants is disabled, and costs nothing.
#[derive(Debug)]
pub(crate) struct Spans {
    /// The agent's name.
    agent: Option<Text>,
    /// None: nothing was done in this turn here.
    turn: Span,
    /// Whether the span of the turn tells the model.
    told: bool,
    attempt: Span,
    /// The provider's id of the response that streams.
    response: Option<Text>,
    calls: BTreeMap<CallId, Span>,
}

impl Spans {
    /// Of an agent that may be in the middle of a turn: its span begins with what is done first.
    pub(crate) fn new(agent: Option<Text>) -> Self {
        let (turn, attempt) = (Span::none(), Span::none());
        Self { agent, turn, told: false, attempt, response: None, calls: BTreeMap::new() }
    }

    /// What hooks stand below: the turn.
    pub(crate) fn turn(&self) -> &Span {
        &self.turn
    }

    /// Lets the engine handle an input. Whoever looks is told every transition (E02).
    pub(crate) fn handle(&self, engine: &mut Engine, at: u64, input: Admitted<'_>, out: &mut Out) {
        if somebody_looks(LevelFilter::TRACE) {
            engine.handle_traced(at, input, out, &mut |transition| self.transition(&transition));
        } else {
            engine.handle(at, input, out);
        }
    }

    /// Something happened. `waiters`: who asked for it.
    pub(crate) fn see(&mut self, event: &Event, waiters: &Waiters) {
        match event {
            Event::TurnStarted { turn, prompt } => {
                let asked_in = prompt.as_ref().and_then(|prompt| waiters.asked_in(prompt));
                self.begin_turn(*turn, asked_in);
            }
            Event::TurnEnded(end) => self.end_turn(end),
            Event::StepStarted { step } => {
                debug!(parent: &self.turn, message = "step", { names::STEP } = %step)
            }
            Event::Delta { delta: ModelEvent::MessageId(id), .. } if !self.attempt.is_disabled() => {
                self.response = Some(id.clone());
            }
            Event::AttemptEnded { end, usage, request_id, .. } => {
                self.end_attempt(end, *usage, request_id.as_deref());
            }
            Event::Retrying { failed, delay_ms, error, .. } => {
                let error = words::failure(error.kind);
                debug!(parent: &self.turn, error, delay_ms, { names::ATTEMPT } = %failed, "retrying");
            }
            Event::ApprovalAsked { call, .. } => {
                debug!(parent: &self.turn, message = "approval asked", { names::CALL } = %call);
            }
            Event::ApprovalAnswered { call, rule, .. } => {
                debug!(parent: &self.turn, rule = rule.as_deref(), { names::CALL } = %call, "approval answered");
            }
            Event::CallSettled { call, outcome, background: false }
            | Event::BackgroundEnded { call, outcome } => {
                self.end_call(*call, outcome);
            }
            Event::HookFailed { question, error } => {
                warn!(parent: &self.turn, %question, %error, "a hook failed");
            }
            Event::Faulted { cause } => self.fault(cause),
            _ => {}
        }
    }

    /// A request to the model.
    pub(crate) fn attempt(&mut self, attempt: AttemptId, request: &Request, model: &dyn Model) -> Span {
        self.work_on(attempt.step().turn());
        let identity = if somebody_looks(LevelFilter::INFO) {
            identity(model, request)
        } else {
            ModelIdentity::default()
        };
        let (provider, name) = (identity.provider.as_deref(), identity.model.as_deref());
        if !self.told && !self.turn.is_disabled() {
            self.turn.record(names::PROVIDER, provider).record(names::REQUEST_MODEL, name);
            self.told = true;
        }
        let span = info_span!(
            parent: &self.turn,
            names::CHAT,
            { names::OTEL_NAME } = %Named(names::CHAT, name),
            { names::OTEL_KIND } = "client",
            { names::OTEL_STATUS_CODE } = Empty,
            { names::ERROR_TYPE } = Empty,
            { names::OPERATION } = names::CHAT,
            { names::PROVIDER } = provider,
            { names::CONVERSATION_ID } = %attempt.branch,
            { names::REQUEST_MODEL } = name,
            { names::RESPONSE_ID } = Empty,
            { names::FINISH_REASONS } = Empty,
            { names::FIRST_CHUNK } = Empty,
            { names::INPUT_TOKENS } = Empty,
            { names::OUTPUT_TOKENS } = Empty,
            { names::CACHED_TOKENS } = Empty,
            { names::STEP } = %attempt.step(),
            { names::ATTEMPT } = %attempt,
            { names::END } = Empty,
            { names::REQUEST_ID } = Empty,
        );
        self.attempt = span.clone();
        span
    }

    /// A call that runs.
    pub(crate) fn call(&mut self, call: CallId, tool: &str, engine: &Engine) -> Span {
        self.work_on(call.step().turn());
        let span = info_span!(
            parent: &self.turn,
            names::EXECUTE_TOOL,
            { names::OTEL_NAME } = %Named(names::EXECUTE_TOOL, Some(tool)),
            { names::OTEL_STATUS_CODE } = Empty,
            { names::ERROR_TYPE } = Empty,
            { names::OPERATION } = names::EXECUTE_TOOL,
            { names::TOOL_NAME } = tool,
            { names::TOOL_CALL_ID } = wire(call, engine),
            { names::TOOL_TYPE } = "function",
            { names::STEP } = %call.step(),
            { names::CALL } = %call,
            { names::END } = Empty,
        );
        if !span.is_disabled() {
            self.calls.insert(call, span.clone());
        }
        span
    }

    /// Something is done in this turn. If it began before this opening, or before a rest, its span begins now.
    fn work_on(&mut self, turn: TurnId) {
        if self.turn.is_none() {
            self.begin_turn(turn, None);
        }
    }

    fn begin_turn(&mut self, turn: TurnId, asked_in: Option<&Span>) {
        let agent = self.agent.as_deref();
        self.told = false;
        self.turn = info_span!(
            parent: asked_in.and_then(Span::id),
            names::INVOKE_AGENT,
            { names::OTEL_NAME } = %Named(names::INVOKE_AGENT, agent),
            { names::OTEL_STATUS_CODE } = Empty,
            { names::ERROR_TYPE } = Empty,
            { names::OPERATION } = names::INVOKE_AGENT,
            { names::PROVIDER } = Empty,
            { names::CONVERSATION_ID } = %turn.branch,
            { names::AGENT_NAME } = agent,
            { names::REQUEST_MODEL } = Empty,
            { names::INPUT_TOKENS } = Empty,
            { names::OUTPUT_TOKENS } = Empty,
            { names::CACHED_TOKENS } = Empty,
            { names::TURN } = %turn,
            { names::STEPS } = Empty,
            { names::END } = Empty,
        );
    }

    fn end_turn(&mut self, end: &TurnEnd) {
        let turn = std::mem::replace(&mut self.turn, Span::none());
        if turn.is_disabled() {
            return;
        }
        let TurnEnd { turn: _, reason, steps, usage, truncated: _, returned: _ } = end;
        if let EndReason::Failed(error) = reason {
            fail(&turn, words::failed_turn(error));
        }
        cost(&turn, Some(usage.known).filter(|known| *known != Usage::default()));
        turn.record(names::STEPS, number((*steps).into())).record(names::END, reason.name());
        // Entering it says when it was at work last, which is its end: a call in the background may keep it open.
        turn.in_scope(|| debug!(reason = reason.name(), steps, "ended"));
    }

    fn end_attempt(&mut self, end: &AttemptEnd, usage: Option<Usage>, request_id: Option<&str>) {
        let attempt = std::mem::replace(&mut self.attempt, Span::none());
        if attempt.is_disabled() {
            return;
        }
        attempt.record(names::RESPONSE_ID, self.response.take().as_deref());
        attempt.record(names::REQUEST_ID, request_id);
        cost(&attempt, usage);
        match end {
            AttemptEnd::Finished { finish, raw, first_token_ms } => {
                attempt.record(names::FINISH_REASONS, raw.as_deref().unwrap_or(words::finish(*finish)));
                attempt.record(names::FIRST_CHUNK, first_token_ms.map(seconds));
                attempt.record(names::END, "finished");
            }
            AttemptEnd::Failed(error) => {
                fail(&attempt, words::failure(error.kind));
                attempt.record(names::END, "failed");
            }
            AttemptEnd::Cancelled => drop(attempt.record(names::END, "cancelled")),
        }
    }

    /// The work of a call that is cancelled or late may go on; its span is open as long.
    fn end_call(&mut self, call: CallId, outcome: &Outcome) {
        let Some(span) = self.calls.remove(&call) else { return };
        if let Some(what) = words::failed_call(outcome) {
            fail(&span, what);
        }
        span.record(names::END, words::outcome(outcome));
    }

    /// Nothing more will be told of what is open.
    fn fault(&mut self, cause: &str) {
        warn!(parent: &self.turn, cause, "faulted");
        let open = std::mem::take(&mut self.calls);
        for span in open.values().chain([&self.attempt, &self.turn]) {
            fail(span, words::FAULTED);
        }
        self.turn.in_scope(|| ());
        (self.turn, self.attempt) = (Span::none(), Span::none());
    }

    fn transition(&self, transition: &Transition) {
        let Transition { machine, event, from, to, step } = transition;
        if *step != Step::Moved {
            return;
        }
        let whose = match machine {
            Who::Agent => (None, None),
            Who::Turn(turn) => (Some(turn), None),
            Who::Call(call) => (None, Some(call)),
        };
        trace!(
            target: names::TRANSITIONS,
            parent: &self.turn,
            event,
            from = from.join("."),
            to = to.join("."),
            { names::TURN } = whose.0.map(tracing::field::display),
            { names::CALL } = whose.1.map(tracing::field::display),
        );
    }
}

/// What was at work until now is no longer: the agent rests, is parked, or is gone.
impl Drop for Spans {
    fn drop(&mut self) {
        self.turn.in_scope(|| ());
    }
}

/// A span's name as it is exported.
struct Named<'a>(&'a str, Option<&'a str>);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self(operation, whose) = self;
        match whose {
            Some(whose) => write!(f, "{operation} {whose}"),
            None => f.write_str(operation),
        }
    }
}

/// Whether anybody wants what has this level, of whatever target. `enabled!` would ask more closely, and spoil what comes after it: the
/// filter of a layer of `tracing-subscriber` takes its answer for the next span's.
fn somebody_looks(level: LevelFilter) -> bool {
    LevelFilter::current() >= level
}

/// Which model it is. If it panics at that, it is not known, and its request leaves all the same (H03).
fn identity(model: &dyn Model, request: &Request) -> ModelIdentity {
    catch_unwind(AssertUnwindSafe(|| model.identity(request))).unwrap_or_else(|_| {
        warn!({ names::ATTEMPT } = %request.attempt, "a model panicked that was asked which it is");
        ModelIdentity::default()
    })
}

/// The call's id on the wire. Looked for only where somebody wants to know.
fn wire(call: CallId, engine: &Engine) -> Option<&str> {
    let mut calls = engine.history().iter().rev().flat_map(|entry| entry.message.calls());
    calls.find(|asked| asked.id == call).map(|asked| &*asked.wire)
}

fn fail(span: &Span, what: &str) {
    span.record(names::ERROR_TYPE, what).record(names::OTEL_STATUS_CODE, "ERROR");
}

fn cost(span: &Span, usage: Option<Usage>) {
    let Some(Usage { input, output, cached }) = usage else { return };
    for (name, tokens) in
        [(names::INPUT_TOKENS, input), (names::OUTPUT_TOKENS, output), (names::CACHED_TOKENS, cached)]
    {
        span.record(name, number(tokens));
    }
}

/// A number of OpenTelemetry has a sign; `tracing-opentelemetry` makes a text of one that has none.
fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}
