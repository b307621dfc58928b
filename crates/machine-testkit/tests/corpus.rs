//! What fuzzers found worth keeping is played again, without a fuzzer: every file of `fuzz/corpus` (`docs/proof.md`).
#![cfg(feature = "scenario")]
#![allow(clippy::panic, reason = "a test may also fail in a helper")]
use std::fs;
use std::path::Path;

use machine_testkit::fuzz;

/// Plays every file of a target, oldest name first.
fn plays(target: &str, body: fn(&[u8]) -> Result<(), String>) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no file", directory.display());
    for file in files {
        let bytes = fs::read(&file).expect("its bytes");
        body(&bytes).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
    }
}

#[test]
fn streams() {
    plays("stream", fuzz::stream);
}

#[test]
fn schedules() {
    plays("schedule", fuzz::schedule);
}

#[test]
fn scenarios() {
    plays("scenario", fuzz::scenario);
}

#[cfg(feature = "tokio")]
#[test]
fn journals() {
    plays("journal", fuzz::journal);
}
