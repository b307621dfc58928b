//! Bad usage is one clear line and exit code 2; help is on everything.
use std::fs::File;
use std::process::{Command, Stdio};

use crate::running::{World, program};

#[test]
fn a_directory_must_be_there_and_be_one() {
    let world = World::with(&[("a.md", "x\n")]);
    let file = world.dir().join("a.md");
    program(&["run", "x", "--dir", "/does/not/exist"]).refuses("--dir /does/not/exist: No such file");
    program(&["run", "x", "--dir", file.to_str().expect("UTF-8")]).refuses("a.md: Not a directory");
    program(&["run", "x", "--dir", ""]).refuses("--dir");
    program(&["run", "x", "--dir", "two\nlines"]).refuses("--dir two lines: No such file");
}

#[test]
fn a_model_must_be_known() {
    let world = World::new();
    let refuses = |model: &str, why: &str| world.run(&["x", "--model", model]).refuses(why);
    refuses(
        "gpt",
        "--model gpt: there is no such model; use `rules`, `script:FILE`, or a provider's, such as `openai:NAME`",
    );
    refuses("", "there is no such model");
    refuses("script:", "--model script: which file?");
    refuses("rules:x", "there is no ");
}

#[test]
fn a_script_must_be_readable_and_well_formed() {
    let world = World::new();
    let refuses = |script: &str, why: &str| world.run(&["x", "--model", &world.script(script)]).refuses(why);
    world.run(&["x", "--model", "script:/does/not/exist.yaml"]).refuses("/does/not/exist.yaml: No such file");
    world.run(&["x", "--model", "script:/"]).refuses("/: Is a directory");
    refuses("- txt: a", "script.yaml:1:3: unknown field `txt`");
    refuses("- {fail: {kind: nonsense}}", "script.yaml:1:");
    refuses("not a list", "script.yaml:1:1");
    refuses("- [", "script.yaml:");
    refuses("- {text: a, finish: end_turn, cut: true}", "script.yaml:");
}

#[test]
fn options_must_make_sense() {
    let world = World::new();
    let refuses = |args: &[&str], why: &str| world.run(args).refuses(why);
    refuses(&["x", "--frob"], "unexpected argument '--frob'");
    refuses(&["x", "--aprove", "all"], "a similar argument exists: '--approve'");
    refuses(&["x", "--approve", "maybe"], "[possible values: ask, all, none]");
    refuses(&["x", "--max-steps", "-1"], "invalid value '-1' for '--max-steps <N>'");
    refuses(&["x", "--max-steps", "4294967296"], "invalid value '4294967296'");
    refuses(&["x", "--max-steps", "many"], "invalid value 'many'");
    refuses(&["x", "--max-steps"], "--max-steps");
    refuses(&["one", "two"], "unexpected argument 'two'");
    program(&[]).refuses("`scenario`, `explore`, `simulate`, `replay` or `fork`");
    program(&["frob"]).refuses("unrecognized subcommand 'frob'");
    program(&["chart"]).refuses("<MACHINE>");
    program(&["chart", "frob"]).refuses("[possible values: agent, turn, call]");
    program(&["chart", "agent", "--format", "png"]).refuses("[possible values: mermaid, dot]");
}

#[test]
fn a_prompt_must_say_something() {
    let world = World::new();
    for prompt in ["", "  ", "\n\t"] {
        world.run(&[prompt]).refuses("the prompt is empty");
        world.run(&[prompt, "--json"]).refuses("the prompt is empty");
    }
}

#[test]
fn help_is_on_everything_with_the_exit_codes() {
    program(&["--help"]).ended(0).says("run").says("chart").says("Exit codes:").says("130");
    program(&["run", "--help"]).ended(0).says("--max-steps <N>").says("--approve").says("Exit codes:");
    program(&["chart", "--help"]).ended(0).says("--format").says("mermaid").says("dot");
    program(&["--version"]).ended(0).says("agent-machine ");
}

#[test]
fn a_reader_that_goes_away_stops_nothing() {
    let world = World::with(&[("a.md", "teh\n")]);
    let dir = world.dir();
    let dir = dir.to_str().expect("UTF-8");
    let job = ["run", r#"replace "teh" with "the" in *.md"#, "--dir", dir, "--approve", "all"];
    let list = ["run", "list", "--dir", dir, "--json"];
    let explore = ["explore", "engine", "--calls", "1"];
    for args in [&job[..], &list, &["chart", "call"], &explore, &["simulate", "--seeds", "2"], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let done = Command::new(env!("CARGO_BIN_EXE_agent-machine"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(writer)
            .output()
            .expect("the program runs");
        assert_eq!((done.status.code(), &*done.stderr), (Some(0), &b""[..]), "{args:?}");
    }
    assert_eq!(world.text("a.md"), "the\n");
}

#[test]
fn it_works_without_an_environment_and_without_room_for_its_output_and_says_so() {
    let world = World::with(&[("ü b/a.md", "teh\n")]);
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let done = Command::new(env!("CARGO_BIN_EXE_agent-machine"))
        .args(["run", "replace teh with the in *.md", "--approve", "all"])
        .current_dir(world.dir())
        .env_clear()
        .stdin(Stdio::null())
        .stdout(full)
        .output()
        .expect("the program runs");
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&done.stderr).lines().count(), 1, "{done:?}");
    assert_eq!(world.text("ü b/a.md"), "the\n");
}

#[test]
fn what_is_only_printed_must_have_room() {
    for args in
        [&["chart", "call"][..], &["explore", "engine", "--calls", "1"], &["simulate", "--seeds", "2"]]
    {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        let done = Command::new(env!("CARGO_BIN_EXE_agent-machine"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(full)
            .output()
            .expect("the program runs");
        assert_eq!(done.status.code(), Some(1), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&done.stderr).lines().count(), 1, "{done:?}");
    }
}
