//! A server behind an address that goes away, and what is left of it (T04).
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;
mod fake_http;

use std::time::Duration;

use common::{Script, agent, call, prompted, told};
use fake_http::{Calls, FakeHttp, Unknown};
use machine_core::access::Access;
use machine_core::ask::{By, Cause, Plan};
use machine_core::event::EndReason;
use machine_core::outcome::{ErrorCode, Outcome};
use machine_host::{Agent, ToolSource};
use machine_mcp::Server;

async fn prompt(agent: &Agent) {
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
}

/// It forgot its sessions meanwhile, and says so in one way or the other.
#[tokio::test]
async fn c_t04_the_tools_of_a_server_leave_with_it_and_come_back_with_it() {
    for unknown_session in [Unknown::NotFound, Unknown::Nameless, Unknown::Named, Unknown::Silent] {
        let mut fake = FakeHttp::start().await;
        fake.behave(|does| does.unknown_session = unknown_session);
        let server = Server::http(&fake.address()).open().await.unwrap();
        let script = Script::of([call("work"), vec![], call("work"), vec![], vec![], call("work")]);
        let (agent, _events) = agent(script.clone(), &server).await;
        prompt(&agent).await;
        fake.go().await;
        prompt(&agent).await;
        prompt(&agent).await;
        fake.come_back().await;
        fake.behave(|does| does.tools = &["work", "more"]);
        prompt(&agent).await;

        let old = || vec!["work".to_owned()];
        let new = || vec!["work".to_owned(), "more".to_owned()];
        let offers = [old(), old(), old(), vec![], vec![], new(), new()];
        assert_eq!(script.offers(), offers, "{unknown_session:?}");
        let told = told(&agent).await;
        let outcomes: Vec<_> = told.iter().map(|(outcome, _)| outcome.clone()).collect();
        assert_eq!(outcomes, [Outcome::Ok, Outcome::error(ErrorCode::Failed), Outcome::Ok]);
        assert!(!server.is_gone(), "it is only away");
    }
}

/// Nobody called it while it was away: the first call finds that the session is not known.
#[tokio::test]
async fn a_server_that_was_restarted_unnoticed_is_there_again_after_one_call_at_most() {
    for unknown_session in [Unknown::NotFound, Unknown::Nameless, Unknown::Named] {
        let mut fake = FakeHttp::start().await;
        fake.behave(|does| does.unknown_session = unknown_session);
        let server = Server::http(&fake.address()).open().await.unwrap();
        let script = Script::of([call("work"), call("work")]);
        let (agent, _events) = agent(script.clone(), &server).await;
        fake.go().await;
        fake.come_back().await;
        prompt(&agent).await;
        let outcomes: Vec<_> = told(&agent).await.into_iter().map(|(outcome, _)| outcome).collect();
        assert_eq!(outcomes, [Outcome::error(ErrorCode::Failed), Outcome::Ok], "{unknown_session:?}");
        assert_eq!(script.offers(), [["work"], ["work"], ["work"]]);
    }
}

/// A list may say how long it holds: that is nothing to go by where its server is gone.
#[tokio::test]
async fn c_t04_a_list_that_still_holds_keeps_no_tools_of_a_server_that_is_gone() {
    let mut fake = FakeHttp::start().await;
    fake.behave(|does| does.list_holds = Some(3_600_000));
    let server = Server::http(&fake.address()).open().await.unwrap();
    let script = Script::of([call("work")]);
    let (agent, _events) = agent(script.clone(), &server).await;
    fake.go().await;
    prompt(&agent).await;
    assert_eq!(script.offers(), [vec!["work".to_owned()], vec![]]);
}

/// Nobody has to call it to find out, where it has a stream of its own.
#[tokio::test]
async fn c_t04_a_stream_that_is_not_found_again_takes_the_tools_along() {
    let mut fake = FakeHttp::start().await;
    fake.behave(|does| does.stream = true);
    let server = Server::http(&fake.address()).open().await.unwrap();
    fake.hears("stream", 1).await;
    fake.go().await;
    common::gone(async || server.tools().await.is_empty()).await;
    fake.come_back().await;
    assert_eq!(server.tools().await.len(), 1);
}

/// The call failed, the server did not: it has its tools, and the session that it knows.
#[tokio::test]
async fn one_answer_that_breaks_off_is_not_the_end_of_its_server() {
    let mut fake = FakeHttp::start().await;
    fake.behave(|does| does.calls = Calls::Broken);
    let server = Server::http(&fake.address()).open().await.unwrap();
    let script = Script::of([call("work")]);
    let (agent, _events) = agent(script.clone(), &server).await;
    prompt(&agent).await;
    let told = told(&agent).await;
    assert_eq!(told[0].0, Outcome::error(ErrorCode::Failed));
    assert!(told[0].1.contains("whether the call had an effect is not known"), "{told:?}");
    assert_eq!(script.offers(), [["work"], ["work"]]);
    assert_eq!(server.tools().await.len(), 1);
    assert_eq!(fake.heard()["initialize"], 1);
}

/// Its body is quoted; of what was in a stream only the end is seen.
#[tokio::test]
async fn an_odd_answer_fails_its_call_at_once() {
    for (in_stream, why) in [
        (false, "it answered what is no message of MCP: "),
        (true, "the connection broke off before the answer"),
    ] {
        let fake = FakeHttp::start().await;
        fake.behave(|does| does.calls = Calls::Odd { in_stream });
        let server = Server::http(&fake.address()).name("it").open().await.unwrap();
        let (agent, _events) = agent(Script::of([call("work")]), &server).await;
        prompt(&agent).await;
        let (outcome, text) = told(&agent).await.remove(0);
        assert_eq!(outcome, Outcome::error(ErrorCode::Failed));
        assert!(text.contains(&format!("the server `it` gave no result: {why}")), "{text}");
        assert!(text.contains("no page") != in_stream, "{text}");
        assert!(text.ends_with("; whether the call had an effect is not known"), "{text}");
    }
}

/// However many calls hold a connection each.
#[tokio::test]
async fn a_cancellation_does_not_wait_for_the_answers_of_other_calls() {
    let mut fake = FakeHttp::start().await;
    fake.behave(|does| does.calls = Calls::Held);
    let server = Server::http(&fake.address()).late_within(Duration::from_secs(3600));
    let server = server.plan(|call| Some(Plan { access: Access::None, ..call.plan() })).open().await.unwrap();
    let calls = (0..40).flat_map(|_| call("work")).collect();
    let builder = Agent::builder().model(Script::of([calls])).tools_from(server);
    let agent = builder.config(|config| config.calls.max_parallel = 40).open().await.unwrap();
    let turn = prompted(&agent);
    fake.hears("tools/call", 16).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    fake.hears("notifications/cancelled", 1).await;
    turn.await.unwrap().unwrap();
}

/// It goes along with each request, also when the server is looked for again.
#[tokio::test]
async fn a_server_that_wants_a_token_gets_it() {
    let mut fake = FakeHttp::start().await;
    fake.behave(|does| does.token = Some("hush"));
    let open = |token: Option<&'static str>| {
        let at = fake.address();
        token.map_or_else(|| Server::http(&at), |token| Server::http_with_token(&at, token)).open()
    };
    for (token, why) in [
        (None, "it wants an authorization: give a token that it takes (`http_with_token`)"),
        (Some("other"), "it wants an authorization: give a token that it takes (`http_with_token`)"),
        (Some("hu\nsh"), "its token has what no header may have, such as a line end"),
    ] {
        let said = open(token).await.map(drop).unwrap_err().to_string();
        assert!(said.ends_with(why) && !said.contains("hu\nsh"), "{said}");
    }
    let server = open(Some("hush")).await.unwrap();
    let script = Script::of([call("work"), vec![], call("work"), vec![], call("work")]);
    let (agent, _events) = agent(script, &server).await;
    prompt(&agent).await;
    fake.go().await;
    prompt(&agent).await;
    fake.come_back().await;
    prompt(&agent).await;
    let outcomes: Vec<_> =
        told(&agent).await.into_iter().map(|(outcome, _)| outcome == Outcome::Ok).collect();
    assert_eq!(outcomes, [true, false, true]);
}

#[tokio::test]
async fn a_server_that_was_closed_is_not_looked_for() {
    let mut fake = FakeHttp::start().await;
    let server = Server::http(&fake.address()).open().await.unwrap();
    let (agent, _events) = agent(Script::of([call("work")]), &server).await;
    server.close().await;
    prompt(&agent).await;
    assert!(server.is_gone());
    assert_eq!(told(&agent).await[0].0, Outcome::error(ErrorCode::UnknownTool));
    assert_eq!(fake.heard().get("initialize"), Some(&1));
}

/// What was told between the two streams nobody heard.
#[tokio::test]
async fn c_t04_a_stream_that_is_found_again_may_have_missed_a_change() {
    let mut fake = FakeHttp::start().await;
    fake.behave(|does| does.stream = true);
    let server = Server::http(&fake.address()).open().await.unwrap();
    fake.hears("stream", 1).await;
    assert_eq!(server.tools().await.len(), 1);
    fake.behave(|does| does.tools = &["work", "more"]);
    fake.break_stream();
    fake.hears("stream", 1).await;
    let both = async {
        while server.tools().await.len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), both).await.unwrap();
}
