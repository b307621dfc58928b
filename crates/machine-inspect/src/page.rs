//! A machine on one page: what it is, its chart, its table.
use machine_testkit::chart::{Answer, Chart};

use crate::charts::Drawable;
use crate::mermaid::mermaid;
use crate::table::{IGNORED, REFUSED, table};

/// The page in Markdown.
pub fn page(drawable: &Drawable, chart: &Chart) -> String {
    let Drawable { name, title, about, .. } = drawable;
    let (mermaid, table) = (mermaid(chart), table(chart));
    let (leaves, events) = (chart.leaves().count(), chart.events.len());
    let refuses = chart.reactions.iter().any(|reaction| reaction.answer == Answer::Refused);
    let refused =
        if refuses { format!(" `{REFUSED}`: the command is refused before.") } else { String::new() };
    let (edges, configurations) = (chart.edges().len(), chart.configurations);
    format!(
        "# {title}

{about}

This page is made from the running machine: sample events of every kind were offered to every configuration that they
lead to ({leaves} states, {events} events, {edges} transitions, {configurations} configurations of state and data). Do not
edit it; `BLESS=1 cargo test -p machine-tests --test charts` writes it anew. The chart alone is `{name}.mmd`.

## Chart

Events in brackets are handled in place: the state is neither left nor entered. An arrow that starts at a superstate
holds for every state in it that does not handle the event itself. The label of an arrow from the black dot is what
makes the machine.

```mermaid
{mermaid}```

## States and events

A cell names the state that the event leads to. `in place`: handled without leaving the state. `{IGNORED}`: ignored, which
changes nothing and signals nothing. Several entries: a guard decides.{refused}

{table}"
    )
}
