//! The main job: a word is replaced in every file that can be changed, and nothing else is touched.
use crate::json::Stream;
use crate::running::{Ran, World};

const JOB: &str = r#"replace "teh" with "the" in *.md"#;

/// 300 Markdown files and some others.
fn world() -> World {
    let world = World::new();
    for i in 0..298 {
        world.put(&path(i), text(i, "teh"));
    }
    world.put("sub/latin.md", b"teh caf\xe9\n");
    world.put("read-only.md", "teh\n");
    world.chmod("read-only.md", 0o444);
    world.chmod(&path(1), 0o600);
    world.put("notes.txt", "teh\n");
    world.put(".git/config.md", "teh\n");
    world
}

fn path(i: u32) -> String {
    match i % 3 {
        0 => format!("f{i}.md"),
        1 => format!("sub/f{i}.md"),
        _ => format!("sub/a b/ü{i}.md"),
    }
}

/// Every seventh is without the word, every fifth has other line ends.
fn text(i: u32, word: &str) -> String {
    let end = if i.is_multiple_of(5) { "\r\n" } else { "\n" };
    if i.is_multiple_of(7) { format!("nothing{end}") } else { format!("a {word} b{end}{word}{end}") }
}

#[track_caller]
fn did_the_job(world: &World, ran: &Ran) {
    ran.ended(0);
    for i in 0..298 {
        assert_eq!(world.text(&path(i)), text(i, "the"));
    }
}

#[test]
fn every_file_that_can_be_changed_is_and_nothing_else() {
    let world = world();
    let before = world.files();
    let ran = world.run(&[JOB, "--approve", "all"]);
    did_the_job(&world, &ran);
    assert_eq!(ran.err, "");
    ran.says("- read-only.md: no write permission").says("- sub/latin.md: not UTF-8");
    let after = world.files();
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (path, (content, mode)) in &after {
        assert_eq!(before[path].1, *mode, "{}", path.display());
        let touched = before[path].0 != *content;
        let may_be = path.extension().is_some_and(|end| end == "md")
            && !path.components().any(|part| part.as_os_str() == ".git")
            && !["read-only.md", "latin.md"].iter().any(|name| path.ends_with(name));
        assert!(!touched || may_be, "{}", path.display());
    }
}

#[test]
fn each_line_says_which_file() {
    let world = World::with(&[("a b.md", "teh\n")]);
    let ran = world.run(&[JOB, "--approve", "all"]);
    ran.ended(0).says("\n  run   edit a b.md\n").says("\n  ok    edit a b.md\n").says("  ok    search teh\n");
}

#[test]
fn as_json_it_is_one_turn_with_every_call_settled() {
    let world = world();
    let ran = world.run(&[JOB, "--approve", "all", "--json"]);
    did_the_job(&world, &ran);
    assert_eq!(ran.err, "");
    let stream = Stream::of(&ran);
    assert_eq!(stream.count("turn_started"), 1);
    assert_eq!(stream.count("turn_ended"), 1);
    stream.is_sound();
    assert!(stream.count("call_announced") > 200);
}

#[test]
fn a_second_run_finds_nothing_to_do() {
    let world = World::with(&[("a.md", "teh\n"), ("b.md", "x\n")]);
    world.run(&[JOB, "--approve", "all"]).ended(0);
    let before = world.files();
    world.run(&[JOB, "--approve", "all"]).ended(0).does_not_say("edit");
    assert_eq!(before, world.files());
}

#[test]
fn two_runs_at_once_do_the_job_once() {
    let world = world();
    let (mut one, mut two) =
        (world.start(&[JOB, "--approve", "all"]), world.start(&[JOB, "--approve", "all"]));
    one.close();
    two.close();
    did_the_job(&world, &one.end());
    did_the_job(&world, &two.end());
}
