//! Whoever changes what a machine does must raise `SEMANTICS`: journals say under which rules they were written (J06).
use std::fs;

use machine_core::digest::Digest;
use machine_journal::SEMANTICS;

/// The rules of each number: a digest over the charts and the state × event tables.
const RULES: [(u32, &str); 5] = [
    (2, "6b7858a145e0fe38f7cb3fa69998b99d"),
    (3, "1ee0cadc58906c2ebf2ffaa415eb1d42"),
    (4, "3424436354fe2918d7a5c5ae4bceb64f"),
    (5, "ca4b1b938ac5789a0329fd79f35ac45c"),
    (6, "ca4b1b938ac5789a0329fd79f35ac45c"),
];

#[test]
fn c_j06_other_rules_have_another_number() {
    let mut lines = Vec::new();
    for machine in ["agent", "turn", "call"] {
        let read = |ending| {
            let path = format!("{}/../docs/charts/{machine}.{ending}", env!("CARGO_MANIFEST_DIR"));
            fs::read_to_string(path).expect("a chart")
        };
        lines.extend(read("mmd").lines().map(str::to_owned));
        lines.extend(read("md").lines().filter(|line| line.starts_with('|')).map(str::to_owned));
    }
    let now = Digest::of(&lines).to_string();
    let pinned = RULES.iter().find(|(semantics, _)| *semantics == SEMANTICS).map(|(_, digest)| *digest);
    assert_eq!(
        pinned,
        Some(&*now),
        "the machines do something else now: raise `SEMANTICS` in crates/machine-journal/src/record.rs, and add its row here",
    );
}
