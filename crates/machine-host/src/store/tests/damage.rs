//! Damage to what was durable is loud, and nothing is changed (J04).
use super::*;

/// Opens a store on these files; what it says, and that it left them as they were.
async fn refusal(files: &[(String, Vec<u8>)]) -> StoreError {
    let (_dir, place) = place();
    put(&place, files);
    let error = Store::open(&place).await.unwrap_err();
    assert_eq!(contents(&place), files, "{error}");
    error
}

#[tokio::test]
async fn c_j04_a_damaged_entry_that_was_durable_is_loud_and_nothing_is_changed() {
    let log = log_of(&[("a", 2), ("b", 2), ("c", 1)]).await;
    let starts = starts(&log);
    assert_eq!(starts.len(), 6);
    for (index, entry) in starts.windows(2).enumerate() {
        // The line, its end, the bytes, their end.
        for at in [entry[0], entry[0] + 30, entry[0] + 70, (entry[0] + entry[1]) / 2, entry[1] - 1] {
            let mut damaged = log.clone();
            damaged[at] ^= 4;
            let files = [("store.log.1".to_owned(), damaged)];
            if index + 2 == starts.len() {
                let (_dir, place) = place();
                put(&place, &files);
                assert_eq!(read(&place, "b").await, records(2), "promised to nobody, as far as one can see");
                assert_eq!(read(&place, "c").await, []);
                continue;
            }
            let error = refusal(&files).await;
            let StoreError::Damaged { path, offset } = &error else { panic!("{error}") };
            assert_eq!((path.ends_with("store.log.1"), *offset), (true, entry[0] as u64), "byte {at}");
        }
    }
}

#[tokio::test]
async fn a_group_that_was_not_synced_is_a_torn_end_whatever_of_it_is_there() {
    let name = |name| Name::new(name).unwrap();
    let line = log_of(&[("a", 1)]).await;
    let line = &line[line.iter().position(|byte| *byte == b'\n').unwrap() + 1..];
    let mut log = Vec::new();
    entry::encode(&name("a"), 0, line, 0, &mut log);
    // A group of two: the second reached the disk, the first did not.
    let group = log.len();
    entry::encode(&name("b"), 0, line, group as u64, &mut log);
    entry::encode(&name("c"), 0, line, group as u64, &mut log);
    log[group + 40] ^= 4;
    let (_dir, place) = place();
    put(&place, &[("store.log.1".to_owned(), log)]);
    assert_eq!(read(&place, "a").await, records(1));
    assert_eq!(contents(&place).len(), 1, "nobody was told that the others are durable");
}

#[tokio::test]
async fn c_j04_an_old_file_of_the_log_was_durable_to_its_end() {
    let (first, second) = (log_of(&[("a", 2)]).await, log_of(&[("b", 1)]).await);
    let file = |number: u64, bytes: &[u8]| (format!("store.log.{number}"), bytes.to_vec());
    let torn = &first[..first.len() - 1];
    let error = refusal(&[file(4, torn), file(5, &second)]).await;
    assert!(
        matches!(error, StoreError::Damaged { offset, .. } if offset == starts(&first)[1] as u64),
        "{error}"
    );

    let error = refusal(&[file(4, &first), file(6, &second)]).await;
    assert!(matches!(&error, StoreError::NoLog { path } if path.ends_with("store.log.5")), "{error}");

    // One that is empty is new, or was settled and came back.
    let (_dir, place) = place();
    put(&place, &[file(2, b""), file(4, &first), file(5, torn), file(6, b"")]);
    assert_eq!(read(&place, "a").await, records(2));
}

#[tokio::test]
async fn c_j04_a_session_that_lost_its_end_is_loud() {
    let log = log_of(&[("a", 3)]).await;
    let rest = log[starts(&log)[1]..].to_vec();
    let (_dir, other) = place();
    put(&other, &[("store.log.1".into(), log)]);
    read(&other, "a").await;
    let mut session = std::fs::read(other.join("a.jsonl")).unwrap();
    session.truncate(session.len() / 4);
    let error = refusal(&[("a.jsonl".to_owned(), session), ("store.log.2".to_owned(), rest)]).await;
    let StoreError::Short { path, length, at, .. } = &error else { panic!("{error}") };
    assert!(path.ends_with("a.jsonl") && length < at, "{error}");
}

#[tokio::test]
async fn what_a_later_version_wrote_is_no_torn_end() {
    for line in [
        r#""synced":0,"name":"a","at":0,"length":2,"packed":true}"#,
        r#""synced":0,"name":"../a","at":0,"length":2}"#,
    ] {
        let rest = format!("{line}\n{{}}");
        let log = format!("{{\"crc\":\"{:08x}\",{rest}", crc32fast::hash(rest.as_bytes()));
        let error = refusal(&[("store.log.1".to_owned(), log.into_bytes())]).await;
        assert!(matches!(error, StoreError::Unknown { offset: 0, .. }), "{error}");
    }
}

#[tokio::test]
async fn c_j04_damage_in_one_session_is_its_own() {
    let (_dir, place) = place();
    let store = Store::open(&place).await.unwrap();
    for name in ["a", "b"] {
        write(&mut session(&store, name).await, &records(3)).await.unwrap();
    }
    let mut bytes = std::fs::read(place.join("a.jsonl")).unwrap();
    bytes[30] ^= 4;
    std::fs::write(place.join("a.jsonl"), &bytes).unwrap();
    let error = store.journal("a").open().await.unwrap_err().to_string();
    assert!(error.contains("a.jsonl: line 1 (byte 0) is damaged"), "{error}");
    assert_eq!(store.journal("b").open().await.unwrap(), records(3));
    store.close().await.unwrap();
    assert_eq!(std::fs::read(place.join("a.jsonl")).unwrap(), bytes);
}
