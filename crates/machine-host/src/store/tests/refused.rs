//! One writer, whichever way somebody comes (J09), and nobody else may read (J11).
use super::*;

fn me() -> String {
    format!("is open in process {}", std::process::id())
}

#[tokio::test]
async fn c_j09_a_second_store_is_refused_with_who_holds_the_first() {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    let error = Store::open(&place).await.unwrap_err().to_string();
    assert!(error.contains(&me()), "{error}");
    // A journal is enough to hold it.
    let journal = session(&store, "a").await;
    let closing = tokio::spawn(store.close());
    tokio::task::yield_now().await;
    Store::open(&place).await.unwrap_err();
    drop(journal);
    closing.await.unwrap().unwrap();
    Store::open(&place).await.unwrap();
}

#[tokio::test]
async fn c_j09_a_session_that_is_open_is_refused_a_second_time() {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    let mut first = session(&store, "a").await;
    let mut second = store.journal("a");
    let error = second.open().await.unwrap_err().to_string();
    assert!(error.contains("a.jsonl is open in another journal of this store"), "{error}");
    assert!(second.append(&record(0)).await.is_err());
    drop(second);
    assert_eq!(first.read().await.unwrap(), [], "it may be read again");
    write(&mut first, &records(1)).await.unwrap();
    drop(first);
    assert_eq!(store.journal("a").open().await.unwrap(), records(1));
}

#[tokio::test]
async fn c_j09_a_file_of_a_store_is_the_stores() {
    let (_dir, place) = place();
    let path = place.join("a.jsonl");
    let file = || FileJournal::at(&path);
    let log = log_of(&[("a", 2)]).await;
    put(&place, &[("store.log.1".into(), log), ("store.lock".into(), Vec::new())]);
    let error = file().open().await.unwrap_err().to_string();
    assert!(error.contains("a.jsonl: the store of this directory did not end in order"), "{error}");
    assert!(
        cfg!(not(unix)) || !path.exists() && !place.join("a.jsonl.lock").exists(),
        "nothing is left of it"
    );

    let store = Store::open(&place).await.unwrap();
    let error = file().open().await.unwrap_err().to_string();
    assert!(error.contains(&me()), "{error}");
    store.close().await.unwrap();

    let mut alone = file();
    assert_eq!(alone.open().await.unwrap(), records(2));
    let error = Store::open(&place).await.unwrap_err().to_string();
    assert!(error.contains(&me()), "{error}");
    drop(alone);
    Store::open(&place).await.unwrap();
}

#[tokio::test]
async fn c_j09_a_file_that_was_open_before_the_store_is_refused() {
    let (_dir, place) = place();
    std::fs::create_dir(&place).unwrap();
    let mut alone = FileJournal::at(place.join("a.jsonl"));
    alone.open().await.unwrap();
    let store = Store::open(&place).await.unwrap();
    let error = store.journal("a").open().await.unwrap_err().to_string();
    assert!(error.contains(&me()), "{error}");
    session(&store, "b").await;
    drop(alone);
    session(&store, "a").await;
}

#[tokio::test]
async fn a_session_has_a_plain_name_and_a_plain_file() {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    let long = "x".repeat(129);
    for name in ["", ".", "..", ".a", "a/b", "../a", "a\\b", "a b", "ä", "a\n", &long] {
        let error = store.journal(name).open().await.unwrap_err().to_string();
        assert!(error.contains("is no name for a session"), "{name:?}: {error}");
    }
    for name in ["a", "A-1_2.b", &long[1..], "store.log.1", "store.lock"] {
        write(&mut session(&store, name).await, &records(1)).await.unwrap();
    }
    let names = store.names().await.unwrap();
    assert_eq!(names, ["A-1_2.b", "a", "store.lock", "store.log.1", &long[1..]]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(place.join("a.jsonl"), place.join("link.jsonl")).unwrap();
        let error = store.journal("link").open().await.unwrap_err().to_string();
        assert!(error.contains("must be a file"), "{error}");
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_session_whose_file_was_removed_begins_anew() {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    write(&mut session(&store, "a").await, &records(2)).await.unwrap();
    std::fs::remove_file(place.join("a.jsonl")).unwrap();
    let mut journal = store.journal("a");
    assert_eq!(journal.open().await.unwrap(), []);
    write(&mut journal, &records(1)).await.unwrap();
    drop(journal);
    store.close().await.unwrap();
    assert_eq!(read(&place, "a").await, records(1));
}

#[cfg(unix)]
#[tokio::test]
async fn c_j11_the_directory_and_all_in_it_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (_dir, place) = place();
    let inner = place.join("inner");
    let store = Store::open(&inner).await.unwrap();
    let mut journal = session(&store, "a").await;
    write(&mut journal, &records(1)).await.unwrap();
    for directory in [&place, &inner] {
        assert_eq!(mode(directory), 0o700);
    }
    for name in ["a.jsonl", "store.log.1", "store.lock"] {
        assert_eq!(mode(&inner.join(name)), 0o600, "{name}");
    }
    std::fs::write(inner.join("b.jsonl"), "").unwrap();
    std::fs::set_permissions(inner.join("b.jsonl"), std::fs::Permissions::from_mode(0o644)).unwrap();
    session(&store, "b").await;
    assert_eq!(mode(&inner.join("b.jsonl")), 0o600);
}

#[tokio::test]
async fn the_files_are_those_of_a_file_journal() {
    let (dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    let mut stored = session(&store, "a").await;
    let mut alone = FileJournal::at(dir.path().join("a.jsonl"));
    alone.open().await.unwrap();
    for n in 0..20 {
        stored.append(&record(n)).await.unwrap();
        alone.append(&record(n)).await.unwrap();
        if n % 3 == 0 {
            stored.sync().await.unwrap();
            alone.sync().await.unwrap();
        }
        if n == 9 {
            assert_eq!(stored.read().await.unwrap(), alone.read().await.unwrap());
        }
    }
    stored.sync().await.unwrap();
    alone.sync().await.unwrap();
    drop((stored, alone));
    store.close().await.unwrap();
    let (stored, alone) = (place.join("a.jsonl"), dir.path().join("a.jsonl"));
    assert_eq!(std::fs::read_to_string(&stored).unwrap(), std::fs::read_to_string(&alone).unwrap());

    // Each goes on with what the other wrote.
    let mut alone = FileJournal::at(&stored);
    assert_eq!(alone.open().await.unwrap(), records(20));
    alone.append(&record(20)).await.unwrap();
    alone.sync().await.unwrap();
    drop(alone);
    assert_eq!(read(&place, "a").await, records(21));
}
