//! What the model reads of a result: never empty (V11), never longer than allowed (V15), one fixed wording per code
//! (V12).
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, sync::Arc};

use machine_core::message::{Body, Content, Part};
use machine_core::outcome::{ErrorCode, Outcome, Settlement, ToolResult};

/// The content of the tool message that answers a call.
pub(crate) fn content(settlement: &Settlement, limit: usize) -> Content {
    let Settlement { outcome, result, cause } = settlement;
    let result = result.as_deref();
    // What ran and said something speaks for itself; every other outcome is explained first.
    let plain = matches!(outcome, Outcome::Ok | Outcome::Error { code: ErrorCode::Failed });
    if let Some(result) = result.filter(|result| plain && is_whole(result, limit)) {
        return result.output.as_slice().into();
    }
    let mut parts = result.map(|result| bounded(result, limit)).unwrap_or_default();
    let speaks = parts.iter().any(is_said);
    if !(speaks && plain) {
        let media_only = outcome.is_ok() && !parts.is_empty();
        let text = if media_only {
            Part::text("The tool returned media.")
        } else {
            Part::text(outcome.wording(cause.as_deref()))
        };
        parts.insert(0, text);
    }
    if let Some(note) = result.and_then(|result| result.note.clone()).filter(|note| !note.trim().is_empty()) {
        parts.push(Part::text(note));
    }
    parts.into()
}

fn is_said(part: &Part) -> bool {
    matches!(&part.body, Body::Text(text) if !text.trim().is_empty())
}

/// Whether the model reads the output as it is.
fn is_whole(result: &ToolResult, limit: usize) -> bool {
    let ToolResult { output, note, truncated, keep_whole, .. } = result;
    let fits = || *keep_whole || output.iter().map(Part::chars).sum::<usize>() <= limit;
    note.is_none()
        && !truncated
        && output.iter().all(Part::is_visible)
        && output.iter().any(is_said)
        && fits()
}

/// Output within the limit: head, marker, tail. Blank text goes, media stays.
fn bounded(result: &ToolResult, limit: usize) -> Vec<Part> {
    // A call in a tool's output would be one that nobody answers (V05).
    let said = |part: &&Part| part.is_visible();
    let chars: usize = result.output.iter().map(Part::chars).sum();
    if result.keep_whole || chars <= limit {
        let cut = result.truncated.then(|| left_out(result.spill.as_deref()));
        return result.output.iter().filter(said).cloned().chain(cut).collect();
    }
    let text: String = result.output.iter().filter_map(Part::as_text).collect();
    let media = result.output.iter().filter(|part| matches!(part.body, Body::Media { .. })).cloned();
    let text = Part::text(shorten(&text, chars, limit, result.spill.as_deref()));
    core::iter::once(text).chain(result.truncated.then(|| left_out(None))).chain(media).collect()
}

/// Something was left out before the result came here (V14). Where the whole output lies is said once.
fn left_out(spill: Option<&str>) -> Part {
    Part::text(format!("\n[Part of the output was left out.{}]", place(spill)))
}

fn place(spill: Option<&str>) -> String {
    spill.map(|place| format!(" The full output is at {place}.")).unwrap_or_default()
}

/// Three quarters of the limit from the head, one from the tail.
fn shorten(text: &str, chars: usize, limit: usize, spill: Option<&str>) -> Arc<str> {
    let (head, tail) = (limit - limit / 4, limit / 4);
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let marker = format!("\n[{} characters left out.{}]\n", chars - head - tail, place(spill));
    format!("{}{marker}{}", &text[..at(head)], &text[at(chars - tail)..]).into()
}

#[cfg(test)]
mod tests;
