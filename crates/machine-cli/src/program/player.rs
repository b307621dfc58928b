//! The embedded models, and those of providers, as models of an agent.
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

/// A model.
#[derive(Clone)]
pub enum Player {
    /// A provider's.
    #[cfg(feature = "providers")]
    Provider(machine_genai::Genai),
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
    /// `rules`, `script:FILE`, or `PROVIDER:NAME` with an address if it is not the provider's own.
    pub fn named(name: &str, base_url: Option<&str>) -> Result<Self, Usage> {
        let player = match name.split_once(':') {
            None if name == "rules" => Self::Rules,
            Some(("script", "")) => return Err(Usage::NoScript),
            Some(("script", file)) => {
                let script = Arc::new(Script::load(Path::new(file))?);
                Self::Script { script, next: Arc::default() }
            }
            #[cfg(feature = "providers")]
            Some(_) => return provider(name, base_url),
            _ => return Err(Usage::Model(name.to_owned())),
        };
        match base_url {
            None => Ok(player),
            Some(_) => Err(Usage::BaseUrl(name.to_owned())),
        }
    }
}

#[cfg(feature = "providers")]
fn provider(name: &str, base_url: Option<&str>) -> Result<Player, Usage> {
    let built = machine_genai::Genai::named(name).and_then(|model| match base_url {
        Some(url) => model.base_url(url).build(),
        None => model.build(),
    });
    built.map(Player::Provider).map_err(|error| Usage::Provider { name: name.to_owned(), error })
}

impl Model for Player {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        let reply = match self {
            Self::Rules => Ok(rules::respond(&request.history, &request.tools).into()),
            Self::Script { script, next } => {
                script.respond(next.fetch_add(1, Ordering::Relaxed)).ok_or_else(|| script.exhausted())
            }
            #[cfg(feature = "providers")]
            Self::Provider(model) => return model.call(request, out),
        };
        Box::pin(async move {
            let ScriptReply { delay, piece_delay, events, end } = reply?;
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

    #[cfg(feature = "providers")]
    fn identity(&self, request: &Request) -> machine_host::ModelIdentity {
        match self {
            Self::Provider(model) => model.identity(request),
            Self::Rules | Self::Script { .. } => machine_host::ModelIdentity::default(),
        }
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
