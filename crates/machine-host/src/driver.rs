//! The loop of an active agent: what comes in, from whom, and what it becomes.
use std::sync::{Arc, Weak};
use std::time::Duration;

use machine_adapter::Engine;
use machine_core::ask::{Answer, By, Cause, Executed, HookError, HookFailure, Piece, Question};
use machine_core::digest::Digest;
use machine_core::ids::{AskId, AttemptId, CallId};
use machine_core::input::{Abort, Command, Input};
use machine_core::machine::Path;
use machine_core::response::{Failure, ModelError};
use machine_journal::Record;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::approvals::{Decision, Rule};
use crate::carrier::{Ended, How};
use crate::errands::{Done, Kind};
use crate::error::CommandError;
use crate::model::Inward;
use crate::session::Parked;
use crate::session::Session;
use crate::slot::{Leaving, Slot};
use crate::spine::{ON_THE_WAY, Spine};
use crate::timers::Due;
use crate::tool::told;
use crate::waiters::{Reply, tell};

/// How long what is dropped may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// What a handle wants of its driver.
pub(crate) enum Request {
    Command(Command, Reply),
    Decide {
        call: CallId,
        digest: Digest,
        decision: Decision,
        reply: Reply,
    },
    Read(Box<dyn FnOnce(&Engine) + Send>),
    Idle(oneshot::Sender<()>),
    /// All records, and how many durable events were told of them.
    Record(oneshot::Sender<Result<(Vec<Record>, u64), CommandError>>),
    Park(oneshot::Sender<Parked>),
}

/// What comes next.
enum Next {
    Due(AskId, Due),
    Request(Request),
    ParentStopped,
    /// The request of this attempt leaves.
    Left(AttemptId),
    Piece(Inward),
    Ended(Ended),
    Rest,
    /// The last handle was dropped.
    Abandoned,
}

/// Whether the loop goes on.
enum Flow {
    On,
    Leave,
    Park(oneshot::Sender<Parked>),
}

/// Drives an agent until it rests, is closed or parked, or nobody holds it any more.
pub(crate) async fn drive(spine: Spine, slot: Weak<Slot>, requests: mpsc::Receiver<Request>) {
    let leaving = Leaving::new(slot, spine.session.recorder.watch().clone());
    Driver { spine, leaving, requests }.run().await;
}

struct Driver {
    spine: Spine,
    leaving: Leaving,
    requests: mpsc::Receiver<Request>,
}

impl Driver {
    async fn run(mut self) {
        loop {
            let flow = match self.next().await {
                Next::Due(ask, due) => self.due(ask, due).await,
                Next::Request(request) => match self.request(request).await {
                    Flow::On => self.let_through(true).await,
                    leave => leave,
                },
                Next::ParentStopped => self.abort_for_parent().await,
                Next::Left(attempt) => {
                    self.spine.left(attempt);
                    Flow::On
                }
                Next::Piece(piece) => {
                    self.spine.piece(piece).await;
                    self.let_through(false).await
                }
                Next::Ended(ended) => self.ended(ended).await,
                Next::Abandoned => Flow::Leave,
                // Boxed, as it is rare: it holds a driver once more.
                Next::Rest => match Box::pin(self.rest()).await {
                    Some(awake) => {
                        self = awake;
                        Flow::On
                    }
                    None => return,
                },
            };
            match flow {
                Flow::On if self.spine.is_closed() => break,
                Flow::On => {}
                Flow::Leave => break,
                Flow::Park(to) => return Box::pin(self.park(to)).await,
            }
        }
        let Self { spine: Spine { session, carrier, waiters, .. }, leaving, requests } = self;
        drop((requests, session));
        carrier.shut_down(GONE_WITHIN).await;
        drop(leaving);
        waiters.closed();
    }

    /// What runs is dropped; the journal is free before the agent is handed over.
    async fn park(self, to: oneshot::Sender<Parked>) {
        let Self { spine: Spine { mut session, carrier, .. }, leaving, requests } = self;
        drop(requests);
        carrier.shut_down(GONE_WITHIN).await;
        // If the journal fails, opening sees that it is behind.
        let _ = session.log.make_durable().await;
        let parked = Parked::of(&session);
        drop((session, leaving));
        tell(to, parked);
    }

    /// The parent first: once it has stopped, nothing else may start anything (H04). Then timers, so that nothing that
    /// floods the others can hold a deadline up; then commands, so that an abort is seen before what it stops.
    async fn next(&mut self) -> Next {
        let Self { spine, requests, .. } = self;
        let parent = spine.session.parts.parent.as_ref();
        let (parent, over) = parent.map(|parent| (parent.call.clone(), parent.over.clone())).unzip();
        let (stoppable, aborting, at_rest) = (spine.is_stoppable(), spine.is_aborting(), spine.is_at_rest());
        let rest_after = spine.session.parts.rest_after;
        tokio::select! {
            biased;
            () = stopped(parent), if stoppable => Next::ParentStopped,
            () = stopped(over), if aborting => Next::ParentStopped,
            (ask, due) = spine.timers.next() => Next::Due(ask, due),
            request = requests.recv() => request.map_or(Next::Abandoned, Next::Request),
            Some(attempt) = spine.leaving.recv() => Next::Left(attempt),
            Some(piece) = spine.pieces.recv() => Next::Piece(piece),
            Some(ended) = spine.carrier.next() => Next::Ended(ended),
            // Made only where it is waited for: this is awaited for every input.
            () = async { tokio::time::sleep(rest_after).await }, if at_rest => Next::Rest,
        }
    }

    /// Clients cannot starve what runs, and pieces cannot starve what ends: each lets one of the others through.
    async fn let_through(&mut self, piece: bool) -> Flow {
        if piece && let Ok(piece) = self.spine.pieces.try_recv() {
            self.spine.piece(piece).await;
        }
        match self.spine.carrier.try_next() {
            Some(ended) => self.ended(ended).await,
            None => Flow::On,
        }
    }

    async fn due(&mut self, ask: AskId, due: Due) -> Flow {
        let answer = match due {
            Due::Fire => Answer::Fired,
            Due::TimedOut => Answer::Failed(self.spine.carrier.too_late(ask)),
        };
        self.spine.feed(Input::Answer { ask, answer }, None).await;
        Flow::On
    }

    async fn request(&mut self, request: Request) -> Flow {
        match request {
            Request::Command(Command::Configure(config), reply) => {
                let config = self.spine.session.parts.complete(Arc::unwrap_or_clone(config));
                self.spine.feed(Command::Configure(Arc::new(config)).into(), Some(reply)).await;
            }
            Request::Command(command, reply) => self.spine.feed(command.into(), Some(reply)).await,
            Request::Decide { call, digest, decision, reply } => {
                self.decide((call, digest), decision, reply).await;
            }
            Request::Read(read) => read(&self.spine.session.engine),
            Request::Idle(to) => self.spine.until_idle(to),
            Request::Record(to) => {
                let Session { log, recorder, .. } = &mut self.spine.session;
                let (records, told) = (log.read().await, recorder.events());
                tell(to, records.map(|records| (records, told)).map_err(CommandError::Journal));
            }
            Request::Park(to) => return Flow::Park(to),
        }
        Flow::On
    }

    /// Somebody who is no hook answers an approval (C04).
    async fn decide(&mut self, (call, digest): (CallId, Digest), decision: Decision, reply: Reply) {
        let asked = self.spine.session.engine.outstanding().find(|open| match &open.ask.question {
            Question::Approve { call: of, digest: asked, .. } => *of == call && *asked == digest,
            _ => false,
        });
        let Some(ask) = asked.map(|open| open.ask.id) else { return reply.refuse(CommandError::NotAsked) };
        self.spine.carrier.drop_work(ask);
        let (approved, rule) = decision.of(call, digest);
        let answer = Answer::Approve(approved);
        self.spine.feed(Input::Answer { ask, answer }, Some(reply)).await;
        if let Some(rule) = rule {
            self.spine.grant(rule).await;
        }
    }

    /// Whatever runs, and whatever would start after it, is stopped; the second time without grace (H04, X04).
    async fn abort_for_parent(&mut self) -> Flow {
        let abort = Abort { cause: Cause::by(By::Parent), target: None };
        self.spine.feed(Command::Abort(Arc::new(abort)).into(), None).await;
        Flow::On
    }

    /// Work is over. What it sent before comes first.
    async fn ended(&mut self, mut ended: Ended) -> Flow {
        for _ in 0..ON_THE_WAY {
            let Ok(piece) = self.spine.pieces.try_recv() else { break };
            self.spine.piece(piece).await;
        }
        let ask = ended.ask;
        self.spine.timers.clear(ask);
        let rule = ended.how.rule();
        if let Some(input) = self.spine.outcome(ended) {
            self.spine.feed(input, None).await;
            self.spine.kept.forget();
        }
        if let Some(rule) = rule {
            self.spine.grant(rule).await;
        }
        Flow::On
    }

    /// The agent becomes a value again, unless somebody wants something just now.
    async fn rest(mut self) -> Option<Self> {
        self.requests.close();
        let mut late = Vec::new();
        while let Some(request) = self.requests.recv().await {
            late.push(request);
        }
        if late.is_empty() {
            self.leaving.rest(self.spine.session);
            return None;
        }
        self.requests = self.leaving.stay()?;
        for request in late {
            // Nothing runs, so nothing but a request can end the loop here: the next round sees it.
            if let Flow::Park(to) = self.request(request).await {
                self.park(to).await;
                return None;
            }
        }
        Some(self)
    }
}

impl How {
    /// The rule that was given with an approval.
    fn rule(&mut self) -> Option<Rule> {
        match self {
            Self::Done(Done::Decided(_, rule)) => rule.take(),
            Self::Done(_) | Self::Panicked(_) | Self::Vanished => None,
        }
    }
}

impl Spine {
    /// A piece of an answer.
    async fn piece(&mut self, (ask, piece): Inward) {
        let piece = match (piece, self.call_of(ask)) {
            (Piece::Output(output), Some(call)) if self.session.finalize => {
                let limit = self.session.engine.config().calls.output_chars;
                return self.kept.output(call, &output, limit);
            }
            (Piece::Progress(text), Some(call)) => match self.session.parts.chain.progress(call, text) {
                Some(text) => Piece::Progress(text),
                None => return,
            },
            (piece, _) => piece,
        };
        self.feed(Input::Piece { ask, piece }, None).await;
    }

    /// What the end of work means; none: somebody else answers.
    fn outcome(&mut self, ended: Ended) -> Option<Input> {
        let Ended { ask, kind, how } = ended;
        let stopped = kind.is_stopped();
        let answer = match (kind, how) {
            (_, How::Vanished) => return Some(Input::Lost { ask }),
            (_, How::Done(Done::Nothing)) => return None,
            (_, How::Done(Done::Answer(answer))) => answer,
            (_, How::Done(Done::Decided(approved, _))) => Answer::Approve(approved),
            (Kind::Execution { call, .. }, How::Panicked(why)) => {
                self.executed(call, Executed::Panicked(why), stopped)
            }
            (Kind::Execution { call, .. }, How::Done(Done::Ran(end))) => {
                self.executed(call, told(end), stopped)
            }
            (Kind::Attempt, How::Panicked(why)) => {
                Answer::AttemptFailed(Arc::new(ModelError::new(Failure::Panicked, why)))
            }
            (Kind::Hook(_), How::Panicked(why)) => Answer::Failed(HookError::new(HookFailure::Panicked, why)),
            (Kind::Attempt | Kind::Hook(_), How::Done(Done::Ran(_))) => {
                unreachable!("C06: only an execution runs a tool")
            }
        };
        Some(Input::Answer { ask, answer })
    }

    fn executed(&mut self, call: CallId, end: Executed, stopped: bool) -> Answer {
        let finalize = self.session.finalize;
        Answer::Execute(if finalize { self.kept.executed(call, end, stopped) } else { end })
    }

    fn until_idle(&mut self, to: oneshot::Sender<()>) {
        if self.session.engine.is_idle() {
            tell(to, ());
        } else {
            self.waiters.until_idle(to);
        }
    }

    /// Whether this opening is over. One that was closing when its journal failed has nothing left to do (A19).
    fn is_closed(&self) -> bool {
        match self.session.engine.agent().state().leaf() {
            "Closed" => true,
            "Faulted" => self.waiters.is_closing(),
            _ => false,
        }
    }

    /// Whether an abort has something to stop.
    fn is_stoppable(&self) -> bool {
        matches!(self.session.engine.agent().state().leaf(), "Active" | "Screening" | "Maintaining")
    }

    /// Whether a turn is being stopped; a second abort ends it at once (X04).
    fn is_aborting(&self) -> bool {
        self.session.engine.agent().state().leaf() == "Aborting"
    }

    /// Whether nothing can happen unless a handle asks for it. An approval that a person owes is no reason to stay.
    pub(crate) fn is_at_rest(&mut self) -> bool {
        self.carrier.is_empty() && self.timers.is_empty() && self.pieces.is_empty() && self.waiters.is_empty()
    }
}

async fn stopped(parent: Option<CancellationToken>) {
    match parent {
        Some(parent) => parent.cancelled().await,
        None => std::future::pending().await,
    }
}

/// A session that is opened: closes what was open, then is a value, or is driven if something runs.
pub(crate) async fn carry_on(session: Session, inputs: Vec<Input>, again: Vec<AskId>) -> Spine {
    let mut spine = Spine::new(session);
    for input in inputs {
        spine.feed(input, None).await;
    }
    again.into_iter().for_each(|ask| spine.carry_again(ask));
    spine
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every active agent takes: a future has room for whatever it may wait for, all at once.
    #[test]
    fn the_loop_does_not_hold_a_driver_for_each_way_out() {
        fn size_of_future<F: Future>(_: impl Fn(Driver) -> F) -> usize {
            size_of::<F>()
        }
        assert!(size_of_future(Driver::run) < 3 * size_of::<Driver>());
    }
}
