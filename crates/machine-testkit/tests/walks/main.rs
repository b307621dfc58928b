//! Random walks through larger worlds: the same properties, and a saved engine that goes on identically (P18).
mod journaled;
mod long;

use machine_adapter::{Engine, Snapshot};
use machine_core::ask::AtTurnEnd;
use machine_core::config::{AfterAbort, AfterFailure, CallLimits, Fatal, Questions};
use machine_testkit::engine::{Allowed, EngineWorld, Menu, Policies};
use machine_testkit::explore::{World, walk};
use proptest::prelude::*;

use crate::journaled::Writing;

fn allowed() -> impl Strategy<Value = Allowed> {
    let counts = (0..3u32, 0..3u32, 0..3u32, 0..3u32, 0..3u32, 0..3u32, 0..2u32, 0..2u32, 0..3u32);
    let more = (0..2u32, 0..2u32, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (counts, more, policies()).prop_map(
        |((abort, steer, notify, prompts, detach, lost, cancel, pause, crash), more, policies)| {
            let (close, maintain, approve, stop_batch, timeout, refusals) = more;
            Allowed {
                abort,
                steer,
                notify,
                prompts,
                detach,
                lost,
                cancel,
                pause,
                crash,
                close,
                approve,
                stop_batch,
                timeout,
                refusals,
                maintain,
                stray: true,
                policies,
            }
        },
    )
}

fn policies() -> impl Strategy<Value = Policies> {
    let at_turn_end =
        prop::sample::select(vec![AtTurnEnd::GoOn, AtTurnEnd::Cancel, AtTurnEnd::Wait { ms: 100 }]);
    let after_failure = prop::sample::select(vec![AfterFailure::Hold, AfterFailure::GoOn]);
    let after_abort = prop::sample::select(vec![AfterAbort::GoOn, AfterAbort::Hold, AfterAbort::GiveBack]);
    (any::<[bool; 3]>(), at_turn_end, after_failure, after_abort).prop_map(
        |([cut, fatal, screen_notifications], at_turn_end, after_failure, after_abort)| Policies {
            cut,
            at_turn_end,
            fatal,
            after_failure,
            after_abort,
            screen_notifications,
        },
    )
}

fn questions() -> impl Strategy<Value = Questions> {
    any::<[bool; 5]>().prop_map(|[screen, gate, recover, finalize, stop]| Questions {
        screen,
        gate,
        recover,
        finalize,
        stop,
        timeout_ms: 0,
    })
}

fn world() -> impl Strategy<Value = EngineWorld> {
    let size = (0..12u32, 0..5u32, 0..4u32, any::<bool>(), 1..4u32);
    (size, allowed(), questions()).prop_map(|((calls, steps, failures, conflict, max_parallel), may, ask)| {
        let fatal = if may.policies.fatal { Fatal::Stop } else { Fatal::Ignore };
        let calls_limits = CallLimits { max_parallel, fatal, ..CallLimits::default() };
        EngineWorld::new(Menu { calls, steps, failures, may, conflict }, ask, calls_limits)
            .expect("a sound start")
    })
}

/// So many cases, or as many as `PROPTEST_CASES` says.
fn cases(few: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(few), failure_persistence: None, ..ProptestConfig::default() }
}

/// Through JSON and back.
fn restored(engine: &Engine) -> Engine {
    let text = serde_json::to_string(&engine.snapshot()).expect("a snapshot is JSON");
    let saved: Snapshot = serde_json::from_str(&text).expect("and reads back");
    Engine::restore(saved).expect("of this version")
}

/// A world whose engine is saved and restored before every input.
#[derive(Clone, Hash)]
struct Saving(EngineWorld);

impl World for Saving {
    type Move = <EngineWorld as World>::Move;

    fn owed(&self) -> Vec<Self::Move> {
        self.0.owed()
    }

    fn volunteered(&self) -> Vec<Self::Move> {
        self.0.volunteered()
    }

    fn apply(&mut self, input: &Self::Move) -> Result<(), String> {
        let saved = restored(self.0.engine());
        if saved != *self.0.engine() {
            return Err("P18: what was saved differs from what is restored".into());
        }
        let mut other = self.0.clone().with_engine(saved);
        self.0.apply(input)?;
        other.apply(input)?;
        if other.engine() != self.0.engine() {
            return Err("P18: the restored engine goes on differently".into());
        }
        self.0 = other;
        Ok(())
    }

    fn at_rest(&self) -> Result<(), String> {
        self.0.at_rest()
    }
}

fn picks() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 400)
}

fn take<W: World>(mut world: W, steps: usize, picks: &[prop::sample::Index]) -> Result<(), TestCaseError> {
    let mut next = picks.iter().cycle();
    let pick = |n: usize| next.next().expect("a cycle never ends").index(n);
    walk(&mut world, steps, pick).map(drop).map_err(|violation| TestCaseError::fail(violation.to_string()))
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_walk_keeps_the_properties(world in world(), picks in picks()) {
        take(world, 400, &picks)?;
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn p18_saved_and_restored_before_every_input(world in world(), picks in picks()) {
        take(Saving(world), 150, &picks)?;
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn p11_p12_the_journal_tells_the_run_and_may_be_cut_anywhere(world in world(), picks in picks()) {
        take(Writing::new(world), 120, &picks)?;
    }
}
