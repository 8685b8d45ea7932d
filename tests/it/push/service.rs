//! A push service and its browsers, implemented from the RFCs and not with our own code.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{self, ECDSA_P256_SHA256_FIXED};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A push message that the service received.
#[derive(Clone, Debug)]
pub struct Got {
    pub browser: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Got {
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    /// Returns the claims of the message's token, and checks its signature with this key.
    pub fn claims(&self, key: &str) -> Value {
        let said = self.header("authorization").strip_prefix("vapid t=").unwrap();
        let (token, own) = said.split_once(", k=").unwrap();
        assert_eq!(own, key);
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let point = URL_SAFE_NO_PAD.decode(key).unwrap();
        let key = signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        key.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let (_, claims) = signed.split_once('.').unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
    }
}

#[derive(Default)]
struct Shared {
    got: Mutex<Vec<Got>>,
    /// Response by browser, with `Retry-After` if any; 201 for all others.
    answers: Mutex<HashMap<String, (u16, Option<u64>)>>,
    /// Whether the service never responds.
    is_hanging: Mutex<bool>,
    /// The time until a response.
    takes: Mutex<Duration>,
    /// The number of messages without a response: now, and at the most.
    under_way: Mutex<[usize; 2]>,
}

/// A running service.
pub struct Service {
    pub origin: String,
    shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

impl Service {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::<Shared>::default();
        let routes = Router::new().route("/push/{browser}", post(take)).with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { origin, shared, serving }
    }

    /// Creates a subscribed browser.
    pub fn browser(&self, name: &str) -> Browser {
        let key = PrivateKey::generate(&ECDH_P256).unwrap();
        let point = key.compute_public_key().unwrap().as_ref().to_vec();
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).unwrap();
        Browser { endpoint: format!("{}/push/{name}", self.origin), key, point, secret }
    }

    /// Takes the messages received since the last call, sorted by browser.
    pub fn take(&self) -> Vec<Got> {
        let mut got = std::mem::take(&mut *self.shared.got.lock());
        got.sort_by(|one, other| one.browser.cmp(&other.browser));
        got
    }

    /// The browsers that received messages since the last call.
    pub fn reached(&self) -> Vec<String> {
        self.take().into_iter().map(|got| got.browser).collect()
    }

    /// Stops responding, or responds again.
    pub fn hangs(&self, is_hanging: bool) {
        *self.shared.is_hanging.lock() = is_hanging;
    }

    /// Sets the time until each response.
    pub fn takes(&self, time: Duration) {
        *self.shared.takes.lock() = time;
    }

    /// The most messages without a response at any time since the last call.
    pub fn most_under_way(&self) -> usize {
        let mut under_way = self.shared.under_way.lock();
        let [now, most] = *under_way;
        *under_way = [now, now];
        most
    }

    /// Sets the response to a browser's messages.
    pub fn answers(&self, browser: &str, status: u16, retry_after: Option<u64>) {
        self.shared.answers.lock().insert(browser.to_owned(), (status, retry_after));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A message without a response.
struct UnderWay(Arc<Shared>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.lock()[0] -= 1;
    }
}

async fn take(
    State(shared): State<Arc<Shared>>,
    Path(browser): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    {
        let mut under_way = shared.under_way.lock();
        under_way[0] += 1;
        under_way[1] = under_way[1].max(under_way[0]);
    }
    // The guard also counts down if the sender disconnects.
    let _under_way = UnderWay(shared.clone());
    shared.got.lock().push(Got { browser: browser.clone(), headers, body: body.to_vec() });
    if *shared.is_hanging.lock() {
        std::future::pending::<()>().await;
    }
    let time = *shared.takes.lock();
    tokio::time::sleep(time).await;
    let (status, retry_after) = shared.answers.lock().get(&browser).copied().unwrap_or((201, None));
    let status = StatusCode::from_u16(status).unwrap();
    match retry_after {
        Some(seconds) => (status, [("retry-after", seconds.to_string())]).into_response(),
        None => status.into_response(),
    }
}

/// A subscribed browser.
pub struct Browser {
    pub endpoint: String,
    key: PrivateKey,
    point: Vec<u8>,
    secret: [u8; 16],
}

impl Browser {
    /// The subscription as `toJSON` returns it.
    pub fn subscription(&self) -> Value {
        let keys =
            json!({ "p256dh": URL_SAFE_NO_PAD.encode(&self.point), "auth": URL_SAFE_NO_PAD.encode(self.secret) });
        json!({ "endpoint": self.endpoint, "expirationTime": null, "keys": keys })
    }

    /// Decrypts a message body (RFC 8291, section 4).
    pub fn read(&self, got: &Got) -> Value {
        assert_eq!(got.header("content-encoding"), "aes128gcm");
        let (head, record) = got.body.split_at(86);
        let (salt, server) = (&head[..16], &head[21..]);
        assert_eq!((&head[16..20], head[20]), (&4096_u32.to_be_bytes()[..], 65));
        let shared =
            agree(&self.key, UnparsedPublicKey::new(&ECDH_P256, server), (), |shared| Ok(shared.to_vec())).unwrap();
        let info = [&b"WebPush: info\0"[..], &self.point, server, &[1]].concat();
        let secret = sign(&sign(&self.secret, &shared), &info);
        let all = sign(salt, &secret);
        let key = &sign(&all, b"Content-Encoding: aes128gcm\0\x01")[..16];
        let nonce = &sign(&all, b"Content-Encoding: nonce\0\x01")[..12];
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key).unwrap());
        let nonce = Nonce::try_assume_unique_for_key(nonce).unwrap();
        let mut record = record.to_vec();
        let text = key.open_in_place(nonce, Aad::empty(), &mut record).unwrap();
        assert!(text.len() <= 3001, "{} bytes", text.len());
        let text = text.strip_suffix(&[2]).expect("it is the last record");
        serde_json::from_slice(text).unwrap()
    }
}

fn sign(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}
