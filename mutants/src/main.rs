//! How well the tests hold the pure crates: each mutant that `cargo mutants` knows is played against them. All mutants
//! are built at once, each behind a switch, so that a mutant costs a run of the tests and no build.
//! `docs/proof.md` says how to run it and what came out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`list`] | the mutants, from `cargo mutants` |
//! | [`switch`] | one file with its mutants behind switches |
//! | [`tree`] | a copy of the project with all of them, less what does not compile |
//! | [`play`] | the tests, against one mutant after the other |
#![forbid(unsafe_code)]

mod list;
mod play;
mod switch;
mod tree;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Parser;

use crate::list::Mutant;
use crate::play::{Fate, Suite};
use crate::switch::Id;
use crate::tree::Tree;

/// What each part gives. Errors are for people.
type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Plays the mutants of the pure crates against the tests.
#[derive(Debug, Parser)]
struct Args {
    /// How many at once
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Only those named in this file, a line each, as they are printed
    #[arg(long)]
    these: Option<PathBuf>,
    /// Tests that take more seconds than this are left out
    #[arg(long, default_value_t = 60)]
    longest: u64,
    /// Tests that are not played, by name
    #[arg(long)]
    skip: Vec<String>,
    /// Where the copy is built
    #[arg(long, default_value = "target/mutants")]
    work: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Done<()> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no project above")?;
    let work = std::path::absolute(&args.work)?;
    let mutants = list::list(project)?;
    let tree = Tree::new(project, &work, &mutants)?;
    let planted = tree.plant(&mutants)?;
    let wanted = args.these.as_ref().map(fs::read_to_string).transpose()?;
    let wanted: Option<HashSet<&str>> = wanted.as_ref().map(|text| text.lines().collect());
    let mut ids: Vec<Id> = planted.into_iter().collect();
    ids.sort_unstable();
    ids.retain(|id| wanted.as_ref().is_none_or(|names| names.contains(&*of(&mutants, *id).name)));
    let suites = play::suites(&tree, Duration::from_secs(args.longest), &args.skip)?;
    println!("{} mutants, {} of them stand, {} suites", mutants.len(), ids.len(), suites.len());
    let fates = all(&suites, &mutants, &ids, args.jobs)?;
    table(&mutants, &fates);
    Ok(())
}

fn of(mutants: &[Mutant], id: Id) -> &Mutant {
    &mutants[id as usize - 1]
}

/// The fate of each, told as it is known.
fn all(suites: &[Suite], mutants: &[Mutant], ids: &[Id], jobs: usize) -> Done<Vec<(Id, Fate)>> {
    let next = AtomicUsize::new(0);
    let fates = Mutex::new(Vec::new());
    let work = || -> Done<()> {
        let mut first = None;
        while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Mutant { name, package, .. } = of(mutants, *id);
            let fate = play::fate(suites, *id, package, first.as_deref())?;
            if let Fate::Caught(by) = &fate {
                first = Some(by.clone());
            }
            match &fate {
                Fate::Caught(by) => println!("caught {name} [{by}]"),
                Fate::TimedOut(by) => println!("timeout {name} [{by}]"),
                Fate::Missed => println!("MISSED {name}"),
            }
            fates.lock().map_err(|_| "another thread failed")?.push((*id, fate));
        }
        Ok(())
    };
    std::thread::scope(|scope| -> Done<()> {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked")?)
    })?;
    Ok(fates.into_inner().map_err(|_| "another thread failed")?)
}

/// What came out, crate by crate.
fn table(mutants: &[Mutant], fates: &[(Id, Fate)]) {
    let mut rows: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (id, fate) in fates {
        let row = rows.entry(&of(mutants, *id).package).or_default();
        row[match fate {
            Fate::Caught(_) => 0,
            Fate::TimedOut(_) => 1,
            Fate::Missed => 2,
        }] += 1;
    }
    let all = rows.values().fold([0; 3], |[a, b, c], [x, y, z]| [a + x, b + y, c + z]);
    println!("\n| crate | mutants | caught | timed out | missed | % caught |\n|---|---|---|---|---|---|");
    for (name, [caught, timed_out, missed]) in rows.into_iter().chain([("all", all)]) {
        let whole = caught + timed_out + missed;
        let share = 100.0 * (caught + timed_out) as f64 / whole.max(1) as f64;
        println!("| {name} | {whole} | {caught} | {timed_out} | {missed} | {share:.1} |");
    }
}
