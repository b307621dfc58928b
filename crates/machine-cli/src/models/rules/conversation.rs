//! What the conversation is at: the current request, and what was done for it.
use machine_core::Text;
use machine_core::history::History;
use machine_core::ids::TurnId;
use machine_core::message::{Body, Entry, Message, Origin, ToolCall, ToolMessage};
use machine_core::outcome::Outcome;
use serde_json::Value;

use super::parse::{Request, Unclear, parse};

/// A conversation, as far as the next response depends on it.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// What is to be answered.
    pub(super) topic: Topic,
    /// Requests of this turn that were left for a newer one.
    pub(super) left: Vec<Work>,
    /// Prompts that came while the current request was worked on and are no requests.
    pub(super) remarks: Vec<String>,
    /// What came from the user's side since the last answer and is no prompt.
    pub(super) news: Vec<String>,
}

/// What is to be answered.
#[derive(Debug, Default)]
pub(super) enum Topic {
    /// There is no request: none was made, it was stopped, or it is answered already.
    #[default]
    Nothing,
    /// The newest prompt is not a request.
    Unclear(Unclear),
    /// A request is being worked on.
    Work(Work),
}

/// A request and what was done for it.
#[derive(Debug)]
pub(super) struct Work {
    /// The request.
    pub(super) request: Request,
    /// As it was made.
    pub(super) prompt: String,
    /// The calls that were made for it, oldest first.
    pub(super) done: Vec<Done>,
    turn: Option<TurnId>,
    responses: usize,
}

/// A call with its result.
#[derive(Debug)]
pub(super) struct Done {
    /// The response it was made in, counted from 1 for this request.
    pub(super) response: usize,
    /// The tool.
    pub(super) tool: Text,
    /// How it ended.
    pub(super) outcome: Outcome,
    /// What the tool said first; the rest is notes of others.
    pub(super) output: Text,
    /// Everything it brought.
    pub(super) all: String,
    args: Value,
}

impl Conversation {
    /// Reads a history from its beginning.
    pub(super) fn read(history: &History) -> Self {
        let mut conversation = Self::default();
        let mut open: Vec<ToolCall> = Vec::new();
        for entry in history.iter() {
            match &entry.message {
                Message::Assistant { .. } => {
                    open = entry.message.calls().cloned().collect();
                    conversation.take_response(entry, !open.is_empty());
                }
                Message::Tool(result) => conversation.take_result(result, &open),
                Message::User { .. } => conversation.take_user(entry),
                Message::System { .. } => {}
            }
        }
        conversation
    }

    fn take_response(&mut self, entry: &Entry, has_calls: bool) {
        // What is left of an aborted response is no answer.
        if entry.origin == Origin::Salvaged {
            return;
        }
        match &mut self.topic {
            Topic::Work(work) if has_calls => work.responses += 1,
            Topic::Work(_) | Topic::Unclear(_) | Topic::Nothing => *self = Self::default(),
        }
    }

    fn take_result(&mut self, result: &ToolMessage, calls: &[ToolCall]) {
        if let (Topic::Work(work), Some(call)) =
            (&mut self.topic, calls.iter().find(|call| call.id == result.call))
        {
            work.done.push(Done::new(work.responses, call, result));
        }
    }

    fn take_user(&mut self, entry: &Entry) {
        let text = entry.message.text();
        match &entry.origin {
            Origin::Prompt { .. } => self.take_prompt(text, entry.turn),
            Origin::AbortMarker => *self = Self::default(),
            Origin::Notification { .. }
            | Origin::BackgroundEnd { .. }
            | Origin::Reminder { .. }
            | Origin::Deliver { .. }
            | Origin::Summary
            | Origin::Gate { .. }
            | Origin::StopHook { .. }
            | Origin::LateResult { .. }
            | Origin::Model
            | Origin::Tool
            | Origin::Salvaged => self.news.push(text),
        }
    }

    fn take_prompt(&mut self, text: String, turn: Option<TurnId>) {
        self.news.clear();
        // A prompt of the same turn is steered into the work on the one before it.
        let current = match std::mem::take(&mut self.topic) {
            Topic::Work(work) if turn.is_some() && work.turn == turn => Some(work),
            Topic::Work(_) | Topic::Unclear(_) | Topic::Nothing => {
                self.left.clear();
                self.remarks.clear();
                None
            }
        };
        self.topic = match (parse(&text), current) {
            (Ok(request), current) => {
                self.left.extend(current);
                Topic::Work(Work { request, prompt: text, done: Vec::new(), turn, responses: 0 })
            }
            (Err(_), Some(current)) => {
                self.remarks.push(text);
                Topic::Work(current)
            }
            (Err(unclear), None) => Topic::Unclear(unclear),
        };
    }
}

impl Work {
    /// The last call of this tool.
    pub(super) fn last(&self, tool: &str) -> Option<&Done> {
        self.done.iter().rev().find(|done| &*done.tool == tool)
    }
}

impl Done {
    fn new(response: usize, call: &ToolCall, result: &ToolMessage) -> Self {
        let texts: Vec<&Text> = result
            .content
            .iter()
            .filter_map(|part| match &part.body {
                Body::Text(text) => Some(text),
                Body::Thinking { .. } | Body::Media { .. } | Body::Call(_) => None,
            })
            .collect();
        let all: Vec<&str> = texts.iter().map(|text| &***text).collect();
        Self {
            response,
            tool: call.tool.clone(),
            outcome: result.outcome.clone(),
            output: texts.first().map_or_else(|| "".into(), |text| (*text).clone()),
            all: all.join("\n"),
            args: serde_json::from_str(&call.args).unwrap_or_default(),
        }
    }

    /// An argument that is a text.
    pub(super) fn arg(&self, key: &str) -> Option<&str> {
        self.args.get(key)?.as_str()
    }

    /// What the tool printed, if it did what was asked; a result without output is empty.
    pub(super) fn printed(&self) -> Option<&str> {
        if !self.outcome.is_ok() {
            return None;
        }
        Some(if *self.output == *Outcome::Ok.wording(None) { "" } else { &self.output })
    }
}
