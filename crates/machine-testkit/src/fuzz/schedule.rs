//! A long run: the first bytes are its settings, the further ones what happens. Its monitor checks everything.
use machine_adapter::{Engine, Snapshot};

use crate::draw::Bytes;
use crate::engine::long::{LongRun, Settings};

/// The most inputs that are drawn.
const MOST: usize = 1_000;

/// Inputs after which a run that nothing is drawn for any more must rest.
const PATIENCE: usize = 20_000;

/// How often the engine is saved and restored (P18).
const SAVED_EVERY: usize = 16;

/// Plays the run that these bytes are.
///
/// # Errors
/// The rule that was broken, and how.
pub fn schedule(bytes: &[u8]) -> Result<(), String> {
    let mut draw = Bytes(bytes);
    let mut run = LongRun::new(Settings::drawn(&mut draw))?;
    for n in 0..MOST {
        if draw.is_empty() {
            break;
        }
        let Some(input) = run.next(&mut draw) else {
            run.at_rest()?;
            continue;
        };
        if n % SAVED_EVERY == 0 {
            let saved = restored(run.engine())?;
            if saved != *run.engine() {
                return Err("P18: what was saved differs from what is restored".into());
            }
            run = run.with_engine(saved);
        }
        run.apply(&input)?;
    }
    run.finish(PATIENCE)
}

/// Through JSON and back.
fn restored(engine: &Engine) -> Result<Engine, String> {
    let text = serde_json::to_string(&engine.snapshot()).map_err(|error| error.to_string())?;
    let saved: Snapshot = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Engine::restore(saved).map_err(|error| error.to_string())
}
