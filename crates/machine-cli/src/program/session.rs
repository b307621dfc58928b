//! One prompt, or a small prompt loop: events are shown, approvals are asked, lines are read, signals stop what runs.
use std::process::ExitCode;

use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, Event};
use machine_host::{Agent, CommandError, Events, Lagged, Seen};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Interval, MissedTickBehavior, interval};

use crate::program::approvals::{Asked, Said};
use crate::program::console::Console;
use crate::program::exit;
use crate::program::inbound::{Interrupts, Lines, Stop};
use crate::program::run::Opened;
use crate::program::waiting::Waiting;

/// How often the status line is drawn at most.
const REDRAW: Duration = Duration::from_millis(100);

const HELP: &str =
    "/steer TEXT joins the turn (or opens the next), /abort stops it, /state shows it, /quit ends";

/// A run of the program.
pub struct Session {
    agent: Agent,
    events: UnboundedReceiver<Watched>,
    console: Box<dyn Console>,
    waiting: Waiting,
    interrupts: Interrupts,
    redraw: Interval,
    /// Whether something happened since the status line was drawn.
    stale: bool,
    /// Whether a person is there, who may want to go on after a Ctrl-C.
    terminal: bool,
    /// How often it was told to stop.
    stops: u32,
    /// The end of the last turn.
    last: Option<EndReason>,
}

/// What happens next.
enum Next {
    Seen(Seen),
    Lagged(u64),
    Asked(Asked),
    Line(Option<String>),
    Stop(Stop),
    Redraw,
}

impl Session {
    /// A run over an open agent.
    pub fn new(opened: Opened, console: Box<dyn Console>, interrupts: Interrupts, terminal: bool) -> Self {
        let Opened { agent, events, approver, questions, asked } = opened;
        let mut redraw = interval(REDRAW);
        redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            agent,
            events: forward(events),
            console,
            waiting: Waiting::new(approver, questions, asked),
            interrupts,
            redraw,
            stale: true,
            terminal,
            stops: 0,
            last: None,
        }
    }

    /// One prompt; the exit code says how its turn ended.
    pub async fn once(&mut self, prompt: String) -> ExitCode {
        let agent = self.agent.clone();
        let mut turn = tokio::spawn(async move { agent.prompt(prompt).await });
        let mut lines = if self.terminal { Lines::stdin() } else { Lines::none() };
        let end = loop {
            let next = tokio::select! {
                end = &mut turn => break end,
                next = self.next(&mut lines) => next,
            };
            match next {
                Next::Line(Some(line)) => self.answer(&line),
                Next::Stop(_) => self.stop(),
                other => self.shown(other).await,
            }
        };
        let code = match end {
            Ok(Ok(end)) => exit::of(&end.reason),
            Ok(Err(error)) => self.failed(&error),
            Err(error) => self.failed(&error),
        };
        if self.finish().await { code } else { exit::ENDED_EARLY.into() }
    }

    /// A prompt loop, until `/quit`, the end of input, or a signal that does not only stop a turn.
    pub async fn repeat(&mut self) -> ExitCode {
        let mut lines = Lines::stdin();
        self.console.note(HELP);
        loop {
            match self.next(&mut lines).await {
                Next::Line(Some(line)) if line.trim() == "/quit" => {
                    self.console.entered(&line);
                    break;
                }
                Next::Line(Some(line)) => self.line(&line).await,
                Next::Line(None) => {
                    self.rest().await;
                    break;
                }
                Next::Stop(stop) if self.ends_all(stop).await => break,
                Next::Stop(_) => self.stop(),
                other => self.shown(other).await,
            }
        }
        match (self.finish().await, &self.last) {
            (false, _) => exit::ENDED_EARLY.into(),
            (true, Some(reason)) => exit::of(reason),
            (true, None) => exit::COMPLETED,
        }
    }

    async fn next(&mut self, lines: &mut Lines) -> Next {
        tokio::select! {
            biased;
            stop = self.interrupts.next() => Next::Stop(stop),
            Some(seen) = self.events.recv() => match seen {
                Ok(seen) => Next::Seen(seen),
                Err(lagged) => Next::Lagged(lagged.0),
            },
            asked = self.waiting.next() => Next::Asked(asked),
            line = lines.next() => Next::Line(line),
            _ = self.redraw.tick() => Next::Redraw,
        }
    }

    /// What needs no decision of the loop.
    async fn shown(&mut self, next: Next) {
        match next {
            Next::Seen(seen) => self.seen(&seen),
            Next::Lagged(missed) => {
                self.console.lagged(missed);
                self.waiting.show_early(&mut *self.console);
            }
            Next::Asked(asked) => self.waiting.ask(asked, &mut *self.console),
            Next::Redraw => self.status().await,
            Next::Line(_) | Next::Stop(_) => {}
        }
    }

    fn seen(&mut self, seen: &Seen) {
        if let Event::TurnEnded(end) = &*seen.event {
            self.last = Some(end.reason.clone());
            self.stops = 0;
        }
        self.stale = true;
        self.console.event(seen);
        if let Event::ApprovalAsked { call, .. } = &*seen.event {
            self.waiting.announced(*call, &mut *self.console);
        }
    }

    async fn status(&mut self) {
        self.waiting.drop_withdrawn(&mut *self.console);
        if !self.stale || !self.console.has_status() {
            return;
        }
        self.stale = false;
        if let Ok(view) = self.agent.state().await {
            self.console.status(&view);
        }
    }

    /// A line while a question may be open.
    fn answer(&mut self, line: &str) {
        self.console.entered(line);
        self.stale = true;
        self.waiting.drop_withdrawn(&mut *self.console);
        if !self.waiting.is_empty() {
            self.waiting.said(Said::read(line), &mut *self.console);
        }
    }

    /// A line of the prompt loop. While a turn runs, a prompt waits for the next one.
    async fn line(&mut self, line: &str) {
        if !self.waiting.is_empty() && !line.starts_with('/') {
            return self.answer(line);
        }
        self.console.entered(line);
        self.stale = true;
        let line = line.trim();
        let done = match line.split_once(char::is_whitespace).unwrap_or((line, "")) {
            ("", _) => Ok(()),
            ("/abort", _) => {
                self.stop();
                Ok(())
            }
            ("/state", _) => self.state().await,
            ("/steer", text) if !text.trim().is_empty() => {
                self.agent.steer(text.trim().to_owned()).await.map(drop)
            }
            (command, _) if command.starts_with('/') => {
                self.console.note(HELP);
                Ok(())
            }
            _ => self.agent.submit(line.to_owned()).await.map(drop),
        };
        if let Err(error) = done {
            self.console.note(&error.to_string());
        }
        self.waiting.ask_again(&mut *self.console);
    }

    async fn state(&mut self) -> Result<(), CommandError> {
        let view = self.agent.state().await?;
        match serde_json::to_string_pretty(&view) {
            Ok(text) => self.console.note(&text),
            Err(error) => self.console.note(&error.to_string()),
        }
        Ok(())
    }

    /// The first time what runs is stopped in order, the second time without grace (X03, X04).
    fn stop(&mut self) {
        self.stops += 1;
        self.stale = true;
        let unanswered = self.waiting.give_up(&mut *self.console);
        self.console.note(if self.stops == 1 {
            "stopping; once more drops the grace"
        } else {
            "stopping now"
        });
        let agent = self.agent.clone();
        tokio::spawn(async move {
            // The answer is the end of the turn, which the events show.
            let _ = agent.abort(Cause::by(By::User)).await;
            drop(unanswered);
        });
    }

    /// Whether a signal ends the program: a person at a terminal can go on after a Ctrl-C that stopped something.
    async fn ends_all(&self, stop: Stop) -> bool {
        let is_idle = || async { self.agent.state().await.is_ok_and(|view| view.turn.is_none()) };
        stop == Stop::Terminate || !self.terminal || is_idle().await
    }

    /// Input is over: what was asked for is still done, unless a signal ends it.
    async fn rest(&mut self) {
        let agent = self.agent.clone();
        let mut idle = tokio::spawn(async move { agent.idle().await });
        let mut none = Lines::none();
        loop {
            let next = tokio::select! {
                _ = &mut idle => return,
                next = self.next(&mut none) => next,
            };
            match next {
                Next::Stop(_) => return,
                other => self.shown(other).await,
            }
        }
    }

    /// Ends in order. What still runs is stopped; a further signal drops the grace, and one more the rest. Gives
    /// whether all could be told.
    async fn finish(&mut self) -> bool {
        let agent = self.agent.clone();
        let mut closed: JoinHandle<_> = tokio::spawn(async move { agent.close().await });
        let mut none = Lines::none();
        let closed = loop {
            let next = tokio::select! {
                biased;
                closed = &mut closed => break closed,
                next = self.next(&mut none) => next,
            };
            match next {
                Next::Stop(_) => self.stop(),
                other => self.shown(other).await,
            }
        };
        if let Ok(Err(error)) = closed {
            self.console.note(&error.to_string());
        }
        while let Some(seen) = self.events.recv().await {
            match seen {
                Ok(seen) => self.seen(&seen),
                Err(lagged) => self.console.lagged(lagged.0),
            }
        }
        let Some(flushed) = self.console.finish() else { return true };
        tokio::select! {
            could = flushed => could.unwrap_or(true),
            _ = self.interrupts.next() => true,
        }
    }

    fn failed(&mut self, error: &impl std::fmt::Display) -> ExitCode {
        self.console.note(&error.to_string());
        ExitCode::from(exit::ENDED_EARLY)
    }
}

/// An event, or how many were missed.
type Watched = Result<Seen, Lagged>;

/// Takes events at once, so that what is shown slowly is not missed. On a thread of its own: a task would wait until
/// the one that tells the events rests. Ends when the agent is gone.
fn forward(mut events: Events) -> UnboundedReceiver<Watched> {
    let (to, forwarded) = unbounded_channel();
    let runtime = Handle::current();
    std::thread::spawn(move || {
        runtime.block_on(async {
            while let Some(seen) = events.next().await {
                if to.send(seen).is_err() {
                    return;
                }
            }
        });
    });
    forwarded
}
