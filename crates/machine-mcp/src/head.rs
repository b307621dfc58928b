//! The beginning of what a server wrote where only messages belong, for one that is no server of MCP.
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// The most that is kept, in bytes.
const KEPT: usize = 200;

/// What was read first.
#[derive(Clone, Default)]
pub(crate) struct Head(Arc<Mutex<Vec<u8>>>);

impl Head {
    /// Its first line that is not empty.
    pub(crate) fn line(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT.saturating_sub(kept.len());
        kept.extend(bytes.iter().take(room));
    }
}

/// Reads, and keeps the beginning.
pub(crate) struct Reading<R> {
    pub(crate) read: R,
    pub(crate) head: Head,
}

impl<R: AsyncRead + Unpin> AsyncRead for Reading<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.read).poll_read(cx, buffer))?;
        self.head.keep(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}
