//! docs/policies.md names every setting with the default that the code has.
use std::collections::BTreeMap;
use std::fs;

use machine_core::ask::Plan;
use machine_core::config::Config;
use serde_json::Value;

/// Every leaf with its path, and its value as the page writes it.
fn leaves(prefix: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaves(&path, value, found);
            }
        }
        Value::Null => drop(found.insert(prefix.to_owned(), "none".into())),
        Value::String(text) if text.is_empty() => drop(found.insert(prefix.to_owned(), "empty".into())),
        Value::Array(list) if list.is_empty() => drop(found.insert(prefix.to_owned(), "empty".into())),
        Value::String(text) => drop(found.insert(prefix.to_owned(), text.clone())),
        other => drop(found.insert(prefix.to_owned(), other.to_string())),
    }
}

/// The rows of a table whose first cell is a setting: its name, and its default.
fn rows(section: &str) -> BTreeMap<String, String> {
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let rows = section.lines().filter(|line| line.starts_with("| `")).map(cells);
    rows.map(|cells| {
        assert_eq!(cells.len(), 4, "a default, why, and who wants the other: {cells:?}");
        (cells[0].trim_matches('`').to_owned(), cells[1].clone())
    })
    .collect()
}

fn page() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/policies.md")).expect("docs/policies.md")
}

#[test]
fn every_setting_stands_on_the_page_with_its_default() {
    let page = page();
    let (config, rest) = page.split_once("## One call: its plan").expect("the section of plans");
    let mut right = BTreeMap::new();
    leaves("", &serde_json::to_value(Config::default()).expect("a configuration"), &mut right);
    assert_eq!(rows(config), right);
    let (plan, _) = rest.split_once("## The host").expect("the section of the host");
    let mut right = BTreeMap::new();
    leaves("", &serde_json::to_value(Plan::default()).expect("a plan"), &mut right);
    assert_eq!(rows(plan), right);
}

/// Makes a configuration nonsense.
type Spoil = fn(&mut Config);

#[test]
fn nonsense_is_refused_with_its_setting() {
    let bad: [(&str, Spoil); 14] = [
        ("calls.max_parallel", |config| config.calls.max_parallel = 0),
        ("retry.attempts", |config| config.retry.attempts = 0),
        ("retry.cap_ms", |config| config.retry.cap_ms = config.retry.base_ms - 1),
        ("turn.truncated", |config| config.turn.truncated = 0),
        ("turn.calls", |config| config.turn.calls = 0),
        ("turn.response_bytes", |config| config.turn.response_bytes = 0),
        ("turn.argument_bytes", |config| config.turn.argument_bytes = 0),
        ("turn.max_tokens", |config| config.turn.max_tokens = Some(0)),
        ("turn.repeat", |config| config.turn.repeat = Some(1)),
        ("calls.output_chars", |config| config.calls.output_chars = 0),
        ("calls.progress_chars", |config| config.calls.progress_chars = 0),
        ("inbox.prompts", |config| config.inbox.prompts = 0),
        ("inbox.next_step", |config| config.inbox.next_step = 0),
        ("inbox.screen_notifications", |config| config.inbox.screen_notifications = true),
    ];
    assert_eq!(Config::default().check(), Ok(()));
    let page = page();
    for (field, spoil) in bad {
        let mut config = Config::default();
        spoil(&mut config);
        let error = config.check().expect_err(field);
        assert_eq!(error.field, field);
        assert!(!error.why.is_empty() && error.to_string().starts_with(field), "{error}");
        assert!(
            page.contains(&format!("`{field}`")),
            "docs/policies.md does not say that {field} is checked"
        );
    }
}
