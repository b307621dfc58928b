//! What was expected and did not come.
use machine_adapter::Request;
use machine_adapter::view::View;
use machine_core::event::Event;
use serde_saphyr::{Location, Spanned};

use crate::scenario::Scenario;
use crate::scenario::expect::{Expect, Sent, StateAt, Tokens};
use crate::scenario::played::{Played, Told};
use crate::scenario::simulated::in_agent;
use crate::scenario::words::{outcome, receipt};

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Which, such as `history`.
    pub what: String,
    /// The line of the file, from 1; 0 where there is none.
    pub line: u64,
    /// What was expected.
    pub expected: Vec<String>,
    /// What came.
    pub came: Vec<String>,
}

impl Missed {
    fn new(what: impl Into<String>, at: Location, expected: &[String], came: &[String]) -> Self {
        Self { what: what.into(), line: at.line(), expected: expected.to_vec(), came: came.to_vec() }
    }

    fn bare(what: impl Into<String>, came: impl Into<String>) -> Self {
        Self { what: what.into(), line: 0, expected: Vec::new(), came: vec![came.into()] }
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn on_the_host(self) -> Self {
        Self { what: format!("{} (on the host)", self.what), ..self }
    }
}

/// What was expected and did not come.
pub(crate) fn judge(scenario: &Scenario, played: &Played) -> Vec<Missed> {
    let mut missed: Vec<_> = played.gaps.iter().map(|gap| Missed::bare("the script", gap)).collect();
    for told in &played.agents {
        if !told.unused.is_empty() {
            let labels = told.unused.join(", ");
            missed
                .push(Missed::bare("the script", in_agent(&told.agent, &format!("never called: {labels}"))));
        }
        if told.left > 0 {
            let left = format!("{} replies of the model were never asked for", told.left);
            missed.push(Missed::bare("the script", in_agent(&told.agent, &left)));
        }
    }
    if let Some(first) = played.agents.first() {
        Judge { told: first, missed: &mut missed }.judge(&scenario.file.expect.value);
    }
    for (name, expect) in &scenario.file.expect.value.agents {
        match played.agents.iter().rfind(|told| told.agent == *name) {
            Some(told) => Judge { told, missed: &mut missed }.judge(&expect.value),
            None => {
                let there: Vec<_> = played.agents.iter().map(|told| told.agent.clone()).collect();
                missed.push(Missed::new("agents", expect.referenced, std::slice::from_ref(name), &there));
            }
        }
    }
    missed
}

struct Judge<'j> {
    told: &'j Told,
    missed: &'j mut Vec<Missed>,
}

impl Judge<'_> {
    fn judge(&mut self, expect: &Expect) {
        let Expect {
            history,
            ends,
            requests,
            sent,
            starts,
            results,
            reads,
            receipts,
            events,
            never,
            counts,
            states,
            refused,
            usage,
            open,
            agents: _,
        } = expect;
        let told = self.told;
        self.list("history", history.as_ref(), || told.history_lines());
        self.list("ends", ends.as_ref(), || told.ends());
        self.list("starts", starts.as_ref(), || told.starts.clone());
        self.list("open", open.as_ref(), || told.open.iter().map(|kind| (*kind).to_owned()).collect());
        if let Some(requests) = requests {
            let (expected, came) = (requests.value.to_string(), told.requests.len().to_string());
            self.same("requests", requests.referenced, &[expected], &[came]);
        }
        if let Some(usage) = usage {
            let (expected, came) = (format!("{:?}", usage.value), format!("{:?}", told.tokens()));
            self.same("usage", usage.referenced, &[expected], &[came]);
        }
        match refused {
            Some(refused) => self.refused(refused),
            None if told.refused.is_empty() => {}
            None => self.missed.push(Missed {
                what: in_agent(&told.agent, "refused: write it down if it is right"),
                line: 0,
                expected: vec!["nothing".into()],
                came: told.refused.clone(),
            }),
        }
        for (call, expected) in results {
            let came = told.result(call).unwrap_or_else(|| "no result".into());
            let expected_line = std::slice::from_ref(&expected.value);
            self.same(format!("results.{call}"), expected.referenced, expected_line, &[came]);
        }
        for (call, texts) in reads {
            self.reads(call, texts);
        }
        for (input, expected) in receipts {
            let came = told.receipts(input);
            self.prefixes(format!("receipts.{input}"), expected.referenced, &expected.value, &came);
        }
        self.events(events);
        for never in never {
            let came = told.lines_like(&never.value);
            if !came.is_empty() {
                self.miss("never", never.referenced, std::slice::from_ref(&never.value), &came);
            }
        }
        for (pattern, count) in counts {
            let came = told.lines_like(pattern);
            if came.len() != count.value {
                let expected = format!("{} times", count.value);
                self.miss(format!("counts.{pattern}"), count.referenced, &[expected], &came);
            }
        }
        sent.iter().for_each(|sent| self.sent(sent));
        states.iter().for_each(|state| self.state(state));
    }

    fn miss(&mut self, what: impl Into<String>, at: Location, expected: &[String], came: &[String]) {
        self.missed.push(Missed::new(in_agent(&self.told.agent, &what.into()), at, expected, came));
    }

    fn same(&mut self, what: impl Into<String>, at: Location, expected: &[String], came: &[String]) {
        if expected != came {
            self.miss(what, at, expected, came);
        }
    }

    fn list(
        &mut self,
        what: &str,
        expected: Option<&Spanned<Vec<String>>>,
        came: impl FnOnce() -> Vec<String>,
    ) {
        if let Some(expected) = expected {
            self.same(what, expected.referenced, &expected.value, &came());
        }
    }

    /// As many lines, each beginning with the words that are expected.
    fn prefixes(&mut self, what: impl Into<String>, at: Location, expected: &[String], came: &[String]) {
        let fits = expected.len() == came.len() && expected.iter().zip(came).all(|(e, c)| begins(c, e));
        if !fits {
            self.miss(what, at, expected, came);
        }
    }

    fn refused(&mut self, expected: &Spanned<Vec<String>>) {
        let came = self.told.refused.clone();
        let fits = expected.value.len() == came.len()
            && expected.value.iter().zip(&came).all(|(e, c)| c.contains(&**e));
        if !fits {
            self.miss("refused", expected.referenced, &expected.value, &came);
        }
    }

    fn reads(&mut self, call: &str, texts: &Spanned<Vec<String>>) {
        let came = self.told.read(call).unwrap_or_else(|| "no result".into());
        if !texts.value.iter().all(|text| came.contains(&**text)) {
            self.miss(format!("reads.{call}"), texts.referenced, &texts.value, &[came]);
        }
    }

    /// In this order, others between them.
    fn events(&mut self, expected: &[Spanned<String>]) {
        let lines = self.told.event_lines();
        let mut from = 0;
        for Spanned { value, referenced, .. } in expected {
            match lines[from..].iter().position(|(at, line)| fits(value, *at, line)) {
                Some(found) => from += found + 1,
                None => {
                    let came =
                        lines[from..].iter().map(|(at, line)| format!("@{at} {line}")).collect::<Vec<_>>();
                    return self.miss("events", *referenced, std::slice::from_ref(value), &came);
                }
            }
        }
    }

    fn sent(&mut self, Spanned { value: sent, referenced: at, .. }: &Spanned<Sent>) {
        let what = |key: &str| format!("sent {}: {key}", sent.n);
        let Some(request) = self.request(sent.n) else {
            let made = format!("{} requests", self.told.requests.len());
            return self.miss(what("n"), *at, &[format!("request {}", sent.n)], &[made]);
        };
        let lines: Vec<String> = request.history.iter().map(|entry| self.told.names.entry(entry)).collect();
        if let Some(expected) = &sent.history_ends {
            let from = lines.len().saturating_sub(expected.len());
            self.same(what("history_ends"), *at, expected, &lines[from..]);
        }
        if let Some(expected) = &sent.tools {
            let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.to_string()).collect();
            self.same(what("tools"), *at, expected, &tools);
        }
        if let Some(expected) = &sent.system {
            self.same(what("system"), *at, std::slice::from_ref(expected), &[request.system.to_string()]);
        }
        let settings = serde_json::to_string(&request.settings).unwrap_or_default();
        if !sent.settings.iter().all(|text| settings.contains(&**text)) {
            self.miss(what("settings"), *at, &sent.settings, std::slice::from_ref(&settings));
        }
        if let Some(other) = sent.same_as {
            let same = self.request(other).is_some_and(|other| alike(&other, &request));
            if !same {
                let expected = format!("the same as request {other}");
                self.miss(what("same_as"), *at, &[expected], &lines);
            }
        }
    }

    fn request(&self, n: usize) -> Option<Request> {
        self.told.requests.get(n.checked_sub(1)?).cloned()
    }

    fn state(&mut self, Spanned { value: state, referenced: at, .. }: &Spanned<StateAt>) {
        let told = self.told;
        let what = |key: &str| format!("states at {} ({}): {key}", state.at, state.order.name());
        let seen = told.looks.iter().find(|(look, _)| look.at == state.at && look.order == state.order);
        let Some((_, view)) = seen else {
            return self.miss(what("agent"), *at, &["a look".into()], &["none".into()]);
        };
        let mut look = |key: &str, expected: &str, came: String| {
            if !format!("/{came}/").contains(&format!("/{expected}/")) {
                self.miss(what(key), *at, &[expected.to_owned()], &[came]);
            }
        };
        if let Some(agent) = &state.agent {
            look("agent", agent, view.agent.join("/"));
        }
        if let Some(turn) = &state.turn {
            look("turn", turn, view.turn.as_ref().map_or_else(|| "none".into(), |turn| turn.state.join("/")));
        }
        for (call, expected) in &state.calls {
            look(&format!("calls.{call}"), expected, told.call_state(view, call));
        }
        if let Some(open) = &state.open {
            let came: Vec<_> = view.waits.iter().map(|open| open.ask.question.kind().to_owned()).collect();
            self.same(what("open"), *at, open, &came);
        }
    }
}

impl Told {
    pub(crate) fn history_lines(&self) -> Vec<String> {
        self.history.iter().map(|entry| self.names.entry(entry)).collect()
    }

    fn ends(&self) -> Vec<String> {
        let end = |(_, event): &(u64, Event)| match event {
            Event::TurnEnded(end) => Some(self.names.end(&end.reason)),
            _ => None,
        };
        self.events.iter().filter_map(end).collect()
    }

    fn tokens(&self) -> Tokens {
        let mut tokens = Tokens::default();
        for (_, event) in &self.events {
            if let Event::TurnEnded(end) = event {
                let known = end.usage.known;
                tokens.input = tokens.input.saturating_add(known.input);
                tokens.output = tokens.output.saturating_add(known.output);
                tokens.cached = tokens.cached.saturating_add(known.cached);
                tokens.unknown = tokens.unknown.saturating_add(end.usage.unknown_attempts);
            }
        }
        tokens
    }

    fn result(&self, call: &str) -> Option<String> {
        self.events.iter().find_map(|(_, event)| match event {
            Event::CallSettled { call: id, outcome: how, .. } if self.names.call(*id) == call => {
                Some(outcome(how))
            }
            _ => None,
        })
    }

    fn read(&self, call: &str) -> Option<String> {
        self.history.iter().find_map(|entry| match &entry.message {
            machine_core::message::Message::Tool(tool) if self.names.call(tool.call) == call => {
                Some(entry.message.text())
            }
            _ => None,
        })
    }

    fn receipts(&self, id: &str) -> Vec<String> {
        let told = |(_, event): &(u64, Event)| match event {
            Event::Receipt { input, receipt: told } if &*input.0 == id => Some(receipt(told)),
            _ => None,
        };
        self.events.iter().filter_map(told).collect()
    }

    /// Every event as a line, with its time.
    fn event_lines(&self) -> Vec<(u64, String)> {
        self.events.iter().map(|(at, event)| (*at, self.names.event(event))).collect()
    }

    fn lines_like(&self, pattern: &str) -> Vec<String> {
        let lines = self.event_lines().into_iter().filter(|(at, line)| fits(pattern, *at, line));
        lines.map(|(at, line)| format!("@{at} {line}")).collect()
    }

    fn call_state(&self, view: &View, name: &str) -> String {
        let call = view.calls.iter().find(|call| self.names.call(call.id) == name);
        call.map_or_else(|| "none".into(), |call| call.state.join("/"))
    }
}

/// Whether an event's line is what was expected: `@10 call_settled a ok`, with or without its time, or its first words.
fn fits(pattern: &str, at: u64, line: &str) -> bool {
    match pattern.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        Some((time, rest)) => time.parse() == Ok(at) && begins(line, rest),
        None => begins(line, pattern),
    }
}

/// Whether a line begins with these words.
fn begins(line: &str, words: &str) -> bool {
    line.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether two requests say the same.
fn alike(one: &Request, other: &Request) -> bool {
    one.history == other.history
        && one.tools == other.tools
        && one.system == other.system
        && one.settings == other.settings
}
