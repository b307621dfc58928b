//! Ids are text that reads back, and keys of JSON maps (V02).
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use machine_core::ids::{AskId, AttemptId, BadId, CallId, InputId, StepId, TurnId};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

trait Id: Copy + Ord + Debug + Display + FromStr<Err = BadId> + Serialize + DeserializeOwned + 'static {
    const FIELDS: usize;
    fn of(numbers: [u32; 4]) -> Self;
}

macro_rules! id {
    ($name:ident: $($field:ident = $at:literal),+) => {
        impl Id for $name {
            const FIELDS: usize = [$($at),+].len();
            fn of(n: [u32; 4]) -> Self { Self { $($field: n[$at]),+ } }
        }
    };
}
id!(TurnId: branch = 0, turn = 1);
id!(StepId: branch = 0, turn = 1, step = 2);
id!(AttemptId: branch = 0, turn = 1, step = 2, serial = 3);
id!(CallId: branch = 0, turn = 1, step = 2, index = 3);
id!(AskId: branch = 0, serial = 1);

fn round_trips<I: Id>(a: [u32; 4], b: [u32; 4]) {
    let (ours, other) = (I::of(a), I::of(b));
    let text: Vec<_> = a[..I::FIELDS].iter().map(u32::to_string).collect();
    assert_eq!(ours.to_string(), text.join("."));
    assert_eq!(format!("{ours:?}"), ours.to_string());
    assert_eq!(ours.to_string().parse::<I>(), Ok(ours));
    assert_eq!(serde_json::to_string(&ours).unwrap(), format!("\"{ours}\""));
    assert_eq!(serde_json::from_str::<I>(&format!("\"{ours}\"")).unwrap(), ours);
    assert_eq!(ours.cmp(&other), a[..I::FIELDS].cmp(&b[..I::FIELDS]), "number by number");
    // As keys.
    let map = BTreeMap::from([(ours, 1), (other, 2)]);
    let json = serde_json::to_string(&map).unwrap();
    assert_eq!(serde_json::from_str::<BTreeMap<I, i32>>(&json).unwrap(), map, "{json}");
    // The order is that of the numbers, not of the text.
    assert_eq!(ours.cmp(&other), a[..I::FIELDS].cmp(&b[..I::FIELDS]));
}

fn refuses<I: Id>(text: &str) {
    let bad = text.parse::<I>().map_err(|bad| (bad.text, bad.fields));
    assert_eq!(bad, Err((text.to_owned(), I::FIELDS)), "{text}");
    let json = serde_json::to_string(text).unwrap();
    assert!(serde_json::from_str::<I>(&json).is_err(), "{text}");
}

fn refuses_all<I: Id>(texts: &[&str]) {
    for text in texts {
        refuses::<I>(text);
    }
    // One number too few, one too many.
    for fields in [I::FIELDS - 1, I::FIELDS + 1] {
        refuses::<I>(&vec!["1"; fields].join("."));
    }
    // Every number's place, with something else in it.
    for at in 0..I::FIELDS {
        for wrong in ["", "x", "-1", " 1", "1 ", "4294967296", "1e1", "0x1", "٣"] {
            let mut fields = vec!["1"; I::FIELDS];
            fields[at] = wrong;
            refuses::<I>(&fields.join("."));
        }
    }
    assert!(serde_json::from_str::<I>("12").is_err(), "a number is no id");
    assert!(serde_json::from_str::<I>("[1,2]").is_err(), "a list is no id");
}

proptest! {
    #[test]
    fn c_v02_ids_read_back(a: [u32; 4], b: [u32; 4], near in 0..4usize) {
        let mut close = a;
        close[near] = b[near];
        for b in [b, close] {
            round_trips::<TurnId>(a, b);
            round_trips::<StepId>(a, b);
            round_trips::<AttemptId>(a, b);
            round_trips::<CallId>(a, b);
            round_trips::<AskId>(a, b);
        }
    }
}

#[test]
fn c_v02_bad_ids_are_refused() {
    let texts = ["", ".", "..", "1..2", "1,2", "1.2.", ".1.2", "null", "1.2\n"];
    refuses_all::<TurnId>(&texts);
    refuses_all::<StepId>(&texts);
    refuses_all::<AttemptId>(&texts);
    refuses_all::<CallId>(&texts);
    refuses_all::<AskId>(&texts);
}

#[test]
fn c_v02_an_id_has_one_text() {
    for text in ["+1.2", "01.2", "1.02", "1.+2"] {
        refuses::<TurnId>(text);
        refuses::<AskId>(text);
    }
}

#[test]
fn c_v02_an_id_names_what_it_belongs_to() {
    let turn = TurnId { branch: 7, turn: 3 };
    let step = turn.step(2);
    assert_eq!((step.to_string(), step.turn()), ("7.3.2".into(), turn));
    assert_eq!((step.attempt(5).to_string(), step.attempt(5).step()), ("7.3.2.5".into(), step));
    assert_eq!((step.call(0).to_string(), step.call(0).step()), ("7.3.2.0".into(), step));
    // Call order, across steps and turns.
    let order =
        [turn.step(1).call(9), step.call(0), step.call(10), TurnId { branch: 7, turn: 4 }.step(1).call(0)];
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn c_a10_input_ids_are_plain_text() {
    let id = InputId::from("a.b \"c\"");
    assert_eq!(id.to_string(), "a.b \"c\"");
    let map = BTreeMap::from([(id.clone(), 1)]);
    let json = serde_json::to_string(&map).unwrap();
    assert_eq!(json, r#"{"a.b \"c\"":1}"#);
    assert_eq!(serde_json::from_str::<BTreeMap<InputId, i32>>(&json).unwrap().get("a.b \"c\""), Some(&1));
}
