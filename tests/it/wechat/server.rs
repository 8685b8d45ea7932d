//! A server that behaves as WeChat does.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Json, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The response instead of accepting a message.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    Code(i64, &'static str),
    Status(u16),
    Text(&'static str),
}

#[derive(Default)]
struct Shared {
    /// Accepted messages.
    got: Mutex<Vec<Value>>,
    /// The number of all messages, accepted or not.
    messages: Mutex<usize>,
    /// For each token request, whether it forced a refresh.
    asked: Mutex<Vec<bool>>,
    /// The number of the current token.
    token: Mutex<usize>,
    /// The number of a token that is refused but still handed out.
    revoked: Mutex<Option<usize>>,
    /// Whether the token stays the same even on a forced refresh.
    is_stuck: Mutex<bool>,
    next: Mutex<VecDeque<Answer>>,
    to: Mutex<HashMap<String, Answer>>,
    token_answer: Mutex<Option<Answer>>,
}

/// A running server.
pub struct Server {
    pub url: String,
    shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

impl Server {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::<Shared>::default();
        let routes = Router::new()
            .route("/cgi-bin/stable_token", post(token))
            .route("/cgi-bin/message/template/send", post(take))
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, shared, serving }
    }

    /// Takes the messages accepted since the last call.
    pub fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.shared.got.lock())
    }

    /// Takes the accepted messages, and returns their receivers and the field `thing1`, sorted.
    pub fn titles(&self) -> Vec<String> {
        let text = |of: &Value| of.as_str().unwrap().to_owned();
        let one = |of: &Value| format!("{}: {}", text(&of["touser"]), text(&of["data"]["thing1"]["value"]));
        let mut all: Vec<String> = self.take().iter().map(one).collect();
        all.sort();
        all
    }

    /// The number of messages sent to the server, accepted or not.
    pub fn messages(&self) -> usize {
        *self.shared.messages.lock()
    }

    /// For each token request, whether it forced a refresh.
    pub fn asked(&self) -> Vec<bool> {
        self.shared.asked.lock().clone()
    }

    /// Makes the current token expire.
    pub fn expire(&self) {
        *self.shared.token.lock() += 1;
    }

    /// Refuses the current token, but still hands it out until a forced refresh.
    pub fn revoke(&self) {
        *self.shared.revoked.lock() = Some(*self.shared.token.lock());
    }

    /// From now on hands out the current token even on a forced refresh, as if the caller had used up their refreshes.
    pub fn stick(&self) {
        *self.shared.is_stuck.lock() = true;
    }

    /// Sets the responses to the next messages.
    pub fn answers_next(&self, next: impl IntoIterator<Item = Answer>) {
        self.shared.next.lock().extend(next);
    }

    /// Sets the response to messages to this open id.
    pub fn answers_to(&self, open_id: &str, answer: Answer) {
        self.shared.to.lock().insert(open_id.to_owned(), answer);
    }

    /// Sets the response to token requests.
    pub fn answers_token(&self, answer: Option<Answer>) {
        *self.shared.token_answer.lock() = answer;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn answer(of: Answer) -> Response {
    match of {
        Answer::Code(code, message) => Json(json!({ "errcode": code, "errmsg": message })).into_response(),
        Answer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Answer::Text(text) => text.into_response(),
    }
}

async fn token(State(shared): State<Arc<Shared>>, Json(body): Json<Value>) -> Response {
    let wants_another = body["force_refresh"].as_bool().unwrap();
    let expected = json!({ "grant_type": "client_credential", "appid": "wx0123", "secret": super::SECRET, "force_refresh": wants_another });
    assert_eq!(body, expected);
    shared.asked.lock().push(wants_another);
    if let Some(of) = *shared.token_answer.lock() {
        return answer(of);
    }
    let mut number = shared.token.lock();
    *number += usize::from(wants_another && !*shared.is_stuck.lock());
    Json(json!({ "access_token": format!("token-{number}"), "expires_in": 7200 })).into_response()
}

async fn take(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<HashMap<String, String>>,
    Json(body): Json<Value>,
) -> Response {
    *shared.messages.lock() += 1;
    let number = *shared.token.lock();
    if query["access_token"] != format!("token-{number}") {
        return answer(Answer::Code(42001, "access_token expired rid: 1"));
    }
    if *shared.revoked.lock() == Some(number) {
        return answer(Answer::Code(40001, "invalid credential, access_token is invalid or not latest rid: 1"));
    }
    let next = shared.next.lock().pop_front();
    let special = next.or_else(|| shared.to.lock().get(body["touser"].as_str().unwrap()).copied());
    if let Some(of) = special {
        return answer(of);
    }
    shared.got.lock().push(body);
    Json(json!({ "errcode": 0, "errmsg": "ok", "msgid": 200_228_332_i64 })).into_response()
}
