//! An input becomes an event of the machine that it belongs to, and runs to completion.
use alloc::sync::Arc;

use machine_core::ask::{Answer, HookError, HookFailure, Piece, Prepared, Question, Subject, Timer};
use machine_core::canary::Canary;
use machine_core::event::Event as Report;
use machine_core::history::{Edit, is_object};
use machine_core::ids::{AskId, CallId};
use machine_core::input::{Command, Input};
use machine_core::machine::{Kind, Machine, Path, Step};
use machine_core::response::{Failure, ModelError};
use machine_turn::Turn;

use crate::asks::fits;
use crate::engine::Engine;
use crate::out::{Order, Out, Work};
use crate::trace::{Trace, Transition, Who};

/// One `handle`: the engine, what comes out, and who watches.
pub(crate) struct Run<'r> {
    pub(crate) engine: &'r mut Engine,
    pub(crate) at: u64,
    pub(crate) out: &'r mut Out,
    trace: Option<&'r mut dyn Trace>,
    /// A dead process is being cleared up: nothing that ends now wakes the agent (J05).
    pub(crate) recovering: bool,
}

/// Whether an input fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    /// Nothing changed.
    Stray(AskId),
}

impl<'r> Run<'r> {
    pub(crate) fn new(
        engine: &'r mut Engine,
        at: u64,
        out: &'r mut Out,
        trace: Option<&'r mut dyn Trace>,
    ) -> Self {
        let at = at.max(engine.now);
        Self { engine, at, out, trace, recovering: false }
    }

    /// One input, to completion.
    pub(crate) fn input(mut self, input: &Input) {
        let fit = match input {
            Input::Answer { ask, answer } => self.answer(*ask, answer),
            // Progress is not in the journal, so it must leave no trace in the engine either (C07, J02).
            Input::Piece { ask, piece: piece @ Piece::Progress(_) } => {
                self.at = self.engine.now;
                self.piece(*ask, piece)
            }
            Input::Piece { ask, piece } => self.piece(*ask, piece),
            Input::Lost { ask } => self.lost(*ask),
            Input::Command(command) => self.command(command),
            Input::Recovered { ran } => self.recovered(ran),
            Input::Fault { cause } => self.fault(cause.clone(), false),
        };
        match fit {
            Fit::Yes => self.complete(),
            Fit::Stray(ask) => self.out.events.push(Report::Stray { ask }),
        }
    }

    /// Runs to completion: what a signal causes comes before its next sibling; calls start when all is quiet.
    fn complete(&mut self) {
        self.engine.now = self.at;
        loop {
            while let Some(work) = self.out.scratch.queue.pop_front() {
                self.work(work);
            }
            if !self.start_next() && !self.stir() {
                break;
            }
        }
        self.watch_deaf();
    }

    /// An answer closes its ask, then goes to whoever asked.
    fn answer(&mut self, id: AskId, answer: &Answer) -> Fit {
        let Some(open) = self.engine.asks.get(id).filter(|open| fits(&open.ask.question, answer)) else {
            return Fit::Stray(id);
        };
        let subject = open.ask.question.subject();
        if !Canary::AnsweredStaysOpen.is_planted() {
            self.engine.asks.close(id);
        }
        self.answered(subject, answer);
        Fit::Yes
    }

    #[rustfmt::skip] // one row per question
    fn answered(&mut self, subject: Subject, answer: &Answer) {
        use machine_agent::Event as A;
        use machine_tool::Event as C;
        use machine_turn::Event as T;
        match (subject, answer.clone()) {
            (Subject::Screen(id), Answer::Screen(verdict)) => self.push(Work::ToAgent(A::Screened(id, verdict))),
            (Subject::Screen(id), Answer::Failed(error)) => self.push(Work::ToAgent(A::ScreenFailed(id, error))),
            (Subject::Maintain(_), Answer::Maintained) => self.maintained(),
            (Subject::Maintain(_), Answer::Failed(error)) => self.push(Work::ToAgent(A::MaintainFailed(error))),
            (Subject::Gate(_), Answer::Gate(verdict)) => self.push(Work::ToTurn(T::Gated(verdict))),
            (Subject::Attempt(_), Answer::Finished(end)) => self.push(Work::ToTurn(T::Finished(end))),
            (Subject::Attempt(_), Answer::AttemptFailed(error)) => self.push(Work::ToTurn(T::Failed(error))),
            (Subject::Recover(_), Answer::Recover(answer)) => self.push(Work::ToTurn(T::Recovered(answer))),
            (Subject::Stop(_), Answer::Stop(verdict)) => self.push(Work::ToTurn(T::Stopped(verdict))),
            (Subject::Gate(_) | Subject::Recover(_) | Subject::Stop(_), Answer::Failed(error)) => self.push(Work::ToTurn(T::HookFailed(error))),
            // What runs was judged as a JSON object (V09, C03).
            (Subject::Prepare(call), Answer::Prepare(Prepared::Ready(plan))) if plan.args.as_deref().is_some_and(|args| !is_object(args)) => self.push(Work::ToCall(call, C::HookFailed(HookError::new(HookFailure::Failed, "the rewritten arguments are no JSON object")))),
            (Subject::Prepare(call), Answer::Prepare(prepared)) => self.push(Work::ToCall(call, C::Prepared(prepared))),
            (Subject::Approve(call), Answer::Approve(approved)) => self.push(Work::ToCall(call, C::Approved { approval: approved.approval.clone(), rule: approved.rule.clone() })),
            (Subject::Execute(call), Answer::Execute(end)) => self.push(Work::ToCall(call, C::Executed(end))),
            (Subject::Finalize(call), Answer::Finalize(result)) => self.push(Work::ToCall(call, C::Finalized(result))),
            (Subject::Prepare(call) | Subject::Approve(call) | Subject::Finalize(call), Answer::Failed(error)) => self.push(Work::ToCall(call, C::HookFailed(error))),
            (Subject::Timer(timer), _) => self.fired(timer),
            (subject, answer) => unreachable!("E07: {answer:?} was let through to {subject:?}"),
        }
    }

    fn fired(&mut self, timer: Timer) {
        match timer {
            Timer::Backoff(_) => self.push(Work::ToTurn(machine_turn::Event::BackoffOver)),
            Timer::StreamIdle(_) => self.push(Work::ToTurn(machine_turn::Event::IdleOver)),
            Timer::CallTimeout(call) => self.push(Work::ToCall(call, machine_tool::Event::TimeUp)),
            Timer::Grace(call) => self.push(Work::ToCall(call, machine_tool::Event::GraceOver)),
            Timer::Busy => self.answer_busy(),
            Timer::TurnWait(_) => self.push(Work::ToTurn(machine_turn::Event::WaitOver)),
        }
    }

    /// A piece goes to the machine that asked, which may ignore it: then it is stray, and nothing changed.
    fn piece(&mut self, id: AskId, piece: &Piece) -> Fit {
        let Some(open) = self.engine.asks.get(id) else { return Fit::Stray(id) };
        let step = match (&open.ask.question, piece) {
            (Question::Attempt { .. }, Piece::Model(event)) => {
                self.step_turn(&machine_turn::Event::Model(event.clone()))
            }
            (Question::Execute { call, .. }, Piece::Progress(text)) => {
                self.step_call(*call, &machine_tool::Event::Progress(text.clone()))
            }
            (Question::Execute { call, .. }, Piece::Output(parts)) => {
                self.step_call(*call, &machine_tool::Event::Output(parts.clone()))
            }
            (Question::Execute { call, .. }, Piece::Detached(ack)) => {
                self.step_call(*call, &machine_tool::Event::Detached(ack.clone()))
            }
            (
                Question::Gate { .. } | Question::Recover { .. } | Question::Maintain { .. },
                Piece::Edit(edit),
            ) => self.edit(edit),
            _ => Step::Ignored,
        };
        if step == Step::Ignored { Fit::Stray(id) } else { Fit::Yes }
    }

    /// Nobody will answer: each question says what that means.
    fn lost(&mut self, id: AskId) -> Fit {
        let Some(open) = self.engine.asks.get(id) else { return Fit::Stray(id) };
        match open.ask.question.clone() {
            Question::Attempt { .. } => {
                let error = ModelError::new(Failure::StreamCut, "nobody carries this request out any more");
                self.answer(id, &Answer::AttemptFailed(Arc::new(error)))
            }
            Question::Execute { call, .. } => {
                self.engine.asks.close(id);
                self.push(Work::ToCall(call, machine_tool::Event::Lost));
                Fit::Yes
            }
            // A person may still answer, and a wait goes on: the same ask leaves again.
            Question::Approve { .. } | Question::Timer { .. } => {
                let ask = open.ask.clone();
                self.out.now.push(Order::Ask(ask));
                Fit::Yes
            }
            _ => self.answer(
                id,
                &Answer::Failed(HookError::new(HookFailure::Lost, "nobody answers this any more")),
            ),
        }
    }

    fn command(&mut self, command: &Command) -> Fit {
        use machine_agent::Event as A;
        let event = match command.clone() {
            Command::Submit(submit) => A::Submit(submit),
            Command::Notify(note) => A::Notify(note),
            Command::Inject(note) => A::Inject(note),
            Command::Remind(reminder) => A::Remind(reminder),
            Command::Steer(ids) => A::Steer(ids),
            Command::Withdraw(id) => A::Withdraw(id),
            Command::Replace(id, message) => A::Replace(id, message),
            Command::Consume(call) => A::Consume(call),
            Command::Abort(abort) => A::Abort(abort.cause.clone()),
            Command::Pause => A::Pause,
            Command::Resume => A::Resume { unanswered: self.engine.history.is_unanswered() },
            Command::Maintain => A::Maintain,
            Command::Close => A::Close,
            Command::Declare(call, access) => {
                let rules = &self.engine.turn_config.calls.paths;
                self.engine.batch.declare(call, access, rules);
                return Fit::Yes;
            }
            Command::CancelCall(call, cause) => {
                self.push(Work::ToCall(call, machine_tool::Event::Cancel(cause)));
                return Fit::Yes;
            }
            Command::Configure(config) => {
                self.engine.config = config;
                self.out.events.push(Report::Configured);
                return Fit::Yes;
            }
        };
        self.push(Work::ToAgent(event));
        Fit::Yes
    }

    /// Maintenance works on a copy that counts when it is done (A17); gates and recoveries edit at once, and what they
    /// leave must be ready for the request that follows (V06).
    fn edit(&mut self, edit: &Arc<Edit>) -> Step {
        let staged = self.engine.staged.as_mut();
        let tried = match staged {
            Some(staged) => staged.history.edit(edit).map(|()| staged.edits.push(edit.clone())),
            None => {
                let mut edited = self.engine.history.clone();
                edited.edit(edit).and_then(|()| edited.ready()).map(|()| {
                    self.engine.history = edited;
                    self.out.events.push(Report::Edited { edit: edit.clone() });
                })
            }
        };
        if let Err(error) = tried {
            self.out.events.push(Report::EditRefused { why: alloc::format!("{error}").into() });
        }
        Step::Handled
    }

    fn maintained(&mut self) {
        let edited = self.engine.staged.as_ref().is_some_and(|staged| !staged.edits.is_empty());
        self.push(Work::ToAgent(machine_agent::Event::Maintained { edited }));
    }

    pub(crate) fn push(&mut self, work: Work) {
        self.out.scratch.queue.push_back(work);
    }

    /// What one piece of work causes comes before everything that waited, in the order given.
    pub(crate) fn push_first(&mut self, work: impl DoubleEndedIterator<Item = Work>) {
        for work in work.rev() {
            self.out.scratch.queue.push_front(work);
        }
    }

    pub(crate) fn step_agent(&mut self, event: &machine_agent::Event) -> Step {
        let Engine { agent, config, .. } = &mut *self.engine;
        let mut signals = core::mem::take(&mut self.out.scratch.agent);
        let from = agent.state().path();
        let step = agent.step(event, &mut machine_agent::Ctx { signals: &mut signals, config });
        let to = agent.state().path();
        self.traced(Who::Agent, event.kind(), from, to, step);
        self.push_first(signals.drain(..).map(Work::FromAgent));
        self.out.scratch.agent = signals;
        step
    }

    pub(crate) fn step_turn(&mut self, event: &machine_turn::Event) -> Step {
        let Engine { turn: Some(turn), turn_config, .. } = &mut *self.engine else { return Step::Ignored };
        let mut signals = core::mem::take(&mut self.out.scratch.turn);
        let (id, from) = (turn.data().id, turn.state().path());
        let mut ctx = machine_turn::Ctx { signals: &mut signals, config: turn_config, now: self.at };
        let step = turn.step(event, &mut ctx);
        let to = turn.state().path();
        self.traced(Who::Turn(id), event.kind(), from, to, step);
        self.push_first(signals.drain(..).map(Work::FromTurn));
        self.out.scratch.turn = signals;
        step
    }

    /// A turn begins; the machine is there before its first signal is looked at.
    pub(crate) fn start_turn(&mut self, id: machine_core::ids::TurnId) {
        self.engine.turn_config = self.engine.config.clone();
        let config = self.engine.turn_config.clone();
        let mut signals = core::mem::take(&mut self.out.scratch.turn);
        let mut ctx = machine_turn::Ctx { signals: &mut signals, config: &config, now: self.at };
        let turn: Machine<Turn> = machine_turn::start(Turn::new(id, &config.request), &mut ctx);
        let to = turn.state().path();
        self.engine.turn = Some(turn);
        self.traced(Who::Turn(id), "Start", &[], to, Step::Moved);
        self.push_first(signals.drain(..).map(Work::FromTurn));
        self.out.scratch.turn = signals;
    }

    pub(crate) fn step_call(&mut self, id: CallId, event: &machine_tool::Event) -> Step {
        self.with_call(id, event.kind(), |run, ctx| {
            ctx.steered = run.is_cut(event);
            let call = run.engine.calls.get_mut(id)?;
            let from = call.state().path();
            let step = call.step(event, ctx);
            Some((from, call.state().path(), step))
        })
    }

    /// Lends a call its context, then takes its signals along.
    pub(crate) fn with_call(
        &mut self,
        id: CallId,
        event: &'static str,
        work: impl FnOnce(
            &mut Self,
            &mut machine_tool::Ctx<'_>,
        ) -> Option<(&'static [&'static str], &'static [&'static str], Step)>,
    ) -> Step {
        let config = self.engine.turn_config.clone();
        let mut signals = core::mem::take(&mut self.out.scratch.call);
        let mut ctx = machine_tool::Ctx {
            signals: &mut signals,
            finalize: config.ask.finalize,
            grace_ms: config.calls.grace_ms,
            output_chars: config.calls.output_chars,
            progress_chars: config.calls.progress_chars,
            steered: false,
        };
        let done = work(self, &mut ctx);
        self.push_first(signals.drain(..).map(|signal| Work::FromCall(id, signal)));
        self.out.scratch.call = signals;
        let Some((from, to, step)) = done else { return Step::Ignored };
        self.traced(Who::Call(id), event, from, to, step);
        step
    }

    fn traced(
        &mut self,
        machine: Who,
        event: &'static str,
        from: &'static [&'static str],
        to: &'static [&'static str],
        step: Step,
    ) {
        if let Some(trace) = &mut self.trace {
            trace.transition(Transition { machine, event, from, to, step });
        }
    }
}
