//! A turn machine with the little of an adapter that it needs: what waits is told, and used up by a drain.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
#![expect(dead_code, reason = "each test file uses its own part")]
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{By, Cause, Question, Recovery, Remedy, Timer};
use machine_core::config::{Config, Questions, TurnLimits};
use machine_core::drain::Pending;
use machine_core::event::{AttemptEnd, EndReason, Event as Report, TurnEnd};
use machine_core::ids::{AttemptId, CallId, TurnId};
use machine_core::machine::{Machine, Path, Step};
use machine_core::message::text_content;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use machine_turn::attempt::Response;
use machine_turn::{Ctx, Event, Signal, Turn};

pub const TURN: TurnId = TurnId { branch: 1, turn: 1 };

pub struct Driven {
    pub turn: Machine<Turn>,
    pub config: Config,
    pub now: u64,
    /// What waits for the next step.
    pub pending: Pending,
    /// Everything that was signalled, in order.
    pub signals: Vec<Signal>,
}

impl Driven {
    pub fn new(config: Config) -> Self {
        let mut signals = Vec::new();
        let turn = Turn::new(TURN, &config.request);
        let turn = machine_turn::start(turn, &mut Ctx { signals: &mut signals, config: &config, now: 0 });
        Self { turn, config, now: 0, pending: Pending::default(), signals }
    }

    pub fn default_turn() -> Self {
        Self::new(Config::default())
    }

    /// One event; one that is ignored changes nothing and signals nothing (P17). What waits is told when the
    /// machine wants to know. The machine is the same after a round trip through JSON (U03).
    pub fn on(&mut self, event: &Event) -> Step {
        let (before, at) = (self.turn.clone(), self.signals.len());
        let mut ctx = Ctx { signals: &mut self.signals, config: &self.config, now: self.now };
        let step = self.turn.step(event, &mut ctx);
        if step == Step::Ignored {
            assert_eq!((&self.turn, self.signals.len()), (&before, at), "P17: {event:?}");
        }
        let json = serde_json::to_string(&self.turn).unwrap();
        assert_eq!(serde_json::from_str::<Machine<Turn>>(&json).unwrap(), self.turn, "U03: {json}");
        let new: Vec<_> = self.signals[at..].into();
        for signal in new {
            match signal {
                Signal::Look => drop(self.on(&Event::Pending(self.pending))),
                Signal::Drain => {
                    self.pending = Pending { paused: self.pending.paused, ..Pending::default() };
                }
                Signal::Continue(_) => self.pending.inside = true,
                _ => {}
            }
        }
        step
    }

    pub fn leaf(&self) -> &'static str {
        self.turn.state().leaf()
    }

    pub fn data(&self) -> &Turn {
        self.turn.data()
    }

    pub fn model(&mut self, event: ModelEvent) -> Step {
        self.on(&Event::Model(event))
    }

    pub fn stream(&mut self, events: &[ModelEvent]) {
        for event in events {
            self.model(event.clone());
        }
    }

    pub fn text(&mut self, text: &str) {
        self.model(ModelEvent::Text(text.into()));
    }

    pub fn call(&mut self, index: u32, id: &str) {
        self.model(ModelEvent::CallStart { index, id: id.into(), tool: "t".into() });
    }

    pub fn finish(&mut self, finish: Finish) -> Step {
        self.on(&Event::Finished(Arc::new(Finished::new(finish))))
    }

    /// A response of visible text and nothing else.
    pub fn answers(&mut self) {
        self.text("fine");
        self.finish(Finish::EndTurn);
    }

    /// A response with one call, and its result.
    pub fn calls(&mut self, finish: Finish) {
        self.call(0, "c");
        self.finish(finish);
        self.batch_done(None);
    }

    pub fn batch_done(&mut self, stopped_by: Option<(CallId, Text)>) {
        assert_eq!(self.leaf(), "Running");
        self.on(&Event::BatchDone { stopped_by });
    }

    pub fn fail(&mut self, error: ModelError) -> Step {
        self.on(&Event::Failed(Arc::new(error)))
    }

    pub fn fail_with(&mut self, kind: Failure) -> Step {
        self.fail(ModelError::new(kind, "failed"))
    }

    pub fn recover(&mut self, recovery: Recovery) -> Step {
        self.on(&Event::Recovered(recovery))
    }

    pub fn abort(&mut self) -> Step {
        self.on(&Event::Abort(Cause::by(By::User)))
    }

    pub fn responses(&self) -> Vec<&Response> {
        self.pick(|signal| match signal {
            Signal::Respond(response) => Some(response),
            _ => None,
        })
    }

    /// What is picked of the signals, in order.
    pub fn pick<'s, T>(&'s self, of: impl Fn(&'s Signal) -> Option<T>) -> Vec<T> {
        self.signals.iter().filter_map(of).collect()
    }

    /// What is picked of the reports, in order.
    pub fn reported<'s, T>(&'s self, of: impl Fn(&'s Report) -> Option<T>) -> Vec<T> {
        self.pick(|signal| match signal {
            Signal::Report(report) => of(report),
            _ => None,
        })
    }

    pub fn ended(&self) -> Option<&TurnEnd> {
        let ends = self.pick(|signal| match signal {
            Signal::Ended(end) => Some(end),
            _ => None,
        });
        assert!(ends.len() <= 1, "T18: exactly one end: {ends:?}");
        assert_eq!(ends.len() == 1, self.leaf() == "Ended", "T18");
        ends.first().copied()
    }

    pub fn reason(&self) -> Option<&EndReason> {
        self.ended().map(|end| &end.reason)
    }

    pub fn requested(&self) -> Vec<AttemptId> {
        self.pick(|signal| match signal {
            Signal::Request(attempt) => Some(*attempt),
            _ => None,
        })
    }

    pub fn discarded(&self) -> Vec<AttemptId> {
        self.reported(|report| match report {
            Report::AttemptDiscarded { attempt } => Some(*attempt),
            _ => None,
        })
    }

    /// How each attempt ended, with what it cost.
    pub fn attempt_ends(&self) -> Vec<(AttemptId, &AttemptEnd, Option<Usage>)> {
        self.reported(|report| match report {
            Report::AttemptEnded { attempt, end, usage, .. } => Some((*attempt, end, *usage)),
            _ => None,
        })
    }

    /// The waits between attempts: try, of at most, for so long.
    pub fn waits(&self) -> Vec<(u32, u32, u64)> {
        self.reported(|report| match report {
            Report::Retrying { next, max, delay_ms, .. } => Some((*next, *max, *delay_ms)),
            _ => None,
        })
    }

    /// The timers between attempts.
    pub fn backoffs(&self) -> Vec<u64> {
        self.pick(|signal| match signal {
            Signal::Ask(Question::Timer { timer: Timer::Backoff(_), ms }) => Some(*ms),
            _ => None,
        })
    }

    /// The recoveries that were asked for, with what was tried before.
    pub fn recover_asked(&self) -> Vec<(AttemptId, Vec<&str>)> {
        self.pick(|signal| match signal {
            Signal::Ask(Question::Recover { attempt, tried, .. }) => {
                Some((*attempt, tried.iter().map(|strategy| &**strategy).collect()))
            }
            _ => None,
        })
    }

    pub fn count(&self, like: impl Fn(&Signal) -> bool) -> usize {
        self.signals.iter().filter(|signal| like(signal)).count()
    }
}

pub fn attempt(step: u32, serial: u32) -> AttemptId {
    TURN.step(step).attempt(serial)
}

pub fn call_id(index: u32) -> CallId {
    TURN.step(1).call(index)
}

pub fn remedy(strategy: &str, progress: bool) -> Remedy {
    Remedy { strategy: strategy.into(), progress, instead: None, for_turn: false, usage: None }
}

pub fn retry(strategy: &str, progress: bool) -> Recovery {
    Recovery::Retry(Arc::new(remedy(strategy, progress)))
}

pub fn asking(recover: bool, gate: bool, stop: bool) -> Config {
    Config { ask: Questions { recover, gate, stop, ..Questions::default() }, ..Config::default() }
}

pub fn content(text: &str) -> machine_core::message::Content {
    text_content(text)
}

pub fn usage(n: u64) -> Usage {
    Usage { input: n, output: 2 * n, cached: n / 2 }
}

pub const FINISHES: [Finish; 6] =
    [Finish::EndTurn, Finish::ToolUse, Finish::MaxTokens, Finish::Filtered, Finish::Suspended, Finish::Other];

pub fn limited(max_steps: Option<u32>, stop: bool) -> Config {
    let turn = TurnLimits { max_steps, ..TurnLimits::default() };
    Config { turn, ..asking(false, false, stop) }
}

/// What the turn does now, in one word.
pub fn doing(turn: &Driven) -> String {
    match turn.reason() {
        Some(EndReason::Completed { stopped_by: Some((call, why)) }) => format!("stopped by {call}: {why}"),
        Some(EndReason::Failed(error)) => format!("failed: {error}"),
        Some(reason) => reason.name().into(),
        None => format!("{} in step {}", turn.leaf(), turn.data().step),
    }
}
