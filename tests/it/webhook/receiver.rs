//! An external server that receives webhook requests.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::Listener;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A received request.
#[derive(Clone, Debug)]
pub struct Got {
    pub id: String,
    pub timestamp: String,
    pub signatures: Vec<String>,
    pub raw: Vec<u8>,
    pub body: Value,
}

impl Got {
    pub fn event(&self) -> &str {
        self.body["type"].as_str().unwrap()
    }

    /// Whether one of its signatures is valid for this secret, by the specification and not by our own code.
    pub fn is_signed_by(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let text = [self.id.as_bytes(), b".", self.timestamp.as_bytes(), b".", &self.raw].concat();
        let expected = format!("v1,{}", STANDARD.encode(hmac(&key, &text)));
        self.signatures.contains(&expected)
    }
}

/// RFC 2104, for keys of up to 64 bytes.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let pad = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}

/// The receiver's response.
#[derive(Clone, Debug)]
pub enum Answer {
    Status(u16),
    /// A status with `Retry-After`.
    Later(u16, u64),
    /// No response.
    Hang,
    /// 204 after this many milliseconds.
    Slow(u64),
    /// 204 after [`Receiver::let_go`].
    Held,
}

#[derive(Default)]
struct Shared {
    got: Mutex<Vec<Got>>,
    /// The next responses. After these come the usual ones.
    next: Mutex<VecDeque<Answer>>,
    usual: Mutex<Option<Answer>>,
    is_let_go: watch::Sender<bool>,
}

/// A running receiver.
pub struct Receiver {
    pub url: String,
    shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        Self::over(listener, url)
    }

    /// A receiver with another kind of listener.
    pub fn over(listener: impl Listener<Addr: Debug>, url: String) -> Self {
        let shared = Arc::<Shared>::default();
        let routes = Router::new().route("/hook", post(take)).with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, shared, serving }
    }

    /// Takes the requests since the last call.
    pub fn take(&self) -> Vec<Got> {
        std::mem::take(&mut self.shared.got.lock())
    }

    /// The number of requests since the last [`Self::take`].
    pub fn many(&self) -> usize {
        self.shared.got.lock().len()
    }

    /// Sets the usual response.
    pub fn answers(&self, usual: Answer) {
        *self.shared.usual.lock() = Some(usual);
    }

    /// Sets the next responses.
    pub fn answers_next(&self, next: impl IntoIterator<Item = Answer>) {
        self.shared.next.lock().extend(next);
    }

    /// Responds to held requests, and to all later ones.
    pub fn let_go(&self) {
        self.shared.is_let_go.send_replace(true);
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn take(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/json");
    let got = Got {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signatures: header("webhook-signature").split(' ').map(ToOwned::to_owned).collect(),
        body: serde_json::from_slice(&body).unwrap(),
        raw: body.to_vec(),
    };
    shared.got.lock().push(got);
    let next = shared.next.lock().pop_front();
    let answer = next.or_else(|| shared.usual.lock().clone()).unwrap_or(Answer::Status(204));
    let status = |of: u16| StatusCode::from_u16(of).unwrap();
    match answer {
        Answer::Status(of) => (status(of), "so it is").into_response(),
        Answer::Later(of, seconds) => (status(of), [("retry-after", seconds.to_string())], "later").into_response(),
        Answer::Hang => std::future::pending().await,
        Answer::Slow(millis) => {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            StatusCode::NO_CONTENT.into_response()
        }
        Answer::Held => {
            shared.is_let_go.subscribe().wait_for(|is_let_go| *is_let_go).await.unwrap();
            StatusCode::NO_CONTENT.into_response()
        }
    }
}
