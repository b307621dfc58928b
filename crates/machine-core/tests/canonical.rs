//! One text for all ways to write the same JSON object (T19).
#![allow(clippy::unwrap_used, reason = "a test may also fail in a helper")]
use machine_core::canonical::canonical;
use proptest::prelude::*;
use serde_json::Value;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-99..1_000i64).prop_map(Value::from),
        "[a\"\\\\{},:\\[\\]\u{1}ü ]{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c\"{]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-c\"{]{0,2}", value(), 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// The same value with its members in the reverse order.
fn backwards(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let member = |(key, value)| format!("{} :{}", Value::from(String::clone(key)), backwards(value));
            format!("{{{}}}", map.iter().rev().map(member).collect::<Vec<_>>().join(" ,\n"))
        }
        Value::Array(items) => {
            format!("[ {} ]", items.iter().map(backwards).collect::<Vec<_>>().join(", "))
        }
        leaf => leaf.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_t19_equal_objects_have_one_text(value in object()) {
        let text = canonical(&value.to_string()).unwrap();
        prop_assert_eq!(&text, &canonical(&backwards(&value)).unwrap());
        prop_assert_eq!(&text, &canonical(&serde_json::to_string_pretty(&value).unwrap()).unwrap());
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "nothing is lost");
        prop_assert_eq!(&text, &canonical(&text).unwrap());
    }

    #[test]
    fn c_t19_other_objects_have_another_text(a in object(), b in object()) {
        prop_assume!(a != b);
        prop_assert_ne!(canonical(&a.to_string()), canonical(&b.to_string()));
    }

    #[test]
    fn c_t19_any_text_is_read_to_its_end(text in "[{}\\[\\]\",:a1\\\\ ]{0,12}") {
        let _ = canonical(&text);
    }
}

#[test]
fn c_t19_named_cases() {
    for (written, one) in [
        (
            r#" { "b" : [ 1 , 2.0 ] , "a" : { "d" : null , "c" : "x\/\u00e4" } } "#,
            r#"{"a":{"c":"x/ä","d":null},"b":[1,2.0]}"#,
        ),
        (r#"{"a":2,"a":1}"#, r#"{"a":2,"a":1}"#),
        (r#"{"\u0061":"\\\""}"#, r#"{"a":"\\\""}"#),
        ("{}", "{}"),
    ] {
        assert_eq!(canonical(written).as_deref(), Some(one));
    }
    for other in ["", "[]", "5", "{", r#"{"a":}"#] {
        assert_eq!(canonical(other), None, "{other}");
    }
}
