//! Wire ids: legal, unique, deterministic, the smallest free suffix (V03), and cheap.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::collections::BTreeSet;

use allocation_counter::measure;
use common::*;
use machine_core::history::{History, is_legal, legal};
use machine_core::ids::CallId;
use machine_core::message::RawCall;
use proptest::prelude::*;
use std::sync::Arc;

/// A response's calls get their wire ids; they are committed with their results, unless discarded.
fn respond(history: &mut History, step: u32, raws: &[String], keep: bool) -> Vec<String> {
    let mut minted = history.wires().minting();
    let calls: Vec<_> = raws
        .iter()
        .zip(0..)
        .map(|(raw, index)| {
            let id = TURN.step(step).call(index);
            let wire = minted.mint(&raw.as_str().into(), id);
            let kept = RawCall { id: raw.as_str().into(), tool: "t".into(), args: "{}".into() };
            let mut call = call(id, &wire);
            call.raw = (**raw != *wire).then(|| Arc::new(kept));
            call
        })
        .collect();
    let wires: Vec<_> = calls.iter().map(|call| call.wire.to_string()).collect();
    if keep && !calls.is_empty() {
        let answers: Vec<_> = calls.iter().map(|call| result(call.id, &call.wire)).collect();
        history.append(common::calls(calls)).unwrap();
        answers.into_iter().for_each(|answer| history.append(answer).unwrap());
    }
    wires
}

/// By the rule's own words, trying one suffix after the other.
fn naive(used: &BTreeSet<String>, raw: &str, call: CallId) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut base: String = raw.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect();
    if base.is_empty() {
        base = format!("call_{}_{}_{}", call.turn, call.step, call.index);
    }
    let suffixed = |n: usize| {
        let tail = format!("__{n}");
        base.chars().take(64 - tail.len()).chain(tail.chars()).collect::<String>()
    };
    let mut all = std::iter::once(base.clone()).chain((2..).map(suffixed));
    all.find(|wire| !used.contains(wire)).unwrap()
}

fn raw() -> impl Strategy<Value = String> {
    let long = |n: usize, end: &str| "w".repeat(n) + end;
    let odd = vec![
        "",
        "a",
        "a b",
        "a_b",
        "a.b",
        "ü",
        "_",
        "__",
        "a__2",
        "a__3",
        "a__2__2",
        "a__x",
        "call_1_1_1",
        "call_1_2_0",
    ];
    let odd: Vec<String> = odd.into_iter().map(str::to_owned).collect();
    let long = vec![
        long(60, ""),
        long(61, ""),
        long(61, "x"),
        long(62, ""),
        long(64, ""),
        long(65, ""),
        long(61, "xyz"),
        long(61, "__2"),
        long(59, "__10"),
        long(64, "ü"),
    ];
    prop_oneof![prop::sample::select(odd), prop::sample::select(long), "[ab]{1,2}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_v03_wire_ids_are_legal_unique_and_the_smallest_free(
        responses in prop::collection::vec((prop::collection::vec(raw(), 0..14), prop::bool::weighted(0.8)), 1..8)
    ) {
        let (mut history, mut used) = (History::new(), BTreeSet::new());
        for ((raws, keep), step) in responses.iter().zip(1..) {
            let again = respond(&mut history.clone(), step, raws, false);
            let wires = respond(&mut history, step, raws, *keep);
            prop_assert_eq!(&wires, &again, "the same again: an attempt that was discarded left nothing");
            let mut here = used.clone();
            for ((wire, raw), index) in wires.iter().zip(raws).zip(0..) {
                prop_assert!(is_legal(wire), "{}", wire);
                prop_assert_eq!(wire, &naive(&here, raw, TURN.step(step).call(index)), "of {:?}", raw);
                prop_assert!(here.insert(wire.clone()), "V03: {} twice", wire);
            }
            if *keep {
                used = here;
            }
        }
        prop_assert_eq!(history.audit(), Ok(()));
    }

    #[test]
    fn c_v03_what_is_made_legal_is_legal(raw in any::<String>(), more in "[a-zA-Z0-9_-]{0,70}") {
        for raw in [raw.clone(), raw + &more, more] {
            let made = legal(&raw);
            prop_assert_eq!(is_legal(&made), !raw.is_empty());
            prop_assert_eq!(made == raw, is_legal(&raw) || raw.is_empty());
            prop_assert_eq!(legal(&made), made);
        }
    }

    /// Over a snapshot: the memo of suffixes is made again, and is the same.
    #[test]
    fn c_v03_wire_ids_go_on_after_a_restore(
        first in prop::collection::vec(prop::collection::vec(raw(), 1..6), 1..5),
        then in prop::collection::vec(raw(), 1..8),
    ) {
        let mut history = History::new();
        for (raws, step) in first.iter().zip(1..) {
            respond(&mut history, step, raws, true);
        }
        let mut back: History = serde_json::from_str(&serde_json::to_string(&history).unwrap()).unwrap();
        prop_assert_eq!(respond(&mut back, 9, &then, true), respond(&mut history, 9, &then, true));
    }
}

#[test]
fn c_v03_named_cases() {
    let mut history = History::new();
    let mut ask = |step, raws: &[&str], want: &[&str]| {
        let raws: Vec<_> = raws.iter().map(|raw| (*raw).to_owned()).collect();
        assert_eq!(respond(&mut history, step, &raws, true), want);
    };
    ask(1, &["call_0", "call_1"], &["call_0", "call_1"]);
    // V04: a provider that starts to count again.
    ask(2, &["call_0", "call_1"], &["call_0__2", "call_1__2"]);
    // V04: the same id twice in one response.
    ask(3, &["call_0", "call_0"], &["call_0__3", "call_0__4"]);
    // Empty: one of ours. Also if somebody has it.
    ask(4, &["", "call_1_4_2", ""], &["call_1_4_0", "call_1_4_2", "call_1_4_2__2"]);
    // Made legal, and then the same as another.
    ask(5, &["a b", "a_b", "a.b"], &["a_b", "a_b__2", "a_b__3"]);
    // A provider that sends what we would make.
    ask(6, &["x__2", "x", "x", "x"], &["x__2", "x", "x__3", "x__4"]);
    ask(7, &["ж"], &["_"]);
}

#[test]
fn c_v03_a_suffix_with_a_leading_zero_takes_no_other() {
    let mut history = History::new();
    let raws = ["a", "a__02"].map(str::to_owned);
    respond(&mut history, 1, &raws, true);
    assert_eq!(respond(&mut history, 2, &raws[..1], true), ["a__2"]);
}

/// What giving `n` calls their ids costs, in allocations, in one response.
fn one_response(n: u32, raw: &str) -> u64 {
    let history = History::new();
    let mut minted = history.wires().minting();
    let (call, raw) = (|index| TURN.step(1).call(index), raw.into());
    measure(|| (0..n).for_each(|i| drop(minted.mint(&raw, call(i))))).count_total
}

/// And in `n` steps, each with one call of the same id.
fn many_steps(first: &[&str], n: u32, raw: &str) -> u64 {
    let mut history = History::new();
    let first: Vec<_> = first.iter().map(|raw| (*raw).to_owned()).collect();
    respond(&mut history, 1, &first, true);
    let raws = [raw.to_owned()];
    measure(|| (2..n + 2).for_each(|step| drop(respond(&mut history, step, &raws, true)))).count_total
}

fn near_linear(what: &str, ten_times: u64, once: u64) {
    assert!(ten_times <= 16 * once, "{what}: {once} allocations, then {ten_times} for ten times as many");
}

#[test]
fn c_v03_one_id_ten_thousand_times_in_a_response_is_near_linear() {
    let long = "w".repeat(64);
    for raw in ["same", "", "a__2", "ill egal", &long] {
        near_linear(raw, one_response(10_000, raw), one_response(1_000, raw));
    }
}

#[test]
fn c_v04_one_id_in_each_of_two_thousand_steps_is_near_linear() {
    for raw in ["same", "", "a__2", "ill egal"] {
        near_linear(raw, many_steps(&[], 2_000, raw), many_steps(&[], 200, raw));
    }
}

#[test]
fn c_v04_a_long_id_in_each_of_two_thousand_steps_is_near_linear() {
    for raw in [60, 61, 62, 64, 65].map(|n| "w".repeat(n)) {
        near_linear(&raw, many_steps(&[], 2_000, &raw), many_steps(&[], 200, &raw));
    }
}

#[test]
fn c_v04_an_id_whose_first_suffix_was_taken_is_near_linear() {
    let first = ["a__2", "a"];
    near_linear("a", many_steps(&first, 2_000, "a"), many_steps(&first, 200, "a"));
}
