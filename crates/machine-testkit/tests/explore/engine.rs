//! The whole engine, every interleaving of small numbers. Each test prints what it explored; run with `--nocapture`
//! to see the numbers.
use machine_core::ask::AtTurnEnd;
use machine_core::config::{AfterAbort, CallLimits, Fatal, Questions};
use machine_testkit::engine::{Allowed, EngineWorld, Menu, Policies, Reduce};
use machine_testkit::explore::Explored;

const NO_HOOKS: Questions =
    Questions { screen: false, gate: false, recover: false, finalize: false, stop: false, timeout_ms: 0 };
const ALL_HOOKS: Questions =
    Questions { screen: true, gate: true, recover: true, finalize: true, stop: true, timeout_ms: 0 };

fn menu(may: Allowed) -> Menu {
    Menu { calls: 2, steps: 1, failures: 0, may, conflict: false }
}

fn world(menu: Menu, ask: Questions) -> EngineWorld {
    let calls = CallLimits { max_parallel: 2, ..CallLimits::default() };
    EngineWorld::new(menu, ask, calls).expect("a sound start")
}

fn clean(name: &str, menu: Menu, ask: Questions) -> Explored {
    crate::clean(name, world(menu, ask))
}

#[test]
fn two_calls_two_steps_one_retry_abort_steer_notify() {
    let may = Allowed { abort: 2, steer: 1, notify: 1, ..Allowed::default() };
    let done = clean("small engine", Menu { failures: 1, ..menu(may) }, NO_HOOKS);
    assert!(done.states > 10_000, "{done:?}");
}

/// Fewer states, and the same ends: of two calls that are alike the first is answered first.
#[test]
fn in_call_order_there_is_less_to_see() {
    let all = || world(menu(Allowed { abort: 1, timeout: true, ..Allowed::default() }), NO_HOOKS);
    let reduced = all().reduced(Reduce { in_call_order: true, ..Reduce::default() });
    let (all, reduced) = (crate::clean("any order", all()), crate::clean("in call order", reduced));
    assert!(reduced.states < all.states && reduced.transitions < all.transitions);
}

#[test]
fn conflicting_calls_are_serial() {
    let may = Allowed { abort: 2, timeout: true, ..Allowed::default() };
    clean("conflict", Menu { calls: 3, conflict: true, ..menu(may) }, NO_HOOKS);
}

#[test]
fn every_hook_may_refuse_or_fail() {
    let may = Allowed { refusals: true, abort: 1, ..Allowed::default() };
    clean("hooks", Menu { failures: 1, calls: 1, ..menu(may) }, ALL_HOOKS);
}

#[test]
fn finalizing_is_cut_by_aborts() {
    let ask = Questions { finalize: true, ..NO_HOOKS };
    clean("finalize", menu(Allowed { abort: 2, timeout: true, cancel: 1, ..Allowed::default() }), ask);
    clean(
        "finalize, background",
        Menu {
            calls: 1,
            ..menu(Allowed { abort: 1, detach: 1, cancel: 1, timeout: true, ..Allowed::default() })
        },
        ask,
    );
}

#[test]
fn approvals_outlive_crashes() {
    let may = Allowed { approve: true, crash: 2, abort: 1, ..Allowed::default() };
    clean("approvals", menu(may), NO_HOOKS);
}

#[test]
fn a_batch_may_be_ended_by_its_first_call() {
    let may = Allowed { stop_batch: true, approve: true, refusals: true, ..Allowed::default() };
    clean("stop batch", Menu { calls: 3, ..menu(Allowed { abort: 1, ..may.clone() }) }, NO_HOOKS);
    clean("stop batch, crash", menu(Allowed { crash: 1, cancel: 1, detach: 1, ..may }), NO_HOOKS);
}

#[test]
fn background_calls_end_once() {
    let may = Allowed { detach: 2, cancel: 1, abort: 1, crash: 1, ..Allowed::default() };
    clean("background", menu(may), NO_HOOKS);
}

#[test]
fn closing_waits_and_ends() {
    let may = Allowed { detach: 1, abort: 2, close: 1, prompts: 1, ..Allowed::default() };
    clean("close", menu(may), NO_HOOKS);
}

#[test]
fn lost_work_is_not_waited_for() {
    clean("lost", menu(Allowed { lost: 2, abort: 1, timeout: true, ..Allowed::default() }), NO_HOOKS);
}

#[test]
fn pause_and_maintenance_keep_what_waits() {
    let may =
        Allowed { pause: 1, prompts: 1, maintain: 1, notify: 1, abort: 1, crash: 1, ..Allowed::default() };
    clean("pause", Menu { calls: 1, ..menu(may) }, Questions { screen: true, ..NO_HOOKS });
}

#[test]
fn prompts_cut_calls() {
    let policies = Policies { cut: true, ..Policies::default() };
    let may = Allowed { steer: 2, abort: 1, approve: true, policies, ..Allowed::default() };
    clean("cut", menu(may), NO_HOOKS);
}

#[test]
fn turns_wait_for_calls_or_cancel_them() {
    for at_turn_end in [AtTurnEnd::Wait { ms: 100 }, AtTurnEnd::Cancel] {
        let policies = Policies { at_turn_end, ..Policies::default() };
        let may = Allowed { detach: 1, notify: 1, abort: 1, crash: 1, policies, ..Allowed::default() };
        clean("at the end of the turn", Menu { calls: 1, ..menu(may) }, NO_HOOKS);
    }
}

#[test]
fn a_fatal_failure_stops_its_siblings() {
    let policies = Policies { fatal: true, ..Policies::default() };
    let may = Allowed { abort: 1, prompts: 1, policies, ..Allowed::default() };
    let calls = CallLimits { max_parallel: 1, fatal: Fatal::Stop, ..CallLimits::default() };
    for ask in [NO_HOOKS, Questions { finalize: true, ..NO_HOOKS }] {
        let world = EngineWorld::new(menu(may.clone()), ask, calls.clone()).expect("a sound start");
        crate::clean("fatal", world);
    }
}

#[test]
fn what_waits_is_held_or_given_back() {
    for after_abort in [AfterAbort::Hold, AfterAbort::GiveBack] {
        let policies = Policies { after_abort, screen_notifications: true, ..Policies::default() };
        let may = Allowed { abort: 1, steer: 1, notify: 1, policies, ..Allowed::default() };
        clean("abort", Menu { calls: 1, ..menu(may) }, Questions { screen: true, ..NO_HOOKS });
    }
}
