//! Tools of MCP servers that the program starts.
use machine_servers::{Program, find};

use crate::running::{World, is_gone};

const USES_A_TOOL: &str = "
- calls: [{tool: echo, args: {message: hello}}, {tool: list}]
- text: heard
";

/// A shell stands for a launcher, such as `npx`; it writes down the number that the server keeps.
fn everything(world: &World) -> Option<String> {
    let program = find(Program::Node("mcp-server-everything"))?;
    let pid = world.dir().join("pid");
    Some(format!("/bin/sh -c 'echo $$ > {}; exec {} stdio'", pid.display(), program.display()))
}

#[test]
fn a_turn_uses_a_tool_of_a_server_and_ends_it() {
    let world = World::new();
    let Some(server) = everything(&world) else { return };
    let model = world.script(USES_A_TOOL);
    let ran = world.run(&["go", "--model", &model, "--approve", "all", "--mcp", &server]);
    ran.ended(0).says("ok    echo").says("ok    list").says("heard");
    is_gone(world.text("pid").trim());
}

/// Echo says that it only reads; nobody vouches for that.
#[test]
fn a_call_of_a_server_needs_an_approval_whatever_it_says_of_itself() {
    let world = World::new();
    let Some(server) = everything(&world) else { return };
    let ran = world.run(&["go", "--model", &world.script(USES_A_TOOL), "--mcp", &server]);
    let why = "denied echo: `echo` needs an approval, and nobody can be asked without a terminal; run with `--approve all` to allow it";
    ran.ended(0).says(why).says("ok    list").does_not_say("ok    echo");
    let ran =
        world.run(&["go", "--model", &world.script(USES_A_TOOL), "--approve", "none", "--mcp", &server]);
    let why = "denied echo: `echo` needs an approval, and `--approve none` gives none; run with `--approve all` to allow it";
    ran.ended(0).says(why).does_not_say("ok    echo");
}

/// The tools of two servers are told apart by the names of the servers.
#[test]
fn a_server_with_a_name_has_it_before_its_tools() {
    let world = World::new();
    let Some(server) = everything(&world) else { return };
    let model = world.script(
        "
- calls: [{tool: one_echo, args: {message: hello}}, {tool: echo, args: {message: hello}}]
- text: heard
",
    );
    let (one, two) = (format!("one={server}"), format!("two={server}"));
    let ran = world.run(&["go", "--model", &model, "--approve", "all", "--mcp", &one, "--mcp", &server]);
    ran.ended(0).says("ok    one_echo").says("ok    echo").says("heard");
    let ran = world.run(&["go", "--model", &model, "--approve", "all", "--mcp", &one, "--mcp", &two]);
    ran.ended(0).says("ok    one_echo").does_not_say("ok    echo");

    let clash = "two tools are named `echo`: the server `sh` has one, and the server `sh` has one; a prefix keeps them apart: \
`--mcp NAME=COMMAND` puts NAME_ before the names of a server's tools";
    world.run(&["go", "--model", &model, "--mcp", &server, "--mcp", &server]).refuses(clash);
}

/// A person should know what it is that takes so long.
#[test]
fn a_server_that_is_waited_for_is_named() {
    let world = World::new();
    let ran = world.run(&["go", "--mcp", "slow=sh -c 'sleep 4; exit 7'"]);
    ran.ended(2);
    for says in
        ["waits for the server of --mcp slow=sh -c 'sleep 4; exit 7', for 30 s at most", "exit code 7"]
    {
        assert!(ran.err.contains(says), "{says}: {ran:?}");
    }
}

#[test]
fn a_command_that_is_no_server_is_one_line() {
    let world = World::new();
    let refuses = |command: &str, why: &str| world.run(&["go", "--mcp", command]).refuses(why);
    refuses(
        "/does/not/exist --now",
        "--mcp /does/not/exist --now: the server `exist` cannot be started: No such file",
    );
    refuses("sh -c 'echo no key >&2; exit 7'", "(it ended with exit code 7); it wrote: no key");
    refuses("sh -c 'exit", "--mcp sh -c 'exit: a quote is not closed");
    refuses("  ", "which command?");
    refuses("notes=", "which command?");
    refuses("TOKEN=x server", "write `env TOKEN=…` to set a variable; the name of a server is in lower case");
    refuses(
        "notes=/does/not/exist",
        "--mcp notes=/does/not/exist: the server `notes` cannot be started: No such file",
    );
}
