//! The requests that only look, and the command.
use machine_core::outcome::{ErrorCode, Outcome};

use crate::common::World;
use crate::talk::{Talk, denied, has};

fn world() -> World {
    World::with(&[
        ("README.md", "# Title\nTODO one\n"),
        ("docs/a.md", "TODO two\nTODO three\n"),
        ("docs/Makefile", "all:\n"),
        ("empty.txt", ""),
    ])
}

#[track_caller]
fn check(prompt: &str, tools: &[&[&str]], parts: &[&str]) {
    let (world, mut talk) = (world(), Talk::new());
    world.put("binary.md", b"\xff\xfe");
    let answer = talk.ask(&world, prompt);
    has(&answer, parts);
    assert_eq!(talk.tools_called(), [tools, &[&[]]].concat(), "{prompt}");
}

#[test]
fn finding() {
    let lines =
        ["3 lines in 2 files have \"TODO\" in *.md", "README.md:2: TODO one", "docs/a.md:2: TODO three"];
    check("find TODO in *.md", &[&["search"]], &lines);
    check("find TODO in *.md", &[&["search"]], &["binary.md: not looked at (not UTF-8)"]);
    check("find nothing", &[&["search"]], &["no \"nothing\""]);
    check(
        "find TODO in nowhere",
        &[&["search"]],
        &["The search failed: no such file or directory: nowhere."],
    );
}

#[test]
fn counting() {
    check("count lines in *.md", &[&["count"]], &["There are 4 lines in 2 files in *.md.", "docs/a.md: 2"]);
    check("how many lines are in docs?", &[&["count"]], &["3 lines in 2 files", "docs/Makefile: 1"]);
}

#[test]
fn listing_and_reading() {
    check("list", &[&["list"]], &["4 entries in this directory", "docs/", "README.md"]);
    check("list *.txt", &[&["list"]], &["There is 1 entry in *.txt:\nempty.txt"]);
    check("read README.md", &[&["read"]], &["README.md:\n\n# Title\nTODO one"]);
    check("read nowhere.md", &[&["read"]], &["Reading failed: no such file or directory: nowhere.md"]);
    check("read empty.txt", &[&["read"]], &["empty.txt is empty."]);
    check("what's in this directory?", &[&["list"]], &["4 entries"]);
    check("show docs", &[&["list"]], &["There are 2 entries in docs", "docs/a.md"]);
    check("show docs/a.md", &[&["read"]], &["TODO two"]);
    check("show docs/Makefile", &[&["list"], &["read"]], &["all:"]);
    check("show nowhere", &[&["list"]], &["no such file or directory: nowhere"]);
}

#[test]
fn a_directory_with_a_dot_in_its_name_is_listed() {
    let (world, mut talk) = (World::with(&[("v1.2/x", "")]), Talk::new());
    has(&talk.ask(&world, "show v1.2"), &["1 entry", "v1.2/x"]);
    assert_eq!(talk.tools_called(), [vec!["read"], vec!["list"], vec![]]);
}

#[test]
fn commands() {
    let failed = Outcome::error(ErrorCode::Failed);
    let cases = [
        (Outcome::Ok, "a\nb\n", "`make x` ended with exit code 0. Its output:\n\na\nb"),
        (Outcome::Ok, "", "`make x` ended with exit code 0 and printed nothing."),
        (failed.clone(), "oops\n[exit code 3]", "`make x` failed with exit code 3. Its output:\n\noops"),
        (failed.clone(), "[exit code 1]", "`make x` failed with exit code 1 and printed nothing."),
        (failed.clone(), "[timed out, ended by signal 9]", "failed with timed out, ended by signal 9"),
        (failed, "the command could not be run: no", "failed: the command could not be run: no"),
        (Outcome::TimedOut { may_have_run: true }, "", "failed: The time for this call was up."),
        (Outcome::Unknown, "", "failed: The execution of this call was lost"),
    ];
    for (outcome, said, answer) in cases {
        let mut talk = Talk::new();
        talk.prompt("run `make x`");
        has(&talk.answer(|_| (outcome.clone(), said.to_owned())), &[answer]);
        assert_eq!(talk.batches[0][0].args, r#"{"command":"make x"}"#);
    }
    let mut talk = Talk::new();
    talk.prompt("run make");
    has(&talk.answer(|_| denied("no shell here")), &["not permitted, so it did not run", "no shell here"]);
}

#[test]
fn long_output_of_a_command_is_cut() {
    let mut talk = Talk::new();
    talk.prompt("run x");
    let answer = talk.answer(|_| (Outcome::Ok, format!("begin{}end", "é".repeat(100_000))));
    has(&answer, &["The end of its output", "éend"]);
    assert!(answer.chars().count() < 5_000);
}

#[test]
fn without_the_tool_it_says_so() {
    for (prompt, tool) in [
        ("find x", "search"),
        ("replace x with y", "edit"),
        ("count lines", "count"),
        ("list", "list"),
        ("read x", "read"),
        ("show x", "read"),
        ("run x", "shell"),
    ] {
        let mut talk = Talk::new();
        talk.tools.retain(|spec| &*spec.name != tool);
        talk.prompt(prompt);
        has(&talk.answer(|_| unreachable!()), &["the tool", tool]);
    }
}

#[test]
fn what_is_no_request_is_answered_with_examples() {
    for (prompt, parts) in [
        ("hello", &["I do not know", "replace \"OLD\" with \"NEW\" in *.md", "run `ls -l`"]),
        ("replace \"x", &["quote", "opened and not closed", "list docs"]),
        ("replace x y with z", &["could not read that", "replace \"OLD\"", "find"]),
    ] {
        let mut talk = Talk::new();
        talk.prompt(prompt);
        has(&talk.answer(|_| unreachable!()), parts);
    }
}
