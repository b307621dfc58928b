//! `run`: assembles an agent over a directory and follows it.
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use machine_host::{Agent, Events};

use crate::program::approvals::{Approver, Asked};
use crate::program::args::{Approve, Run};
use crate::program::console::{Console, Json, Plain, Terminal};
use crate::program::exit::Usage;
use crate::program::player::Player;
use crate::program::session::Session;
use crate::program::workbench::bench;
use crate::tools::Workspace;

const SYSTEM: &str = "You work on the files of one directory with the tools you are given. Paths are relative to it. \
Make independent calls in one response. Say plainly what you changed and what you could not change.";

/// How long what was stopped may take to be gone when the program ends.
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// Runs one prompt, or a prompt loop.
pub fn run(args: Run) -> Result<ExitCode, Usage> {
    let workspace =
        Workspace::open(&args.dir).map_err(|error| Usage::Dir { dir: args.dir.clone(), error })?;
    let model = Player::named(&args.model)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Usage::Open(format!("no runtime: {error}")))?;
    let done = runtime.block_on(follow(args, Arc::new(workspace), model));
    // A file tool that is still at work must not keep the program.
    runtime.shutdown_timeout(GONE_WITHIN);
    done
}

async fn follow(args: Run, workspace: Arc<Workspace>, model: Player) -> Result<ExitCode, Usage> {
    let terminal = Terminal::is_there() && !args.json;
    let console: Box<dyn Console> = match () {
        () if args.json => Box::new(Json),
        () if terminal => Box::<Terminal>::default(),
        () => Box::<Plain>::default(),
    };
    let (approver, questions) = Approver::new(args.approve, terminal);
    let (agent, events) = open(&args, &workspace, model, &approver).await?;
    let mut session = Session::new(agent, events, console, approver, questions);
    Ok(match args.prompt {
        Some(prompt) => session.once(prompt, terminal).await,
        None => session.repeat().await,
    })
}

async fn open(
    args: &Run,
    workspace: &Arc<Workspace>,
    model: Player,
    approver: &Approver,
) -> Result<(Agent, Events), Usage> {
    let (max_steps, root) = (args.max_steps, workspace.root().to_string_lossy().into_owned());
    let mut builder = Agent::builder().system(SYSTEM).model(model).config(move |config| {
        config.turn.max_steps = max_steps;
        config.calls.paths.root = root.into();
    });
    for tool in bench(workspace, args.approve != Approve::All) {
        builder = builder.tool(tool);
    }
    let approver = approver.clone();
    let builder = builder.approve(move |question| approver.clone().decide(question));
    builder.open_watched().await.map_err(|error| Usage::Open(error.to_string()))
}

/// Questions for a person.
pub type Questions = tokio::sync::mpsc::UnboundedReceiver<Asked>;
