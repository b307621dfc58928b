//! Who approves what.
use crate::json::Stream;
use crate::running::World;

const JOB: &str = r#"replace "teh" with "the" in *.md"#;

#[test]
fn none_denies_and_the_model_is_told() {
    let world = World::with(&[("a.md", "teh\n"), ("b.md", "teh\n")]);
    let before = world.files();
    let ran = world.run(&[JOB, "--approve", "none"]);
    let why = "denied edit a.md: `edit` needs an approval, and `--approve none` gives none; run with `--approve all`";
    ran.ended(0).says(why).says("Nothing was changed: 2 files");
    assert_eq!(before, world.files());
}

#[test]
fn without_a_terminal_ask_denies_and_says_how_to_allow() {
    let world = World::with(&[("a.md", "teh\n")]);
    let before = world.files();
    for args in [vec![JOB], vec![JOB, "--approve", "ask"]] {
        let ran = world.run(&args);
        ran.ended(0)
            .says("denied edit a.md: `edit` needs an approval, and nobody can be asked without a terminal; run with `--approve all`");
    }
    let ran = world.run(&[JOB, "--json"]);
    ran.ended(0).says("run with `--approve all`");
    let stream = Stream::of(&ran);
    stream.is_sound();
    assert_eq!(stream.all("call_settled").filter(|e| e["outcome"]["status"] == "denied").count(), 1);
    assert_eq!(before, world.files());
}

#[test]
fn a_line_of_the_prompt_loop_is_no_approval_without_a_terminal() {
    let world = World::with(&[("a.md", "teh\n")]);
    let mut running = world.start(&[]);
    running.say(JOB);
    running.say("y");
    running.close();
    running.end().ended(0).says("denied edit a.md");
    assert_eq!(world.text("a.md"), "teh\n");
}

#[test]
fn looking_needs_no_approval_and_a_command_does() {
    let world = World::with(&[("a.md", "x\n")]);
    let script = world.script(
        "- calls:
    - {tool: read, args: {path: a.md}}
    - {tool: shell, args: {command: 'touch made'}}
    - {tool: write, args: {path: made, content: x}}
- text: end
",
    );
    let ran = world.run(&["go", "--model", &script, "--approve", "none"]);
    ran.ended(0).says("ok    read a.md").says("denied shell touch made").says("denied write made");
    assert!(!world.dir().join("made").exists());
    let ran = world.run(&["go", "--model", &script, "--approve", "all"]);
    ran.ended(0).does_not_say("denied");
    assert_eq!(world.text("made"), "x");
}
