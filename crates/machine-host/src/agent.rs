//! An agent as its clients hold it.
use std::sync::Arc;

use machine_adapter::Engine;
use machine_adapter::asks::Open;
use machine_adapter::view::View;
use machine_core::access::Access;
use machine_core::ask::Cause;
use machine_core::config::Config;
use machine_core::digest::Digest;
use machine_core::event::{EndReason, MaintenanceEnd, TurnEnd};
use machine_core::history::History;
use machine_core::ids::{CallId, InputId};
use machine_core::input::{Abort, Command, Target};
use machine_core::usage::UsageSum;
use machine_journal::{events, oldest_event};
use tokio::sync::oneshot;
use tracing::Span;

use crate::approvals::Decision;
use crate::builder::{AgentBuilder, drawn_branch};
use crate::driver::Request;
use crate::error::{AnswerError, CommandError, PromptError};
use crate::hooks::EndedTurn;
use crate::say::Say;
use crate::session::Parked;
use crate::slot::Slot;
use crate::waiters::{Aborted, Reply, tell};
use crate::watch::{Events, Place, Seen};

/// An agent: a handle to it. Clones are the same agent.
///
/// Every command is answered when it is durable (J02). While nothing runs the agent is a value, without any task or
/// timer (H06); the next command starts its driver. When the last handle is dropped, everything that runs is dropped
/// with it and nothing more is journaled, as if the process had died: the next opening recovers (J05).
/// Its journal is free a moment later. [`close`](Self::close) is the orderly way, and waits.
///
/// What only makes sense from outside (`prompt`, `idle`, `maintain`) is an error in a tool or hook of the same agent,
/// not a wait without end (H08).
#[derive(Clone)]
pub struct Agent {
    slot: Arc<Slot>,
}

impl Agent {
    /// Describes an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::new()
    }

    pub(crate) fn of(slot: Arc<Slot>) -> Self {
        Self { slot }
    }

    /// Sends a prompt and waits for the end of its own turn (T18). Whoever stops waiting does not stop the turn. A turn
    /// that failed or was stopped has an end like any other: [`TurnEnd::reason`] says which.
    pub async fn prompt(&self, prompt: impl Into<Say>) -> Result<TurnEnd, PromptError> {
        self.turn(prompt.into()).await.map(|ended| ended.end)
    }

    /// Like [`prompt`](Self::prompt), for who wants the answer and nothing else: what the model said last in the turn. It
    /// is empty if that was no text.
    ///
    /// # Errors
    ///
    /// Also if the turn did not complete.
    pub async fn answer(&self, prompt: impl Into<Say>) -> Result<String, AnswerError> {
        let EndedTurn { end, history } = self.turn(prompt.into()).await?;
        match end.reason {
            EndReason::Completed { .. } => Ok(history.answer(end.turn)),
            _ => Err(AnswerError::Ended(end)),
        }
    }

    /// Sends a prompt; gives its id when it is accepted (A03).
    pub async fn submit(&self, prompt: impl Into<Say>) -> Result<InputId, CommandError> {
        let submit = prompt.into().into_submit();
        let id = submit.id.clone();
        self.command(Command::Submit(submit)).await.map(|()| id)
    }

    /// Sends a prompt that joins the running turn at its next drain; without a turn it is like any other (A03, A08).
    pub async fn steer(&self, prompt: impl Into<Say>) -> Result<InputId, CommandError> {
        self.submit(prompt.into().next_step()).await
    }

    /// Lets queued prompts join the running turn (A08).
    pub async fn steer_queued(&self, ids: impl IntoIterator<Item = InputId>) -> Result<(), CommandError> {
        self.command(Command::Steer(ids.into_iter().collect())).await
    }

    /// Something to know at the next step; wakes (A03).
    pub async fn notify(&self, note: impl Into<Say>) -> Result<InputId, CommandError> {
        let note = note.into().into_note();
        let id = note.id.clone();
        self.command(Command::Notify(note)).await.map(|()| id)
    }

    /// Something to know at the next step; does not wake (A03).
    pub async fn inject(&self, note: impl Into<Say>) -> Result<InputId, CommandError> {
        let note = note.into().into_note();
        let id = note.id.clone();
        self.command(Command::Inject(note)).await.map(|()| id)
    }

    /// Something to be reminded of; replaces what was said under the same key (A07).
    pub async fn remind(
        &self,
        key: impl Into<InputId>,
        reminder: impl Into<Say>,
    ) -> Result<(), CommandError> {
        self.command(Command::Remind(reminder.into().into_reminder(key.into(), false))).await
    }

    /// The same, told only if it differs from what was last told under this key (A07).
    pub async fn remind_if_changed(
        &self,
        key: impl Into<InputId>,
        reminder: impl Into<Say>,
    ) -> Result<(), CommandError> {
        self.command(Command::Remind(reminder.into().into_reminder(key.into(), true))).await
    }

    /// Takes pending input back (A09, A23).
    pub async fn withdraw(&self, id: impl Into<InputId>) -> Result<(), CommandError> {
        self.command(Command::Withdraw(id.into())).await
    }

    /// Changes a pending prompt in its place (A23).
    pub async fn replace(&self, id: impl Into<InputId>, prompt: impl Into<Say>) -> Result<(), CommandError> {
        self.command(Command::Replace(id.into(), prompt.into().into_message())).await
    }

    /// Stops what runs; gives what became of it, when the agent takes the next prompt (X01, X11). A second abort drops
    /// the grace (X04).
    pub async fn abort(&self, cause: Arc<Cause>) -> Result<Aborted, CommandError> {
        self.abort_with(Abort { cause, target: None }).await
    }

    /// Stops this turn, or the one that this prompt opened; refused if it is not the running one (X12).
    pub async fn abort_only(&self, target: Target, cause: Arc<Cause>) -> Result<Aborted, CommandError> {
        self.abort_with(Abort { cause, target: Some(target) }).await
    }

    /// No new turn starts, and the running one ends at its next drain (A12).
    pub async fn pause(&self) -> Result<(), CommandError> {
        self.command(Command::Pause).await
    }

    /// Takes `pause` back and releases what is held (A12, A14).
    pub async fn resume(&self) -> Result<(), CommandError> {
        self.command(Command::Resume).await
    }

    /// Cancels one running or background call (C13).
    pub async fn cancel_call(&self, call: CallId, cause: Arc<Cause>) -> Result<(), CommandError> {
        self.command(Command::CancelCall(call, cause)).await
    }

    /// Declares again what a call touches, until it starts (B06).
    pub async fn declare(&self, call: CallId, access: Access) -> Result<(), CommandError> {
        self.command(Command::Declare(call, access)).await
    }

    /// The end of this background call was told otherwise (C13).
    pub async fn consume(&self, call: CallId) -> Result<(), CommandError> {
        self.command(Command::Consume(call)).await
    }

    /// Answers an approval that waits, with what [`ApprovalAsked`](machine_core::event::Event::ApprovalAsked) told of
    /// it: exactly that runs (C04). It wins over a hook that is still thinking. A [`Rule`](crate::Rule) also answers for
    /// what it covers (C16).
    pub async fn decide(
        &self,
        call: CallId,
        digest: Digest,
        decision: impl Into<Decision>,
    ) -> Result<(), CommandError> {
        let decision = decision.into();
        self.ask(|to| Request::Decide { call, digest, decision, reply: Reply::Accepted(to) }).await?
    }

    /// Begins maintenance, for the hooks that do it, and waits for its end (A17).
    pub async fn maintain(&self) -> Result<MaintenanceEnd, CommandError> {
        self.check_outside()?;
        self.ask(|to| Request::Command(Command::Maintain, Reply::Maintained(to))).await?
    }

    /// Another configuration, from the next turn on (J06). Which questions are asked still follows from the hooks.
    pub async fn configure(&self, config: Config) -> Result<(), CommandError> {
        self.command(Command::Configure(Arc::new(config))).await
    }

    /// The state of every machine, and what is waited for (H07).
    pub async fn state(&self) -> Result<View, CommandError> {
        self.read(Engine::state).await
    }

    /// What was said.
    pub async fn history(&self) -> Result<History, CommandError> {
        self.read(|engine| engine.history().clone()).await
    }

    /// What the running turn cost so far. Of a turn that is over its end says it (T18).
    pub async fn usage(&self) -> Result<UsageSum, CommandError> {
        self.read(Engine::usage).await
    }

    /// The newest configuration.
    pub async fn config(&self) -> Result<Arc<Config>, CommandError> {
        self.read(|engine| engine.config().clone()).await
    }

    /// Every open ask, oldest first: which one, of which class, since when (H07).
    pub async fn outstanding(&self) -> Result<Vec<Open>, CommandError> {
        self.read(|engine| engine.outstanding().cloned().collect()).await
    }

    /// Waits until no turn, no maintenance and no input that wakes is left (H08).
    pub async fn idle(&self) -> Result<(), CommandError> {
        self.check_outside()?;
        self.ask(Request::Idle).await
    }

    /// What happens from now on. A watcher can never delay the agent (E04).
    pub fn events(&self) -> Events {
        self.slot.watch.subscribe()
    }

    /// The durable events from this number on, made again from the journal: for whoever missed some (E04). Those of a time
    /// before the oldest record that is kept cannot be had any more.
    pub async fn recorded(&self, from: u64) -> Result<Vec<Seen>, CommandError> {
        let (records, told) = self.ask(Request::Record).await??;
        let oldest = oldest_event(&records);
        if from < oldest {
            return Err(CommandError::NotKept { oldest });
        }
        let (mut seen, mut last) = (Vec::new(), 0);
        let made = events(&records, from, &mut |n, at, event| {
            last = last.max(at);
            // After a failure there may be records that are not durable.
            if n >= told {
                return;
            }
            seen.push(Seen { place: Place::Durable(n), at: last, event: Arc::new(event.clone()) });
        });
        made.map(|()| seen).map_err(|error| CommandError::Journal(error.to_string().into()))
    }

    /// A session of its own that begins with the first `at` entries of this one: open it with
    /// [`AgentBuilder::parked`](crate::AgentBuilder::parked) and a new journal. It may be taken at any time; a cut within
    /// a batch moves to its end, and calls without a result are closed there. This agent goes on as if nothing had
    /// happened (J08).
    pub async fn fork(&self, at: usize) -> Result<Parked, CommandError> {
        self.fork_as(drawn_branch(), at).await
    }

    /// The same, with a branch of your own for the fork (V02): for whoever must get the same ids each time.
    pub async fn fork_as(&self, branch: u32, at: usize) -> Result<Parked, CommandError> {
        let fork = self.read(move |engine| engine.fork(branch, at)).await?;
        fork.map(|engine| Parked::fork(&engine)).map_err(CommandError::Fork)
    }

    /// Stops driving this agent and hands it over: open it elsewhere with
    /// [`AgentBuilder::parked`](crate::AgentBuilder::parked) (J07). All handles of it are dead from now on.
    pub async fn park(&self) -> Result<Parked, CommandError> {
        self.ask(Request::Park).await
    }

    /// Ends this opening in order: the turn is aborted, background calls are cancelled, pending input stays in the
    /// journal (A19). All handles are dead from now on. Closing again is fine.
    pub async fn close(&self) -> Result<(), CommandError> {
        match self.ask(|to| Request::Command(Command::Close, Reply::Closed(to))).await {
            Err(CommandError::Gone) => Ok(()),
            closed => closed?,
        }
    }

    /// Whether it is a value just now: nothing runs, and no driver waits for it (H06).
    pub fn is_resting(&self) -> bool {
        self.slot.is_resting()
    }

    /// Whether it was closed or parked, or died.
    pub fn is_gone(&self) -> bool {
        self.slot.is_gone()
    }

    async fn abort_with(&self, abort: Abort) -> Result<Aborted, CommandError> {
        self.ask(|to| Request::Command(Command::Abort(Arc::new(abort)), Reply::Aborted(to))).await?
    }

    async fn command(&self, command: Command) -> Result<(), CommandError> {
        self.ask(|to| Request::Command(command, Reply::Accepted(to))).await?
    }

    /// Reads where the agent rests, or asks its driver.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Engine) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        match self.slot.read(read) {
            Ok(value) => Ok(value),
            Err(Err(gone)) => Err(gone),
            Err(Ok(read)) => {
                self.ask(|to| Request::Read(Box::new(move |engine| tell(to, read(engine))))).await
            }
        }
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, CommandError> {
        let (to, answer) = oneshot::channel();
        self.slot.send(request(to)).await?;
        answer.await.map_err(|_| CommandError::Gone)
    }

    async fn turn(&self, prompt: Say) -> Result<EndedTurn, PromptError> {
        self.check_outside()?;
        let submit = prompt.into_submit();
        let id = submit.id.clone();
        let span = Span::current();
        self.ask(|to| Request::Command(Command::Submit(submit), Reply::TurnEnd(id, span, to))).await?
    }

    fn check_outside(&self) -> Result<(), CommandError> {
        if self.slot.inside.is_here() { Err(CommandError::Inside) } else { Ok(()) }
    }
}
