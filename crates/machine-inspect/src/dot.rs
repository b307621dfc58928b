//! Graphviz.
use std::fmt::Write;

use machine_testkit::chart::{Arrow, Chart, Node};

/// The chart as a digraph with a cluster for each superstate. What is handled in place stands below the name.
pub fn dot(chart: &Chart) -> String {
    let mut out = String::new();
    line(&mut out, 0, format_args!("digraph {} {{", quoted(chart.name)));
    for setting in [
        "compound=true",
        "graph [fontname=\"sans-serif\", style=rounded]",
        "node [fontname=\"sans-serif\", shape=box, style=rounded]",
        "edge [fontname=\"sans-serif\", fontsize=10]",
    ] {
        line(&mut out, 1, format_args!("{setting}"));
    }
    nest(&mut out, chart, None, 1);
    for (n, start) in chart.starts.iter().enumerate() {
        let dot = quoted(&format!("start {n}"));
        line(&mut out, 1, format_args!("{dot} [shape=point, label=\"\"]"));
        line(&mut out, 1, format_args!("{dot} -> {} [label={}]", quoted(start.leaf), quoted(start.by)));
    }
    for arrow in chart.arrows() {
        edge(&mut out, chart, &arrow);
    }
    out.push_str("}\n");
    out
}

fn nest(out: &mut String, chart: &Chart, parent: Option<&str>, depth: usize) {
    for Node { name, leaf, .. } in chart.children(parent) {
        let label = label(name, &chart.in_place(name));
        if *leaf {
            let border = if chart.is_final(name) { ", peripheries=2" } else { "" };
            line(out, depth, format_args!("{} [label={label}{border}]", quoted(name)));
        } else {
            line(out, depth, format_args!("subgraph {} {{", quoted(&cluster(name))));
            line(out, depth + 1, format_args!("label={label}"));
            nest(out, chart, Some(name), depth + 1);
            line(out, depth, format_args!("}}"));
        }
    }
}

/// Graphviz draws between leaves: an arrow from a superstate starts at its first leaf and is cut at its border.
fn edge(out: &mut String, chart: &Chart, arrow: &Arrow) {
    let (from, to, events) = (arrow.from, quoted(arrow.to), quoted(&arrow.events.join("\n")));
    match chart.leaves().find(|leaf| chart.is_within(leaf, from)) {
        Some(first) if first != from => {
            let (first, tail) = (quoted(first), quoted(&cluster(from)));
            line(out, 1, format_args!("{first} -> {to} [label={events}, ltail={tail}]"));
        }
        _ => line(out, 1, format_args!("{} -> {to} [label={events}]", quoted(from))),
    }
}

fn cluster(name: &str) -> String {
    format!("cluster {name}")
}

fn label(name: &str, in_place: &[&str]) -> String {
    if in_place.is_empty() {
        return quoted(name);
    }
    quoted(&format!("{name}\n({})", in_place.join(", ")))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn line(out: &mut String, depth: usize, text: std::fmt::Arguments<'_>) {
    let pad = "  ".repeat(depth);
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{pad}{text}");
}
