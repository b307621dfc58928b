//! The state × event table.
use machine_testkit::chart::{Answer, Chart};

/// What a cell says of an event that was ignored.
pub const IGNORED: &str = "·";
/// What a cell says of a command that never gets there.
pub const REFUSED: &str = "–";

/// The table in Markdown: a row for each event, a column for each state. Columns are padded, so that it can be
/// read as it stands.
pub fn table(chart: &Chart) -> String {
    let leaves: Vec<_> = chart.leaves().collect();
    let head = std::iter::once(String::new()).chain(leaves.iter().map(|leaf| (*leaf).into()));
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for event in &chart.events {
        let cells = leaves.iter().map(|leaf| cell(chart, leaf, event));
        rows.push(std::iter::once(format!("**{event}**")).chain(cells).collect());
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..=leaves.len()).map(width).collect();
    let mut lines: Vec<_> = rows.iter().map(|row| line(row, &widths)).collect();
    let rule: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
    lines.insert(1, line(&rule, &widths));
    lines.concat()
}

/// Targets in the order of their names, then whether it is also handled in place or ignored. That a command is
/// sometimes refused is not told: most are when they name nothing that waits.
fn cell(chart: &Chart, leaf: &str, event: &str) -> String {
    let mut targets = Vec::new();
    let (mut in_place, mut ignored, mut refused) = (false, false, false);
    for answer in chart.answers(leaf, event) {
        match answer {
            Answer::Moved { to, .. } => targets.push(to),
            Answer::InPlace { .. } => in_place = true,
            Answer::Ignored => ignored = true,
            Answer::Refused => refused = true,
        }
    }
    targets.sort_unstable();
    targets.dedup();
    targets.extend(in_place.then_some("in place"));
    targets.extend(ignored.then_some(IGNORED));
    if targets.is_empty() && refused {
        targets.push(REFUSED);
    }
    targets.join(", ")
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded = |(cell, width): (&String, &usize)| format!("| {cell:<width$} ");
    let cells: String = cells.iter().zip(widths).map(padded).collect();
    format!("{cells}|\n")
}
