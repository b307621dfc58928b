//! Whole turns on the real driver.
mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Args, Say, Script, check_record, echo, hang, outcomes, quick, results};
use machine_core::Text;
use machine_core::ask::{By, Cause, Plan};
use machine_core::config::ToolSpec;
use machine_core::event::{EndReason, Event};
use machine_core::outcome::{ErrorCode, Outcome, SkipCode, ToolResult};
use machine_core::response::{Failure, ModelError};
use machine_core::usage::Usage;
use machine_host::{Agent, BoxFuture, Reject, Tool, ToolCx, ToolError, tool};
use tokio::sync::Barrier;

#[tokio::test(start_paused = true)]
async fn a_turn_with_two_tools_that_run_side_by_side() {
    let both = Arc::new(Barrier::new(2));
    let meet = move |args: Args, cx: ToolCx| {
        let both = both.clone();
        async move {
            both.wait().await;
            cx.text(args.text)
        }
    };
    let script = Script::of([
        Say::Calls(vec![("meet", r#"{"text": "a"}"#), ("meet", r#"{"text": "b"}"#)]),
        Say::Text("all done"),
    ]);
    let (agent, mut events) = Agent::builder()
        .system("be brief")
        .model(script.clone())
        .tool(tool("meet", "waits for the other", meet).reads("."))
        .journal(common::journal())
        .open_watched()
        .await
        .unwrap();
    let end = agent.prompt("go").await.unwrap();
    assert_eq!((end.reason, end.steps), (EndReason::DONE, 2));
    let results: Vec<_> =
        results(&agent).await.into_iter().map(|(_, outcome, text)| (outcome, text)).collect();
    assert_eq!(results, [(Outcome::Ok, "a".to_owned()), (Outcome::Ok, "b".to_owned())]);
    let asked = script.asked();
    assert_eq!((&*asked[0].system, asked[0].tools.len(), asked[1].history.len()), ("be brief", 1, 4));
    check_record(&mut events);
}

#[tokio::test(start_paused = true)]
async fn c_c09_a_tool_that_panics_fails_alone() {
    let script =
        Script::of([Say::Calls(vec![("fall", "{}"), ("echo", r#"{"text": "b"}"#)]), Say::Text("ok")]);
    let (agent, mut events) = Agent::builder()
        .model(script)
        .tool(quick("fall", |_, _| Box::pin(async { panic!("the tool fell over") })))
        .tool(echo())
        .open_watched()
        .await
        .unwrap();
    let end = agent.prompt("go").await.unwrap();
    assert_eq!(end.reason, EndReason::DONE);
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::error(ErrorCode::Panicked));
    assert!(results[0].2.contains("the tool fell over"), "{}", results[0].2);
    assert_eq!(results[1].1, Outcome::Ok);
    check_record(&mut events);
}

/// Judges nothing.
struct FallsInPlan;

impl Tool for FallsInPlan {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "fall".into(), ..echo().spec() }
    }

    fn plan(&self, _: &str) -> Result<Plan, Reject> {
        unreachable!("the plan fell over")
    }

    fn call(&self, _: Text, _: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        unreachable!("C02: what was not judged does not run")
    }
}

#[tokio::test(start_paused = true)]
async fn c_h03_a_judgement_that_panics_is_an_error_of_its_call_alone() {
    let script =
        Script::of([Say::Calls(vec![("fall", "{}"), ("echo", r#"{"text": "b"}"#)]), Say::Text("ok")]);
    let agent = Agent::builder().model(script).tool(FallsInPlan).tool(echo()).open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let results = results(&agent).await;
    assert!(results[0].2.contains("the plan fell over"), "{}", results[0].2);
    assert_eq!(results[1].1, Outcome::Ok);
}

#[tokio::test(start_paused = true)]
async fn c_h03_a_model_that_panics_fails_the_turn_and_the_agent_lives() {
    let (agent, mut events) =
        Agent::builder().model(Script::of([Say::Panic, Say::Text("again")])).open_watched().await.unwrap();
    let end = agent.prompt("go").await.unwrap();
    let EndReason::Failed(error) = &end.reason else { panic!("{end:?}") };
    assert!(error.to_string().contains("the model fell over"), "{error}");
    assert_eq!(agent.prompt("and now").await.unwrap().reason, EndReason::DONE);
    check_record(&mut events);
}

#[tokio::test(start_paused = true)]
async fn c_m05_a_failed_attempt_is_made_again_after_a_wait() {
    let overloaded = Say::Fail(ModelError::new(Failure::Overloaded, "busy"));
    let script = Script::of([overloaded.clone(), overloaded, Say::Text("at last")]);
    let (agent, mut events) = Agent::builder().model(script.clone()).open_watched().await.unwrap();
    let end = agent.prompt("go").await.unwrap();
    assert_eq!((end.reason, end.steps, script.asked().len()), (EndReason::DONE, 1, 3));
    let retries =
        check_record(&mut events).into_iter().filter(|event| matches!(event, Event::Retrying { .. }));
    assert_eq!(retries.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn c_m13_a_silent_model_is_given_up() {
    let script = Script::of([Say::Hang, Say::Text("back")]);
    let agent = Agent::builder().model(script.clone()).open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(script.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn c_m11_an_abort_keeps_what_was_said() {
    let (agent, mut events) = Agent::builder().model(Script::of([Say::Hang])).open_watched().await.unwrap();
    let prompt = tokio::spawn({
        let agent = agent.clone();
        async move { agent.prompt("go").await }
    });
    common::wait_for(&mut events, |event| matches!(event, Event::Delta { .. })).await;
    let aborted = agent.abort(Cause::by(By::User)).await.unwrap();
    let end = prompt.await.unwrap().unwrap();
    assert_eq!(aborted.end.as_ref(), Some(&end));
    assert_eq!(end.reason, EndReason::Aborted(Cause::by(By::User)));
    let history = agent.history().await.unwrap();
    assert_eq!(history.get(1).unwrap().message.text(), "well");
}

#[tokio::test(start_paused = true)]
async fn c_u02_the_end_of_a_turn_says_what_it_cost() {
    async fn model(
        _: machine_adapter::Request,
        out: machine_host::ModelOut,
    ) -> Result<machine_core::response::Finished, ModelError> {
        out.usage(Usage { input: 5, output: 1, cached: 0 }).await;
        out.text("hi").await;
        out.usage(Usage { input: 5, output: 7, cached: 2 }).await;
        Ok(machine_core::response::Finished::new(machine_core::response::Finish::EndTurn))
    }
    let agent = Agent::builder().model(model).open().await.unwrap();
    let end = agent.prompt("go").await.unwrap();
    assert_eq!((end.usage.total(), end.usage.unknown_attempts), (12, 0));
}

#[tokio::test(start_paused = true)]
async fn c_c02_what_does_not_fit_does_not_run() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "never read: no call runs")]
    struct Strict {
        pattern: String,
        lines: u32,
    }
    let script = Script::of([
        Say::Calls(vec![("strict", r#"{"lines": "many"}"#), ("nosuch", "{}"), ("echo", "{}")]),
        Say::Text("ok"),
    ]);
    let never = |_: Strict, _: ToolCx| async { unreachable!("C02") };
    let agent =
        Agent::builder().model(script).tool(tool("strict", "", never)).tool(echo()).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::error(ErrorCode::InvalidArguments));
    assert!(results[0].2.contains("lines"), "{}", results[0].2);
    #[cfg(feature = "schema")]
    assert!(results[0].2.contains("pattern"), "every error is named: {}", results[0].2);
    assert_eq!(results[1].1, Outcome::error(ErrorCode::UnknownTool));
    assert!(results[1].2.contains("echo"), "{}", results[1].2);
    assert_eq!(results[2].1, Outcome::Ok);
}

#[tokio::test(start_paused = true)]
async fn c_c10_a_call_that_takes_too_long_is_cancelled() {
    let script = Script::of([Say::Calls(vec![("hang", "{}")]), Say::Text("ok")]);
    let agent =
        Agent::builder().model(script).tool(hang().timeout(Duration::from_secs(5))).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::TimedOut { may_have_run: true }]);
}

#[tokio::test(start_paused = true)]
async fn c_x10_output_so_far_stands_for_a_result_that_never_comes() {
    let partly = quick("partly", |_, cx| {
        Box::pin(async move {
            cx.progress("working");
            cx.output("half of it").await;
            std::future::pending().await
        })
    });
    let script = Script::of([Say::Calls(vec![("partly", "{}")]), Say::Text("ok")]);
    let (agent, mut events) = Agent::builder()
        .model(script)
        .tool(partly.timeout(Duration::from_secs(5)))
        .open_watched()
        .await
        .unwrap();
    agent.prompt("go").await.unwrap();
    let results = results(&agent).await;
    assert!(results[0].2.contains("half of it") && !results[0].2.contains("working"), "{}", results[0].2);
    let events = check_record(&mut events);
    assert!(events.iter().any(|event| matches!(event, Event::Progress { .. })));
}

#[tokio::test(start_paused = true)]
async fn c_c08_a_detached_call_is_answered_and_its_end_wakes_the_agent() {
    let slow = quick("slow", |_, cx| {
        Box::pin(async move {
            cx.detach("started").await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            cx.text("the build passed")
        })
    });
    let script =
        Script::of([Say::Calls(vec![("slow", "{}")]), Say::Text("it runs"), Say::Text("it is done")]);
    let (agent, mut events) =
        Agent::builder().model(script).tool(slow).journal(common::journal()).open_watched().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(results(&agent).await[0].2, "started");
    common::wait_for(&mut events, |event| matches!(event, Event::BackgroundEnded { .. })).await;
    agent.idle().await.unwrap();
    let history = agent.history().await.unwrap();
    let texts: Vec<_> = history.iter().map(|entry| entry.message.text()).collect();
    assert!(texts[4].contains("the build passed"), "{texts:?}");
    assert_eq!(texts[5], "it is done");
}

#[tokio::test(start_paused = true)]
async fn c_t17_a_result_can_stop_the_turn() {
    let finish = quick("finish", |_, cx| {
        Box::pin(async move {
            let result = cx.text("bye")?;
            Ok(ToolResult { stop_turn: Some("handed over".into()), ..result })
        })
    });
    let script = Script::of([Say::Calls(vec![("finish", "{}")])]);
    let agent = Agent::builder().model(script.clone()).tool(finish).open().await.unwrap();
    let end = agent.prompt("go").await.unwrap();
    assert!(matches!(end.reason, EndReason::Completed { stopped_by: Some(_) }), "{:?}", end.reason);
    assert_eq!(script.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn c_v12_a_broken_protocol_is_told_apart_from_a_failure() {
    let script = Script::of([Say::Calls(vec![("garbled", "{}"), ("failing", "{}")]), Say::Text("ok")]);
    let agent = Agent::builder()
        .model(script)
        .tool(quick("garbled", |_, _| Box::pin(async { Err(ToolError::malformed("not JSON")) })))
        .tool(quick("failing", |_, _| Box::pin(async { Ok("x".parse::<u32>().map(|_| unreachable!())?) })))
        .open()
        .await
        .unwrap();
    agent.prompt("go").await.unwrap();
    let expected = [ErrorCode::MalformedResult, ErrorCode::Failed].map(Outcome::error);
    assert_eq!(outcomes(&agent).await, expected);
}

#[tokio::test(start_paused = true)]
async fn c_t09_calls_of_a_cut_response_are_answered() {
    async fn model(
        request: machine_adapter::Request,
        out: machine_host::ModelOut,
    ) -> Result<machine_core::response::Finished, ModelError> {
        use machine_core::response::{Finish, Finished};
        if request.history.len() == 1 {
            out.call(0, "c", "echo", "{}").await;
            return Ok(Finished::new(Finish::MaxTokens));
        }
        out.text("shorter").await;
        Ok(Finished::new(Finish::EndTurn))
    }
    let agent = Agent::builder().model(model).tool(echo()).open().await.unwrap();
    let end = agent.prompt("go").await.unwrap();
    assert_eq!((end.reason, end.truncated), (EndReason::MaxTokens, true));
    assert_eq!(outcomes(&agent).await, [Outcome::skipped(SkipCode::Truncated)]);
}
