//! Tools of MCP servers that the program starts.
use machine_servers::{Program, find};
use rustix::process::Signal;

use crate::running::{World, is_gone, wait};

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

#[test]
fn a_tool_that_is_none_is_told_and_the_others_are_there() {
    let world = World::new();
    world.put("server", SERVES.replace(r#""tools":["#, r#""tools":[{"name":"bad"},"#));
    let server = format!("sh {}", world.dir().join("server").display());
    let ran = world.run(&["go", "--model", &world.script("- text: heard"), "--mcp", &server]);
    ran.ended(0).says("heard");
    let told =
        format!("agent-machine: --mcp {server}: the tool `bad` is left out: missing field `inputSchema`\n");
    assert_eq!(ran.err, told);
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

/// Writes down the number that its file names, and that of something it started.
const WITH_A_CHILD: &str = "sleep 600 & echo $$ $! > $0.new; mv $0.new $0.pids;";

/// A server in the words of a shell, that has one tool.
const SERVES: &str = r#"
read line
echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"it","version":"1"}}}'
read line
read line
echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}}'
"#;

/// One is open already, the other one never answers.
#[test]
fn a_signal_while_servers_are_opened_leaves_none_of_them() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::new();
        world.put("open", format!("{SERVES}{WITH_A_CHILD} wait"));
        world.put("silent", format!("{WITH_A_CHILD} wait"));
        let server = |name: &str| format!("sh {}", world.dir().join(name).display());
        let mut running = world.start(&[
            "go",
            "--model",
            &world.script("- text: never"),
            "--mcp",
            &server("open"),
            "--mcp",
            &server("silent"),
        ]);
        running.close();
        wait(|| world.dir().join("silent.pids").exists(), || "the second server".to_owned());
        running.signal(signal);
        let ran = running.end();
        ran.ended(130).does_not_say("never");
        assert_eq!(ran.err, "agent-machine: stopped before the session began\n", "{signal:?}");
        for pid in ["open.pids", "silent.pids"]
            .map(|pids| world.text(pids))
            .iter()
            .flat_map(|pids| pids.split_whitespace())
        {
            is_gone(pid);
        }
    }
}
