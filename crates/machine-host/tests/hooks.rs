//! Hooks: what they may change, and what becomes of them when they fail.
mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Say, Script, check_record, echo, outcomes, quick, results, wait_for};
use machine_core::ask::{Approval, Gated, HookFailure, Proceed, Recovery, Remedy, Screened, StopVerdict};
use machine_core::event::{DroppedBecause, EndReason, Event, MaintenanceEnd, TurnError};
use machine_core::history::Edit;
use machine_core::message::{Entry, Origin, Part, text_content};
use machine_core::outcome::{ErrorCode, Outcome, SkipCode, ToolResult};
use machine_core::response::{Failure, ModelError};
use machine_host::{
    Agent, ApproveQuestion, BeforeCall, CallQuestion, Editor, FinalizeQuestion, GateQuestion, HookFuture,
    Hooks, PromptError, Wants,
};

fn call(args: &'static str) -> Script {
    Script::of([Say::Calls(vec![("echo", args)]), Say::Text("ok")])
}

#[tokio::test(start_paused = true)]
async fn c_a11_a_screen_rewrites_or_blocks() {
    let screen = |prompt: machine_host::ScreenQuestion| async move {
        let Part { body: machine_core::message::Body::Text(text), .. } = &prompt.message[0] else {
            unreachable!()
        };
        Ok(match &**text {
            "bad" => Screened::Block("no".into()),
            text => Screened::Rewrite(text_content(text.to_uppercase())),
        })
    };
    let agent = Agent::builder().model(Script::default()).screen(screen).open().await.unwrap();
    let dropped = agent.prompt("bad").await.unwrap_err();
    assert_eq!(dropped, PromptError::Dropped(DroppedBecause::Blocked("no".into())));
    assert_eq!(dropped.to_string(), "the prompt was dropped: blocked, no");
    agent.prompt("good").await.unwrap();
    assert_eq!(agent.history().await.unwrap().get(0).unwrap().message.text(), "GOOD");
}

#[tokio::test(start_paused = true)]
async fn c_t02_a_gate_changes_the_request_edits_history_or_blocks() {
    let gate = |step: GateQuestion, editor: Editor| async move {
        if step.step.step == 2 {
            return Ok(Gated::Block("enough".into()));
        }
        let summary = Entry::user(Origin::Summary, None, text_content("what was"));
        editor.fold(1, vec![summary]).await?;
        assert!(editor.edit(Edit::Fold { up_to: 9, into: vec![] }).await.is_err(), "A18");
        assert_eq!(editor.history().len(), 1);
        let with = Proceed {
            system: Some("today is Monday".into()),
            messages: vec![text_content("by the way").into()],
            ..Proceed::default()
        };
        Ok(Gated::Proceed(Arc::new(with)))
    };
    let script = call("{}");
    let (agent, mut events) =
        Agent::builder().model(script.clone()).tool(echo()).gate(gate).open_watched().await.unwrap();
    let end = agent.prompt("go").await.unwrap();
    assert_eq!(end.reason, EndReason::Blocked("enough".into()));
    let asked = &script.asked()[0];
    let texts: Vec<_> = asked.history.iter().map(|entry| entry.message.text()).collect();
    assert_eq!(
        (&*asked.system, texts),
        ("today is Monday", vec!["what was".to_owned(), "by the way".to_owned()])
    );
    let events = check_record(&mut events);
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Edited { .. })).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn c_h02_a_hook_that_fails_panics_or_dawdles_closes() {
    for kind in [HookFailure::Failed, HookFailure::Panicked, HookFailure::TimedOut] {
        let gate = move |_: GateQuestion, _: Editor| async move {
            match kind {
                HookFailure::Failed => Err("the gate broke".into()),
                HookFailure::Panicked => panic!("the gate broke"),
                _ => std::future::pending().await,
            }
        };
        let (agent, mut events) = Agent::builder()
            .model(Script::default())
            .gate(gate)
            .named("watchman")
            .open_watched()
            .await
            .unwrap();
        let end = agent.prompt("go").await.unwrap();
        let EndReason::Failed(error) = &end.reason else { panic!("{end:?}") };
        let TurnError::Gate(error) = &**error else { panic!("{error}") };
        assert_eq!(error.kind, kind);
        assert!(error.message.starts_with("watchman: "), "H09: {error}");
        check_record(&mut events);
    }
}

#[tokio::test(start_paused = true)]
async fn c_h02_a_check_before_a_call_that_panics_answers_it() {
    let check = |_: CallQuestion| async { panic!("the check broke") };
    let agent = Agent::builder().model(call("{}")).tool(echo()).before_call(check).open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(outcomes(&agent).await, [Outcome::error(ErrorCode::HookFailed)]);
}

#[tokio::test(start_paused = true)]
async fn c_c03_what_is_rewritten_is_judged_approved_and_run() {
    let approved = Arc::new(Mutex::new(Vec::new()));
    let approve = {
        let approved = approved.clone();
        move |question: ApproveQuestion| {
            approved.lock().unwrap().push(question.args.to_string());
            async { Approval::Granted }
        }
    };
    let script = Script::of([
        Say::Calls(vec![
            ("echo", r#"{"text": "a"}"#),
            ("echo", r#"{"text": "deny"}"#),
            ("echo", r#"{"text": "skip"}"#),
            ("echo", r#"{"text": "answer"}"#),
            ("echo", r#"{"text": "break"}"#),
        ]),
        Say::Text("ok"),
    ]);
    let check = |question: CallQuestion| async move {
        Ok(match &*question.args {
            r#"{"text": "a"}"# => BeforeCall::Rewrite(r#"{"text": "b"}"#.into()),
            r#"{"text": "deny"}"# => BeforeCall::Deny("not today".into()),
            r#"{"text": "skip"}"# => BeforeCall::Skip("seen before".into()),
            r#"{"text": "answer"}"# => BeforeCall::Answer(ToolResult::text("cached")),
            _ => BeforeCall::Rewrite("[1]".into()),
        })
    };
    let agent = Agent::builder()
        .model(script)
        .tool(echo())
        .before_call(check)
        .hooks(AskForEverything)
        .approve(approve)
        .open()
        .await
        .unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(*approved.lock().unwrap(), [r#"{"text": "b"}"#]);
    let results = results(&agent).await;
    let told: Vec<_> = results.iter().map(|(_, outcome, _)| outcome.clone()).collect();
    let denied = Outcome::Denied { reason: "not today".into() };
    let expected = [
        Outcome::Ok,
        denied,
        Outcome::skipped(SkipCode::Hook),
        Outcome::Ok,
        Outcome::error(ErrorCode::HookFailed),
    ];
    assert_eq!(told, expected);
    assert_eq!((&*results[0].2, &*results[3].2), ("b", "cached"));
}

/// A hooks object of its own: every call needs an approval.
struct AskForEverything;

impl Hooks for AskForEverything {
    fn wants(&self) -> Wants {
        Wants { before_call: true, ..Wants::NOTHING }
    }

    fn before_call(&self, _: CallQuestion) -> HookFuture<'_, BeforeCall> {
        Box::pin(async { Ok(BeforeCall::Approve) })
    }
}

#[tokio::test(start_paused = true)]
async fn c_c04_an_approval_takes_as_long_as_a_person_takes() {
    let (agent, mut events) =
        Agent::builder().model(call("{}")).tool(echo().approval(true)).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    let asked = wait_for(&mut events, |event| matches!(event, Event::ApprovalAsked { .. })).await;
    let Event::ApprovalAsked { call, digest, .. } = asked else { unreachable!() };
    tokio::time::sleep(Duration::from_secs(100_000)).await;
    assert!(agent.is_resting(), "H06: nothing runs while a person thinks");
    let other = machine_core::digest::Digest::of("something else");
    assert!(agent.decide(call, other, Approval::Granted).await.is_err(), "C04: another digest");
    agent.decide(call, digest, Approval::Granted).await.unwrap();
    assert!(agent.decide(call, digest, Approval::Denied("late".into())).await.is_err(), "C04: a second one");
    agent.idle().await.unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::Ok]);
}

#[tokio::test(start_paused = true)]
async fn c_c04_a_person_wins_over_a_hook_that_still_thinks() {
    let thinking = |_: ApproveQuestion| std::future::pending::<Approval>();
    let (agent, mut events) = Agent::builder()
        .model(call("{}"))
        .tool(echo().approval(true))
        .approve(thinking)
        .open_watched()
        .await
        .unwrap();
    agent.submit("go").await.unwrap();
    let asked = wait_for(&mut events, |event| matches!(event, Event::ApprovalAsked { .. })).await;
    let Event::ApprovalAsked { call, digest, .. } = asked else { unreachable!() };
    agent.decide(call, digest, Approval::Denied("no".into())).await.unwrap();
    agent.idle().await.unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::Denied { reason: "no".into() }]);
}

/// C07: nor does what the filter of progress holds back.
#[tokio::test(start_paused = true)]
async fn c_c11_what_was_not_finalized_goes_nowhere() {
    let secret = quick("secret", |_, cx| {
        Box::pin(async move {
            cx.progress("the password is hunter2");
            cx.output("hunter2 so far").await;
            cx.text("hunter2")
        })
    });
    let falls = quick("falls", |_, _| Box::pin(async { panic!("hunter2") }));
    let hangs = quick("hangs", |_, cx| {
        Box::pin(async move {
            cx.output("hunter2 so far").await;
            std::future::pending().await
        })
    });
    let redact = |question: FinalizeQuestion| async move {
        let mut result = question.result;
        for part in &mut result.output {
            if let machine_core::message::Body::Text(text) = &mut part.body {
                *text = format!("{}: {}", question.tool, text.replace("hunter2", "***")).into();
            }
        }
        Ok(result)
    };
    let script = Script::of([
        Say::Calls(vec![("secret", "{}"), ("falls", "{}"), ("hangs", "{}"), ("nosuch", "{}")]),
        Say::Text("ok"),
    ]);
    let journal = common::journal();
    let (agent, mut events) = Agent::builder()
        .model(script)
        .tool(secret)
        .tool(falls)
        .tool(hangs.timeout(Duration::from_secs(1)))
        .finalize(redact)
        .hooks(Quiet)
        .journal(journal.clone())
        .open_watched()
        .await
        .unwrap();
    agent.prompt("go").await.unwrap();
    let results = results(&agent).await;
    assert_eq!(results[0].2, "secret: ***");
    assert_eq!(results[1].1, Outcome::error(ErrorCode::Panicked));
    assert!(results[1].2.contains("falls: ***"), "{}", results[1].2);
    assert_eq!(results[2].1, Outcome::TimedOut { may_have_run: true });
    assert!(results[2].2.contains("hangs: *** so far"), "X10: {}", results[2].2);
    assert_eq!(results[3].1, Outcome::error(ErrorCode::UnknownTool));
    let told = format!("{:?}", check_record(&mut events));
    let written = format!("{:?}", journal.lock().unwrap().records());
    assert!(!told.contains("hunter2") && !written.contains("hunter2"));
}

/// Hides what calls say of themselves (C07).
struct Quiet;

impl Hooks for Quiet {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn progress(&self, _: machine_core::ids::CallId, _: machine_core::Text) -> Option<machine_core::Text> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn c_c11_a_finalizer_that_fails_withholds() {
    let broken = |_: FinalizeQuestion| async { Err("broken".into()) };
    let agent = Agent::builder()
        .model(call(r#"{"text": "hunter2"}"#))
        .tool(echo())
        .finalize(broken)
        .open()
        .await
        .unwrap();
    agent.prompt("go").await.unwrap();
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::error(ErrorCode::Withheld));
    assert!(!results[0].2.contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn c_t16_a_stop_hook_goes_on_and_is_overruled() {
    let stop = |_: machine_host::StopQuestion| async {
        Ok(StopVerdict::Continue(Arc::from([text_content("are you sure?").into()])))
    };
    let script = Script::default();
    let (agent, mut events) = Agent::builder().model(script.clone()).stop(stop).open_watched().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(script.asked().len(), 4);
    let events = check_record(&mut events);
    assert!(events.iter().any(|event| matches!(event, Event::HookOverruled { .. })));
}

#[tokio::test(start_paused = true)]
async fn c_m09_an_overflow_is_recovered_by_compaction() {
    let overflow = ModelError::new(Failure::ContextOverflow, "too long");
    let recover = |failed: machine_host::RecoverQuestion, editor: Editor| async move {
        assert_eq!(failed.error.kind, Failure::ContextOverflow);
        let summary = Entry::user(Origin::Summary, None, text_content("short"));
        editor.fold(editor.history().len(), vec![summary]).await?;
        let strategy = "compact".into();
        let remedy = Remedy { strategy, progress: true, instead: None, for_turn: false, usage: None };
        Ok(Recovery::Retry(Arc::new(remedy)))
    };
    let script = Script::of([Say::Fail(overflow), Say::Text("ok")]);
    let agent = Agent::builder().model(script.clone()).recover(recover).open().await.unwrap();
    assert_eq!(agent.prompt("a very long story").await.unwrap().reason, EndReason::DONE);
    assert_eq!(script.asked()[1].history.get(0).unwrap().message.text(), "short");
}

#[tokio::test(start_paused = true)]
async fn c_a17_maintenance_counts_when_it_is_done() {
    let compact = |n: u32, editor: Editor| async move {
        let summary = Entry::user(Origin::Summary, None, text_content("short"));
        editor.fold(editor.history().len(), vec![summary]).await?;
        if n == 1 { Err("changed my mind".into()) } else { Ok(()) }
    };
    let agent = Agent::builder().model(Script::default()).maintenance(compact).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    let before = agent.history().await.unwrap();
    assert!(matches!(agent.maintain().await.unwrap(), MaintenanceEnd::Failed(_)));
    assert_eq!(agent.history().await.unwrap(), before);
    assert_eq!(agent.maintain().await.unwrap(), MaintenanceEnd::Done);
    assert_eq!(agent.history().await.unwrap().len(), 1);

    let nobody = Agent::builder().model(Script::default()).open().await.unwrap();
    assert!(matches!(nobody.maintain().await.unwrap(), MaintenanceEnd::Failed(_)), "nobody does it");
}

#[tokio::test(start_paused = true)]
async fn c_h08_what_would_wait_for_itself_is_an_error() {
    let agent: Arc<Mutex<Option<Agent>>> = Arc::default();
    let inner = agent.clone();
    let ask_itself = move |_: common::Args, cx: machine_host::ToolCx| {
        let agent = inner.lock().unwrap().clone().unwrap();
        async move {
            let errors = [
                agent.idle().await.unwrap_err().to_string(),
                agent.prompt("me").await.unwrap_err().to_string(),
                agent.maintain().await.unwrap_err().to_string(),
            ];
            agent.inject("from inside").await?;
            cx.text(errors.join("|"))
        }
    };
    let script = Script::of([Say::Calls(vec![("me", "{}")]), Say::Text("ok")]);
    let me = machine_host::tool("me", "", ask_itself);
    let opened = Agent::builder().model(script.clone()).tool(me).open().await.unwrap();
    *agent.lock().unwrap() = Some(opened.clone());
    opened.prompt("go").await.unwrap();
    let results = results(&opened).await;
    assert_eq!(results[0].2.matches("wait for itself").count(), 3, "{}", results[0].2);
    assert_eq!(script.asked()[1].history.last().unwrap().message.text(), "from inside");
    agent.lock().unwrap().take();
}

#[tokio::test(start_paused = true)]
async fn c_h09_what_is_cut_names_its_hook() {
    let says = |text: &'static str| {
        move |_: GateQuestion, _: Editor| async move {
            let messages = vec![text_content(text).into()];
            Ok(Gated::Proceed(Arc::new(Proceed { messages, ..Proceed::default() })))
        }
    };
    let stop = |_: machine_host::StopQuestion| async {
        Ok(StopVerdict::Continue(Arc::from([text_content("go on").into()])))
    };
    let builder = Agent::builder().model(Script::default());
    let builder = builder.gate(says("12345")).named("short").gate(says("äbcdefgh")).named("long");
    let builder = builder.stop(stop).named("pushes");
    let limits =
        |config: &mut machine_core::config::Config| (config.turn.hook_chars, config.turn.stop_hook) = (10, 1);
    let (agent, mut events) = builder.config(limits).open_watched().await.unwrap();
    agent.prompt("a prompt is no hook").await.unwrap();
    let mut cut = Vec::new();
    while let Some(seen) = events.try_next() {
        if let Event::HookTextCut { hook, chars, kept } = &*seen.unwrap().event {
            cut.push((hook.to_string(), *chars, *kept));
        }
    }
    let right = [("long", 8, 5), ("pushes", 5, 0), ("short", 5, 0), ("long", 8, 0)];
    assert_eq!(cut, right.map(|(hook, chars, kept)| (hook.to_owned(), chars, kept)));
}

#[tokio::test(start_paused = true)]
async fn c_h09_what_an_answer_adds_is_its_hooks() {
    let cached = |_: CallQuestion| async {
        let note = Some("an old answer".into());
        Ok(BeforeCall::Answer(ToolResult { note, ..ToolResult::text("long enough, and the tool's") }))
    };
    let builder = Agent::builder().model(call("{}")).tool(echo()).before_call(cached).named("cache");
    let (agent, mut events) =
        builder.config(|config| config.turn.hook_chars = 6).open_watched().await.unwrap();
    agent.prompt("go").await.unwrap();
    let said = &results(&agent).await[0].2;
    assert!(
        said.contains("the tool's") && said.contains("an old") && !said.contains("an old answer"),
        "{said}"
    );
    let cut = check_record(&mut events).into_iter().find_map(|event| match event {
        Event::HookTextCut { hook, chars, kept } => Some((hook.to_string(), chars, kept)),
        _ => None,
    });
    assert_eq!(cut, Some(("cache".to_owned(), 13, 6)));
}
