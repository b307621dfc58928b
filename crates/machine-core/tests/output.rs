//! Output on the way is kept up to a limit (V15, X10).
use machine_core::message::{Body, Part, keep_output};
use proptest::prelude::*;

fn part() -> impl Strategy<Value = Part> {
    let text = "[a-zü€]{0,9}".prop_map(|text| Part::text(text.as_str()));
    let image = Just(Part::from(Body::Media { kind: "image/png".into(), at: "file:a.png".into() }));
    prop_oneof![3 => text, 1 => image]
}

/// Characters, and whatever is no text as one.
fn units<'p>(parts: impl IntoIterator<Item = &'p Part>) -> Vec<Option<char>> {
    let each = |part: &'p Part| match part.as_text() {
        Some(text) => text.chars().map(Some).collect(),
        None => vec![None],
    };
    parts.into_iter().flat_map(each).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The first of it, in order, whatever pieces it came in; and it is known whether that is all.
    #[test]
    fn c_v15_the_first_of_the_output_is_kept(
        pieces in prop::collection::vec(prop::collection::vec(part(), 0..5), 0..5),
        limit in 0..30usize,
    ) {
        let (mut kept, mut chars) = (Vec::new(), 0);
        for (n, piece) in pieces.iter().enumerate() {
            let before = units(pieces[..n].iter().flatten()).len();
            let whole = keep_output(&mut kept, &mut chars, piece, limit);
            let all = before + units(piece).len();
            prop_assert_eq!(whole, all <= limit || units(piece).is_empty());
            prop_assert_eq!(chars, all.min(limit));
        }
        let all = units(pieces.iter().flatten());
        prop_assert_eq!(units(&kept), &all[..all.len().min(limit)]);
        prop_assert!(kept.iter().all(|part| part.as_text() != Some("")), "no part is empty");
    }
}
