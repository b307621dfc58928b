//! Mermaid, as GitHub draws it.
use std::fmt::Write;

use machine_testkit::chart::{Chart, Node};

/// The chart as a `stateDiagram-v2`. What is handled in place stands below a state's name, and beside a
/// superstate's.
pub fn mermaid(chart: &Chart) -> String {
    let mut out = String::from("stateDiagram-v2\n");
    nest(&mut out, chart, None, 1);
    out.push('\n');
    for start in &chart.starts {
        line(&mut out, 1, format_args!("[*] --> {} : {}", start.leaf, start.by));
    }
    for leaf in chart.leaves().filter(|leaf| chart.is_final(leaf)) {
        line(&mut out, 1, format_args!("{leaf} --> [*]"));
    }
    out.push('\n');
    for arrow in chart.arrows() {
        line(&mut out, 1, format_args!("{} --> {} : {}", arrow.from, arrow.to, arrow.events.join(", ")));
    }
    out
}

fn nest(out: &mut String, chart: &Chart, parent: Option<&str>, depth: usize) {
    for Node { name, leaf, .. } in chart.children(parent) {
        let events = chart.in_place(name).join(", ");
        match (leaf, events.is_empty()) {
            (true, true) => line(out, depth, format_args!("{name}")),
            (true, false) => line(out, depth, format_args!("state \"{name}<br>({events})\" as {name}")),
            (false, true) => line(out, depth, format_args!("state {name} {{")),
            (false, false) => line(out, depth, format_args!("state \"{name} ({events})\" as {name} {{")),
        }
        if !leaf {
            nest(out, chart, Some(name), depth + 1);
            line(out, depth, format_args!("}}"));
        }
    }
}

fn line(out: &mut String, depth: usize, text: std::fmt::Arguments<'_>) {
    let pad = "    ".repeat(depth);
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{pad}{text}");
}
