//! A full disk and a disk that breaks its word (J10).
use std::io::{Seek, SeekFrom, Write as _};
use std::sync::Mutex;

use super::*;

/// Fails at this step, as often as `times` says; from then on all is well.
fn failing(
    at: Step,
    times: &Arc<Mutex<u32>>,
) -> impl Fn(Step, &Path) -> io::Result<()> + Send + Sync + use<> {
    let times = times.clone();
    move |step, path| {
        let mut times = times.lock().unwrap();
        if step != at || *times == 0 {
            return Ok(());
        }
        *times -= 1;
        if step == Step::LogWrite {
            // The half that still had room.
            let mut log = std::fs::OpenOptions::new().write(true).open(path)?;
            log.seek(SeekFrom::End(0))?;
            log.write_all(&b"half of it ".repeat(50))?;
        }
        Err(io::Error::new(io::ErrorKind::StorageFull, "the disk is full"))
    }
}

#[tokio::test]
async fn c_j10_a_full_disk_fails_who_waited_and_nobody_else() {
    let (_dir, place) = place();
    let times = Arc::new(Mutex::new(0));
    let store = watched(Store::builder(&place), failing(Step::LogWrite, &times)).await;
    let (mut a, mut b) = (session(&store, "a").await, session(&store, "b").await);
    write(&mut a, &records(1)).await.unwrap();
    write(&mut b, &records(1)).await.unwrap();

    *times.lock().unwrap() = 1;
    let before = contents(&place);
    let error = write(&mut a, &[record(1)]).await.unwrap_err().to_string();
    assert_eq!(contents(&place), before, "the half of it that had room is gone");
    assert!(error.contains("the disk is full") && error.contains("open the session again"), "{error}");
    for _ in 0..2 {
        let again = write(&mut a, &[record(2)]).await.unwrap_err().to_string();
        assert!(again.contains("after the first failure"), "{again}");
    }
    write(&mut b, &[record(1)]).await.unwrap();

    // There is room again.
    drop(a);
    let mut a = store.journal("a");
    assert_eq!(a.open().await.unwrap(), records(1));
    write(&mut a, &[record(1), record(2)]).await.unwrap();

    // What was undone is not found, whatever happens now.
    let (_dir, copy) = super::place();
    put(&copy, &contents(&place));
    assert_eq!((read(&copy, "a").await, read(&copy, "b").await), (records(3), records(2)));
    drop((a, b));
    store.close().await.unwrap();
    assert_eq!((read(&place, "a").await, read(&place, "b").await), (records(3), records(2)));
}

#[tokio::test]
async fn a_failure_that_nobody_waited_for_is_still_one() {
    let (_dir, place) = place();
    let times = Arc::new(Mutex::new(1));
    let store = watched(Store::builder(&place), failing(Step::LogWrite, &times)).await;
    let mut journal = session(&store, "a").await;
    journal.append(&record(0)).await.unwrap();
    assert!(poll_once(&mut journal.sync()).await.is_none());
    while *times.lock().unwrap() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    journal.append(&record(1)).await.unwrap();
    let error = journal.sync().await.unwrap_err().to_string();
    assert!(error.contains("the disk is full"), "{error}");
    drop(journal);
    assert_eq!(store.journal("a").open().await.unwrap(), []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn c_j10_a_disk_that_breaks_its_word_stops_the_store_and_loses_nothing() {
    for at in [Step::LogSync, Step::FileWrite, Step::FileSync, Step::Retire] {
        let (_dir, place) = place();
        let times = Arc::new(Mutex::new(0));
        // Each group is settled at once.
        let builder = Store::builder(&place).log_bytes(1);
        let store = watched(builder, failing(at, &times)).await;
        let (mut a, mut b) = (session(&store, "a").await, session(&store, "b").await);
        write(&mut a, &records(2)).await.unwrap();
        write(&mut b, &records(2)).await.unwrap();

        *times.lock().unwrap() = 1;
        let (mut acknowledged, mut tried) = (2, 2);
        let error = loop {
            tried += 1;
            match write(&mut a, &[record(tried - 1)]).await {
                Ok(()) => acknowledged = tried,
                Err(error) => break error.to_string(),
            }
            // Settling is nobody's to wait for.
            assert!(tried < 10_000, "{at:?}: it goes on and on");
        };
        assert!(error.contains("the disk is full"), "{at:?}: {error}");
        let others = write(&mut b, &[record(2)]).await.unwrap_err().to_string();
        assert!(others.contains("the disk is full"), "{at:?}: {others}");
        let loads = store.journal("c").open().await.unwrap_err().to_string();
        assert!(loads.contains("close it and open it again"), "{at:?}: {loads}");
        drop((a, b));
        let closed = store.close().await.unwrap_err().to_string();
        assert!(closed.contains("the disk is full"), "{at:?}: {closed}");
        let is_log = |(name, _): &(String, Vec<u8>)| name.starts_with("store.log");
        assert!(contents(&place).iter().any(is_log), "{at:?}: the log stays for the next opening");

        let found = read(&place, "a").await;
        assert!([acknowledged, tried].contains(&(found.len() as u64)), "{at:?}: {}", found.len());
        assert_eq!(found, records(found.len() as u64));
        assert_eq!(read(&place, "b").await, records(2));
    }
}

#[tokio::test]
async fn a_panic_of_the_writer_is_an_error_of_all() {
    let (_dir, place) = place();
    let store = watched(Store::builder(&place), |step, path| {
        assert!(step != Step::FileWrite || !path.ends_with("b.jsonl"), "the writer falls over");
        Ok(())
    })
    .await;
    let (mut a, mut b) = (session(&store, "a").await, session(&store, "b").await);
    write(&mut a, &records(1)).await.unwrap();
    for _ in 0..2 {
        assert!(write(&mut b, &records(1)).await.is_err());
        assert!(write(&mut a, &[record(1)]).await.is_err());
    }
    drop((a, b));
    store.close().await.unwrap_err();
    assert_eq!((read(&place, "a").await, read(&place, "b").await), (records(1), records(1)));
}

#[tokio::test]
async fn c_j10_a_sessions_file_that_was_made_shorter_is_not_gone_on_from() {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    let mut a = session(&store, "a").await;
    write(&mut a, &records(3)).await.unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(place.join("a.jsonl")).unwrap();
    file.set_len(10).unwrap();
    let error = write(&mut a, &[record(3)]).await.unwrap_err().to_string();
    assert!(error.contains("a.jsonl: the file was made shorter while it was open"), "{error}");
    drop(a);
    store.close().await.unwrap_err();
    // What was acknowledged is in the log still, and is not thrown away.
    assert!(contents(&place).iter().any(|(name, bytes)| name.contains("store.log") && !bytes.is_empty()));
}
