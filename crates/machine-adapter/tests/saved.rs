//! What was saved by a later version is refused, whatever else it says (J07).
use std::sync::Arc;

use machine_adapter::engine::SNAPSHOT_SCHEMA;
use machine_adapter::{AdvanceError, CARRY_SCHEMA, Carry, Engine, RestoreError, Snapshot};
use machine_core::config::Config;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn engine() -> Engine {
    Engine::new(1, Arc::new(Config::default())).expect("a sound configuration")
}

/// The same, as a version with this schema would have written it.
fn of_schema<T: Serialize + DeserializeOwned>(saved: &T, schema: u32) -> T {
    let mut text = serde_json::to_value(saved).expect("it is JSON");
    text["schema"] = schema.into();
    serde_json::from_value(text).expect("and reads back")
}

#[test]
fn c_j07_a_snapshot_of_a_later_version_is_refused() {
    let saved: Snapshot = engine().snapshot();
    for schema in 0..=SNAPSHOT_SCHEMA {
        assert_eq!(Engine::restore(of_schema(&saved, schema)), Ok(engine()), "schema {schema}");
    }
    let (found, known) = (SNAPSHOT_SCHEMA + 1, SNAPSHOT_SCHEMA);
    let refused = Engine::restore(of_schema(&saved, found));
    assert_eq!(refused, Err(RestoreError::Schema { found, known }));
}

#[test]
fn c_j07_a_point_of_a_later_version_is_refused() {
    let carry: Carry = engine().carry().expect("no maintenance runs");
    for schema in 0..=CARRY_SCHEMA {
        assert_eq!(engine().advance(&[], of_schema(&carry, schema)), Ok(engine()), "schema {schema}");
    }
    let (found, known) = (CARRY_SCHEMA + 1, CARRY_SCHEMA);
    let refused = engine().advance(&[], of_schema(&carry, found));
    assert_eq!(refused, Err(AdvanceError::Schema { found, known }));
}
