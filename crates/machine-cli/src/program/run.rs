//! `run`: assembles an agent over a directory and follows it.
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use machine_adapter::asks::Open;
use machine_core::ask::Question;
use machine_core::ids::CallId;
use machine_host::{Agent, Events, FileJournal, OpenError, TornEnd};

use crate::program::approvals::{Approver, Questions};
use crate::program::args::{Approve, Run};
use crate::program::console::{Console, Json, Plain, Terminal, tell};
use crate::program::exit::{self, Usage};
use crate::program::inbound::Interrupts;
use crate::program::player::Player;
use crate::program::servers;
use crate::program::session::Session;
use crate::program::workbench::bench;
use crate::tools::Workspace;

const SYSTEM: &str = "You work on the files of one directory with the tools you are given. Paths are relative to it. \
Make independent calls in one response. Say plainly what you changed and what you could not change.";

/// Events that may wait to be shown: a burst of a large batch, or of a long text in small pieces.
const WATCH_BUFFER: usize = 1 << 16;

/// How long what was stopped may take to be gone when the program ends.
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// Runs one prompt, or a prompt loop.
pub fn run(args: Run) -> Result<ExitCode, Usage> {
    if args.prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
        return Err(Usage::Prompt);
    }
    let model = Player::named(&args.model, args.base_url.as_deref())?;
    let workspace =
        Workspace::open(&args.dir).map_err(|error| Usage::Dir { dir: args.dir.clone(), error })?;
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
    let mut interrupts = Interrupts::listen();
    let opened = tokio::select! {
        opened = open(&args, &workspace, model, terminal) => opened?,
        // Dropped, the servers that are there end.
        _ = interrupts.next() => {
            tell("stopped before the session began");
            return Ok(exit::ABORTED.into());
        }
    };
    let mut console: Box<dyn Console> = match () {
        () if args.json => Box::<Json>::default(),
        () if terminal => Box::new(Terminal::new(args.prompt.is_none())),
        () => Box::<Plain>::default(),
    };
    if let Ok(history) = opened.agent.history().await {
        console.recall(&history);
    }
    let mut session = Session::new(opened, console, interrupts, terminal);
    Ok(match args.prompt {
        Some(prompt) => session.once(prompt).await,
        None => session.repeat().await,
    })
}

/// An agent, and what comes from it.
pub struct Opened {
    /// The agent.
    pub agent: Agent,
    /// What happens, from the beginning.
    pub events: Events,
    /// Answers its questions.
    pub approver: Approver,
    /// Questions that a person must answer.
    pub questions: Questions,
    /// Calls that somebody was asked about in an earlier run of the session, and was not answered.
    pub asked: BTreeSet<CallId>,
}

/// Says what was found in the journal.
async fn greet(agent: &Agent, torn: &TornEnd) {
    if let Some(torn) = torn.get() {
        tell(&format!(
            "line {} of the journal is not whole, and nothing after it says that it was durable; {} bytes are dropped",
            torn.line, torn.bytes
        ));
    }
    let entries = agent.history().await.map_or(0, |history| history.len());
    if entries > 0 {
        tell(&format!("goes on with a session of {entries} entries"));
    }
}

/// The calls whose approval is asked again: no event will say so (J05).
async fn asked(agent: &Agent) -> BTreeSet<CallId> {
    let waits = agent.state().await.map_or_else(|_| Vec::new(), |view| view.waits);
    let call = |open: &Open| match open.ask.question {
        Question::Approve { call, .. } => Some(call),
        _ => None,
    };
    waits.iter().filter_map(call).collect()
}

async fn open(
    args: &Run,
    workspace: &Arc<Workspace>,
    model: Player,
    terminal: bool,
) -> Result<Opened, Usage> {
    let (approver, questions) = Approver::new(args.approve, terminal);
    let (max_steps, root) = (args.max_steps, workspace.root().to_string_lossy().into_owned());
    let mut builder =
        Agent::builder().watch_buffer(WATCH_BUFFER).system(SYSTEM).model(model).config(move |config| {
            config.turn.max_steps = max_steps;
            config.calls.paths.root = root.into();
        });
    let ask = args.approve != Approve::All;
    for tool in bench(workspace, ask) {
        builder = builder.tool(tool);
    }
    for command in &args.mcp {
        builder = builder.tools_from(servers::open(command, ask).await?);
    }
    let decide = approver.clone();
    let mut builder = builder.approve(move |question| decide.clone().decide(question));
    let journal = args.journal.as_ref().map(FileJournal::at);
    let torn = journal.as_ref().map(FileJournal::torn);
    if let Some(journal) = journal {
        builder = builder.journal(journal);
    }
    let opened = builder.open_watched().await;
    let (agent, events) = opened.map_err(|error| match error {
        OpenError::SameToolFrom { .. } => Usage::SameTool(error.to_string()),
        error => Usage::Open(error.to_string()),
    })?;
    if let Some(torn) = torn {
        greet(&agent, &torn).await;
    }
    let asked = asked(&agent).await;
    Ok(Opened { agent, events, approver, questions, asked })
}
