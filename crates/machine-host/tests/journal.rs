//! What is durable, what is not, and how an agent comes back.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Say, Script, check_record, echo, hang, outcomes, quick, texts, wait_for};
use machine_core::ask::{Approval, By, Cause};
use machine_core::event::{EndReason, Event, TurnError};
use machine_core::input::Refused;
use machine_core::outcome::{Outcome, ToolResult};
use machine_host::{
    Agent, AgentBuilder, BoxError, BoxFuture, CommandError, Journal, OpenError, Parked, Place, PromptError,
};
use machine_journal::{MemoryJournal, Record};

type Shared = Arc<Mutex<MemoryJournal>>;

/// Fails, or panics, when it is told to.
#[derive(Clone)]
struct Fragile {
    inner: Shared,
    broken: Arc<AtomicBool>,
    panics: bool,
    /// Fails in `sync`, else in `append`.
    late: bool,
}

impl Fragile {
    fn check(&self, late: bool) -> Result<(), BoxError> {
        if late != self.late || !self.broken.load(Ordering::SeqCst) {
            return Ok(());
        }
        assert!(!self.panics, "the disk is gone");
        Err("the disk is full".into())
    }
}

impl Journal for Fragile {
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        self.inner.open()
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        self.inner.read()
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async {
            self.check(false)?;
            self.inner.append(record).await
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async {
            self.check(true)?;
            Journal::sync(&mut self.inner).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn c_j10_a_journal_that_fails_stops_the_agent_and_says_so() {
    for (panics, late) in [(false, false), (true, false), (false, true), (true, true)] {
        let inner = common::journal();
        let journal = Fragile { inner: inner.clone(), broken: Arc::default(), panics, late };
        let broken = journal.broken.clone();
        let break_it = move |_: common::Args, cx: machine_host::ToolCx| {
            broken.store(true, Ordering::SeqCst);
            async move { cx.text("the last result") }
        };
        let break_it = machine_host::tool("break", "", break_it).touches_nothing();
        let script = Script::of([Say::Calls(vec![("break", "{}"), ("hang", "{}")]), Say::Text("never")]);
        let (agent, mut events) = Agent::builder()
            .model(script.clone())
            .tool(break_it)
            .tool(hang())
            .journal(journal)
            .open_watched()
            .await
            .unwrap();
        let prompt = tokio::spawn({
            let agent = agent.clone();
            async move { agent.prompt("go").await }
        });
        wait_for(&mut agent.events(), |event| matches!(event, Event::TurnStarted { .. })).await;
        let queued = agent.prompt("later").await.unwrap_err();
        assert!(
            matches!(queued, PromptError::Faulted(_) | PromptError::Command(_)),
            "S07: never silently parked: {queued}"
        );
        let end = prompt.await.unwrap().unwrap();
        let EndReason::Failed(error) = &end.reason else { panic!("{end:?}") };
        let TurnError::Faulted(cause) = &**error else { panic!("{error}") };
        assert!(cause.contains("the disk is"), "{cause}");
        assert_eq!(script.asked().len(), 1, "A22: the model is not asked again");
        let refused = agent.submit("more").await.unwrap_err();
        assert!(matches!(refused, CommandError::Refused(Refused::Faulted(_))), "{refused}");
        agent.history().await.unwrap().audit().unwrap();
        agent.idle().await.unwrap();
        let written = inner.lock().unwrap().records().len();
        agent.close().await.unwrap();
        assert_eq!(inner.lock().unwrap().records().len(), written, "nothing is written any more");
        check_record(&mut events);

        // The way out is opening again.
        inner.lock().unwrap().crash();
        let builder = Agent::builder().model(Script::default()).tool(echo()).tool(hang());
        let (agent, _) = builder.journal(inner).open_watched().await.unwrap();
        assert_eq!(agent.prompt("and now").await.unwrap().reason, EndReason::DONE);
        assert_eq!(outcomes(&agent).await, [Outcome::Unknown, Outcome::Unknown]);
    }
}

/// The input that ends the turn is handled, and cannot be made durable: opened again, the turn is interrupted.
#[tokio::test(start_paused = true)]
async fn c_j02_an_end_that_is_not_durable_is_told_to_nobody() {
    for abort in [false, true] {
        let inner = common::journal();
        let journal = Fragile { inner: inner.clone(), broken: Arc::default(), panics: false, late: true };
        let broken = journal.broken.clone();
        let break_it = move |_: common::Args, cx: machine_host::ToolCx| {
            let broken = broken.clone();
            async move {
                if abort {
                    cx.cancelled().await;
                }
                broken.store(true, Ordering::SeqCst);
                Ok(ToolResult { stop_turn: Some("enough".into()), ..ToolResult::text("the last result") })
            }
        };
        let break_it = machine_host::tool("break", "", break_it).touches_nothing().drop_on_cancel(false);
        let script = Script::of([Say::Calls(vec![("break", "{}")])]);
        let agent = Agent::builder().model(script).tool(break_it).journal(journal).open().await.unwrap();
        let prompt = agent.prompt("go");
        let aborts = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            if abort { Some(agent.abort(Cause::by(By::User)).await) } else { None }
        };
        let (prompt, aborted) = tokio::join!(prompt, aborts);
        assert!(matches!(prompt, Err(PromptError::Faulted(_))), "{prompt:?}");
        let faulted =
            |refused: &Result<_, _>| matches!(refused, Err(CommandError::Refused(Refused::Faulted(_))));
        assert!(aborted.as_ref().is_none_or(faulted), "{aborted:?}");
        drop(agent);
    }
}

/// While it closes the journal fails: the opening is over all the same.
#[tokio::test(start_paused = true)]
async fn c_a19_closing_ends_also_when_the_journal_fails_meanwhile() {
    let journal = Fragile { inner: common::journal(), broken: Arc::default(), panics: false, late: true };
    let broken = journal.broken.clone();
    let break_it = move |_: common::Args, cx: machine_host::ToolCx| {
        let broken = broken.clone();
        async move {
            cx.cancelled().await;
            broken.store(true, Ordering::SeqCst);
            cx.text("stopped")
        }
    };
    let break_it = machine_host::tool("break", "", break_it).touches_nothing().drop_on_cancel(false);
    let deaf = hang().drop_on_cancel(false);
    let script = Script::of([Say::Calls(vec![("break", "{}"), ("hang", "{}")])]);
    let builder = Agent::builder().model(script).tool(break_it).tool(deaf).journal(journal);
    let agent = builder.open().await.unwrap();
    let mut events = agent.events();
    agent.submit("go").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::CallStarted { .. })).await;
    tokio::time::timeout(Duration::from_secs(60), agent.close()).await.unwrap().unwrap();
    assert!(agent.is_gone());
}

/// What could not be made durable may be gone when it is opened again: it is not told as durable (E01).
#[tokio::test(start_paused = true)]
async fn c_e04_what_is_not_durable_is_not_recorded() {
    let journal = Fragile { inner: common::journal(), broken: Arc::default(), panics: false, late: true };
    let broken = journal.broken.clone();
    let agent = Agent::builder().model(Script::default()).journal(journal).open().await.unwrap();
    agent.prompt("one").await.unwrap();
    let durable = agent.recorded(0).await.unwrap();
    broken.store(true, Ordering::SeqCst);
    assert!(agent.submit("two").await.is_err());
    assert_eq!(agent.recorded(0).await.unwrap(), durable);
}

#[tokio::test(start_paused = true)]
async fn c_a22_a_background_call_is_gone_when_the_journal_fails() {
    let journal = Fragile { inner: common::journal(), broken: Arc::default(), panics: false, late: false };
    let broken = journal.broken.clone();
    let background = quick("background", |_, cx| {
        Box::pin(async move {
            cx.detach("it runs").await;
            std::future::pending().await
        })
    });
    let script = Script::of([Say::Calls(vec![("background", "{}")]), Say::Text("ok")]);
    let agent = Agent::builder().model(script).tool(background).journal(journal).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    broken.store(true, Ordering::SeqCst);
    assert!(agent.submit("more").await.is_err());
    agent.close().await.unwrap();
}

/// A process that dies: the agent goes away, and what was not durable with it.
async fn crash(agent: Agent, journal: &Shared) {
    drop(agent);
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    journal.lock().unwrap().crash();
}

#[tokio::test(start_paused = true)]
async fn c_j05_a_crash_in_a_tool_is_told_once() {
    let journal = common::journal();
    let script = Script::of([Say::Calls(vec![("echo", r#"{"text": "done"}"#), ("hang", "{}")])]);
    let builder = |script| Agent::builder().model(script).tool(echo()).tool(hang()).journal(journal.clone());
    let (agent, mut events) = builder(script).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::CallSettled { .. })).await;
    crash(agent, &journal).await;

    let (agent, mut events) = builder(Script::default()).open_watched().await.unwrap();
    let brought = common::seen(&mut events);
    assert_eq!(brought[0], Event::Recovered);
    assert_eq!(outcomes(&agent).await, [Outcome::Ok, Outcome::Unknown]);
    assert!(agent.is_resting());
    let records = journal.lock().unwrap().records().len();
    drop(agent);

    let (agent, mut events) = builder(Script::default()).open_watched().await.unwrap();
    assert_eq!(common::seen(&mut events), [], "opening again adds nothing");
    assert_eq!(journal.lock().unwrap().records().len(), records);
    assert_eq!(agent.prompt("go on").await.unwrap().reason, EndReason::DONE);
}

#[tokio::test(start_paused = true)]
async fn c_e01_durable_events_are_numbered_on_and_can_be_read_again() {
    let journal = common::journal();
    let builder = || Agent::builder().model(Script::default()).journal(journal.clone());
    let (agent, mut events) = builder().open_watched().await.unwrap();
    agent.prompt("one").await.unwrap();
    let durable = |events: &mut machine_host::Events| {
        let mut all = Vec::new();
        while let Some(seen) = events.try_next() {
            all.extend(seen.ok().filter(|seen| matches!(seen.place, Place::Durable(_))));
        }
        all
    };
    let mut all = durable(&mut events);
    agent.close().await.unwrap();
    all.extend(durable(&mut events));

    let (agent, mut events) = builder().open_watched().await.unwrap();
    agent.prompt("two").await.unwrap();
    all.extend(durable(&mut events));
    let numbers: Vec<_> = all.iter().map(|seen| seen.place).collect();
    assert_eq!(numbers, (0..all.len() as u64).map(Place::Durable).collect::<Vec<_>>());
    assert_eq!(agent.recorded(0).await.unwrap(), all);
    assert_eq!(agent.recorded(5).await.unwrap(), all[5..]);
}

#[tokio::test(start_paused = true)]
async fn c_j05_an_approval_is_answered_in_another_process() {
    let journal = common::journal();
    let script = Script::of([Say::Calls(vec![("echo", r#"{"text": "done"}"#)])]);
    let builder = |script| {
        let tool = echo().approval(true);
        Agent::builder().model(script).tool(tool).journal(journal.clone())
    };
    let (agent, mut events) = builder(script).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    let asked = wait_for(&mut events, |event| matches!(event, Event::ApprovalAsked { .. })).await;
    let Event::ApprovalAsked { call, digest, .. } = asked else { unreachable!() };
    crash(agent, &journal).await;

    let script = Script::of([Say::Text("thanks")]);
    let (agent, mut events) = builder(script).open_watched().await.unwrap();
    agent.decide(call, digest, Approval::Granted).await.unwrap();
    agent.idle().await.unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::Ok]);
    let ends = check_record(&mut events);
    assert_eq!(ends.iter().filter(|event| matches!(event, Event::TurnEnded(_))).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn c_j06_another_configuration_is_an_input() {
    let journal = common::journal();
    let builder =
        |system: &str| Agent::builder().system(system).model(Script::default()).journal(journal.clone());
    builder("one").open().await.unwrap().close().await.unwrap();
    let agent = builder("two").open().await.unwrap();
    assert_eq!(&*agent.config().await.unwrap().request.system, "two");
    agent.prompt("go").await.unwrap();
    agent.close().await.unwrap();
    let records = journal.lock().unwrap().records().len();
    builder("two").open().await.unwrap();
    assert_eq!(journal.lock().unwrap().records().len(), records + 2, "what reopens it, and its point");
}

/// Through its text form, as into another process.
async fn hand_over(agent: &Agent) -> Parked {
    let parked = agent.park().await.unwrap();
    assert!(agent.is_gone());
    let text = serde_json::to_string(&parked).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn c_j07_a_parked_agent_goes_on_elsewhere() {
    let journal = common::journal();
    let builder = |script| -> AgentBuilder {
        Agent::builder().model(script).tool(hang()).tool(echo().approval(true)).journal(journal.clone())
    };
    let script = Script::of([Say::Calls(vec![("hang", "{}"), ("echo", r#"{"text": "yes"}"#)])]);
    let (agent, mut events) = builder(script).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::CallStarted { .. })).await;
    let parked = hand_over(&agent).await;

    let granted = |_: machine_host::ApproveQuestion| async { Approval::Granted };
    let script = Script::of([Say::Text("ok")]);
    let (agent, _) = builder(script.clone()).approve(granted).parked(parked).open_watched().await.unwrap();
    agent.idle().await.unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::Unknown, Outcome::Ok]);
    assert_eq!(texts(&agent.history().await.unwrap()).last().unwrap(), "ok");
    agent.close().await.unwrap();

    let agent = builder(Script::default()).open().await.unwrap();
    assert_eq!(agent.prompt("still there?").await.unwrap().reason, EndReason::DONE);
}

#[tokio::test(start_paused = true)]
async fn c_j07_an_attempt_that_was_parked_is_made_anew() {
    let (agent, mut events) = Agent::builder().model(Script::of([Say::Hang])).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::Delta { .. })).await;
    let parked = hand_over(&agent).await;
    let script = Script::of([Say::Text("anew")]);
    let agent = Agent::builder().model(script).parked(parked).open().await.unwrap();
    agent.idle().await.unwrap();
    assert_eq!(texts(&agent.history().await.unwrap()), ["go", "anew"]);
}

#[tokio::test(start_paused = true)]
async fn c_j09_a_parked_agent_and_its_journal_belong_together() {
    let journal = common::journal();
    let builder = || Agent::builder().model(Script::default()).journal(journal.clone());
    let agent = builder().open().await.unwrap();
    agent.prompt("go").await.unwrap();
    let parked = agent.park().await.unwrap();
    builder().open().await.unwrap().prompt("elsewhere").await.unwrap();
    let error = builder().parked(parked).open().await.err().unwrap();
    assert!(matches!(error, OpenError::NotItsJournal { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn c_a10_a_repeated_prompt_is_harmless_also_after_opening_again() {
    let journal = common::journal();
    let builder = || Agent::builder().model(Script::default()).journal(journal.clone());
    let agent = builder().open().await.unwrap();
    agent.prompt(machine_host::Say::text("go").id("p1")).await.unwrap();
    drop(agent);
    let agent = builder().open().await.unwrap();
    let again = agent.submit(machine_host::Say::text("go").id("p1")).await.unwrap_err();
    assert!(matches!(again, CommandError::Refused(Refused::Duplicate { .. })), "{again}");
    agent.prompt("another").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c_x11_an_abort_in_the_middle_is_in_the_journal() {
    let journal = common::journal();
    let script = Script::of([Say::Calls(vec![("hang", "{}")])]);
    let builder = |script| Agent::builder().model(script).tool(hang()).journal(journal.clone());
    let (agent, mut events) = builder(script).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::CallStarted { .. })).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    let before = agent.history().await.unwrap();
    drop(agent);
    let agent = builder(Script::default()).open().await.unwrap();
    assert_eq!(agent.history().await.unwrap(), before);
}
