//! The embedded models as models of an agent.
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use machine_adapter::Request;
use machine_core::response::{Finished, ModelError, ModelEvent};
use machine_host::{BoxFuture, Model, ModelOut};

use crate::models::rules;
use crate::models::script::{Script, ScriptReply};
use crate::program::exit::Usage;

/// An embedded model.
#[derive(Clone)]
pub enum Player {
    /// Reads requests and plans them.
    Rules,
    /// Plays a file, one response per attempt.
    Script {
        /// The file.
        script: Arc<Script>,
        /// Attempts so far.
        next: Arc<AtomicUsize>,
    },
}

impl Player {
    /// `rules`, or `script:FILE`.
    pub fn named(name: &str) -> Result<Self, Usage> {
        match name.split_once(':') {
            None if name == "rules" => Ok(Self::Rules),
            Some(("script", file)) if !file.is_empty() => {
                let script = Arc::new(Script::load(Path::new(file))?);
                Ok(Self::Script { script, next: Arc::default() })
            }
            Some(("script", _)) => Err(Usage::NoScript),
            _ => Err(Usage::Model(name.to_owned())),
        }
    }

    fn reply(&self, request: &Request) -> Result<ScriptReply, ModelError> {
        match self {
            Self::Rules => Ok(rules::respond(&request.history, &request.tools).into()),
            Self::Script { script, next } => {
                script.respond(next.fetch_add(1, Ordering::Relaxed)).ok_or_else(|| script.exhausted())
            }
        }
    }
}

impl Model for Player {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(async move {
            let ScriptReply { delay, piece_delay, events, end } = self.reply(&request)?;
            pause(delay).await;
            let mut pieces = 0;
            for event in events {
                // The first piece waits no longer, and what is no piece does not wait at all.
                if !matches!(event, ModelEvent::Started { .. } | ModelEvent::Usage(_)) {
                    pause(if pieces == 0 { Duration::ZERO } else { piece_delay }).await;
                    pieces += 1;
                }
                out.event(event).await;
            }
            end.map(Finished::new)
        })
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
