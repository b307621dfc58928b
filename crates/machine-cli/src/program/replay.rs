//! `replay`: a recorded session is handled once more, without a request and without a tool; what its machines were after
//! a record is shown, and everything is compared if asked for.
use std::process::ExitCode;

use machine_adapter::view::View;
use machine_core::digest::Digest;
use machine_core::history::History;
use machine_core::machine::Path;
use machine_core::message::Entry;
use machine_host::{Recorded, Torn};
use machine_journal::{Closing, Record, Reopened, SEMANTICS, reopen, replay as compared};
use serde::Serialize;

use crate::program::args;
use crate::program::console::{cut, one_line, print, tell};
use crate::program::exit::{self, Usage};
use crate::program::record;

/// What is shown. With `--json` this is the line.
#[derive(Debug, Serialize)]
struct Shown {
    /// The last record that was looked at, from 0.
    record: usize,
    inputs: u64,
    events: u64,
    /// Inputs before the oldest record that is kept; their records were dropped.
    dropped: u64,
    /// A torn end.
    torn: Option<Ended>,
    entries: usize,
    /// Over all entries of history.
    digest: Digest,
    /// Whether all records were handled and compared.
    verified: bool,
    /// Whether something is open that opening would close. A session that was closed in order has nothing.
    open: bool,
    state: View,
}

/// A torn end: the first line that is not whole, and how many bytes it has.
#[derive(Debug, Serialize)]
struct Ended {
    line: u64,
    bytes: u64,
}

/// Replays a file.
pub fn replay(args: &args::Replay) -> Result<ExitCode, Usage> {
    let Recorded { records, torn } = record::read(&args.file, args.until)?;
    let torn = torn.filter(|_| args.until.is_none());
    if let Some(torn) = torn {
        tell(&format!(
            "line {} is not whole, and nothing after it says that it was durable; {} bytes are not looked at",
            torn.line, torn.bytes
        ));
    }
    let done = if args.verify { compared(&records, &mut |_, _| {}) } else { reopen(&records) };
    let reopened = match done {
        Ok(reopened) => reopened,
        Err(error) => {
            tell(&record::refused(&args.file, &error).to_string());
            return Ok(exit::ENDED_EARLY.into());
        }
    };
    let others = reopened.not_compared;
    if args.verify && others > 0 {
        tell(&format!(
            "{others} records were written under other rules than {SEMANTICS} and were not compared"
        ));
    }
    if !reopened.passed_over.is_empty() {
        tell(&format!("inputs {:?} fit nothing under today's rules", reopened.passed_over));
    }
    let shown = shown(&records, &reopened, torn, args.verify && others == 0);
    let text = match () {
        () if args.history => in_lines(reopened.engine.history()),
        () if args.json => to_json(serde_json::to_string(&shown)),
        () if args.state => to_json(serde_json::to_string_pretty(&shown.state)),
        () => in_words(&shown),
    };
    Ok(print(&format!("{text}\n"), exit::COMPLETED))
}

fn shown(records: &[Record], reopened: &Reopened, torn: Option<Torn>, verified: bool) -> Shown {
    let Reopened { engine, closing, writer, .. } = reopened;
    let is_closed = engine.agent().state().leaf() == "Closed";
    Shown {
        record: records.len() - 1,
        inputs: writer.inputs(),
        events: writer.events(),
        dropped: records.get(1).and_then(Record::point).map_or(0, |point| point.n),
        torn: torn.map(|torn| Ended { line: torn.line, bytes: torn.bytes }),
        entries: engine.history().len(),
        digest: engine.history().digest(),
        verified,
        open: matches!(closing, Closing::Recovered(_)) && !is_closed,
        state: engine.state(),
    }
}

fn in_words(shown: &Shown) -> String {
    let Shown { record, inputs, events, dropped, torn: _, entries, digest, verified, open, state } = shown;
    let path = |names: &[&str]| names.join(" > ");
    let mut lines = vec![
        format!("record   {record}: {inputs} inputs, {events} durable events"),
        format!("history  {entries} entries, digest {digest}"),
        format!("agent    {}{}", path(state.agent), if state.paused { ", paused" } else { "" }),
    ];
    if *dropped > 0 {
        lines.push(format!("dropped  the records of {dropped} inputs; the session is shown from there on"));
    }
    if state.queued_prompts + state.next_step > 0 {
        lines.push(format!(
            "pending  {} prompts, {} for the next step",
            state.queued_prompts, state.next_step
        ));
    }
    if let Some(turn) = &state.turn {
        lines.push(format!("turn     {} {}, step {}", turn.id, path(turn.state), turn.step));
    }
    lines.extend(
        state.calls.iter().map(|call| format!("call     {} {} {}", call.id, call.tool, path(call.state))),
    );
    lines.extend(
        state.waits.iter().map(|open| format!("waits    {} {}", open.ask.id, open.ask.question.kind())),
    );
    if *open {
        lines.push("opening  closes what is open here, once its program is gone".into());
    }
    if *verified {
        lines.push("verified every record leads to what comes after it".into());
    }
    lines.join("\n")
}

/// One line an entry: its number, whose it is, and how it begins.
fn in_lines(history: &History) -> String {
    let line = |(n, entry): (usize, &std::sync::Arc<Entry>)| {
        let calls: Vec<_> =
            entry.message.calls().map(|call| format!("{} {}", call.tool, call.args)).collect();
        let said = [entry.message.text(), calls.join(", ")].join(" ");
        format!(
            "{n:>5}  {:<9}  {}",
            format!("{:?}", entry.message.role()).to_lowercase(),
            cut(one_line(&said).trim(), SHOWN)
        )
    };
    history.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// Characters of an entry that are shown.
const SHOWN: usize = 100;

fn to_json(text: Result<String, serde_json::Error>) -> String {
    text.unwrap_or_else(|error| unreachable!("a view is made of names and numbers: {error}"))
}
