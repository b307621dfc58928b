//! `chart`: a machine's chart, from the machine itself.
use std::process::ExitCode;

use machine_inspect::{charts, dot, mermaid};

use crate::program::args::{Chart, Format, Machine};
use crate::program::console::print;
use crate::program::exit::{self, Usage};

/// Prints a chart.
pub fn chart(args: &Chart) -> Result<ExitCode, Usage> {
    let name = match args.machine {
        Machine::Agent => "agent",
        Machine::Turn => "turn",
        Machine::Call => "call",
    };
    let drawable =
        charts::named(name).ok_or_else(|| Usage::Chart(format!("there is no machine `{name}`")))?;
    let chart = (drawable.chart)().map_err(|error| Usage::Chart(error.to_string()))?;
    let text = match args.format {
        Format::Mermaid => mermaid::mermaid(&chart),
        Format::Dot => dot::dot(&chart),
    };
    Ok(print(&text, exit::COMPLETED))
}
