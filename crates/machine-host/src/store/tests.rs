//! Stores that are looked at, and interfered with, at every step that reaches the disk.
mod crash;
mod damage;
mod faults;
mod group;
mod refused;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine_core::input::{Command, Submit};
use machine_journal::Record;
use tempfile::TempDir;

use super::seam::{Seam, Step};
use super::*;
use crate::file::FileJournal;
use crate::journal::Journal;
use crate::{BoxError, BoxFuture};

/// A record of a session of which only the order matters.
fn record(n: u64) -> Record {
    let submit = Submit::text(format!("prompt-{n}"), format!("and so on, {n}"));
    Record::In { n, at: 0, about: None, input: Command::Submit(submit).into() }
}

fn records(number: u64) -> Vec<Record> {
    (0..number).map(record).collect()
}

/// A store that is looked at.
async fn watched(
    builder: StoreBuilder,
    watcher: impl Fn(Step, &Path) -> io::Result<()> + Send + Sync + 'static,
) -> Store {
    builder.open_watched(Seam { watcher: Some(Arc::new(watcher)) }).await.unwrap()
}

/// A session that was loaded.
async fn session(store: &Store, name: &str) -> StoreJournal {
    let mut journal = store.journal(name);
    journal.open().await.unwrap();
    journal
}

/// Writes these records of a session, each durably.
async fn write(journal: &mut StoreJournal, records: &[Record]) -> Result<(), BoxError> {
    for record in records {
        journal.append(record).await?;
        journal.sync().await?;
    }
    Ok(())
}

/// What a store in this directory says of a session.
async fn read(directory: &Path, name: &str) -> Vec<Record> {
    let store = Store::open(directory).await.unwrap();
    let found = store.journal(name).open().await.unwrap();
    store.close().await.unwrap();
    found
}

/// A directory for a store, not made yet.
fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("sessions");
    (dir, place)
}

/// Names and contents of all files but locks, in order.
fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries =
        directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.filter(|name| !name.ends_with(".lock")).collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), std::fs::read(directory.join(name)).unwrap())).collect()
}

/// Puts files into a new directory.
fn put(directory: &Path, files: &[(String, Vec<u8>)]) {
    std::fs::create_dir_all(directory).unwrap();
    for (name, bytes) in files {
        std::fs::write(directory.join(name), bytes).unwrap();
    }
}

/// What a store leaves that dies after each of these sessions wrote that much, in this order: its log, and nothing that
/// was not synced.
async fn log_of(sessions: &[(&str, u64)]) -> Vec<u8> {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    for (name, number) in sessions {
        write(&mut session(&store, name).await, &records(*number)).await.unwrap();
    }
    std::fs::read(place.join("store.log.1")).unwrap()
}

/// Where each entry begins, and the end.
fn starts(log: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    while let entry::Read::Sound(_, size) = entry::decode(&log[starts[starts.len() - 1]..]) {
        starts.push(starts[starts.len() - 1] + size);
    }
    starts
}

/// Polls once.
async fn poll_once<T>(future: &mut BoxFuture<'_, T>) -> Option<T> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match future.as_mut().poll(cx) {
            std::task::Poll::Ready(done) => Some(done),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
