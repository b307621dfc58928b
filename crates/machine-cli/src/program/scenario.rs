//! `scenario`: plays scenario files on the simulator and on the real host, one line each; for one that fails what was
//! expected, what came, and the trace.
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machine_testkit::scenario::bless::{Blessed, bless};
use machine_testkit::scenario::{Scenario, Verdict};

use crate::program::args;
use crate::program::console::{safe, tell};
use crate::program::exit::{self, Usage};

/// Plays scenarios.
pub fn scenario(args: &args::Scenario) -> Result<ExitCode, Usage> {
    let mut files = Vec::new();
    for path in &args.paths {
        let before = files.len();
        scenarios(path, &mut BTreeSet::new(), &mut files)?;
        if files.len() == before {
            let error = io::Error::new(ErrorKind::NotFound, "no `.yaml` file in it");
            return Err(Usage::Scenarios { path: path.clone(), error });
        }
    }
    let (mut passed, mut failed) = (0, 0);
    let mut out = io::stdout().lock();
    for file in &files {
        let Tried { lines, ok } = try_one(file, args);
        if ok {
            passed += 1;
        } else {
            failed += 1;
        }
        if let Err(error) = out.write_all(safe(&lines).as_bytes()) {
            return gone(&error);
        }
    }
    match writeln!(out, "{passed} passed, {failed} failed") {
        Err(error) => gone(&error),
        Ok(()) if failed > 0 => Ok(exit::ENDED_EARLY.into()),
        Ok(()) => Ok(exit::COMPLETED),
    }
}

struct Tried {
    lines: String,
    ok: bool,
}

fn try_one(path: &Path, args: &args::Scenario) -> Tried {
    let shown = path.display();
    let failed = |why: String| Tried { lines: format!("FAILED {shown}\n  {why}\n"), ok: false };
    let scenario = match Scenario::load(path) {
        Ok(scenario) => scenario,
        Err(error) => return failed(error.to_string()),
    };
    let verdict = match scenario.run() {
        Ok(verdict) => verdict,
        Err(fault) => return failed(fault.to_string()),
    };
    if verdict.passed() {
        let trace = if args.trace { verdict.to_string() } else { String::new() };
        return Tried { lines: format!("ok     {shown}\n{trace}"), ok: true };
    }
    if args.bless {
        return blessed(path, &verdict).unwrap_or_else(|error| failed(error.to_string()));
    }
    Tried { lines: format!("FAILED {shown}\n{verdict}"), ok: false }
}

/// Writes what came, and says every line of it.
fn blessed(path: &Path, verdict: &Verdict) -> io::Result<Tried> {
    let Blessed { text, changes, left } = bless(&fs::read_to_string(path)?, &verdict.missed);
    let mut lines = format!("FAILED {}\n", path.display());
    if !changes.is_empty() {
        fs::write(path, text)?;
        lines += "  written in the file, look at every line:\n";
        lines.extend(changes.iter().map(|change| format!("    {change}\n")));
    }
    if !left.is_empty() {
        lines += "  not changed:\n";
        lines.extend(left.iter().map(ToString::to_string));
    }
    Ok(Tried { lines, ok: false })
}

/// A file, or the scenarios of a directory in the order of their names. Links may lead back: each directory counts once.
fn scenarios(path: &Path, looked: &mut BTreeSet<PathBuf>, files: &mut Vec<PathBuf>) -> Result<(), Usage> {
    let failed = |error| Usage::Scenarios { path: path.to_owned(), error };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if !looked.insert(fs::canonicalize(path).map_err(failed)?) {
        return Ok(());
    }
    let entries = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>());
    let mut entries = entries.map_err(failed)?;
    entries.sort();
    for entry in entries {
        let is_yaml = entry.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        if entry.is_dir() {
            scenarios(&entry, looked, files)?;
        } else if is_yaml {
            files.push(entry);
        }
    }
    Ok(())
}

/// A reader that went away has read enough.
fn gone(error: &io::Error) -> Result<ExitCode, Usage> {
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(exit::COMPLETED);
    }
    tell(&format!("standard output: {error}"));
    Ok(exit::ENDED_EARLY.into())
}
