//! Replacements that do not fit into one answer of a tool.
use machine_core::outcome::Outcome;

use crate::common::World;
use crate::talk::{Call, End, Talk, has, run};

const PROMPT: &str = "replace foo with bar in *.md";

fn many(files: usize, lines: usize) -> World {
    let world = World::new();
    for i in 0..files {
        world.put(&format!("d{}/f{i:04}.md", i % 3), "a foo\n".repeat(lines));
    }
    world
}

/// How many files still have the text.
fn rest(world: &World, files: usize, text: &str) -> usize {
    (0..files).filter(|i| world.text(&format!("d{}/f{i:04}.md", i % 3)).contains(text)).count()
}

/// What the engine does with a long output: head, mark, tail.
fn shortened((outcome, text): End, limit: usize) -> End {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= limit {
        return (outcome, text);
    }
    let (head, tail) = (limit - limit / 4, limit / 4);
    let (head, tail): (String, String) =
        (chars[..head].iter().collect(), chars[chars.len() - tail..].iter().collect());
    (outcome, format!("{head}\n[{} characters left out.]\n{tail}", chars.len() - limit))
}

#[test]
fn three_hundred_files_take_several_batches() {
    let world = many(300, 1);
    let mut talk = Talk::new();
    let answer = talk.ask(&world, PROMPT);
    assert_eq!(answer, "Replaced \"foo\" with \"bar\" 300 times in 300 files.");
    let batches: Vec<usize> = talk.batches.iter().map(Vec::len).collect();
    assert_eq!(batches, [1, 50, 50, 50, 50, 50, 50, 0]);
    assert_eq!(rest(&world, 300, "foo"), 0);
}

#[test]
fn more_lines_than_one_search_shows() {
    let world = many(70, 20);
    let mut talk = Talk::new();
    has(&talk.ask(&world, PROMPT), &["1400 times in 70 files."]);
    assert_eq!((talk.count("search"), talk.count("edit"), talk.count("list")), (3, 70, 0));
    assert_eq!(rest(&world, 70, "foo"), 0);
}

#[test]
fn one_file_that_fills_a_whole_answer() {
    let world = many(2, 1);
    world.put("big.md", "foo\n".repeat(1_000));
    let mut talk = Talk::new();
    has(&talk.ask(&world, PROMPT), &["1002 times in 3 files."]);
}

#[test]
fn files_that_cannot_be_changed_do_not_hide_the_others() {
    let world = many(60, 20);
    // The first 600 lines are in these.
    for i in (0..60).filter(|i| i % 3 < 2) {
        world.chmod(&format!("d{}/f{i:04}.md", i % 3), 0o444);
    }
    let mut talk = Talk::new();
    let answer = talk.ask(&world, PROMPT);
    has(&answer, &["400 times in 20 files.", "d1/f0001.md: no write permission"]);
    assert!(!answer.contains("There may be more"), "{answer}");
    assert_eq!(answer.matches("no write permission").count(), 40);
    assert_eq!(talk.count("edit"), 60);
    assert_eq!(rest(&world, 60, "foo"), 40);
}

#[test]
fn a_new_text_that_contains_the_old_one_ends_also_beyond_one_search() {
    let world = many(70, 20);
    let mut talk = Talk::new();
    has(&talk.ask(&world, "replace foo with foofoo in *.md"), &["1400 times in 70 files."]);
    assert_eq!(talk.count("edit"), 70);
    assert_eq!((rest(&world, 70, "foofoo"), rest(&world, 70, "foofoofoo")), (70, 0));
}

#[test]
fn what_no_list_shows_is_admitted() {
    let world = many(1_030, 1);
    // Nothing is written: a text that stays where it was is what this is about.
    let pretend = |call: &Call| match &*call.tool {
        "edit" => (Outcome::Ok, "replaced 1 time in a file".to_owned()),
        _ => run(&world, call),
    };
    let mut talk = Talk::new();
    talk.prompt("replace foo with foofoo in *.md");
    let answer = talk.answer(pretend);
    has(&answer, &["1000 times in 1000 files"]);
    has(&answer, &["There may be more files with \"foo\": one list does not show all files."]);
    let mut talk = Talk::new();
    talk.tools.retain(|tool| &*tool.name != "list");
    talk.prompt("replace foo with \"foo!\"");
    has(&talk.answer(pretend), &["500 files", "There may be more", "one search does not show everything"]);
}

#[test]
fn shortened_answers_are_not_taken_for_whole() {
    for prompt in [PROMPT, "replace foo with foofoo in *.md"] {
        for limit in [300, 777, 1_000, 2_345] {
            let world = many(90, 2);
            let mut talk = Talk::new();
            talk.prompt(prompt);
            let mut misses = Vec::new();
            let answer = talk.answer(|call: &Call| {
                let end = run(&world, call);
                if call.tool == "edit" && end.0 != Outcome::Ok {
                    misses.push(call.args.clone());
                }
                // A list that is cut cannot be made up for.
                if call.tool == "search" { shortened(end, limit) } else { end }
            });
            assert_eq!(answer.split(".\n").next(), Some(&*answer), "{answer}");
            has(&answer, &["180 times in 90 files"]);
            assert!(misses.is_empty(), "{limit}: {misses:?}");
        }
    }
}
