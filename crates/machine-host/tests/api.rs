//! What the types promise.
mod common;

use common::Args;
use machine_core::ask::{By, Cause, Plan};
use machine_core::config::ConfigError;
use machine_host::{Agent, AgentBuilder, Fleet, OpenError, Reject, Schema, Tool, ToolCx, tool};

fn is_send<T: Send>(_: T) {}

#[expect(dead_code, reason = "compiling it is the test")]
fn everything_can_be_spawned(agent: Agent, builder: fn() -> AgentBuilder, cx: ToolCx, fleet: Fleet<u32>) {
    is_send(builder().open());
    is_send(agent.prompt("x"));
    is_send(agent.abort(Cause::by(By::User)));
    is_send(agent.state());
    is_send(agent.idle());
    is_send(agent.park());
    is_send(agent.recorded(0));
    is_send(cx.delegate(&agent, "x"));
    is_send(cx.output("x"));
    is_send(fleet.close());
    is_send((agent.clone(), agent.events(), fleet));
}

#[tokio::test]
async fn an_agent_that_makes_no_sense_is_refused() {
    let error = Agent::builder().open().await.err().unwrap();
    assert!(matches!(error, OpenError::NoModel), "{error}");

    let twice = Agent::builder().model(common::Script::default()).tool(common::echo()).tool(common::echo());
    let error = twice.open().await.err().unwrap();
    assert!(matches!(&error, OpenError::SameTool(name) if &**name == "echo"), "{error}");

    let none = Agent::builder().model(common::Script::default());
    let error = none.config(|config| config.calls.max_parallel = 0).open().await.err().unwrap();
    assert!(matches!(&error, OpenError::Config(ConfigError { field: "calls.max_parallel", .. })), "{error}");
}

/// The order of parsed objects depends on how the parser was built; what a model reads, and what a journal keeps, must not.
#[test]
fn c_j01_a_schema_has_one_text_and_its_errors_one_order() {
    let text = r#"{"type": "object", "required": ["b", "a"], "properties": {"b": {"type": "string"}, "a": {"type": "string"}}}"#;
    let schema = Schema::from_json(text).unwrap();
    let wanted = r#"{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b","a"],"type":"object"}"#;
    assert_eq!(&**schema.text(), wanted);
    let errors = |args: &str| format!("{:?}", schema.check(args));
    assert_eq!(errors(r#"{"b": 1, "a": 2}"#), errors(r#"{"a": 2, "b": 1}"#));
}

/// What is not declared is everything (B01).
#[test]
fn a_typed_tool_says_what_it_touches() {
    use machine_core::access::{Access, Mode, Touch};
    let run = |_: Args, cx: ToolCx| async move { cx.text("") };
    let plan = |tool: &dyn Tool| tool.plan(r#"{"text": "a.rs"}"#).unwrap();
    assert_eq!(plan(&tool("t", "", run)), Plan::default(), "undeclared is everything (B01)");
    assert_eq!(plan(&tool("t", "", run).touches_nothing()).access, Access::None);
    let both = Access::Paths([Touch::tree(Mode::Read, "src"), Touch::tree(Mode::Write, "out")].into());
    assert_eq!(plan(&tool("t", "", run).reads("src").writes("out")).access, both);
    let own = tool("t", "", run).access(|args: &Args| Touch::path(Mode::Write, &*args.text).into());
    assert_eq!(plan(&own).access, Touch::path(Mode::Write, "a.rs").into());
    let timed = tool("t", "", run).approval(true).timeout(std::time::Duration::from_secs(2));
    assert_eq!((plan(&timed).approval, plan(&timed).timeout_ms), (true, Some(2_000)));
}

#[test]
fn c_c02_a_schema_names_every_error_with_its_place() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Edit {
        path: String,
        edits: Vec<Line>,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Line {
        line: u32,
        text: String,
    }
    let schema = Schema::of::<Edit>().unwrap();
    assert!(!schema.text().contains("$ref"), "not all providers follow references: {}", schema.text());
    schema.check(r#"{"path": "a", "edits": [{"line": 1, "text": ""}]}"#).unwrap();
    let errors = schema.check(r#"{"edits": [{"line": -1, "text": "x"}, {"line": 2}]}"#);
    #[cfg(feature = "schema")]
    {
        let Err(Reject::Invalid(errors)) = errors else { panic!("{errors:?}") };
        for expected in ["path", "/edits/0/line", "/edits/1", "text"] {
            assert!(errors.contains(expected), "{expected} is not named: {errors}");
        }
        assert_eq!(errors.lines().count(), 3, "{errors}");
    }
    #[cfg(not(feature = "schema"))]
    let _ = errors;
    assert!(matches!(schema.check("[1"), Err(Reject::Invalid(_))));
    #[cfg(feature = "schema")]
    assert!(Schema::from_json(r#"{"type": 5}"#).is_err());
}
