//! Only a JSON object is taken for arguments (V09).
use machine_core::history::is_object;
use proptest::prelude::*;
use serde_json::Value;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        // Short: one changed character must not make a number that is out of range.
        (-99..1_000i64).prop_map(Value::from),
        "[a\"\\\\{}\u{1}ü]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_v09_an_object_is_what_a_parser_takes_for_one(
        value in value(),
        (blank, pretty) in ("[ \n\t]{0,2}", any::<bool>()),
        (at, with) in (any::<prop::sample::Index>(), prop::option::of(prop::char::any())),
    ) {
        let json = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let json = blank.clone() + &json.unwrap() + &blank;
        prop_assert_eq!(is_object(&json), value.is_object(), "{}", json);
        // And with one character changed or gone.
        let mut chars: Vec<_> = json.chars().collect();
        let at = at.index(chars.len());
        chars.splice(at..=at, with);
        let broken: String = chars.into_iter().collect();
        let parsed = serde_json::from_str::<Value>(&broken).is_ok_and(|value| value.is_object());
        prop_assert_eq!(is_object(&broken), parsed, "{}", broken);
    }
}

#[test]
fn c_v09_named_cases() {
    for fine in ["{}", " {} ", "{\"a\":1}", "{\"a\":1,\"a\":2}", "{\"\\u00e4\":[]}", "{\"a\":-0.5e-3}"] {
        assert!(is_object(fine), "{fine}");
    }
    for bad in [
        "",
        " ",
        "5",
        "[]",
        "null",
        "\"{}\"",
        "{",
        "}",
        "{}{}",
        "{} x",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":01}",
        "{\"a\":1,}",
        "\u{feff}{}",
        "\u{a0}{}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":NaN}",
        "// c\n{}",
    ] {
        assert!(!is_object(bad), "{bad}");
    }
}

/// Deep nesting is refused before it takes much of a stack.
#[test]
fn c_v09_deep_nesting_does_not_overflow() {
    let deep = "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000);
    let small = std::thread::Builder::new().stack_size(512 << 10).spawn(move || is_object(&deep)).unwrap();
    assert_eq!(small.join().ok(), Some(false));
}

#[test]
fn c_v09_what_counts_as_an_object_can_be_read() {
    let deep = "{\"a\":".repeat(200) + "1" + &"}".repeat(200);
    for json in ["{\"a\":\"\\ud800\"}", "{\"a\":1e999}", &deep] {
        assert_eq!(is_object(json), serde_json::from_str::<Value>(json).is_ok(), "{json:.20}");
    }
}
