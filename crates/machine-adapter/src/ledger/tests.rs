//! Announced once, answered once, in call order.
use alloc::string::ToString;
use alloc::vec;

use expect_test::expect;
use machine_core::history::HistoryError;
use machine_core::ids::TurnId;
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use proptest::prelude::*;

use super::*;

const STEP: StepId = StepId { branch: 1, turn: 2, step: 3 };

fn called(id: &str, tool: &str, args: &str) -> Streamed {
    Streamed::Call { id: id.into(), tool: tool.into(), args: args.into(), too_long: false }
}

fn response(blocks: Vec<Streamed>) -> Response {
    Response { blocks, skip: None }
}

fn announce(response: Response) -> (Ledger, Arc<Entry>, Vec<Opening>) {
    let mut ledger = Ledger::default();
    let (entry, openings) = ledger.announce(STEP, response, &History::new(), &TurnLimits::default());
    (ledger, entry, openings)
}

/// A call as it stands on the wire, what was kept aside, and its answer, if it has one.
fn shown(opening: &Opening) -> String {
    let ToolCall { id, wire, tool, args, raw } = &opening.call;
    let mut shown = format!("{id} {wire} {tool} {args}\n");
    if let Some(raw) = raw {
        shown += &format!("  raw {:?} {:?} {:?}\n", raw.id, raw.tool, raw.args);
    }
    if let Some(answer) = &opening.answer {
        for part in result::content(answer, 50_000).iter() {
            let Body::Text(text) = &part.body else { panic!("{part:?}") };
            shown += &format!("  {text}\n");
        }
    }
    shown
}

/// Each is the only call of a response that may stand in history.
fn announced(calls: &[(&str, &str, &str)]) -> String {
    let one = |(id, tool, args): &(&str, &str, &str)| {
        let (_, entry, openings) = announce(response(vec![called(id, tool, args)]));
        let [opening] = &openings[..] else { panic!("one call") };
        let mut history = History::new();
        history.append(entry).unwrap();
        assert_eq!(history.awaited(), Some(STEP.call(0)), "it may stand on the wire");
        shown(opening)
    };
    calls.iter().map(one).collect()
}

#[test]
fn c_v09_only_objects_run() {
    let args = ["{\"a\": 1}", " {}\n", "", " \n", "5", "[]", "null", "{\"a\":", "\"{}\""];
    expect![[r#"
        1.2.3.0 w t {"a": 1}
        1.2.3.0 w t  {}

        1.2.3.0 w t {}
        1.2.3.0 w t {}
        1.2.3.0 w t {}
          raw "w" "t" "5"
          The arguments are not a JSON object; the call did not run.
          The arguments were: 5
        1.2.3.0 w t {}
          raw "w" "t" "[]"
          The arguments are not a JSON object; the call did not run.
          The arguments were: []
        1.2.3.0 w t {}
          raw "w" "t" "null"
          The arguments are not a JSON object; the call did not run.
          The arguments were: null
        1.2.3.0 w t {}
          raw "w" "t" "{\"a\":"
          The arguments are not a JSON object; the call did not run.
          The arguments were: {"a":
        1.2.3.0 w t {}
          raw "w" "t" "\"{}\""
          The arguments are not a JSON object; the call did not run.
          The arguments were: "{}"
    "#]]
    .assert_eq(&announced(&args.map(|args| ("w", "t", args))));
}

#[test]
fn c_v09_faulty_arguments_are_quoted_cut_and_kept_whole_aside() {
    let long = "ß".repeat(600);
    let (_, _, openings) = announce(response(vec![called("w", "t", &long)]));
    let [Opening { call, answer: Some(answer) }] = &openings[..] else { panic!("it is answered at once") };
    assert_eq!(call.raw.as_ref().map(|raw| raw.args.chars().count()), Some(600));
    let quoted: String = result::content(answer, 50_000).iter().map(|part| format!("{part:?}")).collect();
    assert_eq!(quoted.matches('ß').count(), 500);
    assert!(quoted.contains("ß…"), "{quoted}");
}

#[test]
fn c_v10_illegal_names_are_answered() {
    let long = "t".repeat(65);
    // The name is looked at before the arguments.
    let tools = [("", "{}"), ("a b/ü", "{\"a\":1}"), (&long, "{}"), ("a b", "5")];
    expect![[r#"
        1.2.3.0 w unnamed {}
          raw "w" "" "{}"
          The tool's name is empty or illegal; the call did not run.
          The name was ``.
        1.2.3.0 w a_b__ {"a":1}
          raw "w" "a b/ü" "{\"a\":1}"
          The tool's name is empty or illegal; the call did not run.
          The name was `a b/ü`.
        1.2.3.0 w tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt {}
          raw "w" "ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt" "{}"
          The tool's name is empty or illegal; the call did not run.
          The name was `ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt`.
        1.2.3.0 w a_b {}
          raw "w" "a b" "5"
          The tool's name is empty or illegal; the call did not run.
          The name was `a b`.
    "#]]
    .assert_eq(&announced(&tools.map(|(tool, args)| ("w", tool, args))));
}

#[test]
fn c_v03_illegal_ids_are_kept_aside() {
    expect![[r#"
        1.2.3.0 call_1 t {}
          raw "call 1" "t" "{}"
        1.2.3.0 call_2_3_0 t {}
          raw "" "t" "{}"
    "#]]
    .assert_eq(&announced(&[("call 1", "t", "{}"), ("", "t", "{}")]));
}

#[test]
fn c_v04_two_calls_with_one_id_both_run() {
    let (_, _, openings) =
        announce(response(vec![called("w", "t", "{}"), called("w", "u", "{}"), called("", "v", "")]));
    let shown: String = openings.iter().map(shown).collect();
    expect![[r#"
        1.2.3.0 w t {}
        1.2.3.1 w__2 u {}
          raw "w" "u" "{}"
        1.2.3.2 call_2_3_2 v {}
          raw "" "v" ""
    "#]]
    .assert_eq(&shown);
}

/// Order: over a limit, then why the response runs no call, then the call's own faults.
#[test]
fn c_a24_and_t09_no_call_of_it_runs() {
    let limits = TurnLimits { calls: 2, ..TurnLimits::default() };
    let blocks = vec![
        called("a", "t", "{}"),
        called("b", "", "5"),
        called("c", "t", "{\"a\":1}"),
        called("d", "", "x"),
    ];
    let mut all = String::new();
    for skip in [None, Some(SkipCode::Truncated)] {
        let response = Response { blocks: blocks.clone(), skip };
        let (_, openings) = Ledger::default().announce(STEP, response, &History::new(), &limits);
        all += &openings.iter().map(shown).collect::<String>();
        all += "\n";
    }
    let long = Streamed::Call { id: "a".into(), tool: "t".into(), args: "{\"a\":\"".into(), too_long: true };
    let (_, openings) = Ledger::default().announce(STEP, response(vec![long]), &History::new(), &limits);
    all += &shown(&openings[0]);
    expect![[r#"
        1.2.3.0 a t {}
        1.2.3.1 b unnamed {}
          raw "b" "" "5"
          The tool's name is empty or illegal; the call did not run.
          The name was ``.
        1.2.3.2 c t {}
          raw "c" "t" "{\"a\":1}"
          Not run: a limit was exceeded (calls in one response, the size of its arguments, or steps).
        1.2.3.3 d unnamed {}
          raw "d" "" "x"
          Not run: a limit was exceeded (calls in one response, the size of its arguments, or steps).

        1.2.3.0 a t {}
          Not run: your response was cut at the output limit. Send the call again, smaller if it can be.
        1.2.3.1 b unnamed {}
          raw "b" "" "5"
          Not run: your response was cut at the output limit. Send the call again, smaller if it can be.
        1.2.3.2 c t {}
          raw "c" "t" "{\"a\":1}"
          Not run: a limit was exceeded (calls in one response, the size of its arguments, or steps).
        1.2.3.3 d unnamed {}
          raw "d" "" "x"
          Not run: a limit was exceeded (calls in one response, the size of its arguments, or steps).

        1.2.3.0 a t {}
          raw "a" "t" "{\"a\":\""
          Not run: a limit was exceeded (calls in one response, the size of its arguments, or steps).
    "#]]
    .assert_eq(&all);
}

/// Blank text goes; the order of what stays is the stream's.
#[test]
fn c_v05_parts_stay_in_order() {
    let part = |text: &str| Streamed::Part(Part::text(text));
    let blocks =
        vec![part("a"), called("w", "t", "{}"), part(" \n"), called("v", "t", "{}"), part("b"), part("")];
    let (_, entry, _) = announce(response(blocks));
    let kind = |part: &Part| match &part.body {
        Body::Text(text) => text.to_string(),
        Body::Call(call) => format!("call {}", call.wire),
        other => format!("{other:?}"),
    };
    let kinds: Vec<_> = entry.message.content().iter().map(kind).collect();
    assert_eq!(kinds, ["a", "call w", "call v", "b"]);
    assert_eq!((entry.origin.clone(), entry.turn), (Origin::Model, Some(STEP.turn())));
}

#[test]
fn c_v02_without_calls_nothing_is_owed() {
    let (mut ledger, _, openings) = announce(response(vec![Streamed::Part(Part::text("hi"))]));
    assert!(openings.is_empty());
    assert_eq!(ledger, Ledger::default());
    assert_eq!((ledger.owed(), ledger.next(), ledger.done()), (vec![], None, None));
}

fn three() -> (Ledger, History) {
    let calls = ["a", "b", "c"].map(|id| called(id, "t", "{}"));
    let (ledger, entry, _) = announce(response(calls.into()));
    let mut history = History::new();
    history.append(entry).unwrap();
    (ledger, history)
}

fn says(text: &str) -> Settlement {
    Settlement::of(&Arc::new(ToolResult::text(text)))
}

#[test]
fn c_v13_the_first_settle_wins() {
    let (mut ledger, _) = three();
    let config = Config::default();
    assert!(ledger.settle(STEP.call(0), &says("first"), false, &config));
    let before = ledger.clone();
    assert!(!ledger.settle(STEP.call(0), &says("second"), false, &config));
    assert_eq!(ledger, before);
    let entry = ledger.next().unwrap();
    assert_eq!(entry.message.text(), "first");
    let before = ledger.clone();
    assert!(!ledger.settle(STEP.call(0), &says("third"), false, &config), "also when it is in history");
    // Of another step, turn, branch: nobody asked.
    let other = StepId { step: 4, ..STEP };
    for foreign in
        [other.call(1), TurnId { branch: 1, turn: 3 }.step(3).call(1), StepId { branch: 2, ..STEP }.call(1)]
    {
        assert!(!ledger.settle(foreign, &says("x"), false, &config), "{foreign}");
    }
    assert_eq!(ledger, before);
}

#[test]
fn c_v13_a_call_beyond_the_batch_is_not_owed() {
    let (mut ledger, _) = three();
    assert!(!ledger.owes(STEP.call(3)));
    assert!(!ledger.settle(STEP.call(3), &says("x"), false, &Config::default()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// In whatever order they settle, results go into history in call order, contiguous prefix first (B08).
    #[test]
    fn c_b08_results_are_committed_in_call_order(order in prop::collection::vec(0..9u32, 0..40), n in 1..8u32) {
        let calls: Vec<_> = (0..n).map(|i| called(&format!("w{i}"), "t", "{}")).collect();
        let (mut ledger, entry, _) = announce(response(calls));
        let mut history = History::new();
        history.append(entry).unwrap();
        let (mut settled, mut committed) = (vec![false; n as usize], 0);
        for index in order.into_iter().filter(|index| *index < n).chain(0..n) {
            let first = !core::mem::replace(&mut settled[index as usize], true);
            let text = format!("{index} {first}");
            prop_assert_eq!(ledger.settle(STEP.call(index), &says(&text), false, &Config::default()), first);
            let json = serde_json::to_string(&ledger).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Ledger>(&json).unwrap(), &ledger, "U03");
            prop_assert_eq!(ledger.owed(), (0..n).filter(|i| !settled[*i as usize]).map(|i| STEP.call(i)).collect::<Vec<_>>());
            while let Some(entry) = ledger.next() {
                let expected = format!("{committed} true");
                prop_assert_eq!(entry.message.text(), expected);
                prop_assert_eq!(history.append(entry), Ok::<_, HistoryError>(()));
                committed += 1;
            }
            let prefix = settled.iter().take_while(|settled| **settled).count();
            prop_assert_eq!(committed, prefix);
            let done = ledger.done();
            prop_assert_eq!(done.is_some(), prefix == n as usize, "B09");
            if done.is_some() {
                prop_assert_eq!(&ledger, &Ledger::default());
                prop_assert_eq!(ledger.done(), None, "once");
                break;
            }
        }
        prop_assert_eq!(history.awaited(), None);
    }

    /// With several results that stop the turn the first in call order gives the reason, if its outcome is `Ok` (T17).
    #[test]
    fn c_t17_the_first_in_call_order_stops_the_turn(
        calls in prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 1..6),
        shuffle in any::<u64>(),
    ) {
        let n = u32::try_from(calls.len()).unwrap();
        let blocks = (0..n).map(|i| called(&format!("w{i}"), "t", "{}")).collect();
        let (mut ledger, ..) = announce(response(blocks));
        let mut order: Vec<_> = (0..n).collect();
        order.sort_by_key(|i| shuffle.rotate_left(i * 13) ^ u64::from(*i));
        for i in order {
            let (stops, is_error, delivers) = calls[i as usize];
            let result = ToolResult {
                is_error,
                stop_turn: stops.then(|| format!("stop {i}").into()),
                deliver: delivers.then(|| text_content(format!("deliver {i}"))),
                ..ToolResult::text("x")
            };
            ledger.settle(STEP.call(i), &Settlement::of(&Arc::new(result)), false, &Config::default());
        }
        while ledger.next().is_some() {}
        let Some(Done { stopped_by, deliver, fatal: None }) = ledger.done() else { panic!("B09: all are answered") };
        let all = || calls.iter().zip(0..n);
        let first = all().find(|((stops, is_error, _), _)| *stops && !is_error);
        prop_assert_eq!(stopped_by, first.map(|(_, i)| (STEP.call(i), format!("stop {i}").into())));
        let delivered: Vec<_> = all().filter(|((.., delivers), _)| *delivers).map(|(_, i)| (STEP.call(i), text_content(format!("deliver {i}")))).collect();
        prop_assert_eq!(deliver, delivered, "A05: in call order");
    }

    /// Whatever a provider sends: what stands in history is legal, each call has one result, and what was not legal is
    /// kept aside (V01, V03, V09, V10).
    #[test]
    fn c_v05_whatever_comes_may_stand_in_history(
        calls in prop::collection::vec((".{0,3}|[a-b]{1,2}", ".{0,2}|t", "\\{\\}|\\{\"a\":1\\}|.{0,4}|\\[\\]| "), 1..6),
    ) {
        let blocks = calls.iter().map(|(id, tool, args)| called(id, tool, args)).collect();
        let (mut ledger, entry, openings) = announce(response(blocks));
        let mut history = History::new();
        prop_assert_eq!(history.append(entry), Ok::<_, HistoryError>(()));
        for (opening, (id, tool, args)) in openings.iter().zip(&calls) {
            let call = &opening.call;
            let object = args.trim().is_empty() || serde_json::from_str::<serde_json::Value>(args).is_ok_and(|v| v.is_object());
            let name = !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            prop_assert_eq!(opening.answer.is_none(), object && name, "{:?}", opening);
            let kept = call.raw.as_ref().map_or((&call.wire, &call.tool, &call.args), |raw| (&raw.id, &raw.tool, &raw.args));
            prop_assert_eq!((&**kept.0, &**kept.1), (&**id, &**tool), "V03: kept aside");
            prop_assert!(**kept.2 == **args || args.trim().is_empty(), "V09: kept aside");
            ledger.settle(call.id, &says("x"), false, &Config::default());
        }
        while let Some(entry) = ledger.next() {
            prop_assert_eq!(history.append(entry), Ok::<_, HistoryError>(()));
        }
        prop_assert!(ledger.done().is_some());
        prop_assert_eq!(history.ready(), Ok(()));
    }
}
