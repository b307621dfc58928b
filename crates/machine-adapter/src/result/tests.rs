//! What the model reads of a result.
use alloc::vec;

use expect_test::expect;
use machine_core::ask::{By, Cause};
use machine_core::outcome::SkipCode;
use proptest::prelude::*;

use super::*;

fn media() -> Part {
    Body::Media { kind: "image/png".into(), at: "sha:1".into() }.into()
}

fn thinking() -> Part {
    Body::Thinking { text: "hm".into(), signature: None }.into()
}

fn settled(outcome: Outcome, result: Option<ToolResult>) -> Settlement {
    Settlement { outcome, result: result.map(Arc::new), cause: None }
}

fn ok(output: Vec<Part>) -> Settlement {
    settled(Outcome::Ok, Some(ToolResult { output, ..ToolResult::default() }))
}

/// One line a part.
fn shown(content: &Content) -> String {
    let part = |part: &Part| match &part.body {
        Body::Text(text) => format!("{text:?}\n"),
        Body::Media { kind, .. } => format!("<{kind}>\n"),
        other => format!("{other:?}\n"),
    };
    content.iter().map(part).collect()
}

fn read(settlements: &[Settlement], limit: usize) -> String {
    let all: Vec<_> = settlements.iter().map(|settlement| shown(&content(settlement, limit))).collect();
    all.join("--\n")
}

const LIMIT: usize = 20;

#[test]
fn c_v11_a_result_is_never_empty() {
    let blank = || Part::text(" \n\u{a0}");
    let outputs = [
        vec![],
        vec![Part::text("")],
        vec![blank(), blank()],
        vec![media()],
        vec![media(), blank(), media()],
    ];
    let all: Vec<_> = outputs.map(ok).into_iter().chain([settled(Outcome::Ok, None)]).collect();
    expect![[r#"
        "The tool ran and returned no output."
        --
        "The tool ran and returned no output."
        --
        "The tool ran and returned no output."
        --
        "The tool returned media."
        <image/png>
        --
        "The tool returned media."
        <image/png>
        <image/png>
        --
        "The tool ran and returned no output."
    "#]]
    .assert_eq(&read(&all, LIMIT));
    expect![[r#"
        <image/png>
        "two cats"
    "#]]
    .assert_eq(&read(&[ok(vec![media(), Part::text("two cats")])], LIMIT));
}

/// Who did what was asked, or failed with words of its own, is not talked over; everything else is explained.
#[test]
fn c_v12_an_outcome_is_explained_before_its_output() {
    let with = |outcome: Outcome, text: &str| settled(outcome, Some(ToolResult::error(text)));
    let failed = || Outcome::error(ErrorCode::Failed);
    let failed_with_media = ToolResult { is_error: true, output: vec![media()], ..ToolResult::default() };
    let cause = Some(Arc::new(Cause { by: By::User, reason: Some("enough".into()) }));
    let all = [
        with(failed(), "no such file"),
        with(failed(), " "),
        settled(failed(), Some(failed_with_media)),
        with(Outcome::error(ErrorCode::UnknownTool), "no `x`"),
        with(Outcome::skipped(SkipCode::Hook), "not here"),
        with(Outcome::Cancelled { may_have_run: true }, "half of it"),
        Settlement { cause, ..Settlement::bare(Outcome::Cancelled { may_have_run: true }) },
        with(Outcome::Unknown, "half of it"),
    ];
    expect![[r#"
        "no such file"
        --
        "The tool failed."
        --
        "The tool failed."
        <image/png>
        --
        "There is no tool of this name."
        "no `x`"
        --
        "Not run: a check before this call left it out."
        "not here"
        --
        "This call was cancelled. Whether it had an effect is not known: check before you repeat it."
        "half of it"
        --
        "The user cancelled this call on purpose. Reason: enough. Whether it had an effect is not known: check before you repeat it."
        --
        "The execution of this call was lost; its outcome is not known. Check its effects before you repeat it."
        "half of it"
    "#]].assert_eq(&read(&all, LIMIT));
}

#[test]
fn c_v15_head_marker_tail() {
    let text = |text: &str| ok(vec![Part::text(text)]);
    let all =
        [text("12345678901234567890"), text("123456789012345678901"), text("äöüßäöüßäöüßäöüßäöüß€€€€€€€€€€")];
    expect![[r#"
        "12345678901234567890"
        --
        "123456789012345\n[1 characters left out.]\n78901"
        --
        "äöüßäöüßäöüßäöü\n[10 characters left out.]\n€€€€€"
    "#]]
    .assert_eq(&read(&all, LIMIT));
    expect![[r#"
        "\n[3 characters left out.]\n"
    "#]]
    .assert_eq(&read(&[text("abc")], 0));
    expect![[r#"
        "a\n[2 characters left out.]\n"
    "#]]
    .assert_eq(&read(&[text("abc")], 1));
    expect![[r#"
        "abc\n[6 characters left out.]\nj"
    "#]]
    .assert_eq(&read(&[text("abcdefghij")], 4));
}

/// Parts are counted together; media is not counted and stays.
#[test]
fn c_v15_parts_are_cut_as_one_text() {
    let parts = vec![Part::text("1234567890"), media(), Part::text("1234567890"), Part::text("x")];
    let with = |change: &dyn Fn(&mut ToolResult)| {
        let mut result = ToolResult { output: parts.clone(), ..ToolResult::default() };
        change(&mut result);
        settled(Outcome::Ok, Some(result))
    };
    let all = [
        with(&|_| {}),
        with(&|result| result.spill = Some("out/1.txt".into())),
        with(&|result| result.keep_whole = true),
    ];
    expect![[r#"
        "123456789012345\n[1 characters left out.]\n7890x"
        <image/png>
        --
        "123456789012345\n[1 characters left out. The full output is at out/1.txt.]\n7890x"
        <image/png>
        --
        "1234567890"
        <image/png>
        "1234567890"
        "x"
    "#]]
    .assert_eq(&read(&all, LIMIT));
}

/// The note stands last, whole, and is not counted.
#[test]
fn c_v14_the_note_stands_after_the_output() {
    let noted = |outcome, output| {
        let note = Some("a note that is longer than the limit".into());
        settled(outcome, Some(ToolResult { output, note, ..ToolResult::default() }))
    };
    let all = [
        noted(Outcome::Ok, vec![Part::text("12345678901234567890")]),
        noted(Outcome::Ok, vec![Part::text("123456789012345678901")]),
        noted(Outcome::Ok, vec![]),
        noted(Outcome::Ok, vec![media()]),
        noted(Outcome::Unknown, vec![]),
    ];
    expect![[r#"
        "12345678901234567890"
        "a note that is longer than the limit"
        --
        "123456789012345\n[1 characters left out.]\n78901"
        "a note that is longer than the limit"
        --
        "The tool ran and returned no output."
        "a note that is longer than the limit"
        --
        "The tool returned media."
        <image/png>
        "a note that is longer than the limit"
        --
        "The execution of this call was lost; its outcome is not known. Check its effects before you repeat it."
        "a note that is longer than the limit"
    "#]].assert_eq(&read(&all, LIMIT));
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        4 => "[aä€😀 \n]{0,12}".prop_map(Part::text),
        1 => Just(media()),
    ]
}

fn text_of_all(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_v15_nothing_is_longer_than_allowed(
        parts in prop::collection::vec(part(), 0..6),
        limit in 0..30usize,
        (keep_whole, noted, spilled) in any::<(bool, bool, bool)>(),
    ) {
        let note = noted.then(|| "note".into());
        let spill = spilled.then(|| "there".into());
        let result = ToolResult { output: parts.clone(), note, keep_whole, spill, ..ToolResult::default() };
        let content = content(&settled(Outcome::Ok, Some(result)), limit);
        let said = text_of_all(&content);
        prop_assert!(!said.trim().is_empty(), "V11: there is always something to read");
        prop_assert!(content.iter().all(|part| part.as_text().is_none_or(|text| !text.trim().is_empty())));
        prop_assert_eq!(content.last() == Some(&Part::text("note")), noted);
        let media = |parts: &[Part]| parts.iter().filter(|part| part.as_text().is_none()).count();
        prop_assert_eq!(media(&content), media(&parts), "media stays");

        let whole = text_of_all(&parts);
        let length = whole.chars().count();
        let cut = length > limit && !keep_whole;
        prop_assert_eq!(said.contains("characters left out."), cut);
        prop_assert_eq!(said.contains("The full output is at there."), cut && spilled);
        let marker = said.split_once("\n[").and_then(|(head, rest)| Some((head, rest.split_once("]\n")?)));
        if cut {
            let (head, (marker, tail)) = marker.unwrap();
            let tail = if noted { tail.strip_suffix("note").unwrap() } else { tail };
            prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
            prop_assert_eq!(head.chars().count() + tail.chars().count(), limit, "all that is allowed");
            let left_out = format!("{} characters left out.", length - limit);
            prop_assert!(marker.starts_with(&left_out), "{}", marker);
        } else if !whole.trim().is_empty() {
            let kept: String = parts.iter().filter_map(Part::as_text).filter(|text| !text.trim().is_empty()).collect();
            prop_assert_eq!(said, kept + if noted { "note" } else { "" });
        }
    }

    /// Whatever the outcome and whatever came, there is something to read (V11).
    #[test]
    fn c_v11_every_outcome_says_something(which in 0..30usize, parts in prop::option::of(prop::collection::vec(part(), 0..3)), limit in 0..10usize) {
        let outcomes = [
            Outcome::Ok,
            Outcome::error(ErrorCode::Failed),
            Outcome::error(ErrorCode::NoResult),
            Outcome::Denied { reason: "".into() },
            Outcome::skipped(SkipCode::Abort),
            Outcome::Cancelled { may_have_run: false },
            Outcome::TimedOut { may_have_run: true },
            Outcome::Unknown,
        ];
        let outcome = outcomes[which % outcomes.len()].clone();
        let result = parts.map(|output| ToolResult { output, ..ToolResult::default() });
        let content = content(&settled(outcome.clone(), result), limit);
        prop_assert!(content.iter().any(|part| part.as_text().is_some_and(|text| !text.trim().is_empty())));
        // Only these two may go without their wording.
        if !matches!(outcome, Outcome::Ok | Outcome::Error { code: ErrorCode::Failed }) {
            prop_assert_eq!(content.first(), Some(&Part::text(outcome.wording(None))));
        }
    }
}

#[test]
fn c_v11_an_empty_note_is_none() {
    for note in ["", " "] {
        let result = ToolResult { note: Some(note.into()), ..ToolResult::text("x") };
        assert_eq!(content(&settled(Outcome::Ok, Some(result)), LIMIT).len(), 1);
    }
}

#[test]
fn c_v11_a_result_has_text_and_media_only() {
    let call = machine_core::ids::TurnId { branch: 1, turn: 1 }.step(1).call(9);
    let call = machine_core::message::ToolCall {
        id: call,
        wire: "w".into(),
        tool: "t".into(),
        args: "{}".into(),
        raw: None,
    };
    let content = content(&ok(vec![Body::Call(call).into(), thinking()]), LIMIT);
    assert_eq!(shown(&content), "\"The tool ran and returned no output.\"\n");
}
