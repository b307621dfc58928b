//! What a configuration is refused for.
use std::sync::Arc;

use machine_core::config::{Config, Settings, ToolChoice, ToolSpec};

fn named(names: &[&str]) -> Arc<[ToolSpec]> {
    let tool =
        |name: &&str| ToolSpec { name: (*name).into(), description: "".into(), parameters: "{}".into() };
    names.iter().map(tool).collect()
}

fn forced(tool: &str) -> Arc<Settings> {
    Arc::new(Settings { tool_choice: ToolChoice::Tool(tool.into()), ..Settings::default() })
}

/// What is set, and the field and value that the error names.
type Case = (fn(&mut Config), &'static str, u64);

const NONSENSE: [Case; 17] = [
    (|c| c.calls.max_parallel = 0, "calls.max_parallel", 0),
    (|c| c.calls.progress_chars = 0, "calls.progress_chars", 0),
    (|c| c.retry.attempts = 0, "retry.attempts", 0),
    (|c| c.retry.cap_ms = 499, "retry.cap_ms", 499),
    (|c| c.retry.base_ms = 32_001, "retry.cap_ms", 32_000),
    (|c| c.turn.truncated = 0, "turn.truncated", 0),
    (|c| c.turn.calls = 0, "turn.calls", 0),
    (|c| c.turn.response_bytes = 0, "turn.response_bytes", 0),
    (|c| c.turn.repeat = Some(0), "turn.repeat", 0),
    (|c| c.turn.repeat = Some(1), "turn.repeat", 1),
    (|c| c.turn.max_tokens = Some(0), "turn.max_tokens", 0),
    (|c| c.inbox.prompts = 0, "inbox.prompts", 0),
    (|c| c.inbox.next_step = 0, "inbox.next_step", 0),
    (|c| c.inbox.screen_notifications = true, "inbox.screen_notifications", 1),
    (|c| c.request.tools = named(&["a", "b c"]), "request.tools", 1),
    (|c| c.request.tools = named(&["a", "b", "a"]), "request.tools", 2),
    (|c| c.request.settings = forced("b"), "request.settings.tool_choice", 0),
];

#[test]
fn c_b11_nonsense_is_refused_by_name() {
    for (set, field, value) in NONSENSE {
        let mut config = Config::default();
        set(&mut config);
        let refused = config.check().expect_err(field);
        assert_eq!((refused.field, refused.value), (field, value), "{refused}");
        assert!(refused.to_string().starts_with(&format!("{field} = {value}: ")), "{refused}");
        assert!(!refused.why.is_empty(), "{field}");
    }
}

/// The nearest that still means something.
const SENSE: [fn(&mut Config); 15] = [
    |_| {},
    |c| c.calls.max_parallel = 1,
    |c| c.calls.progress_chars = 1,
    |c| c.retry.attempts = 1,
    |c| c.retry.cap_ms = 500,
    |c| c.turn.truncated = 1,
    |c| c.turn.calls = 1,
    |c| c.turn.response_bytes = 1,
    |c| c.turn.repeat = Some(2),
    |c| c.turn.max_tokens = Some(1),
    |c| c.turn.max_steps = Some(0),
    |c| c.inbox.prompts = 1,
    |c| c.inbox.next_step = 1,
    |c| (c.ask.screen, c.inbox.screen_notifications) = (true, true),
    |c| (c.request.tools, c.request.settings) = (named(&["a", "b"]), forced("b")),
];

#[test]
fn c_b11_the_smallest_that_means_something_is_taken() {
    for (n, set) in SENSE.into_iter().enumerate() {
        let mut config = Config::default();
        set(&mut config);
        assert_eq!(config.check(), Ok(()), "case {n}");
    }
}
