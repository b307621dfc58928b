//! `scenario`: plays scenario files on the simulator and on the real host, one line each; for one that fails what was
//! expected, what came, and the trace.
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machine_testkit::scenario::bless::{Blessed, bless};
use machine_testkit::scenario::{Scenario, Verdict};

use crate::program::args;
use crate::program::exit::{self, Usage};

/// Directories within directories that are looked through.
const DEEPEST: u32 = 16;

/// Plays scenarios.
pub fn scenario(args: &args::Scenario) -> Result<ExitCode, Usage> {
    let mut files = Vec::new();
    for path in &args.paths {
        let found = scenarios(path, 0).map_err(|error| Usage::Scenarios { path: path.clone(), error })?;
        files.extend(found);
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
        if let Err(error) = out.write_all(lines.as_bytes()) {
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

/// A file, or the scenarios of a directory in the order of their names.
fn scenarios(path: &Path, depth: u32) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        let is_yaml = entry.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        if entry.is_dir() && depth < DEEPEST {
            files.extend(scenarios(&entry, depth + 1)?);
        } else if is_yaml {
            files.push(entry);
        }
    }
    if files.is_empty() && depth == 0 {
        return Err(io::Error::new(ErrorKind::NotFound, "no `.yaml` file in it"));
    }
    Ok(files)
}

/// A reader that went away has read enough.
fn gone(error: &io::Error) -> Result<ExitCode, Usage> {
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(exit::COMPLETED);
    }
    crate::program::console::tell(&format!("standard output: {error}"));
    Ok(exit::ENDED_EARLY.into())
}
