//! The answer to a prompt, and why there is none.
mod common;

use std::sync::Arc;

use common::{Say, Script, echo};
use machine_core::ask::{By, Cause};
use machine_core::event::EndReason;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, ModelError};
use machine_host::{Agent, AgentBuilder, AnswerError, ToolCx, tool};

fn agent(says: impl IntoIterator<Item = Say>) -> AgentBuilder {
    let enough = tool("enough", "ends the turn", |_: common::Args, _: ToolCx| async {
        Ok(ToolResult { stop_turn: Some("enough".into()), ..ToolResult::text("ok") })
    });
    Agent::builder().model(Script::of(says)).tool(echo()).tool(enough)
}

#[tokio::test(start_paused = true)]
async fn what_the_model_said_last_in_the_turn_is_the_answer() {
    let said = r#"{"text": "not this"}"#;
    let says = [
        Say::Text("the first answer"),
        Say::Calls(vec![("echo", said)]),
        Say::Text("the second answer"),
        Say::Text("the third answer"),
        Say::Calls(vec![("enough", said)]),
    ];
    let agent = agent(says).open().await.unwrap();
    assert_eq!(agent.answer("one").await.as_deref(), Ok("the first answer"));
    // The turn of a prompt that waits begins in the moment in which this one ends.
    let (second, third) = tokio::join!(agent.answer("two"), agent.answer("three"));
    assert_eq!((second.as_deref(), third.as_deref()), (Ok("the second answer"), Ok("the third answer")));
    assert_eq!(agent.answer("four").await.as_deref(), Ok(""), "a tool ended it, and nothing was said");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_did_not_complete_has_no_answer_but_a_reason() {
    let agent = agent([Say::Fail(ModelError::new(Failure::Auth, "no such key")), Say::Hang]);
    let agent = agent.open().await.unwrap();
    let told = agent.answer("one").await.unwrap_err();
    assert_eq!(told.to_string().split_once(' ').unwrap().0, "turn", "{told}");
    assert!(
        told.to_string().contains(" failed: model: ") && told.to_string().contains("no such key"),
        "{told}"
    );
    assert!(matches!(&told, AnswerError::Ended(end) if matches!(end.reason, EndReason::Failed(_))));
    let (told, _) = tokio::join!(agent.answer("two"), async {
        tokio::task::yield_now().await;
        agent.abort(Arc::new(Cause { by: By::User, reason: Some("tea".into()) })).await.unwrap()
    });
    assert!(told.unwrap_err().to_string().ends_with(" aborted by the user, tea"));
}
