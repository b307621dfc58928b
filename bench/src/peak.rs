//! How much memory a piece of work takes: it runs in a process of its own, which says the most that it ever had.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Done;
use crate::journal::work::Work;

/// The work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is done
    what: Work,
    /// With which file
    file: PathBuf,
}

/// Does it and prints the bytes.
pub fn run(args: &Args) -> Done<()> {
    args.what.run(&args.file)?;
    println!("{}", most()?);
    Ok(())
}

/// Bytes that another process needs for this. None where the system does not say.
pub fn of(work: Work, file: &Path) -> Done<Option<u64>> {
    let run = Command::new(std::env::current_exe()?).arg("peak").arg(work.name()).arg(file).output()?;
    Ok(String::from_utf8_lossy(&run.stdout).trim().parse().ok().filter(|_| run.status.success()))
}

/// The most memory that this process had.
fn most() -> Done<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).ok_or("the system does not say")?;
    Ok(kib.trim().parse::<u64>()? << 10)
}
