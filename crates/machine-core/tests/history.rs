//! `History` is correct by its type: it takes exactly what an independent model of V05 and V06 takes.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;
mod model;

use std::sync::Arc;

use common::*;
use machine_core::history::{Edit, History, HistoryError};
use machine_core::message::{Body, Entry, Message, Origin};
use model::{Model, Try, tries};
use proptest::prelude::*;

/// A history of the legal ones among these tries, with its model.
fn grown(tries: &[Try]) -> (History, Model) {
    let (mut history, mut model) = (History::new(), Model::default());
    for a_try in tries {
        let entry = a_try.entry(&model);
        if model.take(&entry) {
            history.append(entry).unwrap();
        }
    }
    (history, model)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_v06_append_takes_what_the_model_takes(tries in tries()) {
        let (mut history, mut model) = (History::new(), Model::default());
        for a_try in &tries {
            let entry = a_try.entry(&model);
            let before = (history.clone(), history.awaited(), history.ready().is_ok());
            let taken = history.append(entry.clone());
            prop_assert_eq!(taken.is_ok(), model.take(&entry), "{:?}: {:?}", entry, taken);
            if taken.is_err() {
                prop_assert_eq!(&history, &before.0);
                prop_assert_eq!((history.awaited(), history.ready().is_ok()), (before.1, before.2));
            } else {
                prop_assert_ne!(&history, &before.0);
            }
            prop_assert_eq!(before.0.len() + usize::from(taken.is_ok()), history.len());
            prop_assert_eq!(history.audit(), Ok(()));
            prop_assert_eq!(history.awaited(), model.open.front().map(|(call, ..)| *call));
            prop_assert_eq!(history.ready().is_ok(), model.ready());
        }
        prop_assert!(history.iter().eq(&model.entries));
        prop_assert_eq!(history.last(), model.entries.last());
        prop_assert_eq!(history.is_empty(), model.entries.is_empty());
    }

    #[test]
    fn c_v06_a_clone_goes_its_own_way(tries in tries(), at in any::<prop::sample::Index>()) {
        let at = at.index(tries.len() + 1);
        let (first, model) = grown(&tries[..at]);
        let kept: Vec<_> = first.iter().cloned().collect();
        let mut second = first.clone();
        prop_assert_eq!(&second, &first);
        for a_try in &tries[at..] {
            let _ = second.append(a_try.entry(&model));
        }
        prop_assert!(first.iter().eq(&kept), "the first saw what was added to its clone");
        prop_assert_eq!(first.digest(), of(&kept).digest());
        prop_assert_eq!(first == second, second.len() == kept.len());
    }

    #[test]
    fn c_j07_json_brings_the_same_history_back(tries in tries(), rest in tries()) {
        let (history, model) = grown(&tries);
        let json = serde_json::to_string(&history).unwrap();
        let mut back: History = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&back, &history);
        prop_assert_eq!(back.awaited(), history.awaited(), "the open batch is part of it");
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), json);
        // And it goes on in the same way: used wire ids, open calls.
        let mut history = history;
        for a_try in &rest {
            let entry = a_try.entry(&model);
            prop_assert_eq!(back.append(entry.clone()), history.append(entry));
        }
        prop_assert_eq!(back, history);
    }

    #[test]
    fn c_a18_a_fold_never_cuts_a_batch(tries in tries(), open in any::<bool>(), illegal in any::<bool>()) {
        let (mut history, mut model) = grown(&tries);
        while !open && !model.open.is_empty() {
            let answer = model.answer(vec![media()]);
            prop_assert!(model.take(&answer));
            history.append(answer).unwrap();
        }
        let into = if illegal { vec![result(call_id(99), "none")] } else { vec![user("summary")] };
        for up_to in 0..=history.len() + 2 {
            let mut folded = history.clone();
            let edit = Edit::Fold { up_to, into: into.clone() };
            let done = folded.edit(&edit);
            let cuts = matches!(model.entries.get(up_to).map(|e| &e.message), Some(Message::Tool(_)));
            let rest = model.entries.iter().skip(up_to);
            let want: Vec<_> = into.iter().chain(rest).cloned().collect();
            let whole = model.open.is_empty() && Model::of(&want).is_some_and(|m| m.open.is_empty());
            let legal = up_to <= history.len() && !cuts && whole;
            prop_assert_eq!(done.is_ok(), legal, "{}: {:?}", up_to, done);
            prop_assert_eq!(folded.audit(), Ok(()));
            if legal {
                prop_assert!(folded.iter().eq(&want));
                prop_assert_eq!(folded, of(&want), "as if it had always been so");
            } else {
                prop_assert_eq!(&folded, &history);
                prop_assert_eq!(folded.awaited(), history.awaited());
            }
        }
    }

    #[test]
    fn c_a18_a_replace_takes_what_is_whole(tries in tries(), with in prop::collection::vec(model::any_try(), 0..6)) {
        let (history, model) = grown(&tries);
        let with: Vec<_> = with.iter().map(|a_try| a_try.entry(&Model::default())).collect();
        let legal = model.open.is_empty() && Model::of(&with).is_some_and(|m| m.open.is_empty());
        let mut replaced = history.clone();
        let done = replaced.edit(&Edit::Replace { with: with.clone() });
        prop_assert_eq!(done.is_ok(), legal, "{:?}", done);
        prop_assert_eq!(&replaced, &if legal { of(&with) } else { history });
        prop_assert_eq!(replaced.audit(), Ok(()));
    }

    /// Text that was not written by a history is held to the same rules.
    #[test]
    fn c_v06_what_is_read_is_checked(entries in prop::collection::vec(model::any_try(), 0..6)) {
        let entries: Vec<_> = entries.iter().map(|a_try| a_try.entry(&Model::default())).collect();
        let read = serde_json::from_str::<History>(&serde_json::to_string(&entries).unwrap());
        prop_assert_eq!(read.is_ok(), Model::of(&entries).is_some());
    }
}

#[test]
fn c_v05_results_come_directly_in_call_order() {
    let mut history = of(&[user("go"), calls([call(call_id(0), "a"), call(call_id(1), "b")])]);
    let expected = |n, got: &str| HistoryError::Unanswered { at: 2, expected: call_id(n), got: got.into() };
    for (entry, got) in [
        (user("between"), "a User message"),
        (says("between"), "a Assistant message"),
        (result(call_id(1), "b"), "the result of call 1.1.1.1"),
        (result(call_id(0), "b"), "the result of call 1.1.1.0"),
    ] {
        assert_eq!(history.append(entry), Err(expected(0, got)));
    }
    history.append(result(call_id(0), "a")).unwrap();
    assert_eq!(history.awaited(), Some(call_id(1)));
    let twice = history.append(result(call_id(0), "a"));
    assert!(matches!(twice, Err(HistoryError::Unanswered { at: 3, .. })), "{twice:?}");
    history.append(result(call_id(1), "b")).unwrap();
    assert_eq!(history.awaited(), None);
    let twice = history.append(result(call_id(1), "b"));
    assert_eq!(twice, Err(HistoryError::Orphan { at: 4, call: call_id(1) }));
}

#[test]
fn c_v06_ready_refuses_what_no_request_may_end_in() {
    let why = |entries: &[Arc<Entry>]| of(entries).ready().map_err(|error| error.to_string());
    let go = user("go");
    let batch = calls([call(call_id(0), "a"), call(call_id(1), "b")]);
    let results = [result(call_id(0), "a"), result(call_id(1), "b")];
    assert_eq!(why(&[]), Err("V06: no request may be made: there is no message".into()));
    assert_eq!(why(std::slice::from_ref(&go)), Ok(()));
    let last = Err("V06: no request may be made: the last message is the assistant's".into());
    assert_eq!(why(&[go.clone(), says("hi")]), last);
    let open = Err("V06: no request may be made: calls without results".into());
    assert_eq!(why(&[go.clone(), batch.clone()]), open);
    assert_eq!(why(&[go.clone(), batch.clone(), results[0].clone()]), open);
    assert_eq!(why(&[go.clone(), batch.clone(), results[0].clone(), results[1].clone()]), Ok(()));
}

#[test]
fn c_a18_a_fold_at_every_index_of_two_batches() {
    let history = of(&[
        user("go"),
        calls([call(call_id(0), "a"), call(call_id(1), "b")]),
        result(call_id(0), "a"),
        result(call_id(1), "b"),
        calls([call(call_id(2), "c")]),
        result(call_id(2), "c"),
        says("done"),
    ]);
    let fold = |up_to, into| history.clone().edit(&Edit::Fold { up_to, into });
    for up_to in 0..10 {
        let folded = fold(up_to, vec![user("summary")]);
        let what = match up_to {
            0 | 1 | 4 | 6 | 7 => None,
            2 | 3 | 5 => Some("that cuts a batch"),
            _ => Some("there are fewer"),
        };
        assert_eq!(folded.err(), what.map(|what| HistoryError::BadEdit { up_to, what }), "{up_to}");
    }
    // Also if what comes in its place would fit.
    let head = calls([call(call_id(0), "a"), call(call_id(1), "b")]);
    assert!(matches!(fold(2, vec![head]), Err(HistoryError::BadEdit { .. })));
}

/// A folded call gives its wire id back; what stays keeps its own.
#[test]
fn c_v03_a_fold_releases_the_ids_it_folds() {
    let mut history = of(&[
        user("go"),
        calls([call(call_id(0), "a")]),
        result(call_id(0), "a"),
        calls([call(call_id(1), "b")]),
        result(call_id(1), "b"),
    ]);
    let wire = |history: &History, raw: &str| history.wires().minting().mint(&raw.into(), call_id(9));
    assert_eq!((&*wire(&history, "a"), &*wire(&history, "b")), ("a__2", "b__2"));
    history.edit(&Edit::Fold { up_to: 3, into: vec![user("summary")] }).unwrap();
    assert_eq!((&*wire(&history, "a"), &*wire(&history, "b")), ("a", "b__2"));
}

/// A message that is no assistant's may not carry a call: it would have no result.
#[test]
fn c_v05_a_call_stands_in_an_assistant_message_only() {
    let body = || Body::Call(call(call_id(0), "a")).into();
    for message in
        [Message::User { content: Arc::from([body()]) }, Message::System { content: Arc::from([body()]) }]
    {
        let refused = History::new().append(entry(Origin::Gate { hook: "gate".into() }, message));
        assert!(matches!(refused, Err(HistoryError::IllegalCall { .. })), "{refused:?}");
    }
}

#[test]
fn c_v05_a_result_may_not_carry_a_call() {
    let mut history = of(&[user("go"), calls([call(call_id(0), "a")])]);
    let parts = vec![Body::Call(call(call_id(1), "b")).into()];
    let refused = history.append(result_with(call_id(0), "a", "t", parts));
    assert!(refused.is_err(), "call 1 stands in history and nothing answers it");
}

#[test]
fn c_v06_a_result_names_the_tool_of_its_call() {
    for tool in ["other", "not legal", ""] {
        let mut history = of(&[user("go"), calls([call(call_id(0), "a")])]);
        let refused = history.append(result_with(call_id(0), "a", tool, vec![media()]));
        assert!(refused.is_err(), "`{tool}`");
    }
}

#[test]
fn c_v02_a_call_id_stands_once_in_a_message() {
    let twice = History::new().append(calls([call(call_id(0), "a"), call(call_id(0), "b")]));
    assert!(
        matches!(twice, Err(HistoryError::IllegalCall { at: 0, call, .. }) if call == call_id(0)),
        "{twice:?}"
    );
}

#[test]
fn c_a18_a_fold_leaves_the_open_batch_alone() {
    let mut history =
        of(&[user("go"), calls([call(call_id(0), "a"), call(call_id(1), "b")]), result(call_id(0), "a")]);
    let refused = history.edit(&Edit::Fold { up_to: 3, into: vec![user("summary")] });
    assert!(refused.is_err(), "call 1 runs, and history does not know it any more");
}

#[test]
fn c_t18_an_end_says_in_words_why() {
    use machine_core::ask::{By, Cause};
    use machine_core::event::{EndReason, TurnError};
    let empty = TurnError::EmptyResponse { tries: 3 };
    for (reason, words) in [
        (EndReason::DONE, "completed"),
        (EndReason::Blocked("not today".into()), "blocked: not today"),
        (EndReason::StepLimit, "stopped at the step limit"),
        (EndReason::Aborted(Cause::by(By::User)), "aborted by the user"),
        (EndReason::Failed(Arc::new(empty)), "failed: the model answered with nothing 3 times"),
    ] {
        assert_eq!(reason.to_string(), words);
    }
}
