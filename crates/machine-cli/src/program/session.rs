//! One prompt, or a small prompt loop: events are shown, approvals are asked, lines are read, signals stop what runs.
use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, Event};
use machine_host::{Agent, Events, Seen};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::program::approvals::{Approver, Asked, Said};
use crate::program::console::Console;
use crate::program::exit;
use crate::program::run::Questions;

/// How often the status line is drawn at most.
const REDRAW: Duration = Duration::from_millis(100);

const HELP: &str =
    "/steer TEXT joins the running turn, /abort stops it, /state shows the machines, /quit ends";

/// A run of the program.
pub struct Session {
    agent: Agent,
    events: Events,
    console: Box<dyn Console>,
    approver: Approver,
    questions: Questions,
    /// Questions that a person has not answered; the first is shown.
    open: VecDeque<Asked>,
    /// How often it was told to stop.
    stops: u32,
    /// The end of the last turn.
    last: Option<EndReason>,
}

/// What happens next.
enum Next {
    Seen(Option<Seen>),
    Lagged(u64),
    Asked(Asked),
    Line(Option<String>),
    Interrupt,
    Redraw,
}

impl Session {
    /// A run over an open agent.
    pub fn new(
        agent: Agent,
        events: Events,
        console: Box<dyn Console>,
        approver: Approver,
        questions: Questions,
    ) -> Self {
        Self { agent, events, console, approver, questions, open: VecDeque::new(), stops: 0, last: None }
    }

    /// One prompt; the exit code says how its turn ended.
    pub async fn once(&mut self, prompt: String, terminal: bool) -> ExitCode {
        let agent = self.agent.clone();
        let mut turn = tokio::spawn(async move { agent.prompt(prompt).await });
        let mut lines = if terminal { lines() } else { mpsc::unbounded_channel().1 };
        let mut interrupts = interrupts();
        let end = loop {
            let next = tokio::select! {
                end = &mut turn => break end,
                next = self.next(&mut lines, &mut interrupts) => next,
            };
            match next {
                Next::Line(Some(line)) => self.said(&line),
                Next::Interrupt => self.stop(),
                other => self.shown(other).await,
            }
        };
        let code = match end {
            Ok(Ok(end)) => exit::of(&end.reason),
            Ok(Err(error)) => self.failed(&error),
            Err(error) => self.failed(&error),
        };
        self.finish().await;
        code
    }

    /// A prompt loop, until `/quit`, the end of input, or an interrupt while nothing runs.
    pub async fn repeat(&mut self) -> ExitCode {
        let (mut lines, mut interrupts) = (lines(), interrupts());
        self.console.note(HELP);
        loop {
            match self.next(&mut lines, &mut interrupts).await {
                Next::Line(Some(line)) if !self.open.is_empty() => self.said(&line),
                Next::Line(Some(line)) if line.trim() == "/quit" => break,
                Next::Line(Some(line)) => self.line(line.trim()).await,
                Next::Line(None) => {
                    self.rest(&mut interrupts).await;
                    break;
                }
                Next::Interrupt if self.is_idle().await => break,
                Next::Interrupt => self.stop(),
                other => self.shown(other).await,
            }
        }
        self.finish().await;
        self.last.as_ref().map_or(exit::COMPLETED, exit::of)
    }

    async fn next(
        &mut self,
        lines: &mut mpsc::UnboundedReceiver<String>,
        interrupts: &mut Interrupts,
    ) -> Next {
        tokio::select! {
            biased;
            () = interrupts.next() => Next::Interrupt,
            seen = self.events.next() => match seen {
                Some(Ok(seen)) => Next::Seen(Some(seen)),
                Some(Err(lagged)) => Next::Lagged(lagged.0),
                None => Next::Seen(None),
            },
            Some(asked) = self.questions.recv() => Next::Asked(asked),
            line = lines.recv(), if !lines.is_closed() || !lines.is_empty() => Next::Line(line),
            () = tokio::time::sleep(REDRAW) => Next::Redraw,
        }
    }

    /// What needs no decision of the loop.
    async fn shown(&mut self, next: Next) {
        match next {
            Next::Seen(Some(seen)) => self.seen(&seen),
            Next::Seen(None) => tokio::time::sleep(REDRAW).await,
            Next::Lagged(missed) => self.console.lagged(missed),
            Next::Asked(asked) => self.ask(asked),
            Next::Redraw => self.redraw().await,
            Next::Line(_) | Next::Interrupt => {}
        }
    }

    fn seen(&mut self, seen: &Seen) {
        if let Event::TurnEnded(end) = &*seen.event {
            self.last = Some(end.reason.clone());
            self.stops = 0;
        }
        self.console.event(seen);
        self.drop_withdrawn();
    }

    async fn redraw(&mut self) {
        if self.open.is_empty()
            && let Ok(view) = self.agent.state().await
        {
            self.console.status(&view);
        }
    }

    fn ask(&mut self, asked: Asked) {
        if self.open.is_empty() {
            self.console.ask(&asked.question);
        }
        self.open.push_back(asked);
    }

    /// A question that was taken back is no longer shown as open.
    fn drop_withdrawn(&mut self) {
        let shown_is_over = self.open.front().is_some_and(Asked::is_over);
        self.open.retain(|asked| !asked.is_over());
        if shown_is_over {
            self.console.note("(no longer asked)");
            self.ask_next();
        }
    }

    /// An answer to the question that is shown.
    fn said(&mut self, line: &str) {
        let Some(asked) = self.open.pop_front() else { return };
        match Said::read(line) {
            Some(said) => self.approver.answer(asked, said),
            None => {
                self.console.note("please answer y, n or a");
                self.open.push_front(asked);
            }
        }
        self.ask_next();
    }

    fn ask_next(&mut self) {
        // A rule that was just granted answers what waits and is covered by it.
        let (covered, rest): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|asked| self.approver.is_always(&asked.question.tool));
        self.open = rest;
        for asked in covered {
            self.approver.answer(asked, Said::Yes);
        }
        if let Some(asked) = self.open.front() {
            self.console.ask(&asked.question);
        }
    }

    /// A line of the prompt loop. While a turn runs, a prompt waits for the next one.
    async fn line(&mut self, line: &str) {
        let done = match line.split_once(' ').unwrap_or((line, "")) {
            ("", _) => return,
            ("/abort", _) => return self.stop(),
            ("/state", _) => return self.state().await,
            ("/steer", text) if !text.trim().is_empty() => {
                self.agent.steer(text.trim().to_owned()).await.map(drop)
            }
            (command, _) if command.starts_with('/') => return self.console.note(HELP),
            _ => self.agent.submit(line.to_owned()).await.map(drop),
        };
        if let Err(error) = done {
            self.console.note(&error.to_string());
        }
    }

    async fn state(&mut self) {
        match self.agent.state().await {
            Ok(view) => match serde_json::to_string_pretty(&view) {
                Ok(text) => self.console.note(&text),
                Err(error) => self.console.note(&error.to_string()),
            },
            Err(error) => self.console.note(&error.to_string()),
        }
    }

    /// The first time what runs is stopped in order, the second time without grace (X03, X04).
    fn stop(&mut self) {
        self.stops += 1;
        self.console.note(if self.stops == 1 {
            "stopping; once more drops the grace"
        } else {
            "stopping now"
        });
        let agent = self.agent.clone();
        // The answer is the end of the turn, which the events show.
        tokio::spawn(async move { agent.abort(Cause::by(By::User)).await });
    }

    async fn is_idle(&self) -> bool {
        self.agent.state().await.is_ok_and(|view| view.turn.is_none() && view.queued_prompts == 0)
    }

    /// Input is over: what was asked for is still done.
    async fn rest(&mut self, interrupts: &mut Interrupts) {
        let agent = self.agent.clone();
        let mut idle = tokio::spawn(async move { agent.idle().await });
        let mut no_lines = mpsc::unbounded_channel().1;
        loop {
            let next = tokio::select! {
                _ = &mut idle => return,
                next = self.next(&mut no_lines, interrupts) => next,
            };
            match next {
                Next::Interrupt => self.stop(),
                other => self.shown(other).await,
            }
        }
    }

    async fn finish(&mut self) {
        if let Err(error) = self.agent.close().await {
            self.console.note(&error.to_string());
        }
        while let Some(seen) = self.events.try_next() {
            match seen {
                Ok(seen) => self.seen(&seen),
                Err(lagged) => self.console.lagged(lagged.0),
            }
        }
        self.console.finish();
    }

    fn failed(&mut self, error: &impl std::fmt::Display) -> ExitCode {
        self.console.note(&error.to_string());
        ExitCode::from(exit::ENDED_EARLY)
    }
}

/// Lines of standard input, read on a thread of their own: a blocked read must not hold the loop.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (to, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Ctrl-C, and a polite request to end.
struct Interrupts {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

fn interrupts() -> Interrupts {
    Interrupts {
        interrupt: signal(SignalKind::interrupt()).ok(),
        terminate: signal(SignalKind::terminate()).ok(),
    }
}

impl Interrupts {
    async fn next(&mut self) {
        tokio::select! {
            () = received(self.interrupt.as_mut()) => {}
            () = received(self.terminate.as_mut()) => {}
        }
    }
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
