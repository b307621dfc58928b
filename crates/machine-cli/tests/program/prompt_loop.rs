//! Without a prompt: a small prompt loop.
use crate::running::World;

#[test]
fn prompts_are_worked_on_one_after_the_other_until_the_input_ends() {
    let world = World::with(&[("a.md", "one\ntwo\n")]);
    let mut running = world.start(&[]);
    running.say("count lines in *.md");
    running.say("");
    running.say("read a.md");
    running.close();
    let ran = running.end();
    ran.ended(0).says("/steer TEXT").says("There are 2 lines in 1 file in *.md.").says("a.md:\n\none\ntwo\n");
    let (count, read) = (ran.out.find("I count"), ran.out.find("I read a.md"));
    assert!(count.is_some() && count < read, "{ran:?}");
}

#[test]
fn input_that_ends_at_once_is_no_hang() {
    let world = World::new();
    for _ in 0..10 {
        world.run(&[]).ended(0);
    }
    let mut running = world.start(&[]);
    running.say("list");
    running.sees("There is nothing in this directory");
    running.close();
    running.end().ended(0);
}

#[test]
fn quit_ends_it() {
    let world = World::new();
    let mut running = world.start(&[]);
    running.say("list");
    running.sees("ok    list");
    running.sees("There is nothing in this directory");
    running.say("/quit");
    running.end().ended(0);
}

#[test]
fn quit_stops_what_runs() {
    let world = World::new();
    let mut running = world.start(&["--approve", "all"]);
    running.say("run `sleep 300`");
    running.sees("run   shell sleep 300");
    running.say("/quit");
    running
        .end()
        .ended(130)
        .says("cancelled shell sleep 300")
        .says("[turn aborted by the end of the process]");
}

#[test]
fn state_shows_the_machines() {
    let world = World::new();
    let mut running = world.start(&["--approve", "all"]);
    running.say("/state");
    running.sees("\"Idle\"");
    running.say("run `until test -e go; do sleep 0.05; done`");
    running.sees("run   shell");
    running.say("count lines");
    running.say("/state");
    running.sees("\"queued_prompts\": 1");
    running.sees("\"Acting\"");
    running.sees("\"Attached\"");
    world.put("go", "");
    running.close();
    running.end().ended(0).says("lines in");
}

#[test]
fn abort_stops_the_turn_and_what_waits_goes_on() {
    let world = World::new();
    let mut running = world.start(&["--approve", "all"]);
    running.say("run `sleep 300`");
    running.sees("run   shell sleep 300");
    running.say("list");
    running.say("/abort");
    running.sees("[turn aborted by the user]");
    running.sees("ok    list");
    running.close();
    running.end().ended(0);
}

#[test]
fn a_steer_joins_the_running_turn() {
    let world = World::with(&[("a.md", "x\n")]);
    let mut running = world.start(&["--approve", "all", "--json"]);
    running.say("run `until test -e go; do sleep 0.05; done`");
    running.sees("\"call_started\"");
    running.say("/steer count lines in *.md");
    running.sees("\"steered\"");
    world.put("go", "");
    running.close();
    let ran = running.end();
    ran.ended(0).says("a.md: 1");
    assert_eq!(ran.out.matches("\"turn_started\"").count(), 1, "{ran:?}");
}

#[test]
fn what_is_no_command_is_answered_with_the_commands() {
    let world = World::new();
    let mut running = world.start(&[]);
    for line in ["/frob", "/steer", "/steer  "] {
        running.say(line);
    }
    running.close();
    let ran = running.end();
    ran.ended(0);
    assert_eq!(ran.out.matches("/steer TEXT").count(), 4, "{ran:?}");
}

#[test]
fn odd_lines_are_prompts_like_others() {
    let world = World::new();
    let mut running = world.start(&[]);
    running.say("count lines in \0*.md");
    running.say("\u{1b}[2J");
    running.say(&"blah ".repeat(200_000));
    running.close();
    running.end().ended(0).does_not_say("\u{1b}");
}
