//! How a host tests its own tool policy: a property over random runs of an engine, and a scenario file of its own.
//! `docs/testing-your-host.md` goes through it.
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use agent_machine::core::ask::{Approval, Plan, Prepared};
use agent_machine::core::event::Event;
use agent_machine::testkit::engine::long::{LongRun, Settings, Tools};
use agent_machine::testkit::scenario::Scenario;
use proptest::prelude::*;

/// The host's policy: reading is free, writing needs a person, nobody touches `/etc`.
fn policy(tool: &str, args: &str) -> Prepared {
    match tool {
        _ if args.contains("/etc") => Prepared::Denied("not there".into()),
        "write" => Prepared::Ready(Arc::new(Plan { approval: true, ..Plan::default() })),
        _ => Prepared::Ready(Arc::default()),
    }
}

const TOOLS: Tools = Tools {
    calls: &[
        ("read", r#"{"path":"/a"}"#),
        ("write", r#"{"path":"/a"}"#),
        ("write", r#"{"path":"/etc/passwd"}"#),
    ],
    prepare: policy,
};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_written_without_a_grant(picks in prop::collection::vec(any::<prop::sample::Index>(), 3_000)) {
        let mut picks = picks.into_iter();
        let mut draw = |n: usize| picks.next().map_or(0, |pick| pick.index(n));
        let settings = Settings::drawn(&mut draw);
        let mut run = LongRun::new(settings).map_err(TestCaseError::fail)?.with_tools(TOOLS);
        let (mut writes, mut granted) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..500 {
            let Some(input) = run.next(&mut draw) else { continue };
            for event in run.apply(&input).map_err(TestCaseError::fail)? {
                match event {
                    Event::CallAnnounced { call, tool, .. } if &*tool == "write" => drop(writes.insert(call)),
                    Event::ApprovalAnswered { call, approval: Approval::Granted, .. } => drop(granted.insert(call)),
                    Event::CallStarted { call, args } => {
                        prop_assert!(!args.contains("/etc"), "{call} touches /etc");
                        prop_assert!(!writes.contains(&call) || granted.contains(&call), "{call} was not granted");
                    }
                    _ => {}
                }
            }
        }
        run.finish(20_000).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn a_denied_write_is_told_to_the_model() {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/denied.yaml"));
    let verdict = Scenario::load(file).expect("it is one").run().expect("it plays");
    assert!(verdict.passed(), "{verdict}");
}
