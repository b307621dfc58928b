//! Replacing a text in files, with the real tools.
use machine_core::outcome::{ErrorCode, Outcome, SkipCode};

use crate::common::World;
use crate::talk::{Talk, denied, has, run};

const PROMPT: &str = "replace \"foo\" with \"bar\" in *.md";

#[test]
fn one_batch_of_parallel_edits() {
    let world = World::with(&[
        ("a.md", "foo foo\n"),
        ("b.txt", "foo\n"),
        ("docs/deep/c.md", "x\nfoo\n"),
        ("docs/d.md", "nothing\n"),
    ]);
    let mut talk = Talk::new();
    let answer = talk.ask(&world, PROMPT);
    assert_eq!(talk.tools_called(), [vec!["search"], vec!["edit", "edit"], vec![]]);
    assert_eq!(talk.batches[0][0].args, r#"{"pattern":"foo","glob":"*.md"}"#);
    assert_eq!(talk.batches[1][0].args, r#"{"path":"a.md","old":"foo","new":"bar","all":true}"#);
    assert_eq!(answer, "Replaced \"foo\" with \"bar\" 3 times in 2 files.");
    assert_eq!(world.text("a.md"), "bar bar\n");
    assert_eq!(world.text("docs/deep/c.md"), "x\nbar\n");
    assert_eq!(world.text("b.txt"), "foo\n");
}

#[test]
fn what_could_not_be_changed_is_named_with_the_reason() {
    let world = World::with(&[("a.md", "foo"), ("b.md", "foo"), ("locked.md", "foo")]);
    world.put("binary.md", b"foo\xff");
    world.put("c (1).md", "foo");
    world.chmod("locked.md", 0o444);
    world.link("a.md", "link.md");
    let mut talk = Talk::new();
    talk.prompt(PROMPT);
    let answer = talk.answer(|call| match &*call.args {
        args if args.contains("b.md") => denied("not this one"),
        args if args.contains("c (1).md") => (Outcome::Unknown, String::new()),
        _ => run(&world, call),
    });
    let expected = "Replaced \"foo\" with \"bar\" 1 time in 1 file.\n\n\
        Not changed:\n- b.md: permission denied: not this one\n- locked.md: no write permission\n\n\
        Perhaps changed:\n- c (1).md: The execution of this call was lost; its outcome is not known. \
        Check its effects before you repeat it.\n\n\
        Not looked into:\n- binary.md: not UTF-8\n- link.md: symbolic link";
    assert_eq!(answer, expected);
}

#[test]
fn denied_edits_are_told_plainly() {
    let world = World::with(&[("a.md", "foo"), ("b.md", "foo")]);
    let mut talk = Talk::new();
    talk.prompt(PROMPT);
    let answer = talk.answer(|call| match &*call.tool {
        "edit" => denied("approvals are off"),
        _ => run(&world, call),
    });
    let expected = "The changes were not permitted. Nothing was changed: 2 files still have \"foo\".\n\n\
        Not changed:\n- a.md: permission denied: approvals are off\n- b.md: permission denied: approvals are off";
    assert_eq!(answer, expected);
    assert_eq!(talk.batches.len(), 3);
}

#[test]
fn after_a_denied_batch_no_further_one_is_asked_for() {
    let files: Vec<String> = (0..120).map(|i| format!("f{i:03}.md")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|path| (&**path, "foo\n")).collect();
    let (world, mut talk) = (World::with(&files), Talk::new());
    talk.prompt(PROMPT);
    let answer = talk.answer(|call| if call.tool == "edit" { denied("no") } else { run(&world, call) });
    assert_eq!(talk.count("edit"), 50);
    has(&answer, &["not permitted", "Nothing was changed: 120 files", "f000.md: permission denied: no"]);
    has(&answer, &["f119.md: not tried"]);
}

#[test]
fn nothing_to_do() {
    let world = World::with(&[("a.md", "x")]);
    let mut talk = Talk::new();
    has(&talk.ask(&world, PROMPT), &["no \"foo\" in *.md, so nothing was changed"]);
    has(&talk.ask(&world, "replace x with x"), &["nothing to do"]);
    has(
        &talk.ask(&world, "replace x with y in nowhere/"),
        &["search failed", "nothing was changed", "nowhere/"],
    );
    has(&talk.ask(&world, "replace \"x\ny\" with z"), &["search failed", "more than one line"]);
    assert_eq!(talk.count("edit"), 0);
}

#[test]
fn a_new_text_that_contains_the_old_one_is_put_in_once() {
    let world = World::with(&[("a.md", "a b a\n"), ("b.md", "a\n")]);
    let mut talk = Talk::new();
    has(&talk.ask(&world, "replace \"a\" with \"aa\""), &["3 times in 2 files"]);
    assert_eq!(world.text("a.md"), "aa b aa\n");
    assert_eq!(talk.tools_called(), [vec!["search"], vec!["edit", "edit"], vec![]]);
}

#[test]
fn a_text_that_only_comes_together_by_the_replacement_stays() {
    let world = World::with(&[("a.md", "aabb\n")]);
    let mut talk = Talk::new();
    has(&talk.ask(&world, "replace \"ab\" with \"\""), &["1 time in 1 file"]);
    assert_eq!(world.text("a.md"), "ab\n");
}

#[test]
fn edits_that_were_not_started_are_tried_again() {
    let world = World::with(&[("a.md", "foo"), ("b.md", "foo"), ("c.md", "foo")]);
    let mut talk = Talk::new();
    talk.prompt(PROMPT);
    let mut tries = 0;
    let answer = talk.answer(|call| {
        tries += usize::from(call.tool == "edit");
        match (&*call.tool, tries) {
            ("edit", 2) => (Outcome::skipped(SkipCode::Busy), String::new()),
            ("edit", _) if call.args.contains("c.md") => (Outcome::skipped(SkipCode::Crash), String::new()),
            _ => run(&world, call),
        }
    });
    let batches: Vec<usize> = talk.batches.iter().map(Vec::len).collect();
    assert_eq!(batches, [1, 3, 2, 1, 0]);
    has(&answer, &["2 times in 2 files", "c.md: Not run: the process ended"]);
}

#[test]
fn a_limit_on_calls_makes_the_batches_smaller() {
    let files: Vec<String> = (0..60).map(|i| format!("f{i:02}.md")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|path| (&**path, "foo\n")).collect();
    let (world, mut talk) = (World::with(&files), Talk::new());
    talk.prompt(PROMPT);
    let mut answer = None;
    while answer.is_none() {
        let mut started = 0;
        let (text, is_answer) = talk.respond(|call| {
            started += 1;
            let skipped = (Outcome::skipped(SkipCode::Limit), String::new());
            if started > 7 { skipped } else { run(&world, call) }
        });
        answer = is_answer.then_some(text);
        assert!(talk.batches.len() < 20);
    }
    assert_eq!(answer.as_deref(), Some("Replaced \"foo\" with \"bar\" 60 times in 60 files."));
    let batches: Vec<usize> = talk.batches.iter().map(Vec::len).collect();
    assert_eq!(batches, [1, 50, 7, 7, 7, 7, 7, 7, 7, 4, 0]);
}

#[test]
fn a_crashed_edit_may_have_changed_its_file() {
    let world = World::with(&[("a.md", "foo")]);
    for outcome in [Outcome::error(ErrorCode::Panicked), Outcome::TimedOut { may_have_run: true }] {
        let mut talk = Talk::new();
        talk.prompt(PROMPT);
        let answer = talk.answer(|call| {
            if call.tool == "edit" { (outcome.clone(), String::new()) } else { run(&world, call) }
        });
        has(&answer, &["Nothing was changed for certain", "Perhaps changed:\n- a.md: "]);
    }
}
