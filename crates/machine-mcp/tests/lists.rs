//! Lists of tools: pages, tools that are none, and tools that the host wants.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;
mod fake;

use fake::Fake;
use machine_host::ToolSource;
use machine_mcp::{Builder, OpenError, Server};
use serde_json::{Value, json};

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// Opens a server whose list has these pages, and says which tools it has then.
async fn opened(
    describe: impl FnOnce(Builder) -> Builder,
    pages: Vec<Value>,
) -> Result<(Server, Vec<String>), OpenError> {
    let (mut fake, builder) = Fake::new();
    let serving = tokio::spawn(async move {
        fake.hello().await;
        for page in pages {
            let list = fake.asked("tools/list").await;
            fake.answer(&list, page).await;
        }
        fake
    });
    let server = describe(builder).open().await?;
    let _fake = serving.await.unwrap();
    let names = server.tools().await.iter().map(|tool| tool.spec().name.to_string()).collect();
    Ok((server, names))
}

async fn refused(describe: impl FnOnce(Builder) -> Builder, pages: Vec<Value>) -> String {
    let Err(error) = opened(describe, pages).await else { unreachable!("it is refused") };
    error.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_none_is_left_out_with_why() {
    let listed = json!([
        tool("good"),
        { "name": "bad" },
        { "name": "worse", "inputSchema": "none" },
        { "name": "described", "description": 7, "inputSchema": { "type": "object" } },
        { "inputSchema": { "type": "object" } },
        { "name": "", "inputSchema": { "type": "object" } },
        7,
        { "name": "fine", "icons": "none", "inputSchema": { "type": "object" } },
    ]);
    let (server, names) = opened(|b| b, vec![json!({ "tools": listed })]).await.unwrap();
    assert_eq!(names, ["good", "fine"]);
    let left_out: Vec<_> = server.left_out().iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        [
            "the tool `bad` is left out: missing field `inputSchema`",
            "the tool `worse` is left out: invalid type: string \"none\", expected a map",
            "the tool `described` is left out: invalid type: integer `7`, expected a string",
            "the tool number 5 is left out: missing field `name`",
            "the tool number 7 is left out: it is no object",
            "the tool `` is left out: it has no name",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_later_list_leaves_out_too() {
    let (mut fake, server) = Fake::open(&["old"]).await;
    assert!(server.left_out().is_empty());
    fake.notify("notifications/tools/list_changed", json!({})).await;
    let answers = async {
        let list = fake.asked("tools/list").await;
        fake.answer(&list, json!({ "tools": [{ "name": "bad" }, tool("new")] })).await;
    };
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    let (tools, ()) = tokio::join!(server.tools(), answers);
    assert_eq!(tools.len(), 1);
    assert_eq!(server.left_out().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_list_is_quoted() {
    for answer in [json!({ "tools": "none" }), json!({ "tools": [{}], "nextCursor": 7 }), json!(7)] {
        let said = refused(|b| b, vec![answer.clone()]).await;
        let why = "the server `fake` cannot be talked to: its tools cannot be listed: it answered with ";
        assert_eq!(said, format!("{why}{answer}"));
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_read_to_the_last_one() {
    let page = |name: &str, next: Value| json!({ "tools": [tool(name)], "nextCursor": next });
    for end in [json!(""), json!(null)] {
        let pages = vec![page("one", json!("a")), page("two", json!("b")), page("three", end)];
        assert_eq!(opened(|b| b, pages).await.unwrap().1, ["one", "two", "three"]);
    }
    let odd = json!({ "tools": [{ "name": "bad" }, tool("two")], "nextCursor": "b" });
    let pages = vec![page("one", json!("a")), odd, page("three", json!(""))];
    assert_eq!(opened(|b| b, pages).await.unwrap().1, ["one", "two", "three"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_without_an_end_is_given_up() {
    let same = json!({ "tools": [tool("one")], "nextCursor": "a" });
    let said = refused(|b| b, vec![same.clone(), same]).await;
    let why = "the server `fake` cannot be talked to: its tools cannot be listed: ";
    assert_eq!(said, format!("{why}its page `a` names itself as the next one"));
    let pages = (0..1_000).map(|page| json!({ "tools": [], "nextCursor": page.to_string() }));
    let said = refused(|b| b, pages.collect()).await;
    assert_eq!(said, format!("{why}there are more than 10000 tools or 1000 pages of them"));
    let many: Vec<_> = (0..10_001).map(|n| tool(&n.to_string())).collect();
    let said = refused(|b| b, vec![json!({ "tools": many })]).await;
    assert_eq!(said, format!("{why}there are more than 10000 tools or 1000 pages of them"));
}

#[tokio::test(start_paused = true)]
async fn a_host_takes_only_the_tools_that_it_names() {
    let pages = || vec![json!({ "tools": [tool("a.1"), tool("b"), { "name": "c" }] })];
    let (_, names) = opened(|b| b.prefix("my_").only(["b", "a.1"]), pages()).await.unwrap();
    assert_eq!(names, ["my_a_1", "my_b"]);
    let (_, names) = opened(|b| b.only([""; 0]), pages()).await.unwrap();
    assert_eq!(names, [""; 0]);
    let said = refused(|b| b.only(["b", "d", "c"]), pages()).await;
    assert_eq!(said, "the server `fake` has no tools `d`, `c`; it has `a.1`, `b`");
    let said = refused(|b| b.only(["d"]), vec![json!({ "tools": [] })]).await;
    assert_eq!(said, "the server `fake` has no tools `d`; it has none");
}

/// What two tools are called is the host's concern only where it takes both.
#[tokio::test(start_paused = true)]
async fn tools_that_are_not_taken_clash_with_none() {
    let page = json!({ "tools": [tool("a.b"), tool("a/b")] });
    assert_eq!(opened(|b| b.only(["a/b"]), vec![page]).await.unwrap().1, ["a_b"]);
}
