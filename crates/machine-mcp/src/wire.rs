//! Messages over two streams, a message a line. The transport of `rmcp` drops what it cannot read, and a call would wait for its
//! answer in vain.
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use crate::line::Line;
use crate::message::Parsed;
use crate::noted::Noted;

/// The two streams.
pub(crate) struct Wire<R, W> {
    read: BufReader<R>,
    /// The line that is being read.
    line: Line,
    /// A message that goes on over several lines, and is not whole yet.
    begun: Option<Line>,
    /// Messages that were read and not taken.
    ready: VecDeque<ServerJsonRpcMessage>,
    noted: Noted,
    /// None: it is closed.
    write: Arc<Mutex<Option<W>>>,
}

impl<R, W> Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(crate) fn new(read: R, write: W, noted: Noted) -> Self {
        Self {
            read: BufReader::new(read),
            line: Line::default(),
            begun: None,
            ready: VecDeque::new(),
            noted,
            write: Arc::new(Mutex::new(Some(write))),
        }
    }

    /// Reads a line, or what stands after the last one; none: nothing comes any more. May be dropped and called again.
    async fn next_line(&mut self) -> Option<Line> {
        loop {
            let read = self.read.fill_buf().await;
            let read = read.inspect_err(|error| tracing::warn!(%error, "a server cannot be read")).ok()?;
            let end = read.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
            let (is_end, length) = (end.is_some() || read.is_empty(), end.unwrap_or(read.len()));
            self.noted.read(&read[..length]);
            self.line.push(&read[..length]);
            self.read.consume(length);
            if is_end {
                let line = std::mem::take(&mut self.line);
                return (length > 0 || !line.is_blank()).then_some(line);
            }
        }
    }

    fn take(&mut self, line: Line) {
        if line.is_blank() {
            return;
        }
        let read = line.read();
        match self.begun.take() {
            None => self.tell(read, &line),
            Some(begun) if !read.has_version => self.go_on(begun, &line),
            // It will never be whole.
            Some(begun) => {
                self.tell(begun.give_up(), &begun);
                self.tell(read, &line);
            }
        }
    }

    fn go_on(&mut self, mut begun: Line, line: &Line) {
        begun.push_line(line);
        if line.is_cut() {
            self.tell(begun.give_up(), &begun);
        } else if begun.is_closed() {
            self.tell(begun.read(), &begun);
        } else {
            self.begun = Some(begun);
        }
    }

    fn tell(&mut self, read: Parsed, text: &Line) {
        if read.has_strays || read.begun.is_some() {
            self.noted.stray(&text.shown());
        }
        self.ready.extend(read.messages);
        self.begun = read.begun.as_deref().map(Line::begun);
    }
}

impl<R, W> Transport<RoleClient> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = self.write.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            write.write_all(&line).await?;
            write.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let line = self.next_line().await?;
            self.take(line);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.write.lock().await.take());
        Ok(())
    }
}
