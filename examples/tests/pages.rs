//! Each page is run as its reader would run it, and says what it should.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]

use std::process::Command;

use expect_test::{Expect, expect};

/// What a page prints.
fn said(page: &str, args: &[&str]) -> String {
    let ran = Command::new(page).args(args).output().unwrap();
    assert!(ran.status.success(), "{page}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn by_hand() {
    expect![[r#"
        User: What time is it?
        Assistant: 
        call 1.1.1.0 starts
        call 1.1.1.0: Ok
        Tool: 12:00
        Assistant: It is noon.
        turn 1.1 completed
        history: 4 entries, agent ["Open", "Idle", "Ready"]
    "#]]
    .assert_eq(&said(env!("CARGO_BIN_EXE_by-hand"), &[]));
}

#[test]
fn minimal() {
    expect![[r#"
        User: What is 19 + 23?
        Assistant: 
        Tool: 42
        Assistant: It is 42.
        completed after 2 steps
    "#]]
    .assert_eq(&said(env!("CARGO_BIN_EXE_minimal"), &[]));
}

#[test]
fn streaming() {
    expect![[r#"
        Rome was not 
        [the connection broke; again]
        Rome was not built in a day.
        [completed]
    "#]]
    .assert_eq(&said(env!("CARGO_BIN_EXE_streaming"), &[]));
}

#[test]
fn sub_agents_share_a_limit() {
    expect![[r#"
        cost: nothing against it
        law: nothing against it
        safety: nothing against it
        speed: nothing against it
        taste: nothing against it
        weight: nothing against it
        completed after 2 steps
        at most 2 requests at once
    "#]]
    .assert_eq(&said(env!("CARGO_BIN_EXE_sub-agents"), &[]));
}

/// The two processes of `approval`: what the second says when it is told this.
fn answered(answer: &str, expected: Expect) {
    let page = env!("CARGO_BIN_EXE_approval");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("agent.json");
    let file = file.to_str().unwrap();
    let both = [said(page, &["ask", file]), said(page, &["answer", file, answer])];
    expected.assert_eq(&both.join("--- a day later ---\n"));
    let again = Command::new(page).args(["answer", file, answer]).output().unwrap();
    assert!(!again.status.success(), "what was answered once is answered again");
}

#[test]
fn an_approval_is_given_in_another_process() {
    answered(
        "yes",
        expect![[r#"
        may pay run with {"to": "the baker", "euros": 12}?
        --- a day later ---
        yes to pay with {"to": "the baker", "euros": 12}
        paying 12 euros to the baker
        Tool: paid 12 euros to the baker
        Assistant: The answer was: paid 12 euros to the baker
        completed after 2 steps
    "#]],
    );
}

#[test]
fn an_approval_is_denied_in_another_process() {
    answered(
        "no",
        expect![[r#"
        may pay run with {"to": "the baker", "euros": 12}?
        --- a day later ---
        no to pay with {"to": "the baker", "euros": 12}
        Tool: Permission for this call was denied: not today
        Assistant: The answer was: Permission for this call was denied: not today
        completed after 2 steps
    "#]],
    );
}

#[test]
fn the_list_of_pages_has_them_all() {
    let (readme, manifest) = (include_str!("../README.md"), include_str!("../Cargo.toml"));
    let pages =
        manifest.lines().filter_map(|line| line.strip_prefix("path = \"")).map(|path| path.trim_matches('"'));
    for page in pages.chain(["tests/own_policy.rs", "otlp/src/main.rs", "provider/src/main.rs"]) {
        assert!(readme.contains(&format!("]({page})")), "{page} is not in examples/README.md");
    }
}
