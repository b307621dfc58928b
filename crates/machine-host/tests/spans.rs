//! What a log or trace shows of an agent: turns, requests and calls, by the conventions.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;
#[path = "common/shown.rs"]
mod shown;

use std::time::Duration;

use common::{Args, Say, Script, echo, hang, journal, quick, wait_for};
use expect_test::expect;
use machine_adapter::Request;
use machine_core::ask::{Answer, Approval, By, Cause};
use machine_core::config::Settings;
use machine_core::event::Event;
use machine_core::input::Input;
use machine_core::response::{Failure, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use machine_host::{Agent, AgentBuilder, BoxFuture, Model, ModelIdentity, ModelOut, ToolCx, names, tool};
use shown::Log;
use tracing::{Instrument, Level, info_span};

/// A model that tells all it knows.
struct Provider(Script);

impl Model for Provider {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(async move {
            out.event(ModelEvent::Started { request_id: Some("req-1".into()) }).await;
            out.event(ModelEvent::MessageId("msg-1".into())).await;
            let finished = self.0.call(request, out).await?;
            let usage = Some(Usage { input: 100, output: 10, cached: 60 });
            Ok(Finished { usage, raw: Some("done".into()), first_token_ms: Some(1_500), ..finished })
        })
    }

    fn identity(&self, request: &Request) -> ModelIdentity {
        let model = &request.settings.model;
        assert_ne!(&**model, "", "it fell over");
        let provider = format!("provider of {model}");
        ModelIdentity { provider: Some(provider.into()), model: Some(model.clone()) }
    }
}

/// Fails with its text.
fn fails() -> impl machine_host::Tool {
    quick("fails", |args, cx| Box::pin(async move { cx.fail(args.text) }))
}

/// Says nothing of itself.
fn plain(script: Script) -> AgentBuilder {
    Agent::builder().branch(7).model(script).tool(echo()).tool(fails()).tool(hang())
}

#[tokio::test(start_paused = true)]
async fn a_retry_calls_side_by_side_a_failure_and_an_abort() {
    let (log, _guard) = Log::listen(|_| false);
    let script = Script::of([
        Say::Fail(ModelError::new(Failure::RateLimit, "SECRET")),
        Say::Calls(vec![("echo", r#"{"text": "SECRET"}"#), ("fails", r#"{"text": "SECRET"}"#)]),
        Say::Text("SECRET"),
        Say::Calls(vec![("hang", r#"{"text": "SECRET"}"#)]),
        Say::Hang,
    ]);
    let agent = Agent::builder()
        .branch(7)
        .name("tester")
        .settings(Settings { model: "large".into(), ..Settings::default() })
        .model(Provider(script))
        .tool(echo())
        .tool(fails())
        .tool(hang());
    let (agent, mut events) = agent.open_watched().await.unwrap();
    agent.prompt("SECRET").await.unwrap();
    agent.submit("SECRET").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::CallStarted { call, .. } if call.turn == 2)).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    agent.submit("SECRET").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::Delta { delta: ModelEvent::Text(_), .. })).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    tokio::task::yield_now().await;
    expect![[r#"
        invoke_agent tester
        | agent_machine.end = "completed"
        | agent_machine.steps = 2
        | agent_machine.turn = 7.1
        | gen_ai.agent.name = "tester"
        | gen_ai.conversation.id = 7
        | gen_ai.operation.name = "invoke_agent"
        | gen_ai.provider.name = "provider of large"
        | gen_ai.request.model = "large"
        | gen_ai.usage.cache_read.input_tokens = 120
        | gen_ai.usage.input_tokens = 200
        | gen_ai.usage.output_tokens = 20
            chat large
            | agent_machine.attempt = 7.1.1.1
            | agent_machine.end = "failed"
            | agent_machine.request_id = "req-1"
            | agent_machine.step = 7.1.1
            | error.type = "rate_limit"
            | gen_ai.conversation.id = 7
            | gen_ai.operation.name = "chat"
            | gen_ai.provider.name = "provider of large"
            | gen_ai.request.model = "large"
            | gen_ai.response.id = "msg-1"
            | otel.kind = "client"
            | otel.status_code = "ERROR"
            chat large
            | agent_machine.attempt = 7.1.1.2
            | agent_machine.end = "finished"
            | agent_machine.request_id = "req-1"
            | agent_machine.step = 7.1.1
            | gen_ai.conversation.id = 7
            | gen_ai.operation.name = "chat"
            | gen_ai.provider.name = "provider of large"
            | gen_ai.request.model = "large"
            | gen_ai.response.finish_reasons = "done"
            | gen_ai.response.id = "msg-1"
            | gen_ai.response.time_to_first_chunk = 1.5
            | gen_ai.usage.cache_read.input_tokens = 60
            | gen_ai.usage.input_tokens = 100
            | gen_ai.usage.output_tokens = 10
            | otel.kind = "client"
            execute_tool echo
            | agent_machine.call = 7.1.1.0
            | agent_machine.end = "ok"
            | agent_machine.step = 7.1.1
            | gen_ai.operation.name = "execute_tool"
            | gen_ai.tool.call.id = "c0"
            | gen_ai.tool.name = "echo"
            | gen_ai.tool.type = "function"
            execute_tool fails
            | agent_machine.call = 7.1.1.1
            | agent_machine.end = "error"
            | agent_machine.step = 7.1.1
            | error.type = "failed"
            | gen_ai.operation.name = "execute_tool"
            | gen_ai.tool.call.id = "c1"
            | gen_ai.tool.name = "fails"
            | gen_ai.tool.type = "function"
            | otel.status_code = "ERROR"
            chat large
            | agent_machine.attempt = 7.1.2.1
            | agent_machine.end = "finished"
            | agent_machine.request_id = "req-1"
            | agent_machine.step = 7.1.2
            | gen_ai.conversation.id = 7
            | gen_ai.operation.name = "chat"
            | gen_ai.provider.name = "provider of large"
            | gen_ai.request.model = "large"
            | gen_ai.response.finish_reasons = "done"
            | gen_ai.response.id = "msg-1"
            | gen_ai.response.time_to_first_chunk = 1.5
            | gen_ai.usage.cache_read.input_tokens = 60
            | gen_ai.usage.input_tokens = 100
            | gen_ai.usage.output_tokens = 10
            | otel.kind = "client"
        invoke_agent tester
        | agent_machine.end = "aborted"
        | agent_machine.steps = 1
        | agent_machine.turn = 7.2
        | gen_ai.agent.name = "tester"
        | gen_ai.conversation.id = 7
        | gen_ai.operation.name = "invoke_agent"
        | gen_ai.provider.name = "provider of large"
        | gen_ai.request.model = "large"
        | gen_ai.usage.cache_read.input_tokens = 60
        | gen_ai.usage.input_tokens = 100
        | gen_ai.usage.output_tokens = 10
            chat large
            | agent_machine.attempt = 7.2.1.1
            | agent_machine.end = "finished"
            | agent_machine.request_id = "req-1"
            | agent_machine.step = 7.2.1
            | gen_ai.conversation.id = 7
            | gen_ai.operation.name = "chat"
            | gen_ai.provider.name = "provider of large"
            | gen_ai.request.model = "large"
            | gen_ai.response.finish_reasons = "done"
            | gen_ai.response.id = "msg-1"
            | gen_ai.response.time_to_first_chunk = 1.5
            | gen_ai.usage.cache_read.input_tokens = 60
            | gen_ai.usage.input_tokens = 100
            | gen_ai.usage.output_tokens = 10
            | otel.kind = "client"
            execute_tool hang
            | agent_machine.call = 7.2.1.0
            | agent_machine.end = "cancelled"
            | agent_machine.step = 7.2.1
            | gen_ai.operation.name = "execute_tool"
            | gen_ai.tool.call.id = "c0__2"
            | gen_ai.tool.name = "hang"
            | gen_ai.tool.type = "function"
        invoke_agent tester
        | agent_machine.end = "aborted"
        | agent_machine.steps = 0
        | agent_machine.turn = 7.3
        | gen_ai.agent.name = "tester"
        | gen_ai.conversation.id = 7
        | gen_ai.operation.name = "invoke_agent"
        | gen_ai.provider.name = "provider of large"
        | gen_ai.request.model = "large"
            chat large
            | agent_machine.attempt = 7.3.1.1
            | agent_machine.end = "cancelled"
            | agent_machine.request_id = "req-1"
            | agent_machine.step = 7.3.1
            | gen_ai.conversation.id = 7
            | gen_ai.operation.name = "chat"
            | gen_ai.provider.name = "provider of large"
            | gen_ai.request.model = "large"
            | gen_ai.response.id = "msg-1"
            | otel.kind = "client"
    "#]]
    .assert_eq(&log.tree());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_known_is_left_out() {
    let (log, _guard) = Log::listen(|_| false);
    plain(Script::of([Say::Panic])).open().await.unwrap().prompt("go").await.unwrap();
    expect![[r#"
        invoke_agent
        | agent_machine.end = "failed"
        | agent_machine.steps = 0
        | agent_machine.turn = 7.1
        | error.type = "panicked"
        | gen_ai.conversation.id = 7
        | gen_ai.operation.name = "invoke_agent"
        | otel.status_code = "ERROR"
            chat
            | agent_machine.attempt = 7.1.1.1
            | agent_machine.end = "failed"
            | agent_machine.step = 7.1.1
            | error.type = "panicked"
            | gen_ai.conversation.id = 7
            | gen_ai.operation.name = "chat"
            | otel.kind = "client"
            | otel.status_code = "ERROR"
    "#]]
    .assert_eq(&log.tree());
}

#[tokio::test(start_paused = true)]
async fn what_is_played_again_makes_no_spans() {
    let journal = journal();
    let script = Script::of([Say::Calls(vec![("echo", "{}")]), Say::Text("ok"), Say::Hang]);
    let (agent, mut events) = plain(script).journal(journal.clone()).open_watched().await.unwrap();
    agent.prompt("go").await.unwrap();
    agent.submit("go on").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::Delta { attempt, .. } if attempt.turn == 2)).await;
    // The process dies in the middle of its second turn.
    drop(agent);
    tokio::time::sleep(Duration::from_secs(5)).await;

    let (log, _guard) = Log::listen(|_| true);
    let agent = plain(Script::of([Say::Text("ok")])).journal(journal.clone()).open().await.unwrap();
    assert_eq!(agent.history().await.unwrap().len(), 5, "it is all there");
    assert_eq!(log.tree(), "", "and nothing was done");
    // Only what this opening did is told: it closed what was open.
    let told: Vec<_> = log.events.lock().unwrap().iter().map(|(_, event)| event["to"].clone()).collect();
    expect![[r#"
        "Ended"
        "Open.Idle.Held""#]]
    .assert_eq(&told.join("\n"));
    agent.prompt("again").await.unwrap();
    let done: Vec<_> = log.spans().into_iter().map(|span| span.name).collect();
    assert_eq!(done, [names::INVOKE_AGENT, names::CHAT]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_for_a_person_shows_what_is_done_before_and_after() {
    let (log, _guard) = Log::listen(|_| false);
    let script = Script::of([Say::Calls(vec![("echo", "{}")]), Say::Text("ok")]);
    let agent = Agent::builder().branch(7).model(script).tool(echo().approval(true));
    let (agent, mut events) = agent.open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    let asked = wait_for(&mut events, |event| matches!(event, Event::ApprovalAsked { .. })).await;
    let Event::ApprovalAsked { call, digest, .. } = asked else { unreachable!() };
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    assert!(agent.is_resting());
    let shown =
        |log: &Log| log.spans().iter().map(|span| (span.name.clone(), span.closed)).collect::<Vec<_>>();
    let before = [("invoke_agent", true), ("chat", true)].map(|(name, closed)| (name.to_owned(), closed));
    assert_eq!(shown(&log), before, "a trace does not wait for a day");

    agent.decide(call, digest, Approval::Granted).await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::TurnEnded(_))).await;
    let spans = log.spans().split_off(2);
    let after: Vec<_> = spans.iter().map(|span| (&*span.name, span.parent, span.closed)).collect();
    assert_eq!(
        after,
        [("invoke_agent", None, true), ("execute_tool echo", Some(2), true), ("chat", Some(2), true)]
    );
    assert_eq!(spans[0].fields[names::TURN], "7.1");
    assert_eq!(spans[1].fields[names::TOOL_CALL_ID], "\"c0\"");
}

#[tokio::test(start_paused = true)]
async fn an_agent_in_a_call_stands_below_it_and_a_turn_below_who_asked() {
    let (log, _guard) = Log::listen(|_| false);
    let delegate = tool("delegate", "asks another agent", |args: Args, cx: ToolCx| async move {
        let child = Agent::builder().name("child").child_of(&cx).model(Script::of([Say::Text("42")]));
        cx.delegate(&child.open().await?, args.text).await
    });
    let script = Script::of([Say::Calls(vec![("delegate", r#"{"text": "think"}"#)]), Say::Text("ok")]);
    let agent = Agent::builder().name("parent").model(script).tool(delegate.drop_on_cancel(false));
    let agent = agent.open().await.unwrap();
    agent.prompt("go").instrument(info_span!("asked")).await.unwrap();
    let spans = log.spans();
    let shown: Vec<_> = spans.iter().map(|span| (span.parent, &*span.name, span.closed)).collect();
    assert_eq!(
        shown,
        [
            (None, "asked", true),
            (Some(0), "invoke_agent parent", true),
            (Some(1), "chat", true),
            (Some(1), "execute_tool delegate", true),
            (Some(3), "invoke_agent child", true),
            (Some(4), "chat", true),
            (Some(1), "chat", true),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_works_on_is_shown_until_it_is_over() {
    let (log, _guard) = Log::listen(|_| false);
    let later = quick("later", |_, cx| {
        Box::pin(async move {
            cx.detach("it will take a while").await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            cx.fail("in vain")
        })
    });
    let script = Script::of([Say::Calls(vec![("later", "{}")]), Say::Text("ok"), Say::Text("oh")]);
    let agent = Agent::builder().branch(7).model(script).tool(later).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    let call = |log: &Log| log.spans().into_iter().find(|span| span.name == "execute_tool later").unwrap();
    assert!(!call(&log).closed);
    assert!(!call(&log).fields.contains_key(names::END), "its acknowledgement is not its end");
    tokio::time::sleep(Duration::from_secs(100)).await;
    let call = call(&log);
    assert!(call.closed);
    assert_eq!((&*call.fields[names::END], &*call.fields[names::ERROR_TYPE]), ("\"error\"", "\"failed\""));
    assert!(log.spans().iter().all(|span| span.closed));
}

#[tokio::test(start_paused = true)]
async fn c_h03_a_model_that_panics_when_it_is_asked_which_it_is_answers_all_the_same() {
    let (log, _guard) = Log::listen(|metadata| *metadata.level() <= Level::WARN);
    let agent = Agent::builder().model(Provider(Script::of([Say::Text("ok")]))).open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason.name(), "completed");
    assert!(log.spans().iter().all(|span| span.closed && !span.fields.contains_key(names::PROVIDER)));
    assert!(log.events.lock().unwrap()[0].1["message"].contains("panicked"));
}

/// Nothing is told of what was open when the journal failed: its spans end there.
#[tokio::test(start_paused = true)]
async fn a_fault_ends_every_span() {
    let (log, _guard) = Log::listen(|_| false);
    let calls = Say::Calls(vec![("hang", "{}"), ("echo", "{}")]);
    let sealed = |input: &mut Input| {
        let is_end = matches!(input, Input::Answer { answer: Answer::Execute(_), .. });
        assert!(!is_end, "it cannot be written");
    };
    let agent = plain(Script::of([calls])).seal(sealed).journal(journal()).open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason.name(), "failed");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let spans = log.spans();
    let shown: Vec<_> = spans
        .iter()
        .map(|span| (&*span.name, span.closed, span.fields.get(names::ERROR_TYPE).map(String::as_str)))
        .collect();
    let faulted = Some("\"faulted\"");
    assert_eq!(
        shown,
        [
            ("invoke_agent", true, faulted),
            ("chat", true, None),
            ("execute_tool hang", true, faulted),
            ("execute_tool echo", true, faulted),
        ]
    );
}

/// Each machine's transitions follow from one another, as the log tells them.
#[tokio::test(start_paused = true)]
async fn c_e02_whoever_looks_is_told_every_transition() {
    let (log, _guard) = Log::listen(|metadata| metadata.target() == names::TRANSITIONS);
    let script = Script::of([Say::Calls(vec![("echo", "{}")]), Say::Text("ok")]);
    plain(script).open().await.unwrap().prompt("go").await.unwrap();
    let events = log.events.lock().unwrap().clone();
    let mut at = std::collections::BTreeMap::new();
    for (_, fields) in &events {
        let whose = (fields.get(names::TURN).cloned(), fields.get(names::CALL).cloned());
        let before = at.insert(whose, fields["to"].clone());
        assert!(before.as_ref().is_none_or(|before| *before == fields["from"]), "{before:?}, {fields:?}");
    }
    let ends: Vec<_> = at.values().map(String::as_str).collect();
    expect![[r#"
        "Open.Idle.Ready"
        "Settled"
        "Ended""#]]
    .assert_eq(&ends.join("\n"));
    drop(events);

    let (log, _guard) = Log::listen(|metadata| *metadata.level() <= Level::DEBUG);
    let script = Script::of([Say::Calls(vec![("echo", "{}")]), Say::Text("ok")]);
    plain(script).open().await.unwrap().prompt("go").await.unwrap();
    assert!(log.events.lock().unwrap().iter().all(|(target, _)| target != names::TRANSITIONS));
}

/// Whatever was said, called or brought is in no span and no event of a log, unless it is asked for.
#[tokio::test(start_paused = true)]
async fn content_is_not_recorded() {
    let (log, _guard) = Log::listen(|_| true);
    let secret = r#"{"text": "SECRET"}"#;
    let script = Script::of([
        Say::Fail(ModelError::new(Failure::Overloaded, "SECRET")),
        Say::Calls(vec![("echo", secret), ("fails", secret), ("nosuch", secret)]),
        Say::Text("SECRET"),
    ]);
    plain(script).system("SECRET").open().await.unwrap().prompt("SECRET").await.unwrap();
    let fields = log.events.lock().unwrap().iter().map(|(_, fields)| fields.clone()).collect::<Vec<_>>();
    let all = log.spans().into_iter().map(|span| span.fields).chain(fields);
    for (name, value) in all.flatten() {
        assert!(!value.contains("SECRET"), "{name} = {value}");
    }
}
