//! A batch that an earlier version wrote goes on as one that is written today.
use super::*;

/// As it stood in a snapshot: one call writes a file, another waits for that, a third is not asked for yet.
const BEFORE: &str = r#"{
    "next": null, "planned": {}, "early": [], "ready": [], "stalled": [], "bars": [], "deaf": [],
    "running": ["1.1.1.0"],
    "entered": {
        "1.1.1.0": {"access": {"paths": [{"mode": "write", "path": "/a"}]},
            "holds": [["", "below_write"], ["/a", "node_write"]],
            "checks": [["", "tree_read"], ["", "tree_write"], ["/a", "node_read"], ["/a", "node_write"], ["/a", "tree_read"], ["/a", "tree_write"]],
            "passed": 6, "at": "started", "redeclared": false},
        "1.1.1.1": {"access": {"paths": [{"mode": "read", "path": "/a"}]},
            "holds": [["", "below_read"], ["/a", "node_read"]],
            "checks": [["", "tree_write"], ["/a", "node_write"], ["/a", "tree_write"]],
            "passed": 1, "at": "waiting", "redeclared": false},
        "1.1.1.2": {"access": {"paths": [{"mode": "read", "path": "/b"}]},
            "holds": [["", "below_read"], ["/b", "node_read"]],
            "checks": [["", "tree_write"], ["/b", "node_write"], ["/b", "tree_write"]],
            "passed": 0, "at": "idle", "redeclared": false}
    },
    "nodes": {
        "": {"held": {"below_read": ["1.1.1.1", "1.1.1.2"], "below_write": ["1.1.1.0"]}, "waiting": {}},
        "/a": {"held": {"node_read": ["1.1.1.1"], "node_write": ["1.1.1.0"]}, "waiting": {"node_write": ["1.1.1.1"]}},
        "/b": {"held": {"node_read": ["1.1.1.2"]}, "waiting": {}}
    }
}"#;

#[test]
fn c_j07_a_batch_of_an_earlier_version_goes_on() {
    let mut batch: Batch = serde_json::from_str(BEFORE).expect("it was written so");
    let rules = PathRules::default();
    let call = |index| CallId { branch: 1, turn: 1, step: 1, index };
    assert_eq!(batch.start(8), None, "one waits, and nobody wants the other");
    batch.enqueue(call(2), &rules);
    assert_eq!(batch.start(8), Some(call(2)));
    let text = serde_json::to_string(&batch).expect("it is JSON");
    assert_eq!(serde_json::from_str::<Batch>(&text).expect("and reads back"), batch);
    batch.end(call(0), &rules);
    assert_eq!(batch.start(8), Some(call(1)), "what it waited for is given back");
    batch.end(call(1), &rules);
    batch.end(call(2), &rules);
    assert_eq!(batch, Batch::default(), "nothing is left behind");
    // One that waits may be taken back.
    let mut batch: Batch = serde_json::from_str(BEFORE).expect("it was written so");
    [1, 0, 2].into_iter().for_each(|index| batch.end(call(index), &rules));
    assert_eq!(batch, Batch::default(), "nothing is left behind");
}
