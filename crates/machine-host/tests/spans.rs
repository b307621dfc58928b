//! What a log shows: agent, turn, step, attempt, call, each below the other.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use common::{Say, Script, echo};
use machine_host::Agent;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Remembers each span as `parent/name id`.
#[derive(Default)]
struct Spans {
    next: AtomicU64,
    paths: Mutex<BTreeMap<u64, String>>,
}

struct IdOf(String);

impl Visit for IdOf {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "id" {
            self.0 = format!(" {value:?}");
        }
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::SeqCst) + 1;
        let mut own = IdOf(String::new());
        span.record(&mut own);
        let mut paths = self.paths.lock().unwrap();
        let parent = span.parent().and_then(|parent| paths.get(&parent.into_u64()).cloned());
        let parent = parent.map(|parent| format!("{parent}/")).unwrap_or_default();
        paths.insert(id, format!("{parent}{}{}", span.metadata().name(), own.0));
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn spans_carry_ids_and_stand_below_each_other() {
    let spans = Arc::new(Spans::default());
    let _guard = tracing::subscriber::set_default(spans.clone());
    let script = Script::of([Say::Calls(vec![("echo", "{}")]), Say::Text("ok")]);
    let agent = Agent::builder().branch(7).model(script).tool(echo()).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    let paths: Vec<_> = spans.paths.lock().unwrap().values().cloned().collect();
    for expected in [
        "agent/turn 7.1",
        "agent/turn 7.1/step 7.1.1/attempt 7.1.1.1",
        "agent/turn 7.1/step 7.1.1/call 7.1.1.0",
        "agent/turn 7.1/step 7.1.2/attempt 7.1.2.1",
    ] {
        assert!(paths.iter().any(|path| path == expected), "{expected} is missing: {paths:#?}");
    }
}
