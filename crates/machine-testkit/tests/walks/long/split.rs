//! A long run whose streams come letter by letter is the same run (E03, M01).
use std::sync::Arc;

use machine_adapter::{Engine, Out};
use machine_core::ask::Piece;
use machine_core::event::Event;
use machine_core::input::{Command, Input, Submit};
use machine_core::response::ModelEvent;
use machine_testkit::engine::long::LongRun;
use proptest::prelude::*;

use super::{Beside, INPUTS, begin, picks, play};
use crate::cases;

/// The engine that gets letters.
struct Split(Engine);

impl Split {
    fn feed(&mut self, at: u64, input: &Input) -> Result<Vec<Event>, String> {
        let mut out = Out::default();
        self.0.feed(at, input, &mut out).map_err(|error| error.to_string())?;
        Ok(out.events.into_iter().filter(Event::is_durable).collect())
    }
}

impl Beside for Split {
    fn after(&mut self, run: &LongRun, input: &Input, events: &[Event]) -> Result<(), String> {
        let mut found = Vec::new();
        for letter in letters(input) {
            found.extend(self.feed(run.now(), &letter)?);
        }
        let durable = events.iter().filter(|event| event.is_durable());
        match durable.eq(&found) && self.0 == *run.engine() {
            true => Ok(()),
            false => Err(format!("E03: letter by letter it is another run: {found:?}")),
        }
    }
}

/// What only lengthens a text, letter by letter; anything else as it is.
fn letters(input: &Input) -> Vec<Input> {
    let Input::Piece { ask, piece: Piece::Model(event) } = input else { return vec![input.clone()] };
    let (text, event): (_, &dyn Fn(_) -> ModelEvent) = match event {
        ModelEvent::Text(text) => (text, &ModelEvent::Text),
        ModelEvent::Thinking { text, signature: None } => {
            (text, &|text| ModelEvent::Thinking { text, signature: None })
        }
        ModelEvent::CallArgs { index, piece } => {
            (piece, &|piece| ModelEvent::CallArgs { index: *index, piece })
        }
        _ => return vec![input.clone()],
    };
    let letters = text.chars().map(|letter| event(letter.to_string().into()));
    letters.map(|event| Input::Piece { ask: *ask, piece: Piece::Model(event) }).collect()
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn e03_long_runs_are_the_same_letter_by_letter(picks in picks()) {
        let (mut settings, draw) = begin(&picks);
        // What is too much is dropped by the piece, and an abort keeps what came before.
        settings.config.turn.response_bytes = 16 << 20;
        settings.habits.configures = false;
        let mut split = Split(Engine::new(1, Arc::new(settings.config.clone())).expect("a sound start"));
        split.feed(0, &Command::Submit(Submit::text("first", "go")).into()).expect("the first prompt");
        play(LongRun::new(settings).expect("a sound start"), draw, INPUTS, &mut split)?;
    }
}
