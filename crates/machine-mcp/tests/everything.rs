//! The server `@modelcontextprotocol/server-everything`, over its standard input and output.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use common::{Script, agent, call, everything, progress, prompted, results, seen, told, wait_for};
use machine_core::access::{Access, Mode};
use machine_core::ask::{By, Cause, Plan};
use machine_core::event::{EndReason, Event};
use machine_core::message::Body;
use machine_core::outcome::{ErrorCode, Outcome};
use machine_host::{Tool, ToolSource};
use machine_mcp::Server;

/// One that is open, or none to talk to.
async fn open() -> Option<Server> {
    Some(everything()?.open().await.unwrap())
}

/// Runs one batch and gives outcome and text of each call.
async fn run(server: &Server, calls: common::Calls) -> Vec<(Outcome, String)> {
    let (agent, _events) = agent(Script::of([calls]), server).await;
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    told(&agent).await
}

#[tokio::test]
async fn echo_and_add() {
    let Some(server) = open().await else { return };
    let calls =
        vec![("echo", r#"{"message": "hello"}"#.to_owned()), ("get-sum", r#"{"a": 2, "b": 40}"#.to_owned())];
    let told = run(&server, calls).await;
    assert_eq!(told[0], (Outcome::Ok, "Echo: hello".to_owned()));
    assert_eq!(told[1], (Outcome::Ok, "The sum of 2 and 40 is 42.".to_owned()));
}

/// With the feature `schema` of the host they do not get as far as the server.
#[tokio::test]
async fn arguments_that_do_not_fit_are_an_error_for_the_model() {
    let Some(server) = open().await else { return };
    let (outcome, text) = run(&server, vec![("get-sum", r#"{"a": "two"}"#.to_owned())]).await.remove(0);
    let codes = [ErrorCode::Failed, ErrorCode::InvalidArguments];
    assert!(codes.map(Outcome::error).contains(&outcome) && text.contains("number"), "{outcome:?}: {text}");
}

#[tokio::test]
async fn c_c07_progress_notifications_are_the_progress_of_their_call() {
    let Some(server) = open().await else { return };
    let script = Script::of([vec![
        ("trigger-long-running-operation", r#"{"duration": 0.3, "steps": 3}"#.to_owned()),
        ("trigger-long-running-operation", r#"{"duration": 0.4, "steps": 2}"#.to_owned()),
    ]]);
    let (agent, mut events) = agent(script, &server).await;
    agent.prompt("go").await.unwrap();
    let events = seen(&mut events);
    let of = |index: u32| -> Vec<_> {
        let own = events
            .iter()
            .filter(|event| matches!(event, Event::Progress { call, .. } if call.index == index));
        progress(&own.cloned().collect::<Vec<_>>())
    };
    assert_eq!(
        (of(0), of(1)),
        (vec!["1/3".into(), "2/3".into(), "3/3".into()], vec!["1/2".into(), "2/2".into()])
    );
    assert!(told(&agent).await[0].1.contains("Long running operation completed"));
}

/// The server sends no answer to a call that was cancelled, and goes on to send progress.
#[tokio::test]
async fn an_abort_in_mid_operation_is_told_to_the_server_and_the_effect_is_unknown() {
    let Some(builder) = everything() else { return };
    let late = std::time::Duration::from_millis(300);
    let server = builder.late_within(late).open().await.unwrap();
    let long = vec![("trigger-long-running-operation", r#"{"duration": 60, "steps": 600}"#.to_owned())];
    let script = Script::of([long, vec![], vec![("echo", r#"{"message": "still there"}"#.to_owned())]]);
    let (agent, mut events) = agent(script, &server).await;
    let mut watch = agent.events();
    let prompt = prompted(&agent);
    wait_for(&mut watch, |event| matches!(event, Event::Progress { .. })).await;
    let aborted = agent.abort(Cause::by(By::User)).await.unwrap();
    assert_eq!(
        aborted.calls.iter().map(|(_, outcome)| outcome.clone()).collect::<Vec<_>>(),
        [Outcome::Cancelled { may_have_run: true }]
    );
    assert!(matches!(prompt.await.unwrap().unwrap().reason, EndReason::Aborted(_)));
    seen(&mut events);
    agent.prompt("and now").await.unwrap();
    agent.prompt("and then").await.unwrap();
    assert_eq!(told(&agent).await[1], (Outcome::Ok, "Echo: still there".to_owned()));
    let events = seen(&mut events);
    assert_eq!(progress(&events), Vec::<String>::new());
    assert!(!events.iter().any(|event| matches!(event, Event::LateResult { .. } | Event::Stray { .. })));
}

#[tokio::test]
async fn c_v11_an_image_is_media_among_its_texts() {
    let Some(server) = open().await else { return };
    let (agent, _events) = agent(Script::of([call("get-tiny-image")]), &server).await;
    agent.prompt("go").await.unwrap();
    let result = &results(&agent).await[0];
    let kinds: Vec<_> = result.content.iter().map(|part| part.as_text().is_some()).collect();
    assert_eq!(kinds, [true, false, true]);
    let Body::Media { kind, at } = &result.content[1].body else { unreachable!("it is not text") };
    assert_eq!(&**kind, "image/png");
    assert!(at.starts_with("data:image/png;base64,iVBOR"), "{at}");
}

#[tokio::test]
async fn structured_content_is_told_once() {
    let Some(server) = open().await else { return };
    let told = run(&server, vec![("get-structured-content", r#"{"location": "Chicago"}"#.to_owned())]).await;
    let weather = r#"{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}"#;
    assert_eq!(told, [(Outcome::Ok, weather.to_owned())]);
}

#[tokio::test]
async fn annotations_of_a_part_are_kept_beside_it() {
    let Some(server) = open().await else { return };
    let args = r#"{"messageType": "error", "includeImage": true}"#.to_owned();
    let (agent, _events) = agent(Script::of([vec![("get-annotated-message", args)]]), &server).await;
    agent.prompt("go").await.unwrap();
    let result = &results(&agent).await[0];
    let extras = result.content.iter().map(|part| part.extras.as_ref().unwrap());
    let kept: Vec<_> = extras.map(|extras| (&*extras.provider, extras.json.contains("priority"))).collect();
    assert_eq!(kept, [("mcp", true), ("mcp", true)]);
}

#[tokio::test]
async fn links_and_resources_are_told_with_their_address() {
    let Some(server) = open().await else { return };
    let calls = vec![
        ("get-resource-links", r#"{"count": 2}"#.to_owned()),
        ("get-resource-reference", r#"{"resourceType": "Blob", "resourceId": 1}"#.to_owned()),
    ];
    let (agent, _events) = agent(Script::of([calls]), &server).await;
    agent.prompt("go").await.unwrap();
    let results = results(&agent).await;
    assert_eq!(common::text(&results[0]).matches("demo://resource/").count(), 2, "{:?}", results[0]);
    assert!(common::text(&results[1]).contains("demo://resource/dynamic/blob/1"), "{:?}", results[1]);
    assert!(
        results[1].content.iter().any(|part| matches!(part.body, Body::Media { .. })),
        "{:?}",
        results[1]
    );
}

fn planned(tools: &[std::sync::Arc<dyn Tool>], name: &str, args: &str) -> Plan {
    let tool = tools.iter().find(|tool| &*tool.spec().name == name);
    tool.unwrap_or_else(|| unreachable!("there is no {name}")).plan(args).unwrap()
}

/// What only reads may run beside its like, and not beside what may write (B01, B05). Nothing is taken on a hint's word
/// beyond that, and what the host says comes first.
#[tokio::test]
async fn c_b01_hints_narrow_to_reading_and_the_host_has_the_last_word() {
    let Some(server) = open().await else { return };
    let tools = server.tools().await;
    let Access::Paths(touches) = planned(&tools, "echo", r#"{"message": ""}"#).access else {
        unreachable!("it says that it only reads")
    };
    assert_eq!((touches[0].mode, touches[0].recursive), (Mode::Read, true));
    let toggle = planned(&tools, "toggle-simulated-logging", "{}");
    assert_eq!((toggle.access, toggle.approval), (Access::All, false));

    let mapped = everything().unwrap().plan(|call| {
        assert_eq!(call.hints.read_only, Some(call.tool != "toggle-simulated-logging"), "{call:?}");
        (call.tool != "echo").then(|| Plan { approval: true, access: Access::None, ..Plan::default() })
    });
    let tools = mapped.open().await.unwrap().tools().await;
    assert!(matches!(planned(&tools, "echo", r#"{"message": ""}"#).access, Access::Paths(_)));
    let toggle = planned(&tools, "toggle-simulated-logging", "{}");
    assert_eq!((toggle.access, toggle.approval), (Access::None, true));
}

#[tokio::test]
async fn a_prefix_keeps_the_tools_of_two_servers_apart() {
    let (Some(one), Some(two)) = (everything(), everything()) else { return };
    let (one, two) = (one.prefix("one_").open().await.unwrap(), two.open().await.unwrap());
    let script = Script::of([vec![
        ("one_echo", r#"{"message": "1"}"#.to_owned()),
        ("echo", r#"{"message": "2"}"#.to_owned()),
    ]]);
    let builder = machine_host::Agent::builder().model(script);
    let agent = builder.tools_from(one.clone()).tools_from(two).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(
        told(&agent).await.iter().map(|(_, text)| &**text).collect::<Vec<_>>(),
        ["Echo: 1", "Echo: 2"]
    );
    let other = everything().unwrap().prefix("one_").name("other").open().await.unwrap();
    let clash = machine_host::Agent::builder().model(Script::default()).tools_from(one).tools_from(other);
    let Err(clash) = clash.open().await else { unreachable!("every name is there twice") };
    let clash = clash.to_string();
    assert!(clash.starts_with("two tools are named `one_"), "{clash}");
    let both = "the server `mcp-server-everything` has one, and the server `other` has one; a prefix keeps";
    assert!(clash.contains(both), "{clash}");
}

#[tokio::test]
async fn a_tool_that_the_server_does_not_have_is_unknown() {
    let Some(server) = open().await else { return };
    assert_eq!(run(&server, call("nothing")).await[0].0, Outcome::error(ErrorCode::UnknownTool));
}
