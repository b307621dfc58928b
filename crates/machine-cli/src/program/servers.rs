//! `--mcp`: servers of tools that the program starts.
use std::pin::pin;
use std::process::Command;
use std::time::Duration;

use machine_core::ask::Plan;
use machine_mcp::Server;
use tokio::time::timeout;

use crate::keys;
use crate::program::console::{one_line, tell};
use crate::program::exit::Usage;

/// How long a server may take until it told its tools.
const START_WITHIN: Duration = Duration::from_secs(30);

/// After this time a person is told what it is that takes so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// Starts the server behind a command line, which may begin with a name for it: `NAME=COMMAND`. Then `NAME_` stands before the
/// names of its tools. `ask`: each of its calls needs an approval, whatever it says of itself.
pub async fn open(given: &str, ask: bool) -> Result<Server, Usage> {
    let refused = |why: String| Usage::Mcp { command: given.to_owned(), why };
    let mut words = shlex::split(given).ok_or_else(|| refused("a quote is not closed".to_owned()))?;
    let name = words.first_mut().and_then(take_name);
    if let Some(name) = name.as_deref().filter(|name| name.contains(|letter: char| letter.is_uppercase())) {
        let why = format!("write `env {name}=…` to set a variable; the name of a server is in lower case");
        return Err(refused(why));
    }
    let Some((program, args)) = words.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(refused("which command?".to_owned()));
    };
    let mut child = Command::new(program);
    child.args(args);
    keys::keep_from(&mut child);
    let mut server = Server::child(child).start_within(START_WITHIN);
    server = server.plan(move |call| Some(Plan { approval: ask, ..call.plan() }));
    if let Some(name) = name {
        server = server.prefix(format!("{name}_")).name(name);
    }
    let mut opening = pin!(server.open());
    let opened = match timeout(PATIENCE, &mut opening).await {
        Ok(opened) => opened,
        Err(_) => {
            tell(&format!("waits for the server of --mcp {given}, for {} s at most", START_WITHIN.as_secs()));
            opening.await
        }
    };
    let server = opened.map_err(|error| refused(error.to_string()))?;
    for left_out in server.left_out() {
        tell(&one_line(&format!("--mcp {given}: {left_out}")));
    }
    Ok(server)
}

/// Takes the name off the first word, if there is one. A path has a slash before its `=`.
fn take_name(word: &mut String) -> Option<String> {
    let (name, program) = word.split_once('=')?;
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    let (name, program) = is_name.then(|| (name.to_owned(), program.to_owned()))?;
    *word = program;
    Some(name)
}
