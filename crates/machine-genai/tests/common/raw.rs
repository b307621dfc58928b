//! A server that sends what it is given, byte for byte, for what no server of others can be made to say.
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One answer per connection. The server ends with its runtime.
pub struct Raw {
    pub at: String,
    pub asked: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    /// Answers with these streams of server-sent events, one after the other, each cut off behind its last byte.
    pub async fn events(answers: Vec<String>) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        Self::bytes(answers.into_iter().map(|answer| format!("{head}{answer}")).collect()).await
    }

    /// Answers with these bytes.
    pub async fn bytes(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let kept = asked.clone();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                kept.lock().unwrap().push(request);
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        Self { at, asked }
    }
}

async fn read(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.unwrap();
        assert!(read > 0, "the request was cut: {text}");
        request.extend_from_slice(&more[..read]);
    }
}
