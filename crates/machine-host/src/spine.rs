//! The one way of an input, in the order that keeps every promise (J02):
//! seal → admit → append → handle → questions and withdrawals leave → append the acts, sync → acknowledgements, durable
//! events and acts leave.
use machine_adapter::kept::Kept;
use machine_adapter::{Order, Out};
use machine_core::Text;
use machine_core::ask::{Ask, Question, Timer};
use machine_core::canary::Canary;
use machine_core::event::Event;
use machine_core::ids::{AskId, AttemptId, CallId};
use machine_core::input::{Input, Refused};
use machine_journal::Writer;
use tokio::sync::mpsc;

use crate::carrier::Carrier;
use crate::clock::Clock;
use crate::errands::{Around, Errand, Work};
use crate::model::Inward;
use crate::session::Session;
use crate::spans::Spans;
use crate::timers::{Due, Timers};
use crate::waiters::{Reply, Waiters};

/// Pieces on their way to a driver; who sends more waits.
pub(crate) const ON_THE_WAY: usize = 64;

/// A session at work: what it asked for is carried out, and comes back as inputs.
pub(crate) struct Spine {
    pub(crate) session: Session,
    pub(crate) carrier: Carrier,
    pub(crate) timers: Timers,
    pub(crate) waiters: Waiters,
    pub(crate) kept: Kept,
    pub(crate) pieces: mpsc::Receiver<Inward>,
    to: mpsc::Sender<Inward>,
    /// Requests that leave, where they may have to wait for that.
    pub(crate) leaving: mpsc::UnboundedReceiver<AttemptId>,
    leave: mpsc::UnboundedSender<AttemptId>,
    silence: Silence,
    spans: Spans,
    clock: Clock,
    out: Out,
}

/// The time that a stream may be silent runs from when its request left (M13).
#[derive(Debug, Default)]
struct Silence {
    /// The last request that left.
    left: Option<AttemptId>,
    /// The timer of one that did not.
    held: Option<(AttemptId, AskId, u64)>,
}

impl Spine {
    /// Nothing runs yet.
    pub(crate) fn new(session: Session) -> Self {
        let (to, pieces) = mpsc::channel(ON_THE_WAY);
        let (leave, leaving) = mpsc::unbounded_channel();
        Self {
            carrier: Carrier::new(session.parts.inside.clone()),
            spans: Spans::new(session.parts.name.clone()),
            clock: Clock::start(session.parts.clock),
            session,
            timers: Timers::default(),
            waiters: Waiters::default(),
            kept: Kept::default(),
            pieces,
            to,
            leaving,
            leave,
            silence: Silence::default(),
            out: Out::default(),
        }
    }

    /// One input. `reply`: who waits for its acceptance, or for what follows from it.
    pub(crate) async fn feed(&mut self, mut input: Input, reply: Option<Reply>) {
        let written = Writer::writes(&self.session.engine, &input);
        if written && let Err(why) = self.session.parts.chain.seal(&mut input) {
            self.session.log.give_up(why.clone());
            return self.fault(why, reply);
        }
        let engine = &mut self.session.engine;
        let running = engine.agent().state().active().map(|active| active.turn);
        let admitted = match engine.admit(&input) {
            Ok(admitted) => admitted,
            Err(why) => return refuse(reply, why),
        };
        let at = self.clock.now();
        if written {
            self.session.log.input(engine, at, &input);
            if let Err(cause) = self.session.log.write().await {
                return self.fault(cause, reply);
            }
        }
        self.spans.handle(&mut self.session.engine, at, admitted, &mut self.out);
        self.leave_at_once();
        if let Err(cause) = self.keep(written, reply.is_some()).await {
            return self.fault(cause, reply);
        }
        if let Some(reply) = reply {
            self.waiters.accept(reply, running);
        }
        self.tell(at, 0);
        self.acts_leave();
    }

    /// The record of what was handled; durable if something leaves that has to be.
    async fn keep(&mut self, written: bool, acknowledged: bool) -> Result<(), Text> {
        let owes = Writer::owes_durability(&self.out, acknowledged);
        let Session { engine, log, .. } = &mut self.session;
        if written {
            log.handled(engine, &self.out);
            log.write().await?;
        }
        let owes = owes && !Canary::AcknowledgedUnsynced.is_planted();
        if owes { log.make_durable().await } else { Ok(()) }
    }

    /// Carries an open question out again: whoever carried it out before is gone (J07).
    pub(crate) fn carry_again(&mut self, ask: AskId) {
        if let Some(open) = self.session.engine.ask(ask) {
            self.carry(open.ask.clone());
        }
    }

    /// The request of this attempt leaves now: it has its place (H05).
    pub(crate) fn left(&mut self, attempt: AttemptId) {
        self.silence.left = Some(attempt);
        if let Some((_, ask, ms)) = self.silence.held.take_if(|(of, ..)| *of == attempt) {
            self.timers.set(ask, ms, Due::Fire);
        }
    }

    /// The call of an open execution.
    pub(crate) fn call_of(&self, ask: AskId) -> Option<CallId> {
        match self.session.engine.ask(ask)?.ask.question {
            Question::Execute { call, .. } => Some(call),
            _ => None,
        }
    }

    /// The journal failed: what it does not have did not leave, and nothing will be asked any more (J10, A22). What
    /// follows is true in memory only.
    fn fault(&mut self, cause: Text, reply: Option<Reply>) {
        refuse(reply, Refused::Faulted(cause.clone()));
        // Nobody is answered with what the journal does not have (J02).
        let lost = self.out.events.len();
        let (fault, at) = (Input::Fault { cause }, self.clock.now());
        if let Ok(admitted) = self.session.engine.admit(&fault) {
            self.spans.handle(&mut self.session.engine, at, admitted, &mut self.out);
        }
        self.leave_at_once();
        self.out.acts.clear();
        self.tell(at, lost);
    }

    fn leave_at_once(&mut self) {
        let mut orders = std::mem::take(&mut self.out.now);
        for order in orders.drain(..) {
            match order {
                Order::Ask(ask) => self.carry(ask),
                Order::Withdraw(withdrawal) => {
                    self.timers.clear(withdrawal.ask);
                    self.silence.held.take_if(|(_, ask, _)| *ask == withdrawal.ask);
                    self.carrier.withdraw(withdrawal);
                }
            }
        }
        self.out.now = orders;
    }

    /// A turn that begins after the parent has stopped makes no request: its abort is what comes next (H04).
    fn acts_leave(&mut self) {
        let stopped = self.session.parts.parent.as_ref().is_some_and(|parent| parent.call.is_cancelled());
        let mut acts = std::mem::take(&mut self.out.acts);
        for act in acts.drain(..) {
            if !(stopped && matches!(act.question, Question::Attempt { .. })) {
                self.carry(act);
            }
        }
        self.out.acts = acts;
    }

    /// The first `lost` events are for watchers only: those who wait are not answered with them.
    fn tell(&mut self, at: u64, lost: usize) {
        let Session { engine, log, recorder, finalize, answered, parts, .. } = &mut self.session;
        for (n, event) in self.out.events.drain(..).enumerate() {
            match &event {
                Event::TurnStarted { .. } => *finalize = engine.config().ask.finalize,
                Event::CallSettled { call, outcome, .. } => drop(answered.insert(*call, outcome.clone())),
                _ => {}
            }
            self.spans.see(&event, &self.waiters);
            parts.watchers.see(&event, engine);
            if n >= lost {
                self.waiters.see(&event, engine, answered);
            }
            if let Event::TurnEnded(_) = event {
                answered.clear();
            }
            recorder.tell(at, event, log.broken().is_none());
        }
        self.waiters.look(engine);
    }

    fn carry(&mut self, ask: Ask) {
        let Ask { id, timeout_ms, .. } = ask;
        if let Question::Timer { timer, ms } = ask.question {
            return self.time(id, timer, ms);
        }
        let Session { engine, parts, rules, .. } = &self.session;
        let (kept, spans, to, leaving) = (&mut self.kept, &mut self.spans, &self.to, &self.leave);
        let errand = Around { engine, parts, rules, kept, spans, to, leaving, agent: self.carrier.agent() }
            .errand(ask);
        let at_hand = matches!(&errand, Some(Errand { work: Work::AtHand(_), .. }));
        if let Some(ms) = timeout_ms.filter(|_| !at_hand) {
            self.timers.set(id, ms, Due::TimedOut);
        }
        if let Some(errand) = errand {
            self.carrier.start(id, errand);
        }
    }

    /// A timer runs from now, or from when the request leaves whose silence it measures.
    fn time(&mut self, ask: AskId, timer: Timer, ms: u64) {
        match timer {
            Timer::StreamIdle(attempt)
                if self.session.parts.limit.is_some() && self.silence.left != Some(attempt) =>
            {
                self.silence.held = Some((attempt, ask, ms));
            }
            _ => self.timers.set(ask, ms, Due::Fire),
        }
    }
}

fn refuse(reply: Option<Reply>, why: Refused) {
    if let Some(reply) = reply {
        reply.refuse(why.into());
    }
}
