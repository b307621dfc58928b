//! What a host keeps for its finalizer: all that an execution brought, of which the engine learns nothing (C11, X10).
use std::sync::Arc;

use machine_adapter::kept::Kept;
use machine_core::ask::Executed;
use machine_core::ids::CallId;
use machine_core::message::{Body, Content, Part, text_content};
use machine_core::outcome::{ErrorCode, Outcome, SkipCode, ToolResult};
use proptest::prelude::*;

const CALL: CallId = CallId { branch: 1, turn: 1, step: 1, index: 0 };
const OTHER: CallId = CallId { index: 1, ..CALL };

fn part() -> impl Strategy<Value = Part> {
    let text = "[a-zü€]{0,9}".prop_map(|text| Part::text(text.as_str()));
    let image = Just(Part::from(Body::Media { kind: "image/png".into(), at: "file:a.png".into() }));
    prop_oneof![3 => text, 1 => image]
}

fn content() -> impl Strategy<Value = Content> {
    prop::collection::vec(part(), 0..6).prop_map(Content::from)
}

/// Characters, and whatever is no text as one.
fn units<'p>(parts: impl IntoIterator<Item = &'p Part>) -> Vec<Option<char>> {
    let each = |part: &'p Part| match part.as_text() {
        Some(text) => text.chars().map(Some).collect(),
        None => vec![None],
    };
    parts.into_iter().flat_map(each).collect()
}

/// How an execution may end: what its finalizer gets beside what it had said, and whether that is an error.
fn ends() -> impl Strategy<Value = (Executed, Content, bool)> {
    let done =
        (content(), any::<[bool; 2]>(), any::<bool>()).prop_map(|(output, [is_error, fatal], stops)| {
            let stop_turn = stops.then(|| "done".into());
            let result =
                ToolResult { output: output.to_vec(), is_error, fatal, stop_turn, ..ToolResult::default() };
            (Executed::Done(Arc::new(result)), output, is_error)
        });
    prop_oneof![
        3 => done,
        1 => Just((Executed::Panicked("at a line".into()), text_content("at a line"), true)),
        1 => Just((Executed::Malformed("no JSON".into()), text_content("no JSON"), true)),
        1 => Just((Executed::Nothing, Content::default(), true)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Pieces are kept up to the limit, in order, and told apart by their call. They go before what a failed or stopped
    /// execution brings at its end; a result that came in time stands for itself. The engine hears how it ended, and no
    /// word of the output.
    #[test]
    fn c_c11_x10_the_finalizer_gets_it_all_and_the_engine_nothing(
        pieces in prop::collection::vec(content(), 0..5),
        limit in 0..30usize,
        (end, brought, is_error) in ends(),
        stopped in any::<bool>(),
    ) {
        let mut kept = Kept::default();
        for piece in &pieces {
            kept.output(CALL, piece, limit);
            kept.output(OTHER, &text_content("of another call"), limit);
        }
        let told = kept.executed(CALL, end.clone(), stopped);
        let result = kept.take(CALL, &Outcome::Unknown, None).expect("it brought something");

        let so_far: Vec<_> = units(pieces.iter().flat_map(|piece| piece.iter())).into_iter().take(limit).collect();
        let in_time = matches!(end, Executed::Done(_)) && !(stopped && is_error);
        let wanted = if in_time { units(&*brought) } else { [so_far, units(&*brought)].concat() };
        prop_assert_eq!(units(&*result.output), wanted);
        prop_assert_eq!(result.is_error, is_error);

        let silent = match (&end, &told) {
            (Executed::Done(end), Executed::Done(told)) => {
                let bare = ToolResult { is_error: end.is_error, fatal: end.fatal, ..ToolResult::default() };
                prop_assert_eq!((result.fatal, &result.stop_turn), (end.fatal, &end.stop_turn));
                *told == Arc::new(ToolResult { stop_turn: end.stop_turn.clone(), ..bare })
            }
            (Executed::Panicked(_), Executed::Panicked(told)) => told.is_empty(),
            (Executed::Malformed(_), Executed::Malformed(told)) => told.is_empty(),
            (Executed::Nothing, Executed::Nothing) => true,
            _ => false,
        };
        prop_assert!(silent, "{end:?} was told as {told:?}");
        prop_assert_eq!(kept.take(CALL, &Outcome::Ok, None), None, "it is given once");
    }
}

/// What is asked about goes to the finalizer as it is; of what never ran there is nothing to lose, and what ran in a
/// process that died is gone.
#[test]
fn c_c11_what_was_not_kept() {
    let asked = Arc::new(ToolResult::text("of a hook"));
    let nothing = Some(ToolResult::default());
    let cancelled = Outcome::Cancelled { may_have_run: true };
    for (outcome, wanted) in [
        (Outcome::Ok, None),
        (Outcome::error(ErrorCode::Failed), None),
        (Outcome::skipped(SkipCode::Limit), nothing.clone()),
        (Outcome::Unknown, nothing.clone()),
        (cancelled, nothing),
    ] {
        let mut kept = Kept::default();
        assert_eq!(kept.take(CALL, &outcome, None), wanted, "{outcome:?}");
        assert_eq!(kept.take(CALL, &outcome, Some(&asked)).as_ref(), Some(&*asked), "{outcome:?}");
        kept.executed(CALL, Executed::Done(Arc::new(ToolResult::text("kept"))), false);
        assert_eq!(
            kept.take(OTHER, &outcome, None),
            Kept::default().take(OTHER, &outcome, None),
            "another's"
        );
        kept.forget();
        assert_eq!(kept.take(CALL, &outcome, None), Kept::default().take(CALL, &outcome, None), "forgotten");
    }
}
