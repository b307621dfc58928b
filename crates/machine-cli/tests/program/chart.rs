//! `chart`: the charts of the machines.
use std::fs;
use std::path::Path;

use crate::running::program;

const MACHINES: [&str; 3] = ["agent", "turn", "call"];

#[test]
fn mermaid_is_the_default_and_equals_the_documentation() {
    let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/charts");
    for machine in MACHINES {
        let ran = program(&["chart", machine]);
        ran.ended(0);
        let documented = fs::read_to_string(charts.join(format!("{machine}.mmd"))).expect("a chart");
        assert_eq!(ran.out, documented, "{machine}");
        assert_eq!(ran.err, "");
    }
    let (named, default) = (program(&["chart", "call", "--format", "mermaid"]), program(&["chart", "call"]));
    assert_eq!(named.ended(0).out, default.out);
}

#[test]
fn dot_is_a_graph() {
    for machine in MACHINES {
        let ran = program(&["chart", machine, "--format", "dot"]);
        ran.ended(0).says("->");
        assert!(ran.out.starts_with("digraph ") && ran.out.trim_end().ends_with('}'), "{}", ran.out);
    }
}
