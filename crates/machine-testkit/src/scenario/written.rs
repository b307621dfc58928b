//! A run, written as a scenario file: what the explorer found becomes a file that `scenario` plays.
//!
//! The inputs are handled once more by a new engine, to see which ask each of them answers; the answers become the
//! script of model, calls and hooks, the commands its timeline. A trace has no times: they are chosen so that every
//! timer fires, or does not, as it did.
mod answers;
mod times;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use machine_adapter::{Engine, Order, Out};
use machine_core::ask::{Answer, Ask, Question};
use machine_core::config::{Config, ConfigError};
use machine_core::ids::{AskId, AttemptId, CallId};
use machine_core::input::{Command, Input, Lane, Note, Submit, Target};
use machine_core::message::Content;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::scenario::says::BRANCH;
use crate::scenario::written::answers::{Asked, Script};
use crate::scenario::written::times::{AtLeast, earliest};

/// Why a run cannot be written as a scenario.
#[derive(Debug, thiserror::Error)]
pub enum Unwritable {
    /// The configuration is nonsense.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A scenario has no words for it.
    #[error("a scenario has no words for this: {0}")]
    NoWords(String),
    /// Timers fired in an order that no clock brings.
    #[error("no clock brings its timers in this order")]
    NoTimes,
    /// Something in it cannot be written.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It cannot be written as YAML.
    #[error("{0}")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

/// Writes a run. Each move is what comes at one moment: one input, or the pieces of a response. What is still open at
/// the end is answered in the plainest way.
///
/// # Errors
/// A scenario cannot say it.
pub fn write(title: &str, why: &str, config: &Config, moves: &[Vec<Input>]) -> Result<String, Unwritable> {
    let run = Run::of(config, moves)?;
    let times = run.times(moves)?;
    let mut script = Script::default();
    for asked in run.in_order() {
        script.add(asked, &run, &times)?;
    }
    let Script { model, calls, hooks, mut timeline } = script;
    for (at, inputs) in times.iter().zip(moves) {
        for input in inputs {
            if let Some(verb) = run.verb(input)? {
                timeline.push((*at, json!({"at": at, "do": verb})));
            }
        }
    }
    timeline.sort_by_key(|(at, _)| *at);
    let file = File {
        title,
        why,
        config: sorted(differs(&serde_json::to_value(config)?, &serde_json::to_value(Config::default())?)),
        model: model.into_iter().map(sorted).collect(),
        model_then: json!({"text": "done"}),
        calls: calls.into_iter().map(|(name, call)| (name, sorted(call))).collect(),
        hooks: run.hooks(hooks).into_iter().map(|(name, hook)| (name, sorted(hook))).collect(),
        timeline: timeline.into_iter().map(|(_, moment)| sorted(moment)).collect(),
        expect: Map::new(),
    };
    Ok(serde_saphyr::to_string(&file)?)
}

/// The keys, in the order in which they are read.
#[derive(Serialize)]
struct File<'f> {
    title: &'f str,
    why: &'f str,
    #[serde(skip_serializing_if = "Value::is_null")]
    config: Value,
    model: Vec<Value>,
    model_then: Value,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    calls: BTreeMap<String, Value>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    hooks: BTreeMap<String, Value>,
    timeline: Vec<Value>,
    expect: Map<String, Value>,
}

/// The run as an engine saw it.
pub(crate) struct Run {
    config: Config,
    /// Everything that was asked.
    asked: BTreeMap<AskId, Asked>,
    /// What a process took along that died, and the next one asked again.
    asked_before: Vec<Asked>,
    /// What calls are called, in the order in which they were announced.
    labels: BTreeMap<CallId, String>,
    /// How many moves there are.
    moves: usize,
}

impl Run {
    fn of(config: &Config, moves: &[Vec<Input>]) -> Result<Self, Unwritable> {
        let mut engine = Engine::new(BRANCH, Arc::new(config.clone()))?;
        let (asked, asked_before, labels) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        let mut run = Self { config: config.clone(), asked, asked_before, labels, moves: moves.len() };
        let mut out = Out::default();
        for (at, inputs) in moves.iter().enumerate() {
            for input in inputs {
                if input.ask().is_some() && matches!(engine.agent().state(), machine_agent::State::Closed) {
                    return Err(Unwritable::NoWords("an answer to a session that is closed".into()));
                }
                if let Some(asked) = input.ask().and_then(|ask| run.asked.get_mut(&ask)) {
                    asked.came.push((at, input.clone()));
                }
                out.clear();
                match catch_unwind(AssertUnwindSafe(|| engine.feed(0, input, &mut out))) {
                    Ok(Ok(())) => {}
                    // What is refused, or fits nothing, does nothing here either.
                    Ok(Err(_)) => continue,
                    // Where a panic breaks a rule, the run ends with it.
                    Err(_) => return Ok(run),
                }
                run.note(at, &out);
            }
            for asked in run.asked.values_mut().filter(|asked| engine.ask(asked.ask.id).is_none()) {
                asked.closed.get_or_insert(at);
            }
        }
        Ok(run)
    }

    fn note(&mut self, at: usize, out: &Out) {
        for order in &out.now {
            match order {
                Order::Ask(ask) => self.note_ask(at, ask),
                Order::Withdraw(withdrawal) => {
                    if let Some(asked) = self.asked.get_mut(&withdrawal.ask) {
                        asked.withdrawn.get_or_insert(at);
                    }
                }
            }
        }
        out.acts.iter().for_each(|ask| self.note_ask(at, ask));
        for event in &out.events {
            if let machine_core::event::Event::CallAnnounced { call, .. } = event {
                let next = label(self.labels.len());
                self.labels.entry(*call).or_insert(next);
            }
        }
    }

    fn note_ask(&mut self, at: usize, ask: &Ask) {
        let asked = Asked { ask: ask.clone(), at, came: Vec::new(), withdrawn: None, closed: None };
        if let Some(before) = self.asked.insert(ask.id, asked) {
            self.asked_before.push(Asked { closed: Some(at), ..before });
        }
    }

    /// Everything that was asked, as often as it was, in the order in which it was.
    fn in_order(&self) -> Vec<&Asked> {
        let mut all: Vec<_> = self.asked.values().chain(&self.asked_before).collect();
        all.sort_by_key(|asked| (asked.at, asked.ask.id));
        all
    }

    /// When each move comes, in milliseconds.
    fn times(&self, moves: &[Vec<Input>]) -> Result<Vec<u64>, Unwritable> {
        let fires = |inputs: &[Input]| match inputs {
            [Input::Answer { ask, answer: Answer::Fired }] => Some(*ask),
            _ => None,
        };
        let mut wanted = Vec::new();
        for (from, pair) in moves.windows(2).enumerate() {
            // Timers may fire in one tick, in the order in which they were set; everything else has one of its own.
            let in_order = fires(&pair[0]).zip(fires(&pair[1])).is_some_and(|(first, then)| first < then);
            let ms = i64::from(!in_order);
            wanted.push(AtLeast { from, to: from + 1, ms });
        }
        for asked in self.in_order() {
            let Question::Timer { ms, .. } = asked.ask.question else { continue };
            let ms = i64::try_from(ms).unwrap_or(i64::MAX / 4);
            let from = asked.at;
            match asked.came.first() {
                Some((to, _)) => {
                    wanted.extend([AtLeast { from, to: *to, ms }, AtLeast { from: *to, to: from, ms: -ms }])
                }
                None => {
                    let until = asked.closed.unwrap_or(self.moves - 1);
                    wanted.push(AtLeast { from: until, to: from, ms: 1 - ms });
                }
            }
        }
        earliest(self.moves, &wanted).ok_or(Unwritable::NoTimes)
    }

    /// Whether its step had no later attempt.
    fn is_last(&self, attempt: AttemptId) -> bool {
        let later = |asked: &Asked| match asked.ask.question {
            Question::Attempt { attempt: other } => other.step() == attempt.step() && other > attempt,
            _ => false,
        };
        !self.asked.values().any(later)
    }

    /// Whether a preparation can be answered with that: a tool is unknown to every call, and at once.
    fn is_unknown(&self, asked: &Asked) -> bool {
        let Question::Prepare { tool, .. } = &asked.ask.question else { return false };
        let known = |asked: &&Asked| match &asked.ask.question {
            Question::Prepare { tool: other, .. } => other == tool && !asked.is_unknown(),
            _ => false,
        };
        asked.came.iter().all(|(at, _)| *at == asked.at + 1)
            && !self.asked.values().any(|asked| known(&asked))
    }

    /// What a call is called.
    fn name(&self, call: CallId) -> Result<&str, Unwritable> {
        let name = self.labels.get(&call).map(|label| &**label);
        name.ok_or_else(|| Unwritable::NoWords(format!("call {call}, which nobody announced")))
    }

    /// Hooks that are asked have an entry, if it is an empty one.
    fn hooks(&self, mut hooks: Map<String, Value>) -> Map<String, Value> {
        let ask = &self.config.ask;
        let all = [(ask.screen, "screen"), (ask.gate, "gate"), (ask.recover, "recover"), (ask.stop, "stop")];
        for (_, key) in all.into_iter().filter(|(asked, _)| *asked) {
            hooks.entry(key).or_insert_with(|| json!([]));
        }
        hooks
    }

    /// A command, as it stands in the timeline. Answers stand elsewhere, but for those to approvals.
    fn verb(&self, input: &Input) -> Result<Option<Value>, Unwritable> {
        let no_words = |what: &str| Err(Unwritable::NoWords(what.to_owned()));
        Ok(Some(match input {
            Input::Answer { .. } | Input::Piece { .. } => return Ok(None),
            Input::Lost { .. } => return no_words("an ask that nobody will answer"),
            Input::Fault { .. } => return no_words("a journal that fails"),
            // A crash would lose what is not durable yet, which here was handled all the same.
            Input::Recovered { .. } => json!("reopen"),
            Input::Command(command) => match command {
                Command::Submit(submit) => {
                    let verb = if submit.lane == Lane::NextStep { "join" } else { "submit" };
                    json!({verb: prompt(submit)})
                }
                Command::Notify(note) => json!({"notify": noted(note)}),
                Command::Inject(note) => json!({"inject": noted(note)}),
                Command::Remind(reminder) => json!({"remind": {
                    "key": reminder.key,
                    "text": text(&reminder.message),
                    "only_if_changed": reminder.only_if_changed,
                }}),
                Command::Steer(ids) => json!({"steer": ids}),
                Command::Withdraw(id) => json!({"withdraw": id}),
                Command::Replace(id, message) => json!({"replace": {"id": id, "text": text(message)}}),
                Command::Declare(call, access) => {
                    json!({"declare": {"call": self.name(*call)?, "access": access}})
                }
                Command::CancelCall(call, cause) => json!({"cancel": {
                    "call": self.name(*call)?, "by": cause.by, "reason": cause.reason,
                }}),
                Command::Consume(call) => json!({"consume": self.name(*call)?}),
                Command::Abort(abort) => {
                    let (turn, prompt) = match &abort.target {
                        None => (None, None),
                        Some(Target::Turn(turn)) => (Some(turn.turn), None),
                        Some(Target::Prompt(prompt)) => (None, Some(prompt)),
                    };
                    let (by, reason) = (abort.cause.by, &abort.cause.reason);
                    bare(json!({"abort": {"by": by, "reason": reason, "turn": turn, "prompt": prompt}}))
                }
                Command::Configure(config) => json!({"configure": config}),
                Command::Pause => json!("pause"),
                Command::Resume => json!("resume"),
                Command::Maintain => json!("maintain"),
                Command::Close => json!("close"),
            },
        }))
    }
}

fn prompt(submit: &Submit) -> Value {
    bare(json!({"id": submit.id, "text": text(&submit.message), "wake": submit.wake, "meta": submit.meta}))
}

fn noted(note: &Note) -> Value {
    bare(json!({"id": note.id, "text": text(&note.message), "meta": note.meta}))
}

fn text(content: &Content) -> String {
    content.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join(" ")
}

/// `a`, `b`, …, `z`, `call 27`, …
fn label(n: usize) -> String {
    match u8::try_from(n).ok().filter(|n| *n < 26) {
        Some(n) => char::from(b'a' + n).to_string(),
        None => format!("call {}", n + 1),
    }
}

/// With the members of every object by key, however the parser was built.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let members: BTreeMap<_, _> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// Without what is null.
fn bare(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, bare(value)))
            .collect(),
        other => other,
    }
}

/// What differs from a default, level by level; null: nothing. Which questions are asked follows from the script.
fn differs(value: &Value, default: &Value) -> Value {
    match (value, default) {
        (Value::Object(value), Value::Object(default)) => {
            let differing = value.iter().filter(|(key, _)| *key != "ask").filter_map(|(key, value)| {
                let differing = differs(value, default.get(key).unwrap_or(&Value::Null));
                (!differing.is_null()).then(|| (key.clone(), differing))
            });
            let differing: Map<_, _> = differing.collect();
            if differing.is_empty() { Value::Null } else { Value::Object(differing) }
        }
        (value, default) if value == default => Value::Null,
        (value, _) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_has_one_order() {
        let value = json!({"b": [{"z": 1, "a": 2}], "a": {"d": null, "c": 3}});
        assert_eq!(sorted(value).to_string(), r#"{"a":{"c":3,"d":null},"b":[{"a":2,"z":1}]}"#);
    }
}
