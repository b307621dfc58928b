//! One sync for all that wait, and few descriptors.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use tokio::task::{JoinSet, yield_now};

use super::*;

/// A store whose first sync takes until it is told to go on; it counts syncs of the log.
async fn slow(place: &Path) -> (Store, mpsc::Receiver<()>, mpsc::Sender<()>, Arc<AtomicUsize>) {
    let syncs = Arc::new(AtomicUsize::new(0));
    let (begun, begins) = mpsc::channel();
    let (go, goes) = mpsc::channel();
    let (counted, goes) = (syncs.clone(), Mutex::new(goes));
    let store = watched(Store::builder(place), move |step, _| {
        if step == Step::LogSync && counted.fetch_add(1, Ordering::SeqCst) == 0 {
            begun.send(()).unwrap();
            goes.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    (store.await, begins, go, syncs)
}

#[tokio::test]
async fn c_j02_a_hundred_that_wait_have_one_sync() {
    let (_dir, place) = place();
    let (store, begins, go, syncs) = slow(&place).await;
    let mut journals = Vec::new();
    for n in 0..100 {
        journals.push(session(&store, &format!("s{n}")).await);
    }
    let mut waiting = JoinSet::new();
    let mut write_one = |mut journal: StoreJournal| {
        waiting.spawn(async move { write(&mut journal, &records(1)).await.unwrap() });
    };
    write_one(journals.pop().unwrap());
    yield_now().await;
    begins.recv().unwrap();
    // The writer is busy; whoever comes now waits for the next sync.
    journals.into_iter().for_each(&mut write_one);
    for _ in 0..200 {
        yield_now().await;
    }
    assert_eq!(waiting.len(), 100);
    assert!(waiting.try_join_next().is_none(), "nothing is durable yet");
    go.send(()).unwrap();
    waiting.join_all().await;
    assert_eq!(syncs.load(Ordering::SeqCst), 2);
    store.close().await.unwrap();
    for n in 0..100 {
        assert_eq!(read_file(&place, &format!("s{n}")).await, records(1));
    }
}

async fn read_file(place: &Path, name: &str) -> Vec<Record> {
    FileJournal::at(place.join(format!("{name}.jsonl"))).open().await.unwrap()
}

#[tokio::test]
async fn whoever_stops_waiting_stops_nothing() {
    let (_dir, place) = place();
    let (store, begins, go, _) = slow(&place).await;
    let mut journal = session(&store, "a").await;
    journal.append(&record(0)).await.unwrap();
    {
        let mut sync = journal.sync();
        assert!(poll_once(&mut sync).await.is_none());
    }
    begins.recv().unwrap();
    journal.append(&record(1)).await.unwrap();
    go.send(()).unwrap();
    journal.sync().await.unwrap();

    // Not even going away does; who comes then finds it.
    journal.append(&record(2)).await.unwrap();
    assert!(poll_once(&mut journal.sync()).await.is_none());
    drop(journal);
    assert_eq!(store.journal("a").open().await.unwrap(), records(3));
    store.close().await.unwrap();
}

#[tokio::test]
async fn what_waits_in_memory_is_bounded() {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    let mut journal = session(&store, "a").await;
    let size = || place.join("a.jsonl").metadata().map_or(0, |found| found.len());
    let mut n = 0;
    while size() == 0 {
        journal.append(&record(n)).await.unwrap();
        n += 1;
        assert!(n < 1_000, "64 KiB are {n} records");
    }
    assert!(size() >= 64 << 10);
    assert_eq!(journal.read().await.unwrap(), records(n));
    drop(journal);
    store.close().await.unwrap();
}

#[test]
fn c_h06_only_so_many_files_are_open() {
    let (_dir, place) = place();
    std::fs::create_dir(&place).unwrap();
    let mut files = Files::new(&place, 8, Seam::default());
    let name = |n: usize| Name::new(&format!("s{n}")).unwrap();
    for n in 0..1_000 {
        files.write(&name(n), 0, b"one").unwrap();
        assert!(files.held() <= 8);
    }
    // Whoever is used stays: the first of eight is, all others go.
    for n in 1_000..2_000 {
        files.write(&name(992), 3, b"two").unwrap();
        files.write(&name(n), 0, b"one").unwrap();
    }
    files.forget(&name(992));
    assert_eq!(files.held(), 7);
    files.write(&name(992), 6, b"three").unwrap();
    assert_eq!(std::fs::read(name(992).path(&place)).unwrap(), b"onetwothree");
    assert_eq!(contents(&place).len(), 2_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_goes_when_it_has_grown() {
    let (_dir, place) = place();
    let retired = Arc::new(Mutex::new(Vec::new()));
    let (seen, file) = (retired.clone(), Mutex::new(None));
    let store = watched(Store::builder(&place).log_bytes(1_000), move |step, path| {
        if step == Step::Retire {
            *file.lock().unwrap() = Some(File::open(path).unwrap());
        }
        if step == Step::Retired {
            assert!(!path.exists());
            let file = file.lock().unwrap().take().unwrap();
            assert_eq!(file.metadata().unwrap().len(), 0, "it says nothing if its name comes back");
            seen.lock().unwrap().push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
        Ok(())
    })
    .await;
    let mut journal = session(&store, "a").await;
    write(&mut journal, &records(60)).await.unwrap();
    drop(journal);
    store.close().await.unwrap();
    let retired = retired.lock().unwrap().clone();
    let in_order: Vec<_> = (1..=retired.len()).map(|n| format!("store.log.{n}")).collect();
    assert_eq!(retired, in_order, "one after the other");
    assert!(retired.len() > 5, "{retired:?}");
    assert_eq!(contents(&place).len(), 1, "only the session is left");
    assert_eq!(read_file(&place, "a").await, records(60));
}
