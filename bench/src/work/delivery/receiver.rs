//! An external server that accepts every post at once, or never responds.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout_at;

use crate::Result;

/// Posts to this path get no response.
pub const HOLE: &str = "/hole";

/// Maximum time until a webhook arrives.
const PATIENCE: Duration = Duration::from_mins(1);

/// A received webhook.
pub struct Arrival {
    pub path: String,
    pub body: Vec<u8>,
    pub at: Instant,
}

impl Arrival {
    /// The notification that it is about.
    pub fn notification(&self) -> Result<String> {
        let body: Value = serde_json::from_slice(&self.body)?;
        Ok(body["data"]["id"].as_str().ok_or("it is about nothing")?.to_owned())
    }
}

pub struct Receiver {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    arrivals: UnboundedReceiver<Arrival>,
}

impl Receiver {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (sender, arrivals) = unbounded_channel();
        let receiver = Self { address: listener.local_addr()?, connections: Arc::default(), arrivals };
        let connections = receiver.connections.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(connection, sender.clone()));
            }
        });
        Ok(receiver)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Waits for `many` webhooks.
    pub async fn take(&mut self, many: usize) -> Result<Vec<Arrival>> {
        let until = (Instant::now() + PATIENCE).into();
        let mut all = Vec::with_capacity(many);
        while all.len() < many {
            let next = timeout_at(until, self.arrivals.recv()).await;
            let Ok(Some(arrival)) = next else {
                return Err(format!("{} of {many} webhooks have come", all.len()).into());
            };
            all.push(arrival);
        }
        Ok(all)
    }
}

/// Reads one request after the other, parsing as little as possible.
async fn serve(mut connection: TcpStream, arrivals: UnboundedSender<Arrival>) -> Option<()> {
    connection.set_nodelay(true).ok()?;
    let mut read = Vec::with_capacity(8192);
    loop {
        let (path, body) = loop {
            if let Some(request) = request(&mut read) {
                break request;
            }
            if connection.read_buf(&mut read).await.ok()? == 0 {
                return None;
            }
        };
        if path == HOLE {
            std::future::pending::<()>().await;
        }
        arrivals.send(Arrival { path, body, at: Instant::now() }).ok()?;
        connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.ok()?;
    }
}

/// Takes a complete request out of the buffer; returns its path and body.
fn request(read: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let head = read.windows(4).position(|of| of == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&read[..head]).ok()?;
    let path = text.split(' ').nth(1)?.to_owned();
    let length: usize = text.lines().find_map(|line| line.strip_prefix("content-length: "))?.parse().ok()?;
    if read.len() < head + length {
        return None;
    }
    let body = read[head..head + length].to_vec();
    read.drain(..head + length);
    Some((path, body))
}
