//! Clients: HTTP/1.1 connections that send one request after the other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{self, HeaderValue};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::Result;

/// A request that is sent repeatedly.
#[derive(Clone)]
pub struct Ask {
    path: String,
    token: Option<String>,
    body: Option<Bytes>,
    known: Option<HeaderValue>,
}

impl Ask {
    pub fn get(path: impl Into<String>) -> Self {
        Self { path: path.into(), token: None, body: None, known: None }
    }

    pub fn graphql(token: &str, body: &Value) -> Self {
        Self::post("/graphql", body).by(token)
    }

    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        Self { body: Some(body.to_string().into()), ..Self::get(path) }
    }

    /// Adds a token.
    pub fn by(self, token: &str) -> Self {
        Self { token: Some(format!("Bearer {token}")), ..self }
    }

    /// Adds `If-None-Match` with this tag.
    pub fn unless(self, known: HeaderValue) -> Self {
        Self { known: Some(known), ..self }
    }

    /// Sends it to another path.
    pub fn at(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    fn request(&self, address: &str) -> Request<Full<Bytes>> {
        let mut request = Request::builder().uri(&self.path).header(header::HOST, address);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        if let Some(known) = &self.known {
            request = request.header(header::IF_NONE_MATCH, known);
        }
        if self.body.is_some() {
            request = request.method("POST").header(header::CONTENT_TYPE, "application/json");
        }
        request.body(Full::new(self.body.clone().unwrap_or_default())).expect("it is a request")
    }
}

/// The kind of load.
#[derive(Clone, Copy)]
pub enum Load {
    /// A number of clients, each with its own persistent connection, for a time.
    Sustained { clients: usize, seconds: f64 },
    /// A number of clients at once; each connects, sends one request and disconnects.
    Burst { clients: usize },
    /// One client that sends a number of requests.
    Alone { requests: usize },
    /// One client that sends each request once.
    Once,
}

/// The result of a load.
#[derive(Default)]
pub struct Taken {
    /// In milliseconds, sorted.
    pub latencies: Vec<f64>,
    pub seconds: f64,
    pub errors: usize,
}

struct Client {
    address: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { address: address.to_string(), sender })
    }

    /// The body of a successful response; empty if the tag still matches.
    async fn ask(&mut self, ask: &Ask) -> Result<Bytes> {
        self.sender.ready().await?;
        let answer = self.sender.send_request(ask.request(&self.address)).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if ask.known.is_some() {
            let is_known = status == StatusCode::NOT_MODIFIED;
            return if is_known { Ok(body) } else { Err(format!("{status}, and it is known already").into()) };
        }
        if !status.is_success() || body.starts_with(b"{\"errors\"") || body.starts_with(b"{\"data\":null,\"errors\"") {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }

    async fn timed(&mut self, ask: &Ask, taken: &mut Taken) {
        let start = Instant::now();
        match self.ask(ask).await {
            Ok(_) => taken.latencies.push(start.elapsed().as_secs_f64() * 1e3),
            Err(_) => taken.errors += 1,
        }
    }
}

/// The response to one request over a new connection.
pub async fn once(address: SocketAddr, ask: &Ask) -> Result<Bytes> {
    Client::connect(address).await?.ask(ask).await
}

/// The tag of the response to a request.
pub async fn tag(address: SocketAddr, ask: &Ask) -> Result<HeaderValue> {
    let mut client = Client::connect(address).await?;
    client.sender.ready().await?;
    let answer = client.sender.send_request(ask.request(&client.address)).await?;
    Ok(answer.headers().get(header::ETAG).ok_or_else(|| format!("{} without a tag", answer.status()))?.clone())
}

/// Sends the requests to a contender, in turn, under this load.
pub async fn press(address: SocketAddr, asks: &Arc<[Ask]>, load: Load) -> Result<Taken> {
    let place = Arc::new(AtomicUsize::new(0));
    let next = |place: &AtomicUsize, asks: &[Ask]| asks[place.fetch_add(1, Ordering::Relaxed) % asks.len()].clone();
    let mut all = Taken::default();
    let parts: Vec<Taken> = match load {
        Load::Sustained { clients, seconds } => {
            let connections = join_all((0..clients).map(|_| Client::connect(address))).await;
            let start = Instant::now();
            let until = start + Duration::from_secs_f64(seconds);
            let mut tasks = Vec::with_capacity(clients);
            for client in connections {
                let (mut client, asks, place) = (client?, asks.clone(), place.clone());
                tasks.push(tokio::spawn(async move {
                    let mut taken = Taken::default();
                    while Instant::now() < until {
                        client.timed(&next(&place, &asks), &mut taken).await;
                    }
                    taken
                }));
            }
            let parts = join_all(tasks).await.into_iter().collect::<Result<_, _>>()?;
            all.seconds = start.elapsed().as_secs_f64();
            parts
        }
        Load::Burst { clients } => {
            let start = Instant::now();
            let one = |ask: Ask| async move {
                let start = Instant::now();
                match once(address, &ask).await {
                    Ok(_) => Taken { latencies: vec![start.elapsed().as_secs_f64() * 1e3], ..Taken::default() },
                    Err(_) => Taken { errors: 1, ..Taken::default() },
                }
            };
            let tasks = (0..clients).map(|_| tokio::spawn(one(next(&place, asks))));
            let parts = join_all(tasks).await.into_iter().collect::<Result<_, _>>()?;
            all.seconds = start.elapsed().as_secs_f64();
            parts
        }
        Load::Alone { .. } | Load::Once => {
            let mut client = Client::connect(address).await?;
            let mut taken = Taken::default();
            let requests = if let Load::Alone { requests } = load { requests } else { asks.len() };
            for _ in 0..requests {
                client.timed(&next(&place, asks), &mut taken).await;
            }
            all.seconds = taken.latencies.iter().sum::<f64>() / 1e3;
            vec![taken]
        }
    };
    for part in parts {
        all.latencies.extend(part.latencies);
        all.errors += part.errors;
    }
    all.latencies.sort_by(f64::total_cmp);
    Ok(all)
}
