//! A world of the engine and a way through it: the first bytes are its settings, each further one picks what happens. The
//! monitor of the world checks everything.
use machine_adapter::{Engine, Snapshot};
use machine_core::ask::AtTurnEnd;
use machine_core::config::{AfterAbort, AfterFailure, CallLimits, Fatal, Questions};

use crate::draw::{Bytes, Draw};
use crate::engine::{Allowed, EngineWorld, Menu, Policies};
use crate::explore::World;

/// The most things that happen.
const MOST: usize = 600;

/// How often the engine is saved and restored.
const SAVED_EVERY: usize = 16;

/// Goes the way that these bytes are.
///
/// # Errors
/// The rule that was broken, and how.
pub fn schedule(bytes: &[u8]) -> Result<(), String> {
    let mut draw = Bytes(bytes);
    let mut world = drawn(&mut draw)?;
    for step in 0.. {
        let mut choices = world.owed();
        if choices.is_empty() {
            world.at_rest()?;
        }
        // When bytes run out, only what is owed happens, until it rests.
        if !draw.is_empty() && step < MOST {
            choices.extend(world.volunteered());
        }
        if choices.is_empty() {
            return Ok(());
        }
        if step > 10_000 {
            return Err("P9: it does not come to rest".into());
        }
        let happens = choices.swap_remove(draw.below(choices.len()));
        if step % SAVED_EVERY == 0 {
            let saved = restored(world.engine())?;
            if saved != *world.engine() {
                return Err("P18: what was saved differs from what is restored".into());
            }
            world = world.with_engine(saved);
        }
        world.apply(&happens)?;
    }
    Ok(())
}

/// Through JSON and back.
fn restored(engine: &Engine) -> Result<Engine, String> {
    let text = serde_json::to_string(&engine.snapshot()).map_err(|error| error.to_string())?;
    let saved: Snapshot = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Engine::restore(saved).map_err(|error| error.to_string())
}

/// A world of any settings.
pub(crate) fn drawn(draw: &mut Bytes<'_>) -> Result<EngineWorld, String> {
    let calls = draw.number(12);
    let steps = draw.number(5);
    world(draw, calls, steps)
}

/// A world of few calls and steps.
pub(crate) fn small(draw: &mut Bytes<'_>) -> Result<EngineWorld, String> {
    let calls = draw.number(4);
    let steps = draw.number(3);
    world(draw, calls, steps)
}

fn world(draw: &mut Bytes<'_>, calls: u32, steps: u32) -> Result<EngineWorld, String> {
    let policies = Policies {
        cut: draw.flag(),
        at_turn_end: draw.one_of(&[AtTurnEnd::GoOn, AtTurnEnd::Cancel, AtTurnEnd::Wait { ms: 100 }]),
        fatal: draw.flag(),
        after_failure: draw.one_of(&[AfterFailure::Hold, AfterFailure::GoOn]),
        after_abort: draw.one_of(&[AfterAbort::GoOn, AfterAbort::Hold, AfterAbort::GiveBack]),
        screen_notifications: draw.flag(),
    };
    let may = Allowed {
        abort: draw.number(3),
        steer: draw.number(3),
        notify: draw.number(3),
        prompts: draw.number(3),
        detach: draw.number(3),
        lost: draw.number(3),
        cancel: draw.number(2),
        pause: draw.number(2),
        crash: draw.number(3),
        close: draw.number(2),
        approve: draw.flag(),
        stop_batch: draw.flag(),
        timeout: draw.flag(),
        refusals: draw.flag(),
        maintain: draw.number(2),
        policies,
    };
    let ask = Questions {
        screen: draw.flag(),
        gate: draw.flag(),
        recover: draw.flag(),
        finalize: draw.flag(),
        stop: draw.flag(),
        timeout_ms: 0,
    };
    let fatal = if may.policies.fatal { Fatal::Stop } else { Fatal::Ignore };
    let limits = CallLimits { max_parallel: 1 + draw.number(3), fatal, ..CallLimits::default() };
    let menu = Menu { calls, steps, failures: draw.number(4), may, conflict: draw.flag() };
    EngineWorld::new(menu, ask, limits)
}
