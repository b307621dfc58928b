//! What one run of the program does, and when it is killed.
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kills::effects::{LOGS, edit, mark, shell};
use crate::running::{Ran, Running};

/// The longest that a run may take before it is killed, in milliseconds.
const LONGEST: u64 = 800;

/// A long answer, in bytes.
const LONG: usize = 500_000;

/// As long as this file is not there, some commands do not end.
pub const OVER: &str = "over";

/// How often it is looked whether the moment has come.
const LOOK: Duration = Duration::from_micros(20);

/// One run.
pub struct Plan {
    /// What its model says.
    pub script: Value,
    /// Its arguments, but for the script and the journal.
    pub args: Vec<String>,
    /// Whether somebody sits at a terminal, and is asked.
    pub terminal: bool,
    /// What is typed, and when.
    lines: Vec<(Duration, String)>,
    moment: Moment,
}

/// When a run is killed.
enum Moment {
    /// After a time.
    After(Duration),
    /// Some time after the journal has grown by so many bytes.
    Grown { by: u64, then: Duration },
}

impl Plan {
    /// Any.
    pub fn random(rng: &mut Rng, run: u32) -> Self {
        if rng.u32(0..8) == 0 {
            return Self::with_a_long_answer(rng);
        }
        let (script, moment) = (script(rng, run), Moment::random(rng));
        let (args, terminal, lines): (&[&str], _, _) = match rng.u32(0..10) {
            0..4 => (&["go", "--json", "--approve", "all"], false, Vec::new()),
            4 => (&["go", "--json", "--approve", "none"], false, Vec::new()),
            5..8 => (&["--json", "--approve", "all"], false, lines(rng, &PROMPTS)),
            _ => (&["go"], true, lines(rng, &ANSWERS)),
        };
        let mut args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        if rng.u32(0..4) == 0 {
            // Another configuration, which is an input of its own.
            args.extend(["--max-steps".to_owned(), rng.u32(1..20).to_string()]);
        }
        Self { script, args, terminal, lines, moment }
    }

    /// A write that takes its time, and a kill in the middle of it: the end of the file may be torn.
    fn with_a_long_answer(rng: &mut Rng) -> Self {
        let long = "long ".repeat(LONG / 5);
        let script = json!([{"text": [long, "done"]}]);
        let args = ["go", "--json"].map(str::to_owned).to_vec();
        let moment = Moment::Grown { by: rng.u64(1 << 14..LONG as u64), then: Duration::ZERO };
        Self { script, args, terminal: false, lines: Vec::new(), moment }
    }

    /// Follows the plan to its end.
    pub fn play(self, mut running: Running, journal: &Path) -> Ran {
        let (start, size) = (Instant::now(), size(journal));
        let mut lines = self.lines.into_iter().peekable();
        // A torn end goes first, and the file is smaller than it was.
        while !self.moment.has_come(start.elapsed(), || self::size(journal).saturating_sub(size)) {
            while let Some((_, line)) = lines.next_if(|(at, _)| *at <= start.elapsed()) {
                running.try_say(&line);
            }
            std::thread::sleep(LOOK);
        }
        if let Moment::Grown { then, .. } = self.moment {
            std::thread::sleep(then);
        }
        running.signal(Signal::KILL);
        running.end()
    }
}

impl Moment {
    fn random(rng: &mut Rng) -> Self {
        match rng.u32(0..8) {
            // Mostly while it starts and opens the session.
            0 => Self::After(Duration::from_micros(spread(rng, 8..17))),
            1..4 => Self::After(Duration::from_millis(rng.u64(0..LONGEST))),
            // Just after it wrote its first records, or in the middle of its work.
            4 => Self::Grown { by: spread(rng, 0..8), then: Duration::from_micros(spread(rng, 0..13)) },
            _ => Self::Grown { by: spread(rng, 9..16), then: Duration::from_micros(spread(rng, 0..13)) },
        }
    }

    fn has_come(&self, elapsed: Duration, grown: impl Fn() -> u64) -> bool {
        match self {
            Self::After(time) => elapsed >= *time,
            Self::Grown { by, .. } => grown() >= *by || elapsed >= Duration::from_millis(LONGEST),
        }
    }
}

/// A number of about so many bits; each length is as likely as any other.
fn spread(rng: &mut Rng, bits: Range<u32>) -> u64 {
    let most = 1 << rng.u32(bits);
    rng.u64(most / 2..=most)
}

fn size(journal: &Path) -> u64 {
    fs::metadata(journal).map_or(0, |metadata| metadata.len())
}

/// What is said in a prompt loop.
const PROMPTS: [&str; 5] = ["go", "and on", "/steer hurry", "and then", "/abort"];

/// What is said to questions; other lines are not heard.
const ANSWERS: [&str; 5] = ["y", "y", "y", "n", "a"];

fn lines(rng: &mut Rng, choice: &[&str]) -> Vec<(Duration, String)> {
    let mut lines = vec![(Duration::ZERO, choice[0].to_owned())];
    for _ in 0..rng.u32(0..12) {
        let at = Duration::from_millis(rng.u64(0..LONGEST / 2));
        lines.push((at, choice[rng.usize(..choice.len())].to_owned()));
    }
    lines.sort();
    lines
}

/// Responses with calls that leave marks, and what else can happen to a request.
fn script(rng: &mut Rng, run: u32) -> Value {
    let mut marks = (0..).map(|n| mark(run, n));
    let responses = (0..rng.u32(2..9)).map(|_| match rng.u32(0..20) {
        0..2 => json!({"fail": {"kind": "rate_limit", "retry_after_ms": rng.u32(0..60)}}),
        2 => json!({"text": ["half ", "a word"], "piece_delay_ms": rng.u32(0..20), "cut": true}),
        3 => json!({"text": "Done."}),
        _ => calls(rng, &mut marks),
    });
    let mut responses: Vec<_> = responses.collect();
    responses.push(json!({"text": "Done."}));
    Value::Array(responses)
}

fn calls(rng: &mut Rng, marks: &mut impl Iterator<Item = String>) -> Value {
    let calls: Vec<_> = marks.take(rng.usize(1..=4)).map(|mark| call(rng, &mark)).collect();
    let (pause, between) = (rng.u32(0..20), rng.u32(0..8));
    json!({"delay_ms": pause, "piece_delay_ms": between, "text": ["I do ", "some."], "calls": calls})
}

fn call(rng: &mut Rng, mark: &str) -> Value {
    match rng.u32(0..12) {
        0..3 => shell(mark, "", ""),
        3..5 => shell(mark, "sleep 0.03;", ""),
        5..7 => shell(mark, "", "sleep 0.03"),
        // It would go on after any kill.
        7 => shell(mark, "", &format!("until test -e {OVER}; do sleep 0.05; done")),
        _ => edit(mark, LOGS[rng.usize(..LOGS.len())]),
    }
}
