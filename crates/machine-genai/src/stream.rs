//! From the library's stream to events of the engine, and how it ended.
//!
//! Success needs an end with a stop reason. The first error is the end, whatever comes after it.
use std::future::poll_fn;
use std::pin::Pin;

use futures_core::Stream;
use genai::adapter::AdapterKind;
use genai::chat::{ChatStream, ChatStreamEvent, StreamEnd, ToolCall};
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use machine_host::ModelOut;

use crate::calls::Calls;
use crate::content::signed;
use crate::frames::{Frames, Piece, Seen, Untold};
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
        let done = match event {
            Some(Ok(ChatStreamEvent::End(end))) => reader.end(end).await.map(Some),
            Some(Ok(event)) => reader.event(event).await.map(|()| None),
            Some(Err(error)) => reader.failed(error),
            None => Err(cut(frames)),
        };
        match done {
            Ok(None) => {}
            Ok(Some(finished)) => return Ok(finished),
            Err(error) => return Err(reader.spent(error)),
        }
    }
}

/// It ended without saying how. A page or a whole body in place of a stream has no frame at all.
fn cut(frames: &Frames) -> ModelError {
    let seen = frames.seen();
    if let Some(error) = lost(&seen) {
        return error;
    }
    let (kind, why) = match (seen.has_begun, seen.has_end) {
        (_, true) => (Failure::Unknown, "the last frame has not all its fields"),
        (true, false) => (Failure::StreamCut, "the stream broke off before its end"),
        (false, false) => {
            (Failure::StreamCut, "the answer is empty, or no stream of events: the base URL may be wrong")
        }
    };
    ModelError::new(kind, why)
}

fn lost(seen: &Seen) -> Option<ModelError> {
    seen.lost.as_ref().map(|(kind, lost)| ModelError::new(*kind, format!("the stream has {lost}")))
}

struct Reader<'r> {
    frames: &'r Frames,
    kind: AdapterKind,
    out: &'r ModelOut,
    calls: Calls,
    /// A signature that came and was not passed on yet, with its block.
    proof: Option<(Option<u32>, String)>,
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
            proof: None,
            message_id: None,
            usage: None,
            first_token_ms: None,
            has_begun: false,
        }
    }

    async fn event(&mut self, event: ChatStreamEvent) -> Result<(), ModelError> {
        match event {
            // It comes before the request is sent, and a sign of life is no part of an answer (M13).
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat => return Ok(()),
            _ => self.tell_head().await?,
        }
        match event {
            ChatStreamEvent::Chunk(chunk) => {
                self.tell_proof().await;
                self.out.text(chunk.content).await;
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                // A block may begin with its proof, which stands behind the text all the same.
                let block = self.frames.seen().block;
                if block.is_none() || self.proof.as_ref().is_some_and(|(of, _)| *of != block) {
                    self.tell_proof().await;
                }
                self.out.thinking(chunk.content).await;
            }
            ChatStreamEvent::ThoughtSignatureChunk(chunk) => self.add_proof(chunk.content).await,
            ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call).await?,
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat | ChatStreamEvent::End(_) => {}
        }
        Ok(())
    }

    /// What the frames say besides: ids, tokens, and what would be lost without a word.
    async fn tell_head(&mut self) -> Result<(), ModelError> {
        if !self.has_begun {
            self.has_begun = true;
            self.out.event(ModelEvent::Started { request_id: None }).await;
        }
        let (id, usage) = {
            let seen = self.frames.seen();
            if let Some(error) = lost(&seen) {
                return Err(error);
            }
            self.first_token_ms = self.first_token_ms.or(Some(seen.elapsed_ms));
            (seen.message_id.clone(), seen.usage)
        };
        if let Some(id) = id.filter(|id| self.message_id.as_ref() != Some(id)) {
            self.out.event(ModelEvent::MessageId(id.as_str().into())).await;
            self.message_id = Some(id);
        }
        if let Some(usage) = usage.filter(|usage| self.usage != Some(*usage)) {
            self.usage = Some(usage);
            self.out.usage(usage).await;
        }
        loop {
            let untold = self.frames.seen().untold.pop_front();
            let Some(untold) = untold else { return Ok(()) };
            self.tell_proof().await;
            match untold {
                Untold::Text(text) => self.out.text(text).await,
                Untold::Proof(proof) => self.sign(signed(self.kind, &proof)).await,
                Untold::Media(kind, data) => {
                    let at = format!("data:{kind};base64,{data}").into();
                    self.out.event(ModelEvent::Media { kind: kind.into(), at }).await;
                }
                Untold::Piece(piece) => self.piece(piece).await?,
            }
        }
    }

    async fn piece(&mut self, piece: Piece) -> Result<(), ModelError> {
        let tool = piece.tool.map(|sent| tool_name::own(self.kind, sent));
        self.calls.piece(Piece { tool, ..piece }, self.out).await
    }

    /// Pieces of one block's signature are joined. Where blocks are not counted, each signature is whole.
    async fn add_proof(&mut self, piece: String) {
        let (is_of_call, block) = {
            let seen = self.frames.seen();
            (seen.signed_calls.contains(&piece), seen.block)
        };
        match self.proof.as_mut().filter(|(of, _)| of.is_some() && *of == block) {
            _ if is_of_call => {}
            Some((_, proof)) => proof.push_str(&piece),
            None => {
                self.tell_proof().await;
                self.proof = Some((block, piece));
            }
        }
    }

    async fn tell_proof(&mut self) {
        if let Some((_, proof)) = self.proof.take() {
            self.sign(signed(self.kind, &proof)).await;
        }
    }

    async fn sign(&self, signature: machine_core::Text) {
        let signature = Some(signature);
        self.out.event(ModelEvent::Thinking { text: "".into(), signature }).await;
    }

    /// Gemini signs calls. Such a signature is told right before its call.
    async fn call(&mut self, mut call: ToolCall) -> Result<(), ModelError> {
        self.tell_proof().await;
        for proof in call.thought_signatures.take().unwrap_or_default() {
            self.sign(signed(self.kind, &proof)).await;
        }
        let piece = self.frames.seen().pieces.pop_front();
        let lost = || ModelError::new(Failure::Unknown, "the stream has a call that stands in no frame");
        self.piece(piece.ok_or_else(lost)?).await
    }

    async fn end(&mut self, end: StreamEnd) -> Result<Finished, ModelError> {
        self.tell_head().await?;
        self.tell_proof().await;
        let usage = end.captured_usage.as_ref().and_then(finish::usage);
        self.usage = usage.or(self.usage);
        let Some(reason) = end.captured_stop_reason else {
            let error = self.frames.seen().error.take();
            return Err(error.map_or_else(|| cut(self.frames), |error| failure::of_body(&error)));
        };
        let (has_late_proofs, withheld) = {
            let seen = self.frames.seen();
            (seen.has_late_proofs && !seen.has_proofs, seen.withheld.clone())
        };
        let content = end.captured_content.filter(|_| has_late_proofs).unwrap_or_default();
        for proof in content.thought_signatures() {
            self.sign(signed(self.kind, proof)).await;
        }
        let (finish, raw) = finish::of(&reason, withheld.as_deref());
        Ok(Finished { finish, raw: Some(raw.into()), usage: self.usage, first_token_ms: self.first_token_ms })
    }

    /// Gemini says that it withholds a response in a frame that the library takes for an error.
    fn failed(&mut self, error: genai::Error) -> Result<Option<Finished>, ModelError> {
        let seen = self.frames.seen();
        match (&seen.withheld, &error) {
            (Some(raw), genai::Error::ChatResponse { .. }) if seen.error.is_none() => {
                let raw = Some(raw.as_str().into());
                Ok(Some(Finished { raw, usage: seen.usage, ..Finished::new(Finish::Filtered) }))
            }
            // What the library cannot read is often what it would have passed over.
            _ => Err(lost(&seen)
                .filter(|_| seen.error.is_none())
                .unwrap_or_else(|| failure::of(error, seen.error.as_ref()))),
        }
    }

    /// What was spent by then is booked all the same (U01).
    fn spent(&self, error: ModelError) -> ModelError {
        let usage = error.usage.or(self.frames.seen().usage).or(self.usage);
        ModelError { usage, ..error }
    }
}
