//! The command line.
use std::num::NonZero;
use std::path::PathBuf;

use clap::{ArgAction, Args as Arguments, Parser, Subcommand, ValueEnum, value_parser};

/// An agent that works on a real directory. Its loop is three explicit state machines.
#[derive(Debug, Parser)]
#[command(name = "agent-machine", version, after_help = EXIT_CODES)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0    the turn completed
  1    the turn failed or ended early, or its output could not be written
  2    bad usage: the message says what is wrong
  130  aborted, by Ctrl-C or a signal
A prompt loop ends with the code of its last turn.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Work on a directory
    Run(Run),
    /// Print the chart of a machine, made from the machine itself
    Chart(Chart),
    /// Play scenario files and say what did not come as they expect
    Scenario(Scenario),
    /// Go every way through a machine, or the whole engine, with a model of its host, and check every rule
    Explore(Explore),
    /// Handle a recorded session once more, without a request and without a tool, and show its states
    Replay(Replay),
    /// Begin another session with the first entries of a recorded one
    Fork(Fork),
    /// Run the tokio host in faulty worlds that are drawn from seeds, and say what does not hold
    Simulate(Simulate),
}

/// Work on a directory.
#[derive(Debug, Arguments)]
#[command(after_help = EXIT_CODES)]
pub struct Run {
    /// What to do, such as 'replace "teh" with "the" in *.md'. Without it: a prompt loop with /steer, /abort, /state, /quit
    pub prompt: Option<String>,
    /// The directory; nothing outside of it is touched by the file tools
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// `rules`: embedded, needs no network and no key. `script:FILE`: plays responses from a YAML file. `PROVIDER:NAME`: a model
    /// of openai, openai_resp, anthropic, gemini, ollama, deepseek or others; the key is in the provider's usual environment
    /// variable, such as OPENAI_API_KEY
    #[arg(long, value_name = "NAME", default_value = "rules")]
    pub model: String,
    /// Where the provider is, instead of its own address, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Who approves writing, shell commands and tools of MCP servers
    #[arg(long, value_enum, default_value_t = Approve::Ask)]
    pub approve: Approve,
    /// Tools of an MCP server that this command starts, such as 'mcp-server-filesystem /srv/notes'; each call needs an approval. With a
    /// name, as in 'notes=mcp-server-filesystem /srv/notes', its tools are named notes_…. May come several times
    #[arg(long, value_name = "[NAME=]COMMAND")]
    pub mcp: Vec<String>,
    /// The most model responses of a turn; 0 makes no request
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_steps: Option<u32>,
    /// Keeps the session in this file, and goes on with the one that is there. One program at a time
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Every event as one line of JSON on standard output, and nothing else. `n` numbers the recorded events without gaps;
    /// a live one has `after`, the number before it
    #[arg(long)]
    pub json: bool,
}

/// Who approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Approve {
    /// You, at the terminal; without one, nothing is approved
    Ask,
    /// Everything is approved
    All,
    /// Nothing is approved
    None,
}

/// Play scenario files.
#[derive(Debug, Arguments)]
#[command(after_help = "Exit codes:
  0  every scenario passed
  1  one failed, cannot be read, or was changed by --bless
  2  bad usage: the message says what is wrong")]
pub struct Scenario {
    /// Scenario files, or directories whose `.yaml` files are taken, also from directories in them
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// Print the trace of every scenario: inputs, transitions, events, asks. Without it: of those that fail
    #[arg(long)]
    pub trace: bool,
    /// Write what came in the place of history, ends, starts, requests, results and receipts that were expected otherwise. Every
    /// change is printed, and the exit code is 1
    #[arg(long)]
    pub bless: bool,
}

/// Go every way through a machine.
#[derive(Debug, Arguments)]
#[command(after_help = "Exit codes:
  0  no rule was broken
  1  a rule was broken: the shortest way there is printed, and written as a scenario
  2  bad usage: the message says what is wrong

What may come besides answers is counted: `--abort --abort` allows two aborts, at any time. At most two calls run at once. States are the same if engine and
monitor are, but for the numbers of asks; they are told apart by 128 bits of a hash. A machine alone ignores the flags that mean nothing for it, and --exact and
--in-call-order concern the engine only.")]
pub struct Explore {
    /// What is explored
    #[arg(value_enum)]
    pub what: Explorable,
    /// Calls in a response that has calls
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = value_parser!(u32).range(..=1_024))]
    pub calls: u32,
    /// Steps with calls before the final answer
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub steps: u32,
    /// Attempts that may fail
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// An abort may come
    #[arg(long, action = ArgAction::Count)]
    pub abort: u8,
    /// A prompt may join the running turn
    #[arg(long, action = ArgAction::Count)]
    pub steer: u8,
    /// A notification may come
    #[arg(long, action = ArgAction::Count)]
    pub notify: u8,
    /// Another prompt may come
    #[arg(long, action = ArgAction::Count)]
    pub prompt: u8,
    /// A call may go on in the background
    #[arg(long, action = ArgAction::Count)]
    pub detach: u8,
    /// The agent may be paused
    #[arg(long, action = ArgAction::Count)]
    pub pause: u8,
    /// A call may be cancelled
    #[arg(long, action = ArgAction::Count)]
    pub cancel: u8,
    /// The process may die
    #[arg(long, action = ArgAction::Count)]
    pub crash: u8,
    /// The session may be closed
    #[arg(long, action = ArgAction::Count)]
    pub close: u8,
    /// The first call of a batch asks for approval
    #[arg(long)]
    pub approve: bool,
    /// Calls have a time, which may be up
    #[arg(long)]
    pub timeout: bool,
    /// Every hook is asked, and may say no or fail
    #[arg(long)]
    pub hooks: bool,
    /// The calls of a batch write to one path
    #[arg(long)]
    pub conflict: bool,
    /// After every input, answers and commands that fit nothing are tried: they must change nothing
    #[arg(long)]
    pub stray: bool,
    /// Stop after so many distinct states; those that wait to be looked at take some KB each
    #[arg(long, value_name = "N", default_value = "2000000")]
    pub states: NonZero<usize>,
    /// Threads. Without it: one per core
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZero<usize>>,
    /// Leave nothing out: states differ by the numbers of their asks, too
    #[arg(long)]
    pub exact: bool,
    /// Leave out that a call overtakes another one that is alike: for larger batches
    #[arg(long)]
    pub in_call_order: bool,
    /// Where the scenario of a broken rule is written. Without it: printed
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// What can be explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Explorable {
    /// All machines, in the adapter
    Engine,
    /// One call
    Call,
    /// One turn
    Turn,
    /// One session's inbox
    Agent,
}

/// Run the tokio host in faulty worlds.
#[derive(Debug, Arguments)]
#[command(after_help = "Exit codes:
  0  everything held
  1  something did not; each line names what, and the seed that shows it
  2  bad usage: the message says what is wrong")]
pub struct Simulate {
    /// How many seeds run: 0 to N - 1
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "seed", value_parser = value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// Run this seed alone, and print everything that happened in it
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Threads. What comes of a seed does not depend on them. Default: one for each core
    #[arg(long, value_name = "J")]
    pub jobs: Option<NonZero<usize>>,
}

/// Handle a recorded session once more.
#[derive(Debug, Arguments)]
#[command(after_help = "Exit codes:
  0  done
  1  the records do not lead to each other: the message names the first that does not
  2  bad usage, or a file that cannot be read: the message says what is wrong")]
pub struct Replay {
    /// A journal. It is only read; a program may have it open
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only up to this record, from 0: record N is on line N + 1. Without it: all
    #[arg(long, value_name = "N")]
    pub until: Option<usize>,
    /// Handle every record and compare all that follows from it. Without it: from the last point on
    #[arg(long)]
    pub verify: bool,
    /// Print the entries of the history, one line each with its number; `fork --at` counts them
    #[arg(long)]
    pub history: bool,
    /// Print the state of every machine and what is waited for, as JSON
    #[arg(long)]
    pub state: bool,
    /// Everything as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Begin another session with the first entries of a recorded one.
#[derive(Debug, Arguments)]
#[command(after_help = "Exit codes:
  0  the fork is written
  2  bad usage, or a file that cannot be read or written: the message says what is wrong")]
pub struct Fork {
    /// A journal. It is only read; a program may have it open
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// With how many entries the fork begins. Within a batch of calls: with the whole batch
    #[arg(long, value_name = "ENTRY")]
    pub at: usize,
    /// The journal of the fork, a new file
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Of the history as it was after this record, from 0. Without it: after the last
    #[arg(long, value_name = "N")]
    pub until: Option<usize>,
    /// Stands in every id of the fork; no session with the same past may have it. Drawn at random otherwise
    #[arg(long, value_name = "NUMBER")]
    pub branch: Option<u32>,
}

/// Print the chart of a machine.
#[derive(Debug, Arguments)]
pub struct Chart {
    /// Which machine
    #[arg(value_enum)]
    pub machine: Machine,
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Mermaid)]
    pub format: Format,
}

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Machine {
    /// The inbox, one turn at a time
    Agent,
    /// Steps, attempts, drains
    Turn,
    /// One call's life
    Call,
}

/// How a chart is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A Mermaid state diagram
    Mermaid,
    /// Graphviz
    Dot,
}
