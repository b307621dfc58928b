//! The process, or the machine, dies between any two steps: what was acknowledged is there (J02, J03).
use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;

const SESSIONS: [&str; 3] = ["a", "b", "c"];
const RECORDS: u64 = 8;

/// How many records of each session were acknowledged.
type Acknowledged = BTreeMap<String, u64>;

/// Copies of a directory, as it is found after a crash.
struct Crashes {
    acknowledged: Arc<Mutex<Acknowledged>>,
    seen: Mutex<Seen>,
    copies: PathBuf,
}

#[derive(Default)]
struct Seen {
    /// What has certainly reached the disk; nothing else has, if the power goes.
    durable: BTreeMap<PathBuf, Vec<u8>>,
    /// What is being synced.
    syncing: BTreeMap<PathBuf, Vec<u8>>,
    /// A file of the log is just going.
    retires: bool,
    found: Vec<Found>,
}

/// A copy, what must be in it, and the step before it.
struct Found {
    directory: PathBuf,
    acknowledged: Acknowledged,
    step: Step,
}

impl Crashes {
    fn look(&self, step: Step, path: &Path) {
        let seen = &mut *self.seen.lock().unwrap();
        match step {
            Step::LogSynced => {
                seen.durable.insert(path.to_owned(), std::fs::read(path).unwrap());
            }
            Step::FileSync => {
                seen.syncing.insert(path.to_owned(), std::fs::read(path).unwrap());
            }
            Step::FileSynced => seen.durable.extend(seen.syncing.remove_entry(path)),
            Step::Retired => {
                seen.durable.remove(path);
                seen.retires = false;
            }
            _ => {}
        }
        self.power_goes(seen, step);
        if !seen.retires {
            self.process_dies(seen, step, path);
        }
        seen.retires |= step == Step::Retire;
    }

    /// Nothing that was not synced is there.
    fn power_goes(&self, seen: &mut Seen, step: Step) {
        let directory = self.next(seen, step);
        for (path, bytes) in &seen.durable {
            std::fs::write(directory.join(path.file_name().unwrap()), bytes).unwrap();
        }
    }

    /// Everything that was written is there.
    fn process_dies(&self, seen: &mut Seen, step: Step, path: &Path) {
        let directory = self.next(seen, step);
        // The log first: another thread may be at work.
        let mut files = contents(path.parent().unwrap());
        files.sort_by_key(|(name, _)| !name.starts_with("store.log"));
        put(&directory, &files);
    }

    fn next(&self, seen: &mut Seen, step: Step) -> PathBuf {
        let directory = self.copies.join(seen.found.len().to_string());
        std::fs::create_dir_all(&directory).unwrap();
        let acknowledged = self.acknowledged.lock().unwrap().clone();
        seen.found.push(Found { directory: directory.clone(), acknowledged, step });
        directory
    }
}

/// Three sessions at once, with a log so small that it goes again and again.
async fn work(store: Store, acknowledged: Arc<Mutex<Acknowledged>>) {
    let sessions = SESSIONS.map(|name| {
        let (store, acknowledged) = (store.clone(), acknowledged.clone());
        tokio::spawn(async move {
            let mut journal = session(&store, name).await;
            for n in 0..RECORDS {
                write(&mut journal, &[record(n)]).await.unwrap();
                acknowledged.lock().unwrap().insert(name.to_owned(), n + 1);
            }
        })
    });
    for session in sessions {
        session.await.unwrap();
    }
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c_j02_what_was_acknowledged_is_there_whenever_it_dies() {
    let (dir, place) = place();
    let acknowledged = Arc::new(Mutex::new(Acknowledged::new()));
    let copies = dir.path().join("copies");
    let crashes = Crashes { acknowledged: acknowledged.clone(), seen: Mutex::default(), copies };
    let crashes = Arc::new(crashes);
    let looks = crashes.clone();
    let store = watched(Store::builder(&place).log_bytes(1_500).descriptors(2), move |step, path| {
        looks.look(step, path);
        Ok(())
    });
    work(store.await, acknowledged).await;
    let found = std::mem::take(&mut crashes.seen.lock().unwrap().found);
    let steps: std::collections::BTreeSet<_> = found.iter().map(|found| found.step).collect();
    assert_eq!(steps.len(), 9, "every step was seen: {steps:?}");
    let mut more = 0;
    for (number, Found { directory, acknowledged, step }) in found.iter().enumerate() {
        let store =
            Store::open(directory).await.unwrap_or_else(|error| panic!("{number}, {step:?}: {error}"));
        for name in SESSIONS {
            let found = store.journal(name).open().await.unwrap();
            let least = acknowledged.get(name).copied().unwrap_or(0);
            assert!(found.len() as u64 >= least, "{number}, {step:?}: {name} had {least}");
            assert_eq!(found, records(found.len() as u64), "{number}, {step:?}: {name}");
            more += found.len() as u64 - least;
        }
        store.close().await.unwrap();
        assert!(contents(directory).iter().all(|(name, _)| name.ends_with(".jsonl")), "the log is gone");
    }
    assert!(more > 0, "some died after the sync and before the answer");
}

#[tokio::test]
async fn c_j03_a_log_that_is_cut_at_any_byte_gives_what_was_whole() {
    let log = log_of(&[("a", 2), ("b", 1), ("c", 1)]).await;
    let order = ["a", "a", "b", "c"];
    let ends = starts(&log);
    assert_eq!((ends.len(), ends[4]), (5, log.len()));
    let dir = tempfile::tempdir().unwrap();
    for cut in 0..=log.len() {
        let directory = dir.path().join(cut.to_string());
        put(&directory, &[("store.log.1".into(), log[..cut].to_vec())]);
        let mut files = Files::new(&directory, 8, Seam::default());
        assert_eq!(redo(&directory, &mut files, &Seam::default()).unwrap(), 2);
        let whole = ends.iter().skip(1).filter(|end| **end <= cut).count();
        for name in ["a", "b", "c"] {
            let lines = order[..whole].iter().filter(|of| **of == name).count();
            let found = std::fs::read(directory.join(format!("{name}.jsonl"))).unwrap_or_default();
            let found =
                crate::file::scan::scan(Path::new(name), &found, crate::file::scan::Reach::All).unwrap();
            assert_eq!((found.records, found.torn), (records(lines as u64), None), "cut at {cut}: {name}");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}

#[tokio::test]
async fn doing_it_twice_is_doing_it_once() {
    let (_dir, place) = place();
    let log = log_of(&[("a", 3)]).await;
    put(&place, &[("store.log.7".into(), log.clone())]);
    assert_eq!(read(&place, "a").await, records(3));
    let once = contents(&place);
    // It died before the log was gone.
    put(&place, &[("store.log.7".into(), log)]);
    assert_eq!(read(&place, "a").await, records(3));
    assert_eq!(contents(&place), once);
}

#[tokio::test]
async fn c_j03_a_torn_end_of_a_session_goes_before_something_is_written() {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    write(&mut session(&store, "a").await, &records(2)).await.unwrap();
    store.close().await.unwrap();
    let path = place.join("a.jsonl");
    let mut torn = std::fs::read(&path).unwrap();
    let whole = torn.len();
    torn.extend_from_slice(&b"torn ".repeat(1_000));
    std::fs::write(&path, &torn).unwrap();

    let store = Store::open(&place).await.unwrap();
    let mut journal = session(&store, "a").await;
    journal.sync().await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), torn, "opening changes nothing");
    write(&mut journal, &[record(2)]).await.unwrap();
    let now = std::fs::read(&path).unwrap();
    assert!(now.starts_with(&torn[..whole]) && !now.windows(5).any(|bytes| bytes == b"torn "));
    drop(journal);
    store.close().await.unwrap();
    assert_eq!(read(&place, "a").await, records(3));
}
