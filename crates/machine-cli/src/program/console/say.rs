//! Words for events that people read, shared by the consoles.
use std::fmt;

use machine_core::event::{EndReason, Event, Receipt, TurnEnd};
use machine_core::ids::CallId;
use machine_core::message::{Body, Part, ToolMessage};
use machine_core::outcome::Outcome;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The most characters of what a call is about, and of a line.
const LABEL: usize = 60;
const LINE: usize = 500;

/// The most characters that are shown of what a person is to allow: who allows it must have seen it.
const WANTED: usize = 4_000;

/// Asks a person, below what is wanted.
pub(super) const ALLOW: &str = "  allow? [y]es [n]o [a]lways: ";

/// What of a call's arguments says what it is about.
#[derive(Default, Deserialize)]
#[serde(default)]
struct About {
    command: Option<String>,
    pattern: Option<String>,
    path: Option<String>,
    glob: Option<String>,
}

/// A call in a few words, such as `edit f1.md`.
pub(super) fn label(tool: &str, args: &str) -> String {
    let About { command, pattern, path, glob } = serde_json::from_str(args).unwrap_or_default();
    match command.or(pattern).or(path).or(glob) {
        Some(about) => format!("{} {}", cut(&one_line(tool), LABEL), cut(&one_line(&about), LABEL)),
        None => cut(&one_line(tool), LABEL),
    }
}

/// A line about an event; none: it is not worth one.
pub(super) fn line(event: &Event, label: impl Fn(CallId) -> String) -> Option<String> {
    let line = match event {
        Event::CallStarted { call, .. } => format!("run   {}", label(*call)),
        Event::CallSettled { call, outcome: Outcome::Ok, .. } => format!("ok    {}", label(*call)),
        Event::CallSettled { call, outcome, .. } => settled(&label(*call), outcome),
        Event::TurnWaits { calls, ms, .. } => {
            format!("waits up to {ms} ms for {} background calls", calls.len())
        }
        Event::CallDetached { call } => format!("{} works on in the background", label(*call)),
        Event::BackgroundEnded { call, outcome } => format!("ended {}", settled(&label(*call), outcome)),
        Event::LateResult { call, outcome } => format!("late  {}", settled(&label(*call), outcome)),
        Event::Progress { call, text } => format!("{}: {text}", label(*call)),
        Event::Retrying { next, max, delay_ms, error, .. } => {
            format!("the model failed ({}); try {next} of {max} in {delay_ms} ms", error.message)
        }
        Event::HookFailed { question, error } => format!("{question}: {error}"),
        Event::Faulted { cause } => format!("the engine stopped: {cause}"),
        Event::Receipt { input, receipt: Receipt::Dropped(why) } => {
            format!("`{input}` was dropped: {}", words(why))
        }
        Event::TurnEnded(end) => return ended(end).map(|text| cut(&one_line(&text), LINE)),
        _ => return None,
    };
    Some(format!("  {}", cut(&one_line(&line), LINE)))
}

/// A line about a call that ended in an error, with what the tool said; none: it did not.
pub(super) fn error(result: &ToolMessage, label: &str) -> Option<String> {
    if !matches!(result.outcome, Outcome::Error { .. }) {
        return None;
    }
    let texts: Vec<_> = result.content.iter().filter_map(text).collect();
    let said = texts.join(" ");
    Some(format!("  {}", cut(&one_line(&format!("error {label}: {}", said.trim())), LINE)))
}

fn text(part: &Part) -> Option<&str> {
    match &part.body {
        Body::Text(text) => Some(text),
        _ => None,
    }
}

/// The end of a turn, if it says more than that it is done.
fn ended(end: &TurnEnd) -> Option<String> {
    match &end.reason {
        EndReason::Completed { .. } => None,
        reason => Some(format!("[turn {reason}]")),
    }
}

fn settled(label: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok => label.to_owned(),
        Outcome::Error { code } => format!("{label}: {}", words(code)),
        Outcome::Denied { reason } => format!("denied {label}: {reason}"),
        Outcome::NotStarted { code } => format!("not started {label}: {}", words(code)),
        Outcome::Cancelled { .. } => format!("cancelled {label}"),
        Outcome::TimedOut { .. } => format!("timed out {label}"),
        Outcome::Unknown => format!("unknown {label}"),
    }
}

/// A code in words.
fn words(code: &impl Serialize) -> String {
    match serde_json::to_value(code) {
        Ok(serde_json::Value::String(name)) => name.replace('_', " "),
        Ok(value) => value.to_string(),
        Err(error) => error.to_string(),
    }
}

/// What a person is asked to allow: all of it, as far as it can be read at all, and nothing hidden.
pub(super) fn wanted(tool: &str, args: &str) -> String {
    let mut text = format!("  wants to run {}", one_line(tool));
    match serde_json::from_str(args) {
        Ok(Fields(fields)) => {
            for (name, value) in &fields {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let value = value.replace('\n', "\n      ");
                text.push_str(&format!("\n    {}: {value}", one_line(name)));
            }
        }
        Err(_) => text.push_str(&format!("\n    {args}")),
    }
    let more = text.chars().count().saturating_sub(WANTED);
    let mut shown = visible(&text.chars().take(WANTED).collect::<String>());
    if more > 0 {
        shown.push_str(&format!("\n    [{more} more characters are not shown]"));
    }
    shown
}

/// The fields of a JSON object as they were written.
struct Fields(Vec<(String, serde_json::Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ReadFields)
    }
}

struct ReadFields;

impl<'de> Visitor<'de> for ReadFields {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

/// On one line, without what could steer a terminal.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// Text as it may be shown: lines and tabs stay, what could steer a terminal goes.
pub fn safe(text: &str) -> String {
    text.chars().filter(|c| !steers(*c) || matches!(c, '\n' | '\t')).collect()
}

/// The same, but what could steer a terminal is shown.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if steers(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Control characters, and those that turn the direction of what follows.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The beginning of a text: so many characters of it at most.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_what_a_call_is_about() {
        let check = |args: &str, want: &str| assert_eq!(label("tool", args), want, "{args}");
        check(r#"{"path": "f1.md", "old": "a"}"#, "tool f1.md");
        check(r#"{"path": "docs", "pattern": "teh"}"#, "tool teh");
        check(r#"{"glob": "*.md"}"#, "tool *.md");
        check(r#"{"command": "a\nb\u001b[2J"}"#, "tool a b [2J");
        check(r#"{"path": 7}"#, "tool");
        check("not JSON", "tool");
        check(&format!(r#"{{"path": "{}"}}"#, "é".repeat(61)), &format!("tool {}…", "é".repeat(60)));
    }

    #[test]
    fn what_is_to_be_allowed_is_shown_whole() {
        let check = |args: &str, want: &str| assert_eq!(wanted("shell", args), want, "{args}");
        check(r#"{"command": "ls"}"#, "  wants to run shell\n    command: ls");
        check(r#"{"b": 1, "a": [2]}"#, "  wants to run shell\n    b: 1\n    a: [2]");
        check(r#"{"command": "a\nb"}"#, "  wants to run shell\n    command: a\n      b");
        check(
            r#"{"command": "a\u001b[1A\u202eb"}"#,
            "  wants to run shell\n    command: a\\u{1b}[1A\\u{202e}b",
        );
        let long = format!(r#"{{"command": "{}"}}"#, "x".repeat(5_000));
        assert!(wanted("shell", &long).ends_with("x\n    [1034 more characters are not shown]"));
    }
}
