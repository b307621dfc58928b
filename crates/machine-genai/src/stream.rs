//! From a stream to events of the engine, and how it ended.
//!
//! Success needs an end with a stop reason. The first error is the end, whatever comes after it.
use std::future::poll_fn;
use std::pin::Pin;

use futures_core::Stream;
use genai::adapter::AdapterKind;
use genai::chat::{ChatStream, ChatStreamEvent, StopReason};
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use machine_host::ModelOut;

use crate::calls::Calls;
use crate::content::signed;
use crate::frames::{Frames, Piece, Said, Seen};
use crate::{failure, finish, tool_name};

/// Reads a stream to its end.
pub async fn read(
    mut stream: ChatStream,
    frames: &Frames,
    kind: AdapterKind,
    out: &ModelOut,
) -> Result<Finished, ModelError> {
    let mut reader = Reader::new(frames, kind, out);
    loop {
        let event = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
        let told = match event {
            // It comes before the request is sent, and a sign of life is no part of an answer (M13).
            Some(Ok(ChatStreamEvent::Start | ChatStreamEvent::Heartbeat)) => Ok(()),
            Some(Ok(ChatStreamEvent::End(_))) | None => {
                return match reader.tell().await {
                    Ok(()) => reader.end().await,
                    Err(error) => Err(reader.spent(error)),
                };
            }
            Some(Ok(_)) => reader.tell().await,
            Some(Err(error)) => match failure::of(error) {
                Some(error) => Err(error),
                // What the library cannot read in a frame is read all the same, or was found to be an error.
                None => reader.tell().await,
            },
        };
        told.map_err(|error| reader.spent(error))?;
    }
}

struct Reader<'r> {
    frames: &'r Frames,
    kind: AdapterKind,
    out: &'r ModelOut,
    calls: Calls,
    message_id: Option<String>,
    usage: Option<Usage>,
    first_token_ms: Option<u64>,
    has_begun: bool,
}

impl<'r> Reader<'r> {
    fn new(frames: &'r Frames, kind: AdapterKind, out: &'r ModelOut) -> Self {
        Self {
            frames,
            kind,
            out,
            calls: Calls::default(),
            message_id: None,
            usage: None,
            first_token_ms: None,
            has_begun: false,
        }
    }

    /// Passes on what the frames said.
    async fn tell(&mut self) -> Result<(), ModelError> {
        let (id, usage) = {
            let seen = self.frames.seen();
            broken(&seen)?;
            let said = Some(seen.elapsed_ms).filter(|_| !seen.said.is_empty());
            self.first_token_ms = self.first_token_ms.or(said);
            (seen.message_id.clone(), seen.usage)
        };
        if !self.has_begun {
            self.has_begun = true;
            self.out.event(ModelEvent::Started { request_id: None }).await;
        }
        if let Some(id) = id.filter(|id| self.message_id.as_ref() != Some(id)) {
            self.out.event(ModelEvent::MessageId(id.as_str().into())).await;
            self.message_id = Some(id);
        }
        if let Some(usage) = usage.filter(|usage| self.usage != Some(*usage)) {
            self.usage = Some(usage);
            self.out.usage(usage).await;
        }
        loop {
            let said = self.frames.seen().said.pop_front();
            match said {
                None => return Ok(()),
                Some(Said::Text(text)) => self.out.text(text).await,
                Some(Said::Thinking(text)) => self.out.thinking(text).await,
                Some(Said::Signature(own)) => {
                    let signature = Some(signed(self.kind, &own));
                    self.out.event(ModelEvent::Thinking { text: "".into(), signature }).await;
                }
                Some(Said::Media(kind, data)) => {
                    let at = format!("data:{kind};base64,{data}").into();
                    self.out.event(ModelEvent::Media { kind: kind.into(), at }).await;
                }
                Some(Said::Piece(piece)) => {
                    let tool = piece.tool.map(|sent| tool_name::own(self.kind, sent));
                    self.calls.piece(Piece { tool, ..piece }, self.out).await?;
                }
            }
        }
    }

    /// Whether it is whole. A page or a whole body in place of a stream has no frame at all.
    async fn end(&mut self) -> Result<Finished, ModelError> {
        self.calls.end(self.out).await;
        let seen = self.frames.seen();
        let (finish, raw) = match (&seen.stop, &seen.withheld) {
            (Some(stop), withheld) if seen.has_end => {
                finish::of(&StopReason::from(stop.clone()), withheld.as_deref())
            }
            (None, Some(raw)) if seen.has_end => (Finish::Filtered, raw.clone()),
            _ => {
                let why = match seen.has_begun {
                    true => "the stream broke off before its end",
                    false => "the answer is empty, or no stream of events: the base URL may be wrong",
                };
                return Err(self.spent_by(&seen, ModelError::new(Failure::StreamCut, why)));
            }
        };
        Ok(Finished { finish, raw: Some(raw.into()), usage: seen.usage, first_token_ms: self.first_token_ms })
    }

    /// What was spent by then is booked all the same (U01).
    fn spent(&self, error: ModelError) -> ModelError {
        self.spent_by(&self.frames.seen(), error)
    }

    fn spent_by(&self, seen: &Seen, error: ModelError) -> ModelError {
        ModelError { usage: error.usage.or(seen.usage), ..error }
    }
}

/// What ends a stream whatever else it says.
fn broken(seen: &Seen) -> Result<(), ModelError> {
    match (&seen.error, &seen.lost) {
        (Some(error), _) => Err(failure::of_body(error)),
        (None, Some((kind, lost))) => Err(ModelError::new(*kind, format!("the stream has {lost}"))),
        (None, None) => Ok(()),
    }
}
