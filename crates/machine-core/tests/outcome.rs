//! How a call ends: closed lists of codes, each with one fixed wording (V12).
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
use expect_test::expect;
use machine_core::ask::{By, Cause};
use machine_core::outcome::{ErrorCode, Outcome, Settlement, SkipCode, ToolResult};

const ERRORS: [ErrorCode; 10] = [
    ErrorCode::Failed,
    ErrorCode::Panicked,
    ErrorCode::NoResult,
    ErrorCode::MalformedResult,
    ErrorCode::UnknownTool,
    ErrorCode::InvalidArguments,
    ErrorCode::BadJson,
    ErrorCode::IllegalName,
    ErrorCode::HookFailed,
    ErrorCode::Withheld,
];

const SKIPS: [SkipCode; 15] = [
    SkipCode::Truncated,
    SkipCode::Suspended,
    SkipCode::Other,
    SkipCode::Filtered,
    SkipCode::Abort,
    SkipCode::Crash,
    SkipCode::BatchStopped,
    SkipCode::SiblingFatal,
    SkipCode::Repeat,
    SkipCode::Hook,
    SkipCode::Busy,
    SkipCode::Limit,
    SkipCode::ApprovalExpired,
    SkipCode::Budget,
    SkipCode::Steer,
];

/// Every outcome there is. A new code does not compile until it stands here too.
fn outcomes() -> Vec<Outcome> {
    for code in ERRORS {
        match code {
            ErrorCode::Failed | ErrorCode::Panicked | ErrorCode::NoResult | ErrorCode::MalformedResult => {}
            ErrorCode::UnknownTool | ErrorCode::InvalidArguments | ErrorCode::BadJson => {}
            ErrorCode::IllegalName | ErrorCode::HookFailed | ErrorCode::Withheld => {}
        }
    }
    for code in SKIPS {
        match code {
            SkipCode::Truncated | SkipCode::Suspended | SkipCode::Other | SkipCode::Filtered => {}
            SkipCode::Abort | SkipCode::Crash | SkipCode::BatchStopped | SkipCode::SiblingFatal => {}
            SkipCode::Repeat | SkipCode::Hook | SkipCode::Busy | SkipCode::Limit => {}
            SkipCode::ApprovalExpired | SkipCode::Budget | SkipCode::Steer => {}
        }
    }
    let mut all = vec![Outcome::Ok];
    all.extend(ERRORS.map(Outcome::error));
    all.push(Outcome::Denied { reason: "not on a Friday".into() });
    all.extend(SKIPS.map(Outcome::skipped));
    for may_have_run in [true, false] {
        all.extend([Outcome::Cancelled { may_have_run }, Outcome::TimedOut { may_have_run }]);
    }
    all.push(Outcome::Unknown);
    all
}

fn named(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).unwrap()
}

#[test]
fn c_v12_every_wording() {
    let all: Vec<_> = outcomes()
        .iter()
        .map(|outcome| format!("{}\n  {}\n", named(outcome), outcome.wording(None)))
        .collect();
    expect![[r#"
        {"status":"ok"}
          The tool ran and returned no output.
        {"status":"error","code":"failed"}
          The tool failed.
        {"status":"error","code":"panicked"}
          The tool crashed; it may have had an effect.
        {"status":"error","code":"no_result"}
          The tool ended without a result.
        {"status":"error","code":"malformed_result"}
          The tool's result could not be read.
        {"status":"error","code":"unknown_tool"}
          There is no tool of this name.
        {"status":"error","code":"invalid_arguments"}
          The arguments do not fit the tool.
        {"status":"error","code":"bad_json"}
          The arguments are not a JSON object; the call did not run.
        {"status":"error","code":"illegal_name"}
          The tool's name is empty or illegal; the call did not run.
        {"status":"error","code":"hook_failed"}
          A check before this call failed; the call did not run.
        {"status":"error","code":"withheld"}
          The tool ran, but its result is withheld.
        {"status":"denied","reason":"not on a Friday"}
          Permission for this call was denied: not on a Friday
        {"status":"not_started","code":"truncated"}
          Not run: your response was cut at the output limit. Send the call again, smaller if it can be.
        {"status":"not_started","code":"suspended"}
          Not run: the provider paused your response. Send the call again.
        {"status":"not_started","code":"other"}
          Not run: your response ended for an unknown reason. Send the call again.
        {"status":"not_started","code":"filtered"}
          Not run: the provider withheld your response.
        {"status":"not_started","code":"abort"}
          Not run: the turn was aborted before this call started.
        {"status":"not_started","code":"crash"}
          Not run: the process ended before this call started. You may send it again.
        {"status":"not_started","code":"batch_stopped"}
          Not run: an earlier call of this response ended the batch.
        {"status":"not_started","code":"sibling_fatal"}
          Not run: another call of this response failed fatally.
        {"status":"not_started","code":"repeat"}
          Not run: this call was made before with the same result. Try something else.
        {"status":"not_started","code":"hook"}
          Not run: a check before this call left it out.
        {"status":"not_started","code":"busy"}
          Not run: what it needs is still held by a call that does not stop. Try again later.
        {"status":"not_started","code":"limit"}
          Not run: a limit was exceeded (calls in one response, the size of its arguments, or steps).
        {"status":"not_started","code":"approval_expired"}
          Not run: nobody answered the request for approval in time. It was not denied.
        {"status":"not_started","code":"budget"}
          Not run: the token budget of this turn is used up.
        {"status":"not_started","code":"steer"}
          Not run: the user sent a new message first.
        {"status":"cancelled","may_have_run":true}
          This call was cancelled. Whether it had an effect is not known: check before you repeat it.
        {"status":"timed_out","may_have_run":true}
          The time for this call was up. Whether it had an effect is not known: check before you repeat it.
        {"status":"cancelled","may_have_run":false}
          This call was cancelled. It did not run.
        {"status":"timed_out","may_have_run":false}
          The time for this call was up. It did not run.
        {"status":"unknown"}
          The execution of this call was lost; its outcome is not known. Check its effects before you repeat it.
    "#]].assert_eq(&all.concat());
}

/// Only a person's cancellation changes a wording; it says that it was deliberate.
#[test]
fn c_v12_a_users_cancellation_says_that_it_was_deliberate() {
    let mut all = String::new();
    for outcome in outcomes() {
        let plain = outcome.wording(None);
        let user = Cause { by: By::User, reason: Some("wrong file".into()) };
        for by in [By::Timeout, By::Parent, By::Shutdown, By::Program] {
            assert_eq!(outcome.wording(Some(&Cause { by, reason: None })), plain, "{by:?}");
        }
        let said = outcome.wording(Some(&Cause { reason: None, ..user.clone() }));
        if said != plain {
            assert!(said.contains("on purpose"), "{said}");
            let why = outcome.wording(Some(&user));
            all += &format!("{}\n  {said}\n  {why}\n", named(&outcome));
        }
    }
    expect![[r#"
        {"status":"not_started","code":"abort"}
          The user stopped the turn on purpose before this call started; it did not run.
          The user stopped the turn on purpose before this call started; it did not run. Reason: wrong file.
        {"status":"cancelled","may_have_run":true}
          The user cancelled this call on purpose. Whether it had an effect is not known: check before you repeat it.
          The user cancelled this call on purpose. Reason: wrong file. Whether it had an effect is not known: check before you repeat it.
        {"status":"cancelled","may_have_run":false}
          The user cancelled this call on purpose. It did not run.
          The user cancelled this call on purpose. Reason: wrong file. It did not run.
    "#]].assert_eq(&all);
}

#[test]
fn c_v12_wordings_are_there_and_tell_codes_apart() {
    let all = outcomes();
    for (i, outcome) in all.iter().enumerate() {
        let wording = outcome.wording(None);
        assert!(!wording.trim().is_empty(), "{outcome:?}");
        assert_eq!(outcome.wording(None), wording, "fixed");
        assert!(all[..i].iter().all(|other| other.wording(None) != wording), "{outcome:?}");
        let json = named(outcome);
        assert_eq!(&serde_json::from_str::<Outcome>(&json).unwrap(), outcome, "{json}");
    }
    assert!(
        serde_json::from_str::<Outcome>(r#"{"status":"error","code":"oops"}"#).is_err(),
        "the list is closed"
    );
    assert!(serde_json::from_str::<Outcome>(r#"{"status":"skipped"}"#).is_err(), "the list is closed");
}

#[test]
fn c_v14_a_result_stands_for_an_outcome() {
    assert_eq!(ToolResult::text("x").outcome(), Outcome::Ok);
    assert_eq!(ToolResult::error("x").outcome(), Outcome::error(ErrorCode::Failed));
    let explained = Settlement::explained(Outcome::error(ErrorCode::UnknownTool), "no `x`");
    assert_eq!(explained.outcome, Outcome::error(ErrorCode::UnknownTool));
    assert_eq!(explained.result.map(|result| (*result).clone()), Some(ToolResult::error("no `x`")));
}

/// An abort wins over a time that was up, and over nothing else (C10).
#[test]
fn c_c10_an_abort_wins_over_a_time_that_was_up() {
    let by = Cause::by(By::User);
    for outcome in outcomes() {
        let mut settlement = Settlement::bare(outcome.clone());
        settlement.aborted(&by);
        let won = matches!(outcome, Outcome::TimedOut { .. });
        let want = if won { Outcome::Cancelled { may_have_run: true } } else { outcome };
        assert_eq!((settlement.outcome, settlement.cause.is_some()), (want, won));
    }
}
