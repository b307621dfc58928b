//! The program is killed for real, at any moment, many times on one journal and over several sessions. After each kill the
//! journal is opened through the library: what it says must fit what happened in the directory and what the program told.
//!
//! `KILLS=300 cargo test -p machine-cli --locked --test program kills -- --nocapture` is a long run; it prints where the kills
//! hit. `SEED=…` repeats a run as far as timing allows.
mod effects;
mod plan;
mod tally;
mod truth;

use std::collections::BTreeSet;
use std::path::PathBuf;

use fastrand::Rng;
use serde_json::Value;

use crate::running::{Ran, World};
use effects::{END, Effects, LOGS};
use plan::{OVER, Plan};
use tally::Tally;
use truth::Truth;

/// The most kills of one session.
const SESSION: u32 = 16;

/// More answers than prompts can be waiting.
const ANSWERS: usize = 200;

#[test]
fn c_j05_killed_at_any_moment_nothing_runs_twice_and_nothing_is_lost() {
    let kills = number("KILLS").unwrap_or(10);
    let seed = number("SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("this run again: SEED={seed} KILLS={kills}");
    let (mut rng, mut tally) = (Rng::with_seed(seed), Tally::default());
    while tally.kills < kills {
        let mut session = Session::new();
        for run in 0..rng.u32(1..=SESSION) {
            session.kill(Plan::random(&mut rng, run), &mut tally);
            if tally.kills == kills {
                break;
            }
        }
        session.end();
        tally.sessions += 1;
    }
    println!("{tally}");
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect(variable))
}

/// One journal, and everything that must hold of it.
struct Session {
    world: World,
    journal: PathBuf,
    /// What the journal said last.
    last: Truth,
    /// Prompts that the program said it has accepted.
    accepted: BTreeSet<String>,
}

impl Session {
    fn new() -> Self {
        let world = World::new();
        for log in LOGS {
            world.put(log, END);
        }
        let journal = world.dir().join("../session.jsonl");
        Self { world, journal, last: Truth::default(), accepted: BTreeSet::new() }
    }

    /// One run of the program, killed in the middle of something.
    fn kill(&mut self, plan: Plan, tally: &mut Tally) {
        let script = self.world.script(&plan.script.to_string());
        let journal = self.journal.to_str().expect("UTF-8");
        let mut args: Vec<_> = plan.args.iter().map(String::as_str).collect();
        args.extend(["--model", &script, "--journal", journal]);
        let running = match plan.terminal {
            true => self.world.start_at_terminal(&args),
            false => self.world.start(&args),
        };
        let ran = plan.play(running, &self.journal);
        let was = self.check(&ran);
        match ran.code {
            None => tally.killed(&was, &self.last, &Effects::of(&self.world)),
            Some(_) => tally.ended += 1,
        }
    }

    /// What was left undone is done, and the program ends by itself.
    fn end(&mut self) {
        self.world.put(OVER, "");
        let model = self.world.script(&"- text: Done.\n".repeat(ANSWERS));
        let journal = self.journal.to_str().expect("UTF-8").to_owned();
        let ran = self.world.run(&[
            "go on",
            "--model",
            &model,
            "--journal",
            &journal,
            "--approve",
            "all",
            "--json",
        ]);
        ran.ended(0);
        self.check(&ran);
        assert_eq!(self.last.open_calls(), 0, "every call has its result");
    }

    /// Everything that must hold now. Gives what the journal said before.
    fn check(&mut self, ran: &Ran) -> Truth {
        assert!(ran.code != Some(2) && !ran.err.contains("panicked"), "{ran:?}");
        let truth = Truth::read(&self.journal);
        truth.goes_on_from(&self.last);
        let told = told(ran);
        truth.has_all_that_was_told(&told);
        let accepted = told.iter().filter(|event| event["receipt"] == "accepted");
        self.accepted.extend(accepted.filter_map(|event| event["input"].as_str().map(str::to_owned)));
        for prompt in &self.accepted {
            assert!(truth.has_prompt(prompt), "{prompt} was accepted and is lost: {ran:?}");
        }
        Effects::of(&self.world).fit(&truth.calls());
        std::mem::replace(&mut self.last, truth)
    }
}

/// The events that a killed program printed; the last line may be cut. At a terminal there are none.
fn told(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
}
