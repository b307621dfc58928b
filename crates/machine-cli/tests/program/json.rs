//! `--json`: every event as one line, and nothing else.
use serde_json::Value;

use crate::running::{Ran, World};

/// The events of a run.
pub struct Stream(pub Vec<Value>);

impl Stream {
    #[track_caller]
    pub fn of(ran: &Ran) -> Self {
        Self(ran.events())
    }

    pub fn all<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = &'s Value> {
        self.0.iter().filter(move |event| event["type"] == kind)
    }

    pub fn count(&self, kind: &str) -> usize {
        self.all(kind).count()
    }

    fn calls<'s>(&'s self, kind: &'s str) -> Vec<&'s Value> {
        self.all(kind).map(|event| &event["call"]).collect()
    }

    /// What must hold of every run.
    #[track_caller]
    pub fn is_sound(&self) {
        self.is_numbered();
        self.has_settled_calls();
        self.folds_to_a_history();
        assert_eq!(self.count("turn_started"), self.count("turn_ended"));
        assert_eq!(self.0.last().expect("events")["type"], "closed");
    }

    /// Durable events are numbered without gaps; live ones say which they come after.
    #[track_caller]
    fn is_numbered(&self) {
        let mut next = 0;
        for event in &self.0 {
            let kind = event["type"].as_str().expect("a type");
            assert!(kind.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{kind}");
            if ["delta", "progress", "stray"].contains(&kind) {
                assert_eq!(event["after"].as_u64(), u64::checked_sub(next, 1), "{event}");
                assert!(event.get("n").is_none());
            } else {
                assert_eq!(event["n"], next, "{event}");
                assert!(event.get("after").is_none());
                next += 1;
            }
        }
    }

    /// Every call that was announced is settled once, and nothing else is.
    #[track_caller]
    fn has_settled_calls(&self) {
        let (announced, settled) = (self.calls("call_announced"), self.calls("call_settled"));
        assert_eq!(announced.len(), settled.len());
        for call in &announced {
            assert_eq!(settled.iter().filter(|other| other == &call).count(), 1, "{call}");
        }
    }

    /// Entries come one after the other; the results of a step's calls follow them, each once, in call order.
    #[track_caller]
    fn folds_to_a_history(&self) {
        let mut open: Vec<Value> = Vec::new();
        for (at, event) in self.all("committed").enumerate() {
            assert_eq!(event["at"], at, "{event}");
            let message = &event["entry"]["message"];
            if message["role"] == "tool" {
                assert!(!open.is_empty(), "a result without its call: {event}");
                assert_eq!(message["call"], open.remove(0), "in call order");
                assert!(message["content"].as_array().is_some_and(|parts| !parts.is_empty()));
                continue;
            }
            assert!(open.is_empty(), "{open:?} have no result before {event}");
            let parts = message["content"].as_array().expect("parts");
            open.extend(
                parts.iter().filter_map(|part| part["body"].get("call")).map(|call| call["id"].clone()),
            );
        }
        assert!(open.is_empty(), "{open:?} have no result");
        let committed: Vec<_> =
            self.all("committed").map(|e| &e["entry"]["message"]).filter(|m| m["role"] == "tool").collect();
        let committed: Vec<_> = committed.iter().map(|message| &message["call"]).collect();
        assert_eq!(committed, self.calls("call_announced"));
    }

    /// How the one turn ended.
    #[track_caller]
    pub fn reason(&self) -> &Value {
        let ends: Vec<_> = self.all("turn_ended").collect();
        assert_eq!(ends.len(), 1);
        &ends[0]["reason"]
    }
}

const SCRIPT: &str = "
- text: [I look, ' around.']
  calls:
    - {tool: read, args: {path: a.md}}
    - {tool: shell, args: {command: 'sleep 0.2; echo slow'}}
    - {tool: read, args: {path: missing.md}}
    - {tool: nothing, args: {}}
    - {tool: read, args: '{\"path\": '}
- text: Done.
";

#[test]
fn every_line_is_an_event_and_the_whole_folds() {
    let world = World::with(&[("a.md", "x\n")]);
    let ran = world.run(&["go", "--model", &world.script(SCRIPT), "--approve", "all", "--json"]);
    ran.ended(0);
    assert_eq!(ran.err, "");
    let stream = Stream::of(&ran);
    stream.is_sound();
    assert_eq!(stream.reason()["completed"]["stopped_by"], Value::Null);
    let status: Vec<_> =
        stream.all("committed").map(|e| &e["entry"]["message"]["outcome"]["status"]).collect();
    assert_eq!(status[2..7], ["ok", "ok", "error", "error", "error"]);
    let streamed: String = stream.all("delta").filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(streamed, "I look around.Done.");
}

#[test]
fn a_failed_turn_is_sound_too() {
    let world = World::new();
    let script =
        world.script("- calls: [{tool: list}]\n- {text: half, fail: {kind: auth, message: no key}}\n");
    let ran = world.run(&["go", "--model", &script, "--json"]);
    ran.ended(1);
    let stream = Stream::of(&ran);
    stream.is_sound();
    assert!(stream.reason().get("failed").is_some(), "{}", stream.reason());
}

#[test]
fn prompts_of_a_loop_come_as_events_and_words_go_to_standard_error() {
    let world = World::with(&[("a.md", "x\n")]);
    let mut running = world.start(&["--json"]);
    running.say("list");
    running.say("count lines in *.md");
    running.say("/nonsense");
    running.close();
    let ran = running.end();
    ran.ended(0);
    assert!(ran.err.lines().all(|line| line.starts_with("agent-machine: ")), "{}", ran.err);
    let stream = Stream::of(&ran);
    stream.is_sound();
    assert_eq!(stream.count("turn_ended"), 2);
}

#[test]
fn whatever_a_prompt_has_in_it_stays_on_one_line() {
    let world = World::new();
    let ran = world.run(&["a\nb\u{2028}\u{1b}[2J\u{7f}\"", "--json"]);
    ran.ended(0);
    Stream::of(&ran).is_sound();
}

/// A thousand calls in one response are thousands of events at once: none is lost (E01).
#[test]
fn a_burst_is_shown_whole() {
    let world = World::with(&[("f.md", "x")]);
    let calls = "    - {tool: read, args: {path: f.md}}\n".repeat(1_000);
    let script = world.script(&format!("- calls:\n{calls}- text: done\n"));
    let ran = world.run(&["go", "--model", &script, "--json"]);
    let stream = Stream::of(ran.ended(0));
    stream.is_sound();
    assert_eq!(stream.count("call_settled"), 1_000);
}
