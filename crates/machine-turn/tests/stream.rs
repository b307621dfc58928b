//! Any stream against the rule of M01, in any pieces and any interleaving.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
mod common;
mod words;

use std::sync::Arc;

use common::*;
use machine_core::event::Event as Report;
use machine_core::machine::Step;
use machine_core::response::{Finish, ModelEvent};
use machine_turn::Signal;
use proptest::prelude::*;
use words::*;

/// What the rule says, in a list of calls and a list of blocks.
#[derive(Default)]
struct Naive {
    blocks: Vec<String>,
    /// Index, id, tool, arguments and place of each call, in the order in which they were opened.
    calls: Vec<(u32, String, String, String, usize)>,
    last: Last,
}

/// What the last block is.
#[derive(Default, PartialEq)]
enum Last {
    #[default]
    Other,
    Text,
    Unsigned,
}

impl Naive {
    fn add(&mut self, event: &ModelEvent) -> bool {
        match event {
            ModelEvent::Text(piece) | ModelEvent::Thinking { text: piece, signature: None }
                if piece.is_empty() => {}
            ModelEvent::Text(piece) if self.last == Last::Text => self.extend(piece),
            ModelEvent::Text(piece) => self.open(format!("text {piece}"), Last::Text),
            ModelEvent::Thinking { text, signature } => {
                if self.last == Last::Unsigned {
                    self.extend(text);
                } else {
                    self.open(format!("thinking {text}"), Last::Unsigned);
                }
                if let Some(signature) = signature {
                    self.extend(&format!(" signed {signature}"));
                    self.last = Last::Other;
                }
            }
            ModelEvent::Media { kind, at } => self.open(format!("media {kind} {at}"), Last::Other),
            ModelEvent::CallStart { index, id, tool } => {
                let known = self.calls.iter().rev().find(|call| call.0 == *index);
                if known.is_none_or(|call| !id.is_empty() && call.1 != **id) {
                    self.calls.push((
                        *index,
                        id.to_string(),
                        tool.to_string(),
                        String::new(),
                        self.blocks.len(),
                    ));
                    self.open(String::new(), Last::Other);
                }
            }
            ModelEvent::CallArgs { index, piece } => {
                let known = self.calls.iter().rposition(|call| Some(call.0) == *index);
                let Some(at) = known.or(self.calls.len().checked_sub(1)) else { return false };
                self.calls[at].3 += piece;
            }
            ModelEvent::Started { .. } | ModelEvent::Usage(_) | ModelEvent::MessageId(_) => {}
        }
        true
    }

    fn extend(&mut self, piece: &str) {
        self.blocks.last_mut().unwrap().push_str(piece);
    }

    fn open(&mut self, block: String, last: Last) {
        self.blocks.push(block);
        self.last = last;
    }

    fn response(mut self) -> Vec<String> {
        for (_, id, tool, args, at) in self.calls {
            self.blocks[at] = format!("call {id} {tool} {args}");
        }
        self.blocks
    }
}

fn event() -> impl Strategy<Value = ModelEvent> {
    let id = prop::sample::select(vec!["", "a", "b"]);
    let piece = "[xyä]{0,3}";
    prop_oneof![
        3 => piece.prop_map(|piece| text(&piece)),
        3 => (piece, prop::option::weighted(0.3, Just("s"))).prop_map(|(piece, signed)| thinking(&piece, signed)),
        3 => (0..3u32, id).prop_map(|(index, id)| start(index, id)),
        4 => (prop::option::of(0..4u32), piece).prop_map(|(index, piece)| args(index, &piece)),
        1 => Just(ModelEvent::Media { kind: "k".into(), at: "x".into() }),
        1 => Just(ModelEvent::Usage(usage(1))),
        1 => Just(ModelEvent::Started { request_id: Some("r".into()) }),
    ]
}

/// The same event in pieces, none of them empty.
fn split(event: &ModelEvent, at: usize) -> Vec<ModelEvent> {
    let halves = |text: &str| -> Option<(Arc<str>, Arc<str>)> {
        let inner: Vec<_> = text.char_indices().map(|(at, _)| at).skip(1).collect();
        let (head, tail) = text.split_at(*inner.get(at % inner.len().max(1))?);
        Some((head.into(), tail.into()))
    };
    let pieces = match event {
        ModelEvent::Text(text) => halves(text).map(|(a, b)| vec![ModelEvent::Text(a), ModelEvent::Text(b)]),
        ModelEvent::Thinking { text, signature } => halves(text).map(|(a, b)| {
            let [a, b] = [(a, None), (b, signature.clone())];
            [a, b].map(|(text, signature)| ModelEvent::Thinking { text, signature }).into()
        }),
        ModelEvent::CallArgs { index, piece } => halves(piece)
            .map(|(a, b)| [a, b].map(|piece| ModelEvent::CallArgs { index: *index, piece }).into()),
        _ => None,
    };
    pieces.unwrap_or_else(|| vec![event.clone()])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_m01_the_response_is_what_the_rule_says(events in prop::collection::vec(event(), 0..25)) {
        let (mut turn, mut naive) = (Driven::default_turn(), Naive::default());
        for event in &events {
            let fits = naive.add(event);
            prop_assert_eq!(turn.model(event.clone()) != Step::Ignored, fits, "{:?}", event);
        }
        turn.text("end");
        naive.add(&text("end"));
        turn.finish(Finish::ToolUse);
        prop_assert_eq!(shown(&turn.responses()[0].blocks), naive.response());
    }

    /// However the stream is cut into pieces, the response and what follows from it are the same.
    #[test]
    fn c_m01_pieces_do_not_matter(
        events in prop::collection::vec(event(), 0..20),
        cuts in prop::collection::vec(0..4usize, 60),
        finish in prop::sample::select(vec![Finish::EndTurn, Finish::ToolUse, Finish::MaxTokens, Finish::Other]),
    ) {
        let mut cuts = cuts.into_iter();
        let mut again = |events: &[ModelEvent]| -> Vec<_> {
            events.iter().flat_map(|event| split(event, cuts.next().unwrap_or(0))).collect()
        };
        let once = again(&events);
        let twice = again(&once);
        let run = |events: &[ModelEvent]| {
            let mut turn = Driven::default_turn();
            turn.stream(events);
            turn.finish(finish);
            turn.signals.retain(|signal| !matches!(signal, Signal::Report(Report::Delta { .. })));
            (turn.turn, turn.signals)
        };
        let whole = run(&events);
        prop_assert_eq!(&run(&once), &whole);
        prop_assert_eq!(&run(&twice), &whole);
    }

    /// The pieces of several calls may come in any order among each other.
    #[test]
    fn c_m01_any_interleaving_gives_the_same_calls(
        all in prop::collection::vec(prop::collection::vec("[xy]{1,2}", 0..5), 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 20),
    ) {
        let mut events: Vec<_> = (0..all.len()).map(|i| start(u32::try_from(i).unwrap(), &format!("c{i}"))).collect();
        let mut left: Vec<_> = all.iter().map(|pieces| pieces.iter()).collect();
        for index in order.iter().cycle() {
            let waiting: Vec<_> = (0..left.len()).filter(|i| left[*i].len() > 0).collect();
            let Some(at) = (!waiting.is_empty()).then(|| waiting[index.index(waiting.len())]) else { break };
            events.extend(left[at].next().map(|piece| args(Some(u32::try_from(at).unwrap()), piece)));
        }
        let want: Vec<_> = all.iter().enumerate().map(|(i, pieces)| format!("call c{i} t {}", pieces.concat())).collect();
        prop_assert_eq!(response(&events), want);
    }
}
