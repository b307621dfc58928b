//! A tool as the host calls it.
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Executed, Plan};
use machine_core::config::ToolSpec;
use machine_core::outcome::ToolResult;

use crate::cx::ToolCx;
use crate::model::BoxFuture;

/// A tool. [`tool`](crate::tool()) makes one from a closure.
///
/// **Cancellation.** When a call is stopped, `cx.cancelled()` resolves, and what the tool brings within the grace
/// still counts (X03). What happens to the future itself is the tool's choice, [`drop_on_cancel`](Self::drop_on_cancel):
///
/// - `false` (the default here): it is *not* dropped. It should see the cancellation and return. One that ignores
///   it is deaf: it works on until it ends, holds its slot and accesses, and its outcome is reported late (B07, X06).
/// - `true` (the default of [`tool`](crate::tool())): it is dropped at its next `.await`, and the call ends there
///   without an outcome of its own. Right for whatever may stop anywhere.
///
/// A panic is the outcome `panicked` of this call and touches no other (H03, C09). When the agent itself goes away
/// (closed, parked, last handle dropped) every future is dropped.
pub trait Tool: Send + Sync + 'static {
    /// How it is offered to the model.
    fn spec(&self) -> ToolSpec;

    /// Judges one call on its final arguments, the text of a JSON object: whether they are valid, what the call
    /// touches, whether someone must approve it, how long it may run (C02, C03). By default all arguments are
    /// taken, nobody is asked, and nothing runs beside the call.
    ///
    /// The agent waits for it, between two inputs: it must not block. What takes time belongs into a hook at the call,
    /// or into the call.
    fn plan(&self, args: &str) -> Result<Plan, Reject> {
        let _ = args;
        Ok(Plan::default())
    }

    /// Runs one call. It was planned with the same arguments.
    fn call(&self, args: Text, cx: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>>;

    /// Whether the future of a stopped call is dropped.
    fn drop_on_cancel(&self) -> bool {
        false
    }
}

/// Why a call will not run. The model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reject {
    /// The arguments do not fit; every error is named (C02).
    Invalid(Text),
    /// The tool refuses this call.
    Denied(Text),
}

/// Why a call failed. `?` makes one of any error; its causes are in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    text: Text,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Failed,
    Malformed,
    Abandoned,
}

impl ToolError {
    /// It failed; the model reads why.
    pub fn failed(text: impl Into<Text>) -> Self {
        Self { text: text.into(), fault: Fault::Failed }
    }

    /// What it brought cannot be read, as from a server that breaks its protocol.
    pub fn malformed(text: impl Into<Text>) -> Self {
        Self { text: text.into(), fault: Fault::Malformed }
    }

    /// A stopped call whose outcome nobody waits for any more, as that of a server that does not answer: it ends as if its
    /// future had been dropped, without an outcome of its own. A call that was not stopped has brought no result (C09).
    pub fn abandoned() -> Self {
        Self { text: "nobody waits for the outcome any more".into(), fault: Fault::Abandoned }
    }

    /// What the model reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// As a result, if it is one: a plain failure.
    pub(crate) fn into_result(self) -> Result<ToolResult, Self> {
        if self.fault == Fault::Failed { Ok(ToolResult::error(self.text)) } else { Err(self) }
    }
}

/// How an execution ended, as the engine is told; none: it was stopped and dropped.
pub(crate) fn told(end: Option<Result<ToolResult, ToolError>>) -> Executed {
    match end {
        None => Executed::Nothing,
        Some(Ok(result)) => Executed::Done(Arc::new(result)),
        Some(Err(error)) => match error.fault {
            Fault::Failed => Executed::Done(Arc::new(ToolResult::error(error.text))),
            Fault::Malformed => Executed::Malformed(error.text),
            Fault::Abandoned => Executed::Nothing,
        },
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        Self::failed(text)
    }
}
