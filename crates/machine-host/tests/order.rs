//! Hooks in order, and the points that only listen or only begin (H01).
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Say, Script, check_record, echo, outcomes};
use machine_core::ask::{By, Cause, Screened};
use machine_core::event::{EndReason, Sealed};
use machine_core::message::text_content;
use machine_core::outcome::{Outcome, SkipCode};
use machine_host::{
    Agent, AgentBuilder, BeforeCall, BoxError, CallQuestion, EndedStep, EndedTurn, HookFuture, Hooks,
    HooksError, OpenError, ScreenQuestion, SessionQuestion, Wants,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Adds its name to each prompt.
struct Sign(&'static str);

impl Hooks for Sign {
    fn wants(&self) -> Wants {
        Wants { screen: true, ..Wants::NOTHING }
    }

    fn name(&self) -> &str {
        self.0
    }

    fn screen(&self, prompt: ScreenQuestion) -> HookFuture<'_, Screened> {
        let said = machine_core::message::Message::User { content: prompt.message }.text();
        Box::pin(async move { Ok(Screened::Rewrite(text_content(format!("{said}{}", self.0)))) })
    }
}

async fn signed(builder: AgentBuilder) -> String {
    let agent = builder.model(Script::default()).open().await.unwrap();
    agent.prompt("").await.unwrap_err();
    agent.prompt(":").await.unwrap();
    agent.history().await.unwrap().get(0).unwrap().message.text()
}

async fn refused(builder: AgentBuilder) -> HooksError {
    let error = builder.model(Script::default()).open().await.err().unwrap();
    let OpenError::Hooks(error) = error else { unreachable!("{error}") };
    error
}

#[tokio::test(start_paused = true)]
async fn c_h01_names_give_the_order_and_else_the_order_of_adding() {
    let abc = || Agent::builder().hooks(Sign("a")).hooks(Sign("b")).hooks(Sign("c"));
    assert_eq!(signed(abc()).await, ":abc");
    assert_eq!(signed(abc().runs_before("a")).await, ":bca");
    assert_eq!(signed(abc().hooks(Sign("d")).runs_before("b")).await, ":acdb");
    assert_eq!(
        signed(Agent::builder().hooks(Sign("a")).runs_after("c").hooks(Sign("b")).hooks(Sign("c"))).await,
        ":bca"
    );
    let between = abc().hooks(Sign("d")).named("x").runs_after("a").runs_before("b");
    assert_eq!(signed(between).await, ":acdb");
}

#[tokio::test(start_paused = true)]
async fn c_h01_two_hooks_of_one_name_are_refused_with_both_places() {
    let builder = Agent::builder().hooks(Sign("a"));
    let error = refused(builder.hooks(Sign("b")).named("a")).await;
    let HooksError::SameName { name, first, second } = error.clone() else { panic!("{error}") };
    assert_eq!(&*name, "a");
    assert_eq!((first.file(), second.file()), (file!(), file!()));
    assert_eq!(second.line(), first.line() + 1);
    let said = error.to_string();
    assert!(said.contains(&first.to_string()) && said.contains(&second.to_string()), "{said}");
}

#[tokio::test(start_paused = true)]
async fn c_h01_an_unknown_name_and_a_circle_are_refused_by_name() {
    let error = refused(Agent::builder().hooks(Sign("a")).runs_before("b")).await;
    assert!(
        matches!(&error, HooksError::UnknownName { name, other, .. } if &**name == "a" && &**other == "b")
    );
    let said = error.to_string();
    assert!(said.contains("`a`") && said.contains("`b`") && said.contains(file!()), "{said}");

    let circle = Agent::builder()
        .hooks(Sign("first"))
        .hooks(Sign("a"))
        .runs_before("b")
        .hooks(Sign("b"))
        .runs_before("c")
        .hooks(Sign("c"))
        .runs_before("a")
        .hooks(Sign("last"))
        .runs_after("c");
    let error = refused(circle).await;
    let HooksError::Cycle { names } = &error else { panic!("{error}") };
    assert!(["`a`, `b`, `c`", "`b`, `c`, `a`", "`c`, `a`, `b`"].contains(&&**names), "{names}");

    let error = refused(Agent::builder().hooks(Sign("me")).runs_after("me")).await;
    assert!(matches!(&error, HooksError::Cycle { names } if &**names == "`me`"), "{error}");
    let error = refused(Agent::builder().runs_before("a").hooks(Sign("a"))).await;
    assert!(matches!(&error, HooksError::NoHook { method: "runs_before", .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn c_h01_closures_need_no_name_of_their_own() {
    let sign = |with: &'static str| {
        move |prompt: ScreenQuestion| async move {
            let said = machine_core::message::Message::User { content: prompt.message }.text();
            Ok(Screened::Rewrite(text_content(format!("{said}{with}"))))
        }
    };
    let three = Agent::builder().screen(sign("1")).screen(sign("2")).screen(sign("3")).named("third");
    assert_eq!(signed(three.hooks(Sign("a")).runs_before("the closure `screen` 2")).await, ":13a2");
}

#[tokio::test(start_paused = true)]
async fn c_h01_the_first_that_says_no_decides() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let say = |name: &'static str, answer: fn() -> BeforeCall| {
        let asked = asked.clone();
        move |_: CallQuestion| {
            asked.lock().unwrap().push(name);
            async move { Ok(answer()) }
        }
    };
    let agent = Agent::builder()
        .model(Script::of([Say::Calls(vec![("echo", "{}")]), Say::Text("ok")]))
        .tool(echo())
        .before_call(say("denies", || BeforeCall::Deny("no".into())))
        .before_call(say("skips", || BeforeCall::Skip("later".into())))
        .runs_before("the closure `before_call`")
        .before_call(say("rewrites", || BeforeCall::Rewrite(r#"{"text": "x"}"#.into())))
        .named("rewrites")
        .runs_before("the closure `before_call` 2")
        .open()
        .await
        .unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::skipped(SkipCode::Hook)]);
    assert_eq!(*asked.lock().unwrap(), ["rewrites", "skips"]);
}

fn greeting(
    name: &'static str,
) -> impl Fn(SessionQuestion) -> std::future::Ready<Result<Vec<machine_host::Say>, BoxError>> {
    move |session| {
        let text = format!("{name} of {}", session.branch);
        std::future::ready(Ok(vec![text.into(), name.into()]))
    }
}

#[tokio::test(start_paused = true)]
async fn c_h01_what_a_session_starts_with_is_seen_by_its_first_request() {
    let journal = common::journal();
    let script = Script::default();
    let builder = || {
        Agent::builder()
            .branch(7)
            .model(script.clone())
            .session_start(greeting("rules"))
            .session_start(greeting("memory"))
            .runs_before("the closure `session_start`")
            .journal(journal.clone())
    };
    let told = ["memory of 7", "memory", "rules of 7", "rules"];
    // Opened twice before its first turn: told once.
    let (agent, mut events) = builder().open_watched().await.unwrap();
    assert!(agent.is_resting(), "it wakes nobody");
    check_record(&mut events);
    agent.close().await.unwrap();
    let agent = builder().open().await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let texts = |n: usize| -> Vec<String> {
        script.asked()[n].history.iter().map(|entry| entry.message.text()).collect()
    };
    assert_eq!(texts(0), [&told[..], &["go"]].concat());
    agent.close().await.unwrap();
    // Its first turn is over.
    let agent = builder().open().await.unwrap();
    agent.prompt("again").await.unwrap();
    assert_eq!(texts(1), [&told[..], &["go", "nothing more to say", "again"]].concat());
}

#[tokio::test(start_paused = true)]
async fn c_h02_a_session_that_cannot_start_is_not_begun() {
    let journal = common::journal();
    for kind in 0..4 {
        let broken = move |_: SessionQuestion| async move {
            match kind {
                0 => Err("no memory".into()),
                1 => panic!("no memory"),
                3 => Ok(vec!["".into()]),
                _ => std::future::pending().await,
            }
        };
        let builder = Agent::builder().model(Script::default()).journal(journal.clone());
        let error = builder.session_start(broken).named("memory").open().await.err().unwrap();
        let said = error.to_string();
        let why =
            ["memory: no memory", "memory: no memory", "memory: it took too long", "memory 1` is empty"]
                [kind];
        assert!(matches!(error, OpenError::SessionStart(_)) && said.contains(why), "{said}");
        assert!(journal.lock().unwrap().records().is_empty(), "H02: nothing was begun");
    }
}

#[tokio::test(start_paused = true)]
async fn c_h01_what_a_session_starts_with_is_taken_or_the_session_is_not_begun() {
    let starts = |says: fn() -> Vec<machine_host::Say>, most| {
        let builder = Agent::builder().model(Script::default()).config(move |c| c.inbox.next_step = most);
        builder.session_start(move |_| std::future::ready(Ok(says()))).named("memory").open()
    };
    let doubled = || ["a", "b"].map(|text| machine_host::Say::text(text).id("x")).into();
    let two = || vec!["a".into(), "b".into()];
    let error = starts(doubled, 9).await.err().unwrap().to_string();
    assert!(error.contains("x: `x` was sent before"), "{error}");
    let error = starts(two, 1).await.err().unwrap().to_string();
    assert!(error.contains("memory 2: inbox.next_step: the limit of 1 is reached"), "{error}");
    assert!(starts(two, 2).await.is_ok());
}

/// Remembers warnings.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!("{}={value:?} ", field.name());
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() == tracing::Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Two steps, and what happens then.
fn two_steps() -> Script {
    Script::of([Say::Calls(vec![("echo", "{}")]), Say::Text("ok"), Say::Hang])
}

#[tokio::test(start_paused = true)]
async fn c_h01_hooks_watch_the_ends_of_steps_and_turns() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (steps, turns) = (heard.clone(), heard.clone());
    let agent = Agent::builder()
        .model(two_steps())
        .tool(echo())
        .step_ended(move |step: EndedStep| {
            let said = (step.step.to_string(), step.sealed, step.history.len());
            steps.lock().unwrap().push(said);
            async { Ok(()) }
        })
        .turn_ended(move |turn: EndedTurn| {
            let said = (turn.end.reason.name().to_owned(), None, turn.history.len());
            turns.lock().unwrap().push(said);
            async { Ok(()) }
        })
        .branch(7)
        .open()
        .await
        .unwrap();
    agent.prompt("go").await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(agent.is_resting(), "H06");
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0, "H06");
    let said = |what: &str, entries| (what.to_owned(), None::<Sealed>, entries);
    assert_eq!(*heard.lock().unwrap(), [said("7.1.1", 3), said("7.1.2", 4), said("completed", 4)]);

    agent.submit("again").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    agent.abort(Cause::by(By::Parent)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let heard = heard.lock().unwrap();
    assert!(matches!(&heard[3], (step, Some(_), _) if step == "7.2.1"), "T06: {:?}", heard[3]);
    assert_eq!(heard[4].0, "aborted");
}

#[tokio::test(start_paused = true)]
async fn c_e04_a_hook_that_watches_badly_delays_nothing_and_is_reported() {
    let log = Arc::new(Log::default());
    let _guard = tracing::subscriber::set_default(log.clone());
    let heard = Arc::new(Mutex::new(0));
    let count = heard.clone();
    let agent = Agent::builder()
        .model(two_steps())
        .tool(echo())
        .step_ended(|_: EndedStep| async { Err("broken".into()) })
        .named("fails")
        .step_ended(|_: EndedStep| async { panic!("fell over") })
        .named("panics")
        .step_ended(|_: EndedStep| -> std::future::Ready<Result<(), BoxError>> { panic!("at once") })
        .named("panics at once")
        .step_ended(|_: EndedStep| std::future::pending())
        .named("hangs")
        .step_ended(move |_: EndedStep| {
            *count.lock().unwrap() += 1;
            async { Ok(()) }
        })
        .open()
        .await
        .unwrap();
    let before = tokio::time::Instant::now();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(before.elapsed(), Duration::ZERO, "E04");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(*heard.lock().unwrap(), 2, "the others hear of everything");
    tokio::time::sleep(Duration::from_secs(200)).await;
    let log = log.0.lock().unwrap();
    let reports = |of: &str, what: &str| {
        let of = format!("hook=\"{of}\"");
        log.iter().filter(|line| line.contains(&of) && line.contains(what)).count()
    };
    let found = [
        reports("fails", "broken"),
        reports("panics", "fell over"),
        reports("panics at once", "at once"),
        reports("hangs", "took too long"),
    ];
    assert_eq!(found, [2; 4], "{log:#?}");
}

#[tokio::test(start_paused = true)]
async fn c_e04_a_hook_that_is_too_slow_misses_some_and_that_is_reported() {
    let log = Arc::new(Log::default());
    let _guard = tracing::subscriber::set_default(log.clone());
    let heard = Arc::new(Mutex::new(0));
    let count = heard.clone();
    let agent = Agent::builder()
        .model(Script::default())
        .turn_ended(move |_: EndedTurn| {
            *count.lock().unwrap() += 1;
            async {
                tokio::time::sleep(Duration::from_secs(10)).await;
                Ok(())
            }
        })
        .named("slow")
        .watch_buffer(2)
        .open()
        .await
        .unwrap();
    for _ in 0..6 {
        agent.prompt("go").await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(100)).await;
    let heard = *heard.lock().unwrap();
    assert!((2..=3).contains(&heard), "{heard}");
    let missed = format!("missed={}", 6 - heard);
    assert!(log.0.lock().unwrap().iter().any(|line| line.contains(&missed)), "{:?}", log.0.lock().unwrap());
}
