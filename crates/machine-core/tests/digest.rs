//! Digests are stable: what is stored today is recognised by a later release (J06).
mod common;

use std::hash::Hasher as _;
use std::sync::Arc;

use common::*;
use expect_test::{Expect, expect};
use machine_core::digest::Digest;
use machine_core::history::History;
use machine_core::message::{Body, Entry, Extras, Message, Origin, Part, RawCall};
use machine_core::outcome::{ErrorCode, Outcome};
use proptest::prelude::*;
use siphasher::sip128::{Hasher128 as _, SipHasher13};

fn check(value: &Entry, expected: Expect) {
    expected.assert_eq(&Digest::of(value).to_string());
}

/// If one of these changes, every stored digest is void: a new `semantics` is due, not a new expectation.
#[test]
fn c_j06_the_digest_of_an_entry_is_pinned() {
    let prompt = Origin::Prompt { id: "p1".into() };
    check(&entry(prompt, Message::user("hello")), expect!["f4247b176de2948ab73c8a8a4a5ac71e"]);
    check(&says("hi"), expect!["ee735efccae97581c479fb620a0d29d2"]);
    check(&with_meta(&says("hi"), "{\"a\":1}"), expect!["0e77dd8bb532f9c702f0c6671e54b3de"]);
    check(
        &calls([call(call_id(0), "w1"), call(call_id(1), "w2")]),
        expect!["9c9679d6fa49e77f8c8aa3195c14b32f"],
    );
    check(&result(call_id(0), "w1"), expect!["f5994a7d8f446e9b3da2bf12297e8321"]);
    let entry = Entry {
        origin: Origin::Summary,
        turn: None,
        message: Message::System { content: content_of("s") },
        meta: None,
    };
    check(&entry, expect!["89e7f081c76a27da31ba28981baef27c"]);
}

#[test]
fn c_j06_the_digest_of_a_history_is_pinned() {
    let mut history = History::new();
    expect!["00000000000000000000000000000000"].assert_eq(&history.digest().to_string());
    for entry in [user("go"), calls([call(call_id(0), "w1")]), result(call_id(0), "w1"), says("done")] {
        history.append(entry).unwrap();
    }
    expect!["7fb6e9e86c38e893f0422f90ba855fc9"].assert_eq(&history.digest().to_string());
}

#[test]
fn c_v06_the_digest_knows_the_order() {
    let of = |entries: &[Arc<Entry>]| {
        let mut history = History::new();
        entries.iter().for_each(|entry| history.append(entry.clone()).unwrap());
        history.digest()
    };
    let (a, b) = (user("a"), user("b"));
    assert_ne!(of(&[a.clone(), b.clone()]), of(&[b.clone(), a.clone()]));
    assert_ne!(of(std::slice::from_ref(&a)), of(&[a.clone(), a.clone()]));
    assert_ne!(of(&[user("ab")]), of(&[a.clone(), b.clone()]));
    assert_eq!(of(&[a.clone(), b.clone()]), of(&[a, b]));
}

/// Every field counts.
#[test]
fn c_j06_what_differs_has_another_digest() {
    let base = result(call_id(0), "w");
    let Message::Tool(tool) = base.message.clone() else { panic!() };
    let with = |change: &dyn Fn(&mut machine_core::message::ToolMessage)| {
        let mut tool = tool.clone();
        change(&mut tool);
        Arc::new(Entry { message: Message::Tool(tool), ..(*base).clone() })
    };
    let extras = Some(Arc::new(Extras { provider: "p".into(), json: "1".into() }));
    let signed = vec![Part::text("x"), thinking("t", Some("s"))];
    let mut raw = call(call_id(0), "w");
    raw.raw = Some(Arc::new(RawCall { id: "".into(), tool: "t".into(), args: "{}".into() }));
    let all = [
        base.clone(),
        Arc::new(Entry { origin: Origin::Model, ..(*base).clone() }),
        Arc::new(Entry { turn: None, ..(*base).clone() }),
        with_meta(&base, ""),
        with_meta(&base, "1"),
        with(&|tool| tool.call.index = 1),
        with(&|tool| tool.wire = "v".into()),
        with(&|tool| tool.tool = "u".into()),
        with(&|tool| tool.outcome = Outcome::Unknown),
        with(&|tool| tool.outcome = Outcome::error(ErrorCode::Failed)),
        with(&|tool| tool.outcome = Outcome::Cancelled { may_have_run: true }),
        with(&|tool| tool.outcome = Outcome::Cancelled { may_have_run: false }),
        with(&|tool| tool.outcome = Outcome::TimedOut { may_have_run: true }),
        with(&|tool| tool.background = true),
        with(&|tool| tool.content = content_of("other")),
        with(&|tool| tool.content = Arc::from([Part { extras: extras.clone(), ..Part::text("done") }])),
        with(&|tool| tool.content = Arc::from([Part::text("do"), Part::text("ne")])),
        user("done"),
        says("done"),
        assistant(vec![Part::text("x"), thinking("t", None)]),
        assistant(signed),
        calls([call(call_id(0), "w")]),
        calls([raw]),
    ];
    for (i, a) in all.iter().enumerate() {
        for b in &all[..i] {
            assert_ne!(Digest::of(&**a), Digest::of(&**b), "{a:?}\n{b:?}");
        }
    }
}

#[test]
fn c_j06_absent_and_moved_fields_are_told_apart() {
    let text = Part::text("x");
    let a = assistant(vec![text.clone(), thinking("t", Some("s")), thinking("1", None)]);
    let b = with_meta(&assistant(vec![text, thinking("t", None), thinking("s", None)]), "1");
    assert_ne!(a, b);
    assert_ne!(Digest::of(&*a), Digest::of(&*b));
    let history = |entry: Arc<Entry>| {
        let mut history = History::new();
        history.append(entry).unwrap();
        history
    };
    assert_ne!(history(a), history(b), "V06: equality goes by the digest");
}

#[test]
fn c_j06_a_digest_reads_back() {
    for digest in [Digest(0), Digest(1), Digest(u128::MAX), Digest::of("x")] {
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json.len(), 34, "32 digits: {json}");
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
        assert_eq!(format!("\"{digest:?}\""), json);
    }
    for bad in ["\"\"", "\"x\"", "1", "\"-1\"", "\"100000000000000000000000000000000\""] {
        let error = serde_json::from_str::<Digest>(bad).expect_err(bad).to_string();
        assert!(error.contains("expected 32 hexadecimal digits"), "{error}");
    }
    let error = serde_json::from_str::<Digest>("7").expect_err("a number").to_string();
    assert!(error.contains("expected 32 hexadecimal digits"), "{error}");
}

#[test]
fn c_j06_a_digest_has_32_digits() {
    for bad in ["\"1\"", "\"+1\"", "\"+0000000000000000000000000000001\""] {
        assert!(serde_json::from_str::<Digest>(bad).is_err(), "{bad}");
    }
}

#[test]
fn c_v01_bodies_and_extras_survive_a_round_trip() {
    let extras = Some(Arc::new(Extras { provider: "acme".into(), json: "{\"z\":1,\"a\":[2]}".into() }));
    let mut odd = call(call_id(0), "w");
    odd.raw = Some(Arc::new(RawCall { id: "ü".into(), tool: "t".into(), args: "[".into() }));
    let bodies = [
        Part::text("x"),
        thinking("t", None),
        thinking("t", Some("s")),
        media(),
        Body::Call(odd).into(),
        Body::Call(call(call_id(1), "v")).into(),
    ];
    for part in bodies {
        for extras in [None, extras.clone()] {
            let entry = assistant(vec![Part { extras, ..part.clone() }, Part::text("y")]);
            let json = serde_json::to_string(&entry).unwrap();
            let back: Arc<Entry> = serde_json::from_str(&json).unwrap();
            assert_eq!(back, entry, "{json}");
            assert_eq!(Digest::of(&*back), Digest::of(&*entry), "{json}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// It is that of the encoded bytes, however long they are and in whatever pieces they come.
    #[test]
    fn c_j06_a_digest_is_that_of_the_encoded_bytes(texts in prop::collection::vec(".{0,200}", 0..6)) {
        let mut buffer = [0; 8_192];
        let bytes = postcard::to_slice(&texts, &mut buffer).unwrap();
        let mut hasher = SipHasher13::new();
        hasher.write(&Digest::default().0.to_le_bytes());
        hasher.write(bytes);
        prop_assert_eq!(Digest::of(&texts).0, hasher.finish128().as_u128());
    }
}
