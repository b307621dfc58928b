//! Pairing: every call of a response is announced once and answered once, and results go into history in call
//! order (V05, V13, B08).
//!
//! Architecture invariant: nothing outside this file makes a tool message.
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use alloc::{format, string::String};

use machine_core::Text;
use machine_core::config::{Config, Fatal, TurnLimits};
use machine_core::history::{History, is_legal, is_object, legal};
use machine_core::ids::{CallId, StepId};
use machine_core::message::{Body, Content, Entry, Message, Origin, Part, RawCall, ToolCall, ToolMessage};
use machine_core::outcome::{ErrorCode, Outcome, Settlement, SkipCode};
use machine_turn::attempt::{Response, Streamed};
use serde::{Deserialize, Serialize};

use crate::result;

/// The batch whose results are owed, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ledger {
    sheet: Option<Sheet>,
}

/// The calls of one response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Sheet {
    step: StepId,
    /// In call order: wire id and tool.
    calls: Arc<[(Text, Text)]>,
    /// Results that wait for an earlier one.
    settled: BTreeMap<u32, Arc<Entry>>,
    /// How many results are in history.
    committed: u32,
    /// The first result, in call order, that ends the turn (T17).
    stopped_by: Option<(CallId, Text)>,
    /// Messages that results carry, in call order (V14).
    deliver: BTreeMap<CallId, Content>,
    /// The first failure, in call order, that is fatal by policy, and the beginning of its result (C09).
    fatal: Option<(CallId, Text)>,
}

/// A call as it is announced: it will be prepared, or is answered at once.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) call: ToolCall,
    pub(crate) answer: Option<Settlement>,
}

/// What a batch leaves behind when its last result is in history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) stopped_by: Option<(CallId, Text)>,
    pub(crate) deliver: Vec<(CallId, Content)>,
    pub(crate) fatal: Option<(CallId, Text)>,
}

impl Ledger {
    /// Whether this call's result is owed.
    pub(crate) fn owes(&self, call: CallId) -> bool {
        self.sheet.as_ref().is_some_and(|sheet| {
            let open = sheet.committed as usize..sheet.calls.len();
            let within = sheet.step == call.step() && open.contains(&(call.index as usize));
            within && !sheet.settled.contains_key(&call.index)
        })
    }

    /// The calls whose results are owed, in call order.
    pub(crate) fn owed(&self) -> Vec<CallId> {
        let Some(sheet) = &self.sheet else { return Vec::new() };
        let all = (sheet.committed..).take(sheet.calls.len() - sheet.committed as usize);
        all.filter(|index| !sheet.settled.contains_key(index)).map(|index| sheet.step.call(index)).collect()
    }

    /// Makes the assistant message of a response: ids, names and arguments become legal on the wire; what was not
    /// is kept aside and answered (V03, V09, V10). Gives the entry and its calls, and owes their results.
    pub(crate) fn announce(
        &mut self,
        step: StepId,
        response: Response,
        history: &History,
        limits: &TurnLimits,
    ) -> (Arc<Entry>, Vec<Opening>) {
        let Response { blocks, skip } = response;
        let (mut parts, mut openings) = (Vec::with_capacity(blocks.len()), Vec::new());
        let mut wires = history.wires().minting();
        for block in blocks {
            match block {
                Streamed::Part(part) => parts.push(part),
                Streamed::Call { id, tool, args, too_long } => {
                    let call = step.call(u32::try_from(openings.len()).unwrap_or(u32::MAX));
                    let wire = wires.mint(&id, call);
                    let over = too_long || call.index >= limits.calls;
                    let opening = open(call, wire, (id, tool, args), over, skip);
                    parts.push(Body::Call(opening.call.clone()).into());
                    openings.push(opening);
                }
            }
        }
        if !openings.is_empty() {
            let calls = openings.iter().map(|o| (o.call.wire.clone(), o.call.tool.clone())).collect();
            self.sheet = Some(Sheet {
                step,
                calls,
                settled: BTreeMap::new(),
                committed: 0,
                stopped_by: None,
                deliver: BTreeMap::new(),
                fatal: None,
            });
        }
        let message = Message::Assistant { content: without_blank_text(parts).into() };
        (Arc::new(Entry { origin: Origin::Model, turn: Some(step.turn()), message, meta: None }), openings)
    }

    /// Answers a call, once; with an acknowledgement, if it works on in the background. The first settle wins:
    /// whether this was it.
    pub(crate) fn settle(
        &mut self,
        call: CallId,
        settlement: &Settlement,
        background: bool,
        config: &Config,
    ) -> bool {
        if !self.owes(call) {
            return false;
        }
        let Some(sheet) = &mut self.sheet else { return false };
        let (wire, tool) = sheet.calls[call.index as usize].clone();
        let content = result::content(settlement, config.calls.output_chars);
        let outcome = settlement.outcome.clone();
        if let Some(result) = &settlement.result {
            if let (true, Some(reason)) = (outcome.is_ok(), &result.stop_turn) {
                sheet.stop(call, reason);
            }
            if let Some(message) =
                result.deliver.as_ref().filter(|message| message.iter().any(Part::is_visible))
            {
                sheet.deliver.insert(call, message.clone());
            }
        }
        let first = sheet.fatal.as_ref().is_none_or(|(first, _)| *first > call);
        if config.calls.fatal == Fatal::Stop && first && settlement.is_fatal() {
            let said = content.iter().find_map(Part::as_text).unwrap_or_default();
            sheet.fatal = Some((call, cut(said).into()));
        }
        let message = Message::Tool(ToolMessage { call, wire, tool, outcome, background, content });
        let entry = Entry { origin: Origin::Tool, turn: Some(call.step().turn()), message, meta: None };
        sheet.settled.insert(call.index, Arc::new(entry));
        true
    }

    /// The turn ends after the batch, because of this call. A reason that its result gave stands.
    pub(crate) fn stop(&mut self, call: CallId, reason: &Text) {
        if let Some(sheet) = &mut self.sheet {
            sheet.stop(call, reason);
        }
    }

    /// The next result that may go into history, in call order.
    pub(crate) fn next(&mut self) -> Option<Arc<Entry>> {
        let sheet = self.sheet.as_mut()?;
        let entry = sheet.settled.remove(&sheet.committed)?;
        sheet.committed += 1;
        Some(entry)
    }

    /// Closes the batch when its last result is in history.
    pub(crate) fn done(&mut self) -> Option<Done> {
        let complete = self.sheet.as_ref().is_some_and(|sheet| sheet.committed as usize == sheet.calls.len());
        let Sheet { stopped_by, deliver, fatal, .. } = self.sheet.take_if(|_| complete)?;
        Some(Done { stopped_by, deliver: deliver.into_iter().collect(), fatal })
    }
}

impl Sheet {
    /// With several the first in call order gives the reason (T17).
    fn stop(&mut self, call: CallId, reason: &Text) {
        if self.stopped_by.as_ref().is_none_or(|(first, _)| call < *first) {
            self.stopped_by = Some((call, reason.clone()));
        }
    }
}

/// A call as it may stand in history, and why it may not run, if so.
fn open(
    id: CallId,
    wire: Text,
    (raw_id, raw_tool, raw_args): (Text, Text, Text),
    over: bool,
    skip: Option<SkipCode>,
) -> Opening {
    let empty = raw_args.trim().is_empty();
    let sound = empty || is_object(&raw_args);
    let tool = if is_legal(&raw_tool) { raw_tool.clone() } else { named(&raw_tool) };
    let args = if sound && !empty && !over { raw_args.clone() } else { "{}".into() };
    let changed = wire != raw_id || tool != raw_tool || (args != raw_args && !empty);
    let answer = match () {
        () if over => Some(Settlement::bare(Outcome::skipped(SkipCode::Limit))),
        () if skip.is_some() => skip.map(|code| Settlement::bare(Outcome::skipped(code))),
        () if tool != raw_tool => Some(Settlement::explained(
            Outcome::error(ErrorCode::IllegalName),
            format!("The name was `{}`.", cut(&raw_tool)),
        )),
        () if !sound => Some(Settlement::explained(
            Outcome::error(ErrorCode::BadJson),
            format!("The arguments were: {}", cut(&raw_args)),
        )),
        () => None,
    };
    let raw = changed.then(|| {
        Arc::new(RawCall {
            id: raw_id,
            tool: raw_tool,
            args: if over { cut(&raw_args).into() } else { raw_args },
        })
    });
    Opening { call: ToolCall { id, wire, tool, args, raw }, answer }
}

fn named(raw: &str) -> Text {
    match legal(raw) {
        name if name.is_empty() => "unnamed".into(),
        name => name.into(),
    }
}

/// Enough of a faulty text to recognise it.
fn cut(text: &str) -> String {
    const QUOTED: usize = 500;
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

/// Providers refuse blank text beside calls; it says nothing.
fn without_blank_text(parts: Vec<Part>) -> Vec<Part> {
    parts
        .into_iter()
        .filter(|part| !matches!(&part.body, Body::Text(text) if text.trim().is_empty()))
        .collect()
}

#[cfg(test)]
mod tests;
