//! A stream of a model, whole and in other pieces: the same response, history and durable events (E03, M01), within the
//! bounds (A24), and a history that passes its audit.
use std::sync::Arc;

use machine_adapter::{Engine, Out, default_answer};
use machine_core::ask::{Answer, By, Cause, Executed, Piece, Question, Subject};
use machine_core::config::{Config, OnCut, Salvage};
use machine_core::event::Event;
use machine_core::ids::AskId;
use machine_core::input::{Abort, Command, Input, Submit};
use machine_core::message::{Body, Entry};
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;

use crate::draw::{Bytes, Draw};

/// The most pieces of one stream.
const PIECES: usize = 200;

/// Inputs after which a turn that does not end is given up.
const PATIENCE: usize = 5_000;

/// How a stream ends.
#[derive(Clone, Debug)]
enum End {
    Answer(Answer),
    Lost,
    Abort,
}

/// Plays the stream that these bytes are.
///
/// # Errors
/// The rule that was broken, and how.
pub fn stream(bytes: &[u8]) -> Result<(), String> {
    let mut draw = Bytes(bytes);
    let config = config(&mut draw);
    let end = end(&mut draw);
    let mut events = Vec::new();
    while !draw.is_empty() && events.len() < PIECES {
        events.push(event(&mut draw));
    }
    let as_it_is = Played::of(&config, &events, &end)?;
    as_it_is.check(&config)?;
    // A piece that is too much is dropped whole: where the response is too large, what an abort keeps depends on pieces.
    if events.iter().map(size).sum::<usize>() > config.turn.response_bytes {
        return Ok(());
    }
    for other in [split(&events), merged(&events)] {
        let other = Played::of(&config, &other, &end)?;
        other.check(&config)?;
        if other.durable != as_it_is.durable {
            let differs = as_it_is.durable.iter().zip(&other.durable).find(|(one, other)| one != other);
            return Err(format!("E03: other pieces, other events: {differs:?}"));
        }
        if other.engine.history() != as_it_is.engine.history() {
            return Err("M01: other pieces, another history".into());
        }
    }
    Ok(())
}

fn config(draw: &mut Bytes<'_>) -> Config {
    let mut config = Config::default();
    let turn = &mut config.turn;
    turn.response_bytes = draw.one_of(&[16 << 20, 0, 1 << 10, 64]).max(1);
    turn.argument_bytes = draw.one_of(&[1 << 20, 0, 1 << 6, 8]).max(1);
    turn.calls = draw.one_of(&[1_024, 2, 1]);
    turn.truncated = 1 + draw.number(3);
    turn.on_cut = draw.one_of(&[OnCut::AskAgain, OnCut::End]);
    turn.run_calls_of_other = draw.flag();
    turn.empty = draw.number(3);
    turn.salvage = draw.one_of(&[Salvage::Keep, Salvage::Drop]);
    turn.max_tokens = draw.flag().then_some(100);
    config.retry.attempts = 1 + draw.number(3);
    config
}

fn end(draw: &mut Bytes<'_>) -> End {
    let finishes = [
        Finish::EndTurn,
        Finish::ToolUse,
        Finish::MaxTokens,
        Finish::Filtered,
        Finish::Suspended,
        Finish::Other,
    ];
    let failures = [
        Failure::StreamCut,
        Failure::RateLimit,
        Failure::ContextOverflow,
        Failure::InvalidRequest,
        Failure::Empty,
        Failure::TooLarge,
    ];
    match draw.below(4) {
        0 => {
            let usage = draw.flag().then(|| usage(draw));
            let finished = Finished { usage, ..Finished::new(draw.one_of(&finishes)) };
            End::Answer(Answer::Finished(Arc::new(finished)))
        }
        1 => {
            let usage = draw.flag().then(|| usage(draw));
            let error = ModelError { usage, ..ModelError::new(draw.one_of(&failures), "no") };
            End::Answer(Answer::AttemptFailed(Arc::new(error)))
        }
        2 => End::Lost,
        _ => End::Abort,
    }
}

fn usage(draw: &mut Bytes<'_>) -> Usage {
    let mut tokens = || draw.one_of(&[0, 1, 60, u64::MAX]);
    Usage { input: tokens(), output: tokens(), cached: tokens() }
}

fn event(draw: &mut Bytes<'_>) -> ModelEvent {
    let index = |draw: &mut Bytes<'_>| draw.one_of(&[0, 1, 2, u32::MAX]);
    let word = |draw: &mut Bytes<'_>| match draw.below(6) {
        0 => "run".into(),
        1 => "id__2".into(),
        2 => "".into(),
        3 => "x".repeat(70).into(),
        _ => draw.text(16),
    };
    match draw.below(9) {
        0 => ModelEvent::Text(draw.text(64)),
        1 => {
            let text = draw.text(64);
            ModelEvent::Thinking { text, signature: draw.flag().then(|| draw.text(16)) }
        }
        2 => ModelEvent::CallStart { index: index(draw), id: word(draw), tool: word(draw) },
        3 => ModelEvent::CallArgs { index: draw.flag().then(|| index(draw)), piece: draw.text(64) },
        4 => {
            let pieces = ["{", "}", "{}", "{\"a\":1}", "null", "[]", " ", "{\"a\":1,\"a\":2}", "1e999", "\""];
            ModelEvent::CallArgs {
                index: draw.flag().then(|| index(draw)),
                piece: draw.one_of(&pieces).into(),
            }
        }
        5 => ModelEvent::Media { kind: word(draw), at: word(draw) },
        6 => ModelEvent::Usage(usage(draw)),
        7 => ModelEvent::MessageId(word(draw)),
        _ => ModelEvent::Started { request_id: draw.flag().then(|| word(draw)) },
    }
}

/// What counts towards `response_bytes` at most.
fn size(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(text) | ModelEvent::MessageId(text) => text.len(),
        ModelEvent::Thinking { text, signature } => {
            text.len() + signature.as_ref().map_or(0, |text| text.len() + 1)
        }
        ModelEvent::CallStart { id, tool, .. } => id.len() + tool.len() + 1,
        ModelEvent::CallArgs { piece, .. } => piece.len(),
        ModelEvent::Media { kind, at } => kind.len() + at.len() + 1,
        ModelEvent::Started { .. } | ModelEvent::Usage(_) => 0,
    }
}

/// The same in the smallest pieces: a character each. The signature comes with the last one.
fn split(events: &[ModelEvent]) -> Vec<ModelEvent> {
    let letters = |text: &str| text.chars().map(|letter| letter.to_string().into()).collect::<Vec<_>>();
    let pieces = |event: &ModelEvent| match event {
        ModelEvent::Text(text) => letters(text).into_iter().map(ModelEvent::Text).collect(),
        ModelEvent::Thinking { text, signature } => {
            let mut all: Vec<_> = letters(text)
                .into_iter()
                .map(|text| ModelEvent::Thinking { text, signature: None })
                .collect();
            if signature.is_some() {
                let last = all.pop();
                let text = match last {
                    Some(ModelEvent::Thinking { text, .. }) => text,
                    _ => "".into(),
                };
                all.push(ModelEvent::Thinking { text, signature: signature.clone() });
            }
            all
        }
        ModelEvent::CallArgs { index, piece } => {
            letters(piece).into_iter().map(|piece| ModelEvent::CallArgs { index: *index, piece }).collect()
        }
        other => vec![other.clone()],
    };
    events.iter().flat_map(pieces).collect()
}

/// The same in the largest pieces.
fn merged(events: &[ModelEvent]) -> Vec<ModelEvent> {
    let mut all: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (all.last_mut(), event) {
            (Some(ModelEvent::Text(before)), ModelEvent::Text(more)) => {
                *before = [&**before, more].concat().into();
            }
            (
                Some(ModelEvent::Thinking { text, signature: signature @ None }),
                ModelEvent::Thinking { text: more, signature: end },
            ) => {
                *text = [&**text, more].concat().into();
                signature.clone_from(end);
            }
            (
                Some(ModelEvent::CallArgs { index: before, piece }),
                ModelEvent::CallArgs { index, piece: more },
            ) if before == index => {
                *piece = [&**piece, more].concat().into();
            }
            _ => all.push(event.clone()),
        }
    }
    all
}

/// A turn that began with the stream and went on to its end.
struct Played {
    engine: Engine,
    durable: Vec<Event>,
}

impl Played {
    fn of(config: &Config, events: &[ModelEvent], end: &End) -> Result<Self, String> {
        let engine = Engine::new(1, Arc::new(config.clone())).map_err(|error| error.to_string())?;
        let mut played = Self { engine, durable: Vec::new() };
        played.feed(&Command::Submit(Submit::text("p", "go")).into())?;
        let ask = played.attempt().ok_or("A04: a prompt leads to a request")?;
        for event in events {
            let piece = Input::Piece { ask, piece: Piece::Model(event.clone()) };
            let (before, strays) = (played.engine.clone(), played.feed(&piece)?);
            if strays > 0 && played.engine != before {
                return Err(format!("P17: a stray piece changes the engine: {event:?}"));
            }
        }
        let input = match end {
            End::Answer(answer) => Input::Answer { ask, answer: answer.clone() },
            End::Lost => Input::Lost { ask },
            End::Abort => Command::Abort(Arc::new(Abort { cause: Cause::by(By::User), target: None })).into(),
        };
        played.feed(&input)?;
        played.play_on()?;
        Ok(played)
    }

    fn attempt(&self) -> Option<AskId> {
        let is_attempt = |subject: &Subject| matches!(subject, Subject::Attempt(_));
        let open = self.engine.outstanding().find(|open| is_attempt(&open.ask.question.subject()))?;
        Some(open.ask.id)
    }

    /// Gives how many strays were reported.
    fn feed(&mut self, input: &Input) -> Result<usize, String> {
        let mut out = Out::default();
        self.engine.feed(0, input, &mut out).map_err(|error| format!("refused: {error}"))?;
        let strays = out.events.iter().filter(|event| matches!(event, Event::Stray { .. })).count();
        self.durable.extend(out.events.into_iter().filter(Event::is_durable));
        Ok(strays)
    }

    /// Every call succeeds, every further response says something.
    fn play_on(&mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            let Some(open) = self.engine.outstanding().next().cloned() else { return Ok(()) };
            let ask = open.ask.id;
            let input = match &open.ask.question {
                Question::Attempt { .. } => {
                    let piece = Piece::Model(ModelEvent::Text("done".into()));
                    self.feed(&Input::Piece { ask, piece })?;
                    let finished = Arc::new(Finished::new(Finish::EndTurn));
                    Input::Answer { ask, answer: Answer::Finished(finished) }
                }
                Question::Execute { .. } => {
                    let answer = Answer::Execute(Executed::Done(Arc::new(ToolResult::text("ok"))));
                    Input::Answer { ask, answer }
                }
                Question::Timer { .. } => Input::Answer { ask, answer: Answer::Fired },
                _ => default_answer(&open.ask).ok_or("H07: nobody can answer this")?,
            };
            self.feed(&input)?;
        }
        Err(format!("P9: {PATIENCE} inputs, and the turn does not end"))
    }

    /// History is sound and within its bounds, and the turn ended.
    fn check(&self, config: &Config) -> Result<(), String> {
        self.engine.history().audit().map_err(|error| format!("P2: {error}"))?;
        let ends = self.durable.iter().filter(|event| matches!(event, Event::TurnEnded(_))).count();
        if ends != 1 || !self.engine.is_idle() {
            return Err(format!("P7: the turn has {ends} ends"));
        }
        let sizes = self.engine.history().iter().map(|entry| said(entry));
        match sizes.max() {
            // Wire ids and names are legal texts of their own, the rest was streamed.
            Some(most) if most > config.turn.response_bytes.max(64) => {
                Err(format!("A24: an entry of {most} bytes"))
            }
            _ => Ok(()),
        }
    }
}

/// The bytes of an entry that a model streamed.
fn said(entry: &Entry) -> usize {
    let bytes = |body: &Body| match body {
        Body::Text(text) | Body::Thinking { text, .. } => text.len(),
        Body::Media { kind, at } => kind.len() + at.len(),
        Body::Call(call) => call.raw.as_ref().map_or(0, |raw| raw.args.len().min(500)),
    };
    match &entry.origin {
        machine_core::message::Origin::Model => {
            entry.message.content().iter().map(|part| bytes(&part.body)).sum()
        }
        _ => 0,
    }
}
