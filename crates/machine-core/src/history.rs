//! The list of entries that the next request is built from, correct by its type.
//!
//! [`History::append`] is the only way in. It runs the pairing automaton: after an assistant message with
//! calls come exactly the results of these calls, in call order, and nothing between (V05, V06). It refuses,
//! it never repairs.
//!
//! Architecture invariant: no code outside this file can make a history that fails [`History::audit`].
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use rpds::VectorSync;
use serde::{Deserialize, Serialize};

use crate::Text;
use crate::digest::Digest;
use crate::ids::{CallId, TurnId};
use crate::message::{Body, Content, Entry, Message, Origin, ToolCall, ToolMessage};
pub use crate::object::is_object;
use crate::wires::Wires;

/// The longest id or name that providers take.
pub(crate) const NAME_MAX: usize = 64;

/// What a history refuses. From an append by the engine it is the engine's fault; from an edit or a text that is read,
/// its author's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// Something stands between a call and its result.
    #[error("V05: entry {at}: expected the result of call {expected}, got {got}")]
    Unanswered {
        /// Position of the refused entry.
        at: usize,
        /// The call whose result must come next.
        expected: CallId,
        /// What came.
        got: String,
    },
    /// A result that no open call asked for.
    #[error("V05: entry {at}: result of call {call} without its call")]
    Orphan {
        /// Position of the refused entry.
        at: usize,
        /// The call it claims to answer.
        call: CallId,
    },
    /// An assistant or tool message with nothing in it, or with nothing but thinking.
    #[error("V06: entry {at}: empty {what} message")]
    Empty {
        /// Position of the refused entry.
        at: usize,
        /// Its role.
        what: &'static str,
    },
    /// A call with an id, name or arguments that are not legal on the wire, or a call outside an assistant
    /// message.
    #[error("V06: entry {at}: call {call}: {what}")]
    IllegalCall {
        /// Position of the refused entry.
        at: usize,
        /// The call.
        call: CallId,
        /// What is wrong.
        what: &'static str,
    },
    /// A request may not be made: open calls, a last message from the assistant, or nothing at all (V06).
    #[error("V06: no request may be made: {0}")]
    NotReady(&'static str),
    /// An edit reaches past the end, or cuts a batch (A18).
    #[error("A18: the edit folds {up_to} entries: {what}")]
    BadEdit {
        /// How many entries it folds.
        up_to: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// A change of history (A18).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// The first `up_to` entries become `into` (compaction).
    Fold {
        /// How many entries go.
        up_to: usize,
        /// What stands for them.
        into: Vec<Arc<Entry>>,
    },
    /// Everything becomes `with`.
    Replace {
        /// The new entries.
        with: Vec<Arc<Entry>>,
    },
}

/// The calls of the last assistant message, while some are unanswered.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    /// Id, wire id and tool of each.
    calls: Arc<[(CallId, Text, Text)]>,
    answered: usize,
}

impl Open {
    fn awaits(&self, tool: &ToolMessage) -> bool {
        let (call, wire, name) = &self.calls[self.answered];
        (*call, wire, name) == (tool.call, &tool.wire, &tool.tool)
    }
}

/// Committed entries, in order. Cloning is O(1), appending near it; equality and hash use a running digest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Arc<Entry>>", into = "Vec<Arc<Entry>>")]
pub struct History {
    entries: VectorSync<Arc<Entry>>,
    open: Option<Open>,
    wires: Wires,
    digest: Digest,
}

impl History {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry, or refuses it and stays as it was.
    pub fn append(&mut self, entry: Arc<Entry>) -> Result<(), HistoryError> {
        let open = self.accept(&entry)?;
        self.claim(&entry.message)?;
        self.open = open;
        self.digest = self.digest.then(&*entry);
        self.entries.push_back_mut(entry);
        Ok(())
    }

    /// Applies an edit, or refuses it and stays as it was. Costs O(n): it audits the result.
    pub fn edit(&mut self, edit: &Edit) -> Result<(), HistoryError> {
        if self.open.is_some() {
            return Err(HistoryError::NotReady("calls without results"));
        }
        let mut next = Self::new();
        let (head, rest) = match edit {
            Edit::Replace { with } => (with, self.len()),
            Edit::Fold { up_to, into } => {
                let bad = |what| HistoryError::BadEdit { up_to: *up_to, what };
                if *up_to > self.len() {
                    return Err(bad("there are fewer"));
                }
                if matches!(self.get(*up_to).map(|e| &e.message), Some(Message::Tool(_))) {
                    return Err(bad("that cuts a batch"));
                }
                (into, *up_to)
            }
        };
        for entry in head.iter().chain(self.entries.iter().skip(rest)) {
            next.append(entry.clone())?;
        }
        if next.open.is_some() {
            return Err(HistoryError::NotReady("the edit leaves calls without results"));
        }
        *self = next;
        Ok(())
    }

    /// Whether a request may be made from it; O(1).
    pub fn ready(&self) -> Result<(), HistoryError> {
        if self.open.is_some() {
            return Err(HistoryError::NotReady("calls without results"));
        }
        match self.last().map(|entry| &entry.message) {
            None => Err(HistoryError::NotReady("there is no message")),
            Some(Message::Assistant { .. }) => {
                Err(HistoryError::NotReady("the last message is the assistant's"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Whether it ends in something that the model has not answered: results, a prompt, a marker (A12). A summary asks
    /// for nothing.
    pub fn is_unanswered(&self) -> bool {
        self.ready().is_ok() && self.last().is_some_and(|last| last.origin != Origin::Summary)
    }

    /// The full check, O(n): every entry again, from nothing.
    pub fn audit(&self) -> Result<(), HistoryError> {
        let mut again = Self::new();
        self.entries.iter().try_for_each(|entry| again.append(entry.clone()))
    }

    /// The ids in use on the wire. A copy mints the ids of a response that is not committed yet (V03).
    pub fn wires(&self) -> &Wires {
        &self.wires
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry at a position, from 0.
    pub fn get(&self, at: usize) -> Option<&Arc<Entry>> {
        self.entries.get(at)
    }

    /// The last entry.
    pub fn last(&self) -> Option<&Arc<Entry>> {
        self.entries.last()
    }

    /// All entries, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Entry>> + ExactSizeIterator {
        self.entries.iter()
    }

    /// The entries of this turn, newest first. Its next one may have begun already.
    pub fn of_turn(&self, turn: TurnId) -> impl Iterator<Item = &Arc<Entry>> {
        let newest_first = self.iter().rev().skip_while(move |entry| entry.turn != Some(turn));
        newest_first.take_while(move |entry| entry.turn == Some(turn))
    }

    /// What the model said last in this turn: the text of its newest message that has some. Empty if none has.
    pub fn answer(&self, turn: TurnId) -> String {
        let said = self.of_turn(turn).find_map(|entry| match &entry.message {
            Message::Assistant { .. } => Some(entry.message.text()).filter(|text| !text.is_empty()),
            _ => None,
        });
        said.unwrap_or_default()
    }

    /// The digest over all entries, in order.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The call whose result must come next, if one is open.
    pub fn awaited(&self) -> Option<CallId> {
        self.open.as_ref().map(|open| open.calls[open.answered].0)
    }

    /// The pairing automaton: what is open after this entry.
    fn accept(&self, entry: &Entry) -> Result<Option<Open>, HistoryError> {
        let at = self.len();
        match (&self.open, &entry.message) {
            (Some(open), Message::Tool(tool)) if open.awaits(tool) => {
                if tool.content.is_empty() {
                    return Err(HistoryError::Empty { at, what: "tool" });
                }
                if let Some(call) = entry.message.calls().next() {
                    return Err(illegal(at, call, "it stands outside an assistant message"));
                }
                let answered = open.answered + 1;
                Ok((answered < open.calls.len()).then(|| Open { calls: open.calls.clone(), answered }))
            }
            (Some(open), other) => Err(HistoryError::Unanswered {
                at,
                expected: open.calls[open.answered].0,
                got: match other {
                    Message::Tool(tool) => format!("the result of call {}", tool.call),
                    other => format!("a {:?} message", other.role()),
                },
            }),
            (None, Message::Tool(tool)) => Err(HistoryError::Orphan { at, call: tool.call }),
            (None, Message::Assistant { content }) => self.accept_assistant(at, content),
            (None, other) => match other.calls().next() {
                Some(call) => Err(illegal(at, call, "it stands outside an assistant message")),
                None => Ok(None),
            },
        }
    }

    fn accept_assistant(&self, at: usize, content: &Content) -> Result<Option<Open>, HistoryError> {
        if !content.iter().any(|part| part.is_visible() || matches!(part.body, Body::Call(_))) {
            return Err(HistoryError::Empty { at, what: "assistant" });
        }
        let mut calls = Vec::new();
        for part in content.iter() {
            if let Body::Call(call) = &part.body {
                self.check_call(call).map_err(|what| illegal(at, call, what))?;
                calls.push((call.id, call.wire.clone(), call.tool.clone()));
            }
        }
        Ok((!calls.is_empty()).then(|| Open { calls: calls.into(), answered: 0 }))
    }

    /// Takes the ids of a message's calls, or none of them if one stands there twice.
    fn claim(&mut self, message: &Message) -> Result<(), HistoryError> {
        let mut ids = Vec::new();
        for call in message.calls() {
            ids.push(call.id);
            if !self.wires.claim(&call.wire) {
                return Err(self.twice(call));
            }
        }
        ids.sort_unstable();
        let equal = ids.windows(2).find(|two| two[0] == two[1]).map(|two| two[0]);
        match message.calls().find(|call| Some(call.id) == equal) {
            Some(call) => Err(self.twice(call)),
            None => Ok(()),
        }
    }

    /// The ids are taken anew from what is committed: nothing of the refused message stays.
    fn twice(&mut self, call: &ToolCall) -> HistoryError {
        self.wires = Wires::default();
        for committed in self.entries.iter().flat_map(|entry| entry.message.calls()) {
            self.wires.claim(&committed.wire);
        }
        illegal(self.len(), call, "its id is used twice in this message")
    }

    fn check_call(&self, call: &ToolCall) -> Result<(), &'static str> {
        if !is_legal(&call.wire) {
            return Err("its wire id is not legal");
        }
        if !is_legal(&call.tool) {
            return Err("its tool's name is not legal");
        }
        if self.wires.is_used(&call.wire) {
            return Err("its wire id is used already");
        }
        if !is_object(&call.args) {
            return Err("its arguments are not a JSON object");
        }
        Ok(())
    }
}

fn illegal(at: usize, call: &ToolCall, what: &'static str) -> HistoryError {
    HistoryError::IllegalCall { at, call: call.id, what }
}

/// Whether a name or id may stand on the wire (V03, V10).
pub fn is_legal(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_legal_byte)
}

fn is_legal_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The name made legal: other characters become `_`, what is too long is cut. Empty stays empty.
pub fn legal(name: &str) -> String {
    name.chars()
        .take(NAME_MAX)
        .map(|c| if u8::try_from(c).is_ok_and(is_legal_byte) { c } else { '_' })
        .collect()
}

impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.len() == other.len()
    }
}

impl Eq for History {}

impl Hash for History {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.0.hash(state);
    }
}

impl TryFrom<Vec<Arc<Entry>>> for History {
    type Error = HistoryError;

    fn try_from(entries: Vec<Arc<Entry>>) -> Result<Self, HistoryError> {
        let mut history = Self::new();
        entries.into_iter().try_for_each(|entry| history.append(entry))?;
        Ok(history)
    }
}

impl From<History> for Vec<Arc<Entry>> {
    fn from(history: History) -> Self {
        history.entries.iter().cloned().collect()
    }
}

impl Entry {
    /// A user-side entry.
    pub fn user(origin: Origin, turn: Option<TurnId>, content: Content) -> Arc<Self> {
        Arc::new(Self { origin, turn, message: Message::User { content }, meta: None })
    }
}
