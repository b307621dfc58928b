//! Which request is the current one.
use machine_core::message::Origin;

use crate::common::World;
use crate::talk::{Talk, has, run};

fn world() -> World {
    World::with(&[("a.md", "foo\n"), ("b.md", "foo\nfoo\n")])
}

#[test]
fn only_what_came_after_the_last_request_counts() {
    let (world, mut talk) = (world(), Talk::new());
    has(&talk.ask(&world, "find foo"), &["3 lines in 2 files"]);
    has(&talk.ask(&world, "replace foo with bar"), &["3 times in 2 files"]);
    has(&talk.ask(&world, "find foo"), &["no \"foo\""]);
    has(&talk.ask(&world, "find foo"), &["no \"foo\""]);
    assert_eq!(talk.count("search"), 4);
    let answer = talk.ask(&world, "thanks");
    has(&answer, &["I do not know"]);
}

#[test]
fn a_steered_request_wins_and_the_other_is_accounted_for() {
    let (world, mut talk) = (world(), Talk::new());
    talk.prompt("replace foo with bar");
    talk.respond(|call| run(&world, call));
    talk.respond(|call| run(&world, call));
    talk.steer("count lines");
    let answer = talk.answer(|call| run(&world, call));
    has(&answer, &["I left \"replace foo with bar\"", "Replaced \"foo\" with \"bar\" 3 times in 2 files."]);
    has(&answer, &["There are 3 lines in 2 files."]);
    // The next turn does not come back to it.
    assert!(!talk.ask(&world, "count lines").contains("I left"));
}

#[test]
fn several_prompts_at_once() {
    let (world, mut talk) = (world(), Talk::new());
    talk.prompt("list");
    talk.steer("find foo");
    talk.steer("how are you");
    let answer = talk.answer(|call| run(&world, call));
    has(
        &answer,
        &["I did not begin with \"list\"", "3 lines in 2 files", "did not understand \"how are you\""],
    );
    assert_eq!(talk.tools_called(), [vec!["search"], vec![]]);
}

#[test]
fn a_remark_does_not_stop_the_work() {
    let (world, mut talk) = (world(), Talk::new());
    talk.prompt("replace foo with bar");
    talk.respond(|call| run(&world, call));
    talk.steer("be quick about it");
    let answer = talk.answer(|call| run(&world, call));
    has(&answer, &["3 times in 2 files", "did not understand \"be quick about it\""]);
}

#[test]
fn after_an_abort_it_starts_anew() {
    let (world, mut talk) = (world(), Talk::new());
    talk.prompt("replace foo with bar");
    talk.respond(|call| run(&world, call));
    talk.user(Origin::AbortMarker, "The user stopped the turn.");
    has(&talk.ask(&world, "go on"), &["I do not know"]);
    let answer = talk.ask(&world, "find foo");
    assert!(answer.starts_with("3 lines in 2 files"), "{answer}");
    assert_eq!(talk.count("edit"), 0);
}

#[test]
fn news_after_the_answer_is_noted() {
    let (world, mut talk) = (world(), Talk::new());
    talk.ask(&world, "find foo");
    talk.user(Origin::Notification { id: "n1".into() }, "the build is green");
    let answer = talk.answer(|_| unreachable!());
    has(&answer, &["Noted: the build is green", "nothing more"]);
    talk.user(Origin::AbortMarker, "stopped");
    talk.user(Origin::Reminder { key: "r".into() }, "mind the style");
    has(&talk.answer(|_| unreachable!()), &["Noted: mind the style"]);
}

#[test]
fn notifications_do_not_disturb_the_work() {
    let (world, mut talk) = (world(), Talk::new());
    talk.user(Origin::Reminder { key: "r".into() }, "replace everything with nothing");
    talk.prompt("replace foo with bar");
    talk.respond(|call| run(&world, call));
    talk.user(Origin::Notification { id: "n1".into() }, "list docs");
    has(&talk.answer(|call| run(&world, call)), &["3 times in 2 files"]);
}
