//! Inputs are mapped before they are written, and what is written is what is handled (J11).
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Say, Script, quick, texts};
use machine_core::ask::{Answer, Executed};
use machine_core::input::{Command, Input, Submit};
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_host::{Agent, AgentBuilder, CommandError, OpenError, Place};
use machine_journal::replay;

const SECRET: &str = "hunter2";

/// Takes the secret out of prompts, results and system text.
fn hide(input: &mut Input) {
    let hidden = |text: &str| text.replace(SECRET, "[hidden]");
    match input {
        Input::Command(Command::Submit(submit)) => {
            let said = submit.message.iter().filter_map(|part| part.as_text()).map(hidden);
            let message = text_content(said.collect::<String>());
            *submit = Arc::new(Submit { message, ..(**submit).clone() });
        }
        Input::Command(Command::Configure(config)) => {
            let mut sealed = (**config).clone();
            sealed.request.system = hidden(&sealed.request.system).into();
            *config = Arc::new(sealed);
        }
        Input::Answer { answer: Answer::Execute(Executed::Done(result)), .. } => {
            let said = result.output.iter().filter_map(|part| part.as_text()).map(hidden);
            *result = Arc::new(ToolResult::text(said.collect::<String>()));
        }
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn c_j11_what_is_sealed_is_what_is_written_and_what_is_handled() {
    let journal = common::journal();
    let script = Script::of([Say::Calls(vec![("whisper", "{}")]), Say::Text("I see.")]);
    let builder = |script: Script| -> AgentBuilder {
        let system = format!("The password is {SECRET}.");
        let whisper = quick("whisper", |_, cx| Box::pin(async move { cx.text(format!("it is {SECRET}")) }));
        Agent::builder().system(system).model(script).tool(whisper).seal(hide).journal(journal.clone())
    };
    let agent = builder(script.clone()).open().await.unwrap();
    agent.prompt(format!("my password is {SECRET}")).await.unwrap();
    let said = texts(&agent.history().await.unwrap());
    assert_eq!(said[0], "my password is [hidden]");
    assert!(said.contains(&"it is [hidden]".to_owned()), "{said:?}");
    let asked = &script.asked()[0];
    assert_eq!(&*asked.system, "The password is [hidden].");
    assert_eq!(texts(&asked.history)[0], "my password is [hidden]", "the model does not see it either");
    drop(agent);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;

    let records = journal.lock().unwrap().records().to_vec();
    assert!(records.iter().any(|record| record.point().is_some()));
    for record in &records {
        let json = record.to_json().unwrap();
        assert!(!json.contains(SECRET), "{json}");
    }
    replay(&records, &mut |_, _| {}).unwrap();
    let agent = builder(Script::default()).open().await.unwrap();
    assert_eq!(
        journal.lock().unwrap().records().len(),
        records.len(),
        "the sealed configuration is no other"
    );
    assert_eq!(texts(&agent.history().await.unwrap()), said);
}

#[tokio::test(start_paused = true)]
async fn c_j11_a_seal_that_fails_faults_the_agent_and_nothing_is_written() {
    for panics in [true, false] {
        let (journal, armed) = (common::journal(), Arc::new(AtomicBool::new(false)));
        let fails = armed.clone();
        let seal = move |input: &mut Input| match input {
            Input::Command(Command::Submit(submit)) if fails.load(Ordering::Relaxed) => {
                assert!(!panics, "no key");
                *submit = Arc::new(Submit { id: "another".into(), ..(**submit).clone() });
            }
            _ => {}
        };
        let builder = || Agent::builder().model(Script::default()).journal(journal.clone());
        let (agent, mut events) = builder().seal(seal).open_watched().await.unwrap();
        agent.prompt("one").await.unwrap();
        let before = journal.lock().unwrap().records().to_vec();
        armed.store(true, Ordering::Relaxed);
        let refused = agent.submit(SECRET).await.unwrap_err();
        let CommandError::Refused(why) = &refused else { unreachable!("{refused}") };
        assert!(why.to_string().contains("hook the closure `seal`"), "{why}");
        assert_eq!(journal.lock().unwrap().records(), before, "nothing of it was written");
        let mut last = None;
        while let Some(Ok(seen)) = events.try_next() {
            last = Some(seen);
        }
        let faulted = last.unwrap();
        assert!(matches!(faulted.place, Place::Live { .. }), "J10: {faulted:?}");
        drop(agent);
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let agent = builder().open().await.unwrap();
        assert_eq!(texts(&agent.history().await.unwrap()), ["one", "nothing more to say"]);
    }
}

#[tokio::test(start_paused = true)]
async fn c_j11_a_configuration_that_cannot_be_sealed_is_no_session() {
    let journal = common::journal();
    let agent = Agent::builder().model(Script::default()).journal(journal.clone());
    let error = agent.seal(|_: &mut Input| unreachable!("no key")).open().await.err().unwrap();
    assert!(matches!(error, OpenError::Seal(_)), "{error}");
    assert!(journal.lock().unwrap().records().is_empty(), "nothing was begun");
}
