//! The library has the whole build keep the order in which the members of an object came. What we write must be the same with
//! it and without: these tests always run with it, and those of the other crates alone without.
use machine_core::canonical::canonical;
use machine_host::{Schema, Tool, ToolCx, tool};
use serde_json::Value;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Args {
    zebra: String,
    ant: Option<u32>,
}

#[test]
fn this_build_keeps_the_order() {
    let json = r#"{"b":1,"a":2}"#;
    let value: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(value.to_string(), json, "without it the tests below say nothing");
}

#[test]
fn c_j01_a_tool_is_offered_in_one_text() {
    let tool = tool("t", "", |_: Args, cx: ToolCx| async move { cx.text("") });
    let text = tool.spec().parameters;
    assert_eq!(canonical(&text).as_deref(), Some(&*text));
    assert!(text.find("ant") < text.find("zebra"), "{text}");
    let schema = Schema::from_json(r#"{"type":"object","properties":{"b":{},"a":{}}}"#).expect("a schema");
    assert_eq!(&**schema.text(), r#"{"properties":{"a":{},"b":{}},"type":"object"}"#);
}
