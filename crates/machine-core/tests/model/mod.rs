//! A second, naive history: a list, a set and a queue. And entries to try, legal and illegal.
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use machine_core::ids::CallId;
use machine_core::message::{Body, Entry, Message, Origin, Part, ToolCall};
use proptest::prelude::*;

use crate::common::*;

/// A call without its result: its id, its wire id and its tool.
pub type Asked = (CallId, String, String);

/// What a history should be.
#[derive(Clone, Default)]
pub struct Model {
    pub entries: Vec<Arc<Entry>>,
    /// Calls whose results must come next.
    pub open: VecDeque<Asked>,
    used: BTreeSet<String>,
}

impl Model {
    /// The model of these entries, if they may be a history.
    pub fn of(entries: &[Arc<Entry>]) -> Option<Self> {
        let mut model = Self::default();
        entries.iter().all(|entry| model.take(entry)).then_some(model)
    }

    pub fn ready(&self) -> bool {
        let last = self.entries.last().map(|entry| &entry.message);
        self.open.is_empty() && last.is_some_and(|last| !matches!(last, Message::Assistant { .. }))
    }

    /// Takes the entry, if V05 and V06 let it in.
    pub fn take(&mut self, entry: &Arc<Entry>) -> bool {
        let taken = match &entry.message {
            Message::Tool(tool) => self.open.front().is_some_and(|(call, wire, name)| {
                let fits = tool.call == *call && *tool.wire == **wire && *tool.tool == **name;
                fits && !tool.content.is_empty() && asks_nothing(&tool.content)
            }),
            _ if !self.open.is_empty() => false,
            Message::System { content } | Message::User { content } => asks_nothing(content),
            Message::Assistant { content } => self.sound(content),
        };
        if taken {
            if let Message::Tool(_) = &entry.message {
                self.open.pop_front();
            }
            for call in entry.message.calls() {
                self.used.insert(call.wire.to_string());
                self.open.push_back((call.id, call.wire.to_string(), call.tool.to_string()));
            }
            self.entries.push(entry.clone());
        }
        taken
    }

    /// The result that must come next, or one of a call that nobody made.
    pub fn answer(&self, parts: Vec<Part>) -> Arc<Entry> {
        let (call, wire, tool) = self.open.front().cloned().unwrap_or_else(nobodys);
        result_with(call, &wire, &tool, parts)
    }

    fn sound(&self, content: &[Part]) -> bool {
        let says_something = content.iter().any(|part| match &part.body {
            Body::Text(text) => text.chars().any(|c| !c.is_whitespace()),
            Body::Media { .. } | Body::Call(_) => true,
            Body::Thinking { .. } => false,
        });
        let (mut used, mut ids) = (self.used.clone(), BTreeSet::new());
        let mut sound = |part: &Part| match &part.body {
            Body::Call(ToolCall { id, wire, tool, args, .. }) => {
                let written = name(wire) && name(tool) && object(args);
                written && used.insert(wire.to_string()) && ids.insert(*id)
            }
            _ => true,
        };
        says_something && content.iter().all(&mut sound)
    }
}

fn nobodys() -> Asked {
    (call_id(0), "none".into(), "t".into())
}

fn asks_nothing(content: &[Part]) -> bool {
    content.iter().all(|part| !matches!(part.body, Body::Call(_)))
}

fn name(text: &str) -> bool {
    let fits = |c: char| c == '_' || c == '-' || c.is_ascii_alphabetic() || c.is_ascii_digit();
    !text.is_empty() && text.chars().count() <= 64 && text.chars().all(fits)
}

fn object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object())
}

/// An entry to try; what it becomes may depend on what is open.
#[derive(Clone, Debug)]
pub enum Try {
    /// The result that must come next.
    Answer(Vec<Part>),
    /// The same of this tool, be it its call's or not.
    Of(String),
    /// The result of an open call that is not next.
    Later(prop::sample::Index),
    /// The result of any call, under any wire id.
    Result(u32, String, Vec<Part>),
    /// A message of any role.
    User(Vec<Part>),
    System(Vec<Part>),
    Assistant(Vec<Part>),
}

impl Try {
    pub fn entry(&self, model: &Model) -> Arc<Entry> {
        match self {
            Self::Answer(parts) => model.answer(parts.clone()),
            Self::Of(tool) => {
                let (call, wire, _) = model.open.front().cloned().unwrap_or_else(nobodys);
                result_with(call, &wire, tool, vec![media()])
            }
            Self::Later(index) => {
                let later: Vec<_> = model.open.iter().skip(1).collect();
                let any = nobodys();
                let (call, wire, tool) =
                    if later.is_empty() { &any } else { later[index.index(later.len())] };
                result_with(*call, wire, tool, vec![media()])
            }
            Self::Result(n, wire, parts) => result_with(call_id(*n), wire, "t", parts.clone()),
            Self::User(parts) => {
                entry(Origin::Gate { hook: "gate".into() }, Message::User { content: parts.clone().into() })
            }
            Self::System(parts) => {
                entry(Origin::Gate { hook: "gate".into() }, Message::System { content: parts.clone().into() })
            }
            Self::Assistant(parts) => assistant(parts.clone()),
        }
    }
}

pub fn tries() -> impl Strategy<Value = Vec<Try>> {
    prop::collection::vec(any_try(), 0..40)
}

pub fn any_try() -> impl Strategy<Value = Try> {
    prop_oneof![
        6 => said(0..3).prop_map(Try::Answer),
        1 => mixed().prop_map(Try::Answer),
        1 => tool().prop_map(Try::Of),
        1 => any::<prop::sample::Index>().prop_map(Try::Later),
        1 => (0..4u32, wire(), said(0..2)).prop_map(|(n, wire, parts)| Try::Result(n, wire, parts)),
        2 => said(0..3).prop_map(Try::User),
        1 => prop_oneof![3 => said(0..2), 1 => mixed()].prop_map(Try::System),
        1 => mixed().prop_map(Try::User),
        6 => mixed().prop_map(Try::Assistant),
    ]
}

fn said(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Part>> {
    prop::collection::vec(part(), count)
}

fn mixed() -> impl Strategy<Value = Vec<Part>> {
    let call = (0..12u32, wire(), tool(), args()).prop_map(|(n, wire, tool, args)| {
        let call =
            ToolCall { id: call_id(n), wire: wire.into(), tool: tool.into(), args: args.into(), raw: None };
        Body::Call(call).into()
    });
    prop::collection::vec(prop_oneof![part(), call], 0..4)
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        3 => "[ab]{0,3}".prop_map(Part::text),
        1 => Just(Part::text(" \u{a0}\n")),
        1 => Just(media()),
        1 => any::<bool>().prop_map(|signed| thinking("hm", signed.then_some("s"))),
    ]
}

fn wire() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => "[a-d]{1,3}",
        1 => prop::sample::select(vec!["", "a b", "ü", "a.b", "-_", "__", "a__2"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![63, 64, 65]).prop_map(|n| "w".repeat(n)),
    ]
}

fn tool() -> impl Strategy<Value = String> {
    prop_oneof![20 => prop::sample::select(vec!["t", "t2"]).prop_map(str::to_owned), 1 => prop::sample::select(vec!["", "a b", "t/u"]).prop_map(str::to_owned)]
}

fn args() -> impl Strategy<Value = String> {
    let odd = vec!["", "5", "[]", "null", "{", "{}x", "\u{a0}{}", "{'a':1}", "\"{}\"", "{\"a\":1,}"];
    let fine = vec!["{}", " {}\n", "{\"a\":[1,{\"b\":null}]}", "{\"a\":1,\"a\":2}"];
    prop_oneof![20 => prop::sample::select(fine), 1 => prop::sample::select(odd)].prop_map(str::to_owned)
}
