//! A disk that is full: said clearly, what runs is withdrawn, and the session opens again when there is room (J10, A22).
use machine_core::event::{EndReason, Event, TurnError};
use machine_core::outcome::Outcome;

use super::*;

/// From now on the journal is in this file: in `/dev/full`, every write gets the system's own error.
fn goes_on_in(journal: &Mutex<Inner>, path: &Path) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    journal.lock().unwrap().open.as_mut().unwrap().file = file;
}

#[cfg(target_os = "linux")]
#[test]
fn c_j10_a_full_disk_stops_the_agent_and_the_session_opens_again_when_there_is_room() {
    let dir = directory();
    let path = dir.path().join("session.jsonl");
    paused().block_on(async {
        let (ran, journal) = (Ran::default(), FileJournal::at(&path));
        let inner = journal.inner.clone();
        let agent = builder(&path, &ran).journal(journal);
        let (agent, mut events) = agent.open_watched().await.unwrap();
        agent.prompt(Say::text("hi").id("hi")).await.unwrap();
        agent.submit(Say::text("slow").id("slow")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(ran.lock().unwrap().len(), 1, "the slow call runs");
        goes_on_in(&inner, Path::new("/dev/full"));
        let refused = agent.submit(Say::text("more").id("more")).await.unwrap_err().to_string();
        assert!(
            refused.contains("the session is faulted (") && refused.contains("open it again"),
            "{refused}"
        );
        let mut end = None;
        while let Some(Ok(seen)) = events.try_next() {
            match &*seen.event {
                Event::TurnEnded(ended) => end = Some(ended.reason.clone()),
                Event::CallSettled { outcome, .. } => {
                    assert_eq!(*outcome, Outcome::Cancelled { may_have_run: true }, "it was withdrawn");
                }
                _ => {}
            }
        }
        assert!(
            matches!(&end, Some(EndReason::Failed(error)) if matches!(**error, TurnError::Faulted(_))),
            "{end:?}"
        );
        let open = agent.outstanding().await.unwrap();
        assert!(open.is_empty(), "nothing runs any more: {open:?}");

        let before = std::fs::read(&path).unwrap();
        goes_on_in(&inner, &path);
        let read = agent.recorded(0).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            std::fs::read(&path).unwrap() == before,
            "there is room, but what was refused is not written"
        );
        assert!(read.contains("nothing is written after the first failure"), "{read:?}");
        drop((agent, inner));
        tokio::time::sleep(Duration::from_secs(2)).await;

        let agent = builder(&path, &ran).open().await.unwrap();
        let history = agent.history().await.unwrap();
        let last = history.last().unwrap().message.text();
        assert!(last.contains("may have run") || last.contains("not known"), "{last}");
        assert!(!history.iter().any(|entry| entry.message.text() == "more"), "it was not acknowledged");
        agent.prompt(Say::text("hi").id("again")).await.unwrap();
        assert_eq!(ran.lock().unwrap().len(), 1, "and nothing ran twice");
    });
}
