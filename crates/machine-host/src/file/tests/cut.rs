//! A file that ends anywhere: what was whole is there, it goes on, and opening again adds nothing (J03, J05).
use std::collections::BTreeSet;

use machine_core::ask::Subject;
use machine_core::event::EndReason;
use machine_core::history::History;
use machine_core::ids::InputId;
use machine_core::input::{Command, Input};
use machine_core::message::Origin;

use super::*;

/// What the lines of a file say must be there.
struct Promised {
    /// Prompts that were taken in.
    prompts: BTreeSet<InputId>,
    /// Calls that may have run.
    acts: BTreeSet<CallId>,
}

impl Promised {
    fn by(records: &[Record]) -> Self {
        let prompt = |record: &Record| match record {
            Record::In { input: Input::Command(Command::Submit(submit)), .. } => Some(submit.id.clone()),
            _ => None,
        };
        let asks = records.iter().filter_map(|record| match record {
            Record::Act { asks, .. } => Some(asks),
            _ => None,
        });
        let acts = asks.flat_map(|asks| asks.iter()).filter_map(|left| match left.about {
            Subject::Execute(call) => Some(call),
            _ => None,
        });
        Self { prompts: records.iter().filter_map(prompt).collect(), acts: acts.collect() }
    }
}

/// A file with these bytes is opened by a program that works and ends, and by one that only looks.
async fn goes_on(path: &Path, bytes: &[u8], what: &str) {
    std::fs::write(path, bytes).unwrap();
    let promised = Promised::by(&FileJournal::read(path).unwrap().records);
    let ran = Ran::default();
    let agent = builder(path, &ran).open().await.unwrap();
    let before = agent.history().await.unwrap();
    assert_eq!(before.audit(), Ok(()), "{what}");
    let end = agent.prompt(Say::text("hi").id("hi")).await.unwrap();
    assert!(matches!(end.reason, EndReason::Completed { .. }), "{what}: {:?}", end.reason);
    agent.idle().await.unwrap();
    let after = agent.history().await.unwrap();
    assert_eq!(after.audit(), Ok(()), "{what}");
    let said = prompts(&after);
    assert!(promised.prompts.is_subset(&said), "{what}: {:?} became {said:?}", promised.prompts);
    let twice: Vec<_> =
        ran.lock().unwrap().iter().filter(|call| promised.acts.contains(call)).copied().collect();
    assert!(twice.is_empty(), "{what}: {twice:?} ran again");
    agent.park().await.unwrap();
    let left = std::fs::read(path).unwrap();
    let agent = builder(path, &ran).open().await.unwrap();
    assert_eq!(agent.history().await.unwrap(), after, "{what}");
    agent.park().await.unwrap();
    assert!(std::fs::read(path).unwrap() == left, "J05: {what}: opening again adds something");
}

fn prompts(history: &History) -> BTreeSet<InputId> {
    let origins = history.iter().map(|entry| &entry.origin);
    origins
        .filter_map(|origin| if let Origin::Prompt { id } = origin { Some(id.clone()) } else { None })
        .collect()
}

/// Shared out over the processors.
pub(super) fn each(cuts: Vec<(String, Vec<u8>)>) {
    let dir = directory();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for share in cuts.chunks(cuts.len().div_ceil(threads)) {
            let dir = dir.path();
            scope.spawn(move || {
                for (what, bytes) in share {
                    let path = dir.join(format!("{what}.jsonl"));
                    paused().block_on(goes_on(&path, bytes, what));
                    std::fs::remove_file(path).unwrap();
                }
            });
        }
    });
}

#[test]
fn c_j03_cut_at_every_byte_it_opens_goes_on_and_opens_again() {
    let (_dir, _, bytes) = bytes();
    each((0..=bytes.len()).map(|cut| (format!("cut at {cut}"), bytes[..cut].to_vec())).collect());
}
