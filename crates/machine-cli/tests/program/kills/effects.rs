//! What the calls did to the directory: each leaves a mark that is its own.
use std::collections::BTreeMap;
use std::fs;

use machine_core::outcome::Outcome;
use serde_json::{Value, json};

use crate::running::World;

/// Files that the edits of a session change. The mark goes before the end.
pub const LOGS: [&str; 3] = ["log-0.md", "log-1.md", "log-2.md"];

/// The end of such a file.
pub const END: &str = "END\n";

/// The file that commands add to.
const SHELL: &str = "effects";

/// How every mark begins.
const MARK: &str = "effect-";

/// The marks in the directory, with how often each is there.
pub struct Effects(BTreeMap<String, u32>);

/// The mark of a call.
pub fn mark(run: u32, n: u32) -> String {
    format!("{MARK}{run}-{n}")
}

/// A command that leaves a mark, `before` and `after` some other work.
pub fn shell(mark: &str, before: &str, after: &str) -> Value {
    json!({"tool": "shell", "args": {"command": format!("{before} echo {mark} >> {SHELL}; {after}")}})
}

/// An edit that leaves a mark.
pub fn edit(mark: &str, log: &str) -> Value {
    json!({"tool": "edit", "args": {"path": log, "old": END, "new": format!("{mark}\n{END}")}})
}

/// The mark that a call with these arguments leaves.
pub fn mark_in(args: &str) -> Option<&str> {
    args.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).find(|word| word.starts_with(MARK))
}

impl Effects {
    /// Those that are there now.
    pub fn of(world: &World) -> Self {
        let mut marks = BTreeMap::new();
        for file in LOGS.into_iter().chain([SHELL]) {
            // The first command makes the file. Drafts that a killed edit leaves beside are nobody's effect.
            let text = fs::read_to_string(world.dir().join(file)).unwrap_or_default();
            for mark in text.lines().filter(|line| line.starts_with(MARK)) {
                *marks.entry(mark.to_owned()).or_default() += 1;
            }
        }
        Self(marks)
    }

    /// Whether this call had its effect.
    pub fn has(&self, mark: &str) -> bool {
        self.0.contains_key(mark)
    }

    /// Whether they are those of these calls: none twice, none without its call, none of a call that did not run, and none
    /// missing of a call that was done. None stands for a call that waits to be allowed.
    #[track_caller]
    pub fn fit(&self, calls: &BTreeMap<String, Option<Outcome>>) {
        for (mark, times) in &self.0 {
            assert_eq!(*times, 1, "{mark} happened more than once");
            let call = calls.get(mark);
            assert!(call.is_some(), "{mark} happened and has no call");
            let may_be = call.and_then(Option::as_ref).is_some_and(may_have_run);
            assert!(may_be, "{mark} happened, and its call says {call:?}");
        }
        for (mark, outcome) in calls {
            assert!(*outcome != Some(Outcome::Ok) || self.has(mark), "{mark} is said to be done and is not");
        }
    }
}

fn may_have_run(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Ok | Outcome::Error { .. } | Outcome::Unknown => true,
        Outcome::Cancelled { may_have_run } | Outcome::TimedOut { may_have_run } => *may_have_run,
        Outcome::NotStarted { .. } | Outcome::Denied { .. } => false,
    }
}
