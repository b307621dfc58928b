//! `fork`: another session that begins with the first entries of a recorded one.
use std::process::ExitCode;

use machine_host::{FileJournal, drawn_branch};
use machine_journal::{begin, reopen};

use crate::program::args;
use crate::program::console::tell;
use crate::program::exit::{self, Usage};
use crate::program::record;

/// Writes a fork.
pub fn fork(args: &args::Fork) -> Result<ExitCode, Usage> {
    if args.out.exists() {
        let why = format!("{}: is there already; a fork needs a file of its own", args.out.display());
        return Err(Usage::Open(why));
    }
    let recorded = record::read(&args.file, args.until)?;
    let parent = reopen(&recorded.records).map_err(|error| record::refused(&args.file, &error))?.engine;
    let wrong = |why: String| Usage::Record { path: args.file.clone(), why };
    let branch = args.branch.unwrap_or_else(drawn_branch);
    let fork = parent.fork(branch, args.at).map_err(|error| wrong(format!("--at {}: {error}", args.at)))?;
    let start = begin(&fork, 0).map_err(|error| wrong(error.to_string()))?;
    FileJournal::create(&args.out, &start.records).map_err(|error| Usage::Open(error.to_string()))?;
    let (entries, out) = (fork.history().len(), args.out.display());
    if entries != args.at {
        tell(&format!("entry {} is within a batch of calls: the fork begins after the batch", args.at));
    }
    tell(&format!("{out}: a session of {entries} entries, branch {branch}"));
    Ok(exit::COMPLETED)
}
