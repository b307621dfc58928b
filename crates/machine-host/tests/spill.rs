//! Output that is too long for the model (V15).
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::path::Path;

use common::{Args, Say, Script, quick, results};
use machine_core::message::{Body, Part};
use machine_core::outcome::{ErrorCode, Outcome, ToolResult};
use machine_host::{
    Agent, AgentBuilder, BeforeCall, CallQuestion, FinalizeQuestion, ToolCx, ToolError, TypedTool,
};

const LIMIT: usize = 100;

fn long() -> String {
    "secret and öther words ".repeat(20)
}

fn tools() -> [TypedTool<Args, common::Run>; 5] {
    [
        quick("long", |_, cx: ToolCx| Box::pin(async move { cx.text(long()) })),
        quick("fails", |_, _| Box::pin(async { Err(ToolError::failed(long())) })),
        quick("whole", |_, _| {
            Box::pin(async { Ok(ToolResult { keep_whole: true, ..ToolResult::text(long()) }) })
        }),
        quick("own", |_, _| {
            Box::pin(async { Ok(ToolResult { spill: Some("elsewhere".into()), ..ToolResult::text(long()) }) })
        }),
        quick("short", |_, cx| Box::pin(async move { cx.text("a".repeat(LIMIT)) })),
    ]
}

fn builder(dir: &Path, calls: &[&'static str]) -> AgentBuilder {
    let calls = Say::Calls(calls.iter().map(|tool| (*tool, "{}")).collect());
    let builder = Agent::builder().branch(7).model(Script::of([calls, Say::Text("ok")])).spill(dir);
    let builder = builder.config(|config| config.calls.output_chars = LIMIT);
    tools().into_iter().fold(builder, AgentBuilder::tool)
}

fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn c_v15_what_is_too_long_lies_in_a_file_that_the_result_names() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("a/b");
    let agent = builder(&dir, &["long", "fails", "whole", "own", "short"]).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    let results = results(&agent).await;
    assert_eq!(files(&dir), ["7.1.1.0.txt", "7.1.1.1.txt"]);
    for (n, outcome) in [(0, Outcome::Ok), (1, Outcome::error(ErrorCode::Failed))] {
        let path = dir.join(format!("7.1.1.{n}.txt"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), long());
        assert_eq!(results[n].1, outcome);
        assert!(
            results[n].2.contains(&format!("The full output is at {}.", path.display())),
            "{}",
            results[n].2
        );
        assert!(results[n].2.chars().count() < long().chars().count());
    }
    assert_eq!(results[2].2, long());
    assert!(results[3].2.contains("The full output is at elsewhere."));
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn c_v15_the_file_is_for_its_owner_only_and_overwrites_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    for _ in 0..2 {
        builder(&dir, &["long"]).open().await.unwrap().prompt("go").await.unwrap();
    }
    assert_eq!(files(&dir), ["7.1.1.0-2.txt", "7.1.1.0.txt"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&dir.join("7.1.1.0.txt"))), (0o700, 0o600));
}

#[tokio::test(start_paused = true)]
async fn c_c11_only_what_is_finalized_is_written() {
    let temp = tempfile::tempdir().unwrap();
    let redact = |question: FinalizeQuestion| async move {
        let mut result = question.result;
        for part in &mut result.output {
            if let Body::Text(text) = &mut part.body {
                *part = Part::text(text.replace("secret", "***"));
            }
        }
        Ok(result)
    };
    let instead = |question: CallQuestion| async move {
        Ok(if &*question.tool == "short" {
            BeforeCall::Answer(ToolResult::text(long()))
        } else {
            BeforeCall::Proceed
        })
    };
    let agent =
        builder(temp.path(), &["long", "short"]).finalize(redact).before_call(instead).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(files(temp.path()), ["7.1.1.0.txt", "7.1.1.1.txt"]);
    for file in files(temp.path()) {
        assert_eq!(std::fs::read_to_string(temp.path().join(file)).unwrap(), long().replace("secret", "***"));
    }
    // Where the finalizer fails nothing is written at all.
    let temp = tempfile::tempdir().unwrap();
    let broken = |_: FinalizeQuestion| async { Err("broken".into()) };
    let agent = builder(temp.path(), &["long"]).finalize(broken).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(results(&agent).await[0].1, Outcome::error(ErrorCode::Withheld));
    assert!(files(temp.path()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn c_v15_the_answer_of_a_hook_is_spilled_too() {
    let temp = tempfile::tempdir().unwrap();
    let instead = |_: CallQuestion| async { Ok(BeforeCall::Answer(ToolResult::text(long()))) };
    let agent = builder(temp.path(), &["short"]).before_call(instead).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(files(temp.path()), ["7.1.1.0.txt"]);
    assert!(results(&agent).await[0].2.contains("7.1.1.0.txt"));
}

#[tokio::test(start_paused = true)]
async fn c_v15_a_file_that_cannot_be_written_leaves_a_shortened_result() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let agent = builder(&file, &["long"]).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    let results = results(&agent).await;
    assert_eq!(results[0].1, Outcome::Ok);
    assert!(results[0].2.contains("characters left out.]"), "{}", results[0].2);
}
