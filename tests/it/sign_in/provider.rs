//! An OpenID Connect provider with the endpoints that the server uses, and with a setting for each lie.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use parking_lot::Mutex;
use reqwest::Url;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

/// Contains characters that must be encoded in a header.
pub const CLIENT_SECRET: &str = "s3cret: +/ü";

/// The signature of an ID token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    Rsa,
    Ec,
    /// The elliptic key, under the algorithm and id of an RSA key.
    Mixed,
    /// The client's secret.
    Secret,
    /// The text of the public key, used as a secret.
    PublicKey,
    Nothing,
}

/// How a client must authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Basic,
    Post,
    Public,
}

/// The data granted with a code.
struct Grant {
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

pub struct Said {
    pub client: Client,
    pub signed: Signed,
    /// The keys of the JWKS, by their algorithms.
    pub keys: Vec<Algorithm>,
    /// Another key id in the token, if any.
    pub kid: Option<&'static str>,
    /// Changes to the claims of the ID token; null removes a claim.
    pub claims: Value,
    /// The response of the userinfo endpoint, if any.
    pub more: Option<Value>,
    /// Changes to the metadata.
    pub metadata: Value,
    /// Whether every request fails.
    pub is_away: bool,
    /// Whether it delays the response to unknown codes for longer than any client waits.
    pub ponders: bool,
    /// The numbers of requests for its metadata, its keys, and tokens.
    pub asked: [usize; 3],
    codes: HashMap<String, Grant>,
}

struct Shared {
    url: String,
    now: i64,
    said: Mutex<Said>,
}

/// A running provider.
pub struct Provider {
    shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

impl Provider {
    /// Starts a provider with a clock that stands at `now`.
    pub async fn start(now: i64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let said = Said {
            client: Client::Basic,
            signed: Signed::Rsa,
            keys: vec![Algorithm::RS256],
            kid: None,
            claims: json!({}),
            more: None,
            metadata: json!({}),
            is_away: false,
            ponders: false,
            asked: [0; 3],
            codes: HashMap::new(),
        };
        let shared = Arc::new(Shared { url, now, said: Mutex::new(said) });
        let routes = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/me", get(more))
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { shared, serving }
    }

    pub fn url(&self) -> String {
        self.shared.url.clone()
    }

    /// Changes the provider's behaviour.
    pub fn says(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.shared.said.lock());
    }

    pub fn asked(&self) -> [usize; 3] {
        self.shared.said.lock().asked
    }

    /// Grants the sign-in of a user who was redirected to `to`. Returns the code and the state.
    pub fn grant(&self, to: &str) -> (String, String) {
        let url = Url::parse(to).unwrap();
        let fields: HashMap<String, String> = url.query_pairs().into_owned().collect();
        let mut said = self.shared.said.lock();
        let code = format!("code+{}/", said.codes.len());
        let [nonce, challenge, redirect_uri] =
            ["nonce", "code_challenge", "redirect_uri"].map(|name| fields[name].clone());
        said.codes.insert(code.clone(), Grant { nonce, challenge, redirect_uri });
        (code, fields["state"].clone())
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The usual values with these changes.
fn with(usual: Value, changes: &Value) -> Value {
    let mut all = usual;
    for (name, value) in changes.as_object().unwrap() {
        all[name] = value.clone();
    }
    let known: Map<String, Value> = std::mem::take(all.as_object_mut().unwrap());
    known.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into()
}

async fn metadata(State(shared): State<Arc<Shared>>) -> Response {
    let mut said = shared.said.lock();
    said.asked[0] += 1;
    if said.is_away {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let url = &shared.url;
    let usual = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize?realm=a"),
        "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/keys"),
        "userinfo_endpoint": format!("{url}/me"),
        "end_session_endpoint": format!("{url}/end"),
        "token_endpoint_auth_methods_supported":
            if said.client == Client::Post { json!(["client_secret_post"]) } else { Value::Null },
    });
    Json(with(usual, &said.metadata)).into_response()
}

fn key(algorithm: Algorithm) -> EncodingKey {
    match algorithm {
        Algorithm::RS256 => EncodingKey::from_rsa_pem(include_bytes!("../../../crates/auth/src/testdata/rsa.pem")),
        _ => EncodingKey::from_ec_pem(include_bytes!("../../../crates/auth/src/testdata/ec.pem")),
    }
    .unwrap()
}

async fn keys(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let mut said = shared.said.lock();
    said.asked[1] += 1;
    let keys = said.keys.iter().map(|algorithm| {
        let mut jwk = Jwk::from_encoding_key(&key(*algorithm), *algorithm).unwrap();
        jwk.common.key_id = Some(format!("{algorithm:?}"));
        jwk
    });
    Json(json!({ "keys": keys.collect::<Vec<_>>() }))
}

async fn token(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> Response {
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    let url = Url::parse(&format!("http://form/?{body}")).unwrap();
    let form: HashMap<String, String> = url.query_pairs().into_owned().collect();
    let ponders = {
        let mut said = shared.said.lock();
        said.asked[2] += 1;
        said.ponders && form.get("code").is_none_or(|code| !said.codes.contains_key(code))
    };
    if ponders {
        std::future::pending::<()>().await;
    }
    let mut said = shared.said.lock();
    if said.is_away {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let problem = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    if !is_client(said.client, &headers, &form) {
        return problem("invalid_client");
    }
    let Some(grant) = form.get("code").and_then(|code| said.codes.remove(code)) else {
        return problem("invalid_grant");
    };
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    let is_theirs = challenge == grant.challenge && form["redirect_uri"] == grant.redirect_uri;
    if !is_theirs || form["grant_type"] != "authorization_code" {
        return problem("invalid_grant");
    }
    let usual = json!({
        "iss": shared.url,
        "aud": "tidings",
        "sub": "7",
        "exp": shared.now + 300,
        "iat": shared.now,
        "nonce": grant.nonce,
        "email": "ada@example.com",
        "email_verified": true,
        "name": "Ada Obi",
        "groups": ["operators"],
    });
    let claims = with(usual, &said.claims);
    let id_token = signed(said.signed, said.kid, &claims);
    Json(json!({ "id_token": id_token, "access_token": "at", "token_type": "Bearer" })).into_response()
}

fn is_client(client: Client, headers: &HeaderMap, form: &HashMap<String, String>) -> bool {
    let basic = headers.get("authorization").map(|value| {
        let text = value.to_str().unwrap().strip_prefix("Basic ").unwrap();
        String::from_utf8(STANDARD.decode(text).unwrap()).unwrap()
    });
    let said = |name: &str| form.get(name).map(String::as_str);
    match client {
        Client::Basic => {
            basic.as_deref() == Some("tidings:s3cret%3A%20%2B%2F%C3%BC") && !form.contains_key("client_id")
        }
        Client::Post => said("client_id") == Some("tidings") && said("client_secret") == Some(CLIENT_SECRET),
        Client::Public => {
            said("client_id") == Some("tidings") && basic.is_none() && !form.contains_key("client_secret")
        }
    }
}

fn signed(by: Signed, kid: Option<&str>, claims: &Value) -> String {
    let (algorithm, key) = match by {
        Signed::Rsa => (Algorithm::RS256, key(Algorithm::RS256)),
        Signed::Ec => (Algorithm::ES256, key(Algorithm::ES256)),
        Signed::Secret => (Algorithm::HS256, EncodingKey::from_secret(CLIENT_SECRET.as_bytes())),
        Signed::PublicKey => {
            let jwk = Jwk::from_encoding_key(&key(Algorithm::RS256), Algorithm::RS256).unwrap();
            let text = serde_json::to_string(&jwk).unwrap();
            (Algorithm::HS256, EncodingKey::from_secret(text.as_bytes()))
        }
        Signed::Mixed => {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let message = format!("{}.{}", part(&json!({ "alg": "RS256", "kid": "RS256" })), part(claims));
            let other = encode(&Header::new(Algorithm::ES256), claims, &key(Algorithm::ES256)).unwrap();
            return format!("{message}.{}", other.rsplit('.').next().unwrap());
        }
        Signed::Nothing => {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            return format!("{}.{}.", part(&json!({ "alg": "none" })), part(claims));
        }
    };
    let mut header = Header::new(algorithm);
    header.kid = Some(kid.map_or_else(|| format!("{algorithm:?}"), str::to_owned));
    encode(&header, claims, &key).unwrap()
}

async fn more(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let said = shared.said.lock();
    assert_eq!(headers["authorization"], "Bearer at");
    match &said.more {
        Some(more) => Json(more.clone()).into_response(),
        None => StatusCode::FORBIDDEN.into_response(),
    }
}
