//! A panic in what the host was given becomes an error (H03).
use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use machine_core::Text;

/// Runs to the end, or gives the message of the panic. What panicked is not polled again.
pub(crate) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, Text> {
    let mut work = pin!(work);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(message(&*panic))),
    })
    .await
}

/// The same for what does not wait.
pub(crate) fn caught_at_once<T>(work: impl FnOnce() -> T) -> Result<T, Text> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

/// What a panic said.
pub(crate) fn message(panic: &(dyn Any + Send)) -> Text {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked without a message").into()
}
