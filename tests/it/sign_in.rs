//! Sign-in to the desk with OpenID Connect: which users are admitted, and what their sessions permit.

mod cookies;
mod flow;
mod foreign;
mod lies;
mod provider;
mod settings;
mod shut;

use std::collections::BTreeMap;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use base::config::ServerConfig;
use reqwest::Url;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{Kind, TestApp, with_settings};
use provider::{CLIENT_SECRET, Client, Provider, Signed};

/// The public URL of the server in these tests.
const PUBLIC: &str = "https://inbox.example.com";

/// The start time of the clocks in tests.
const NOW: i64 = 1_795_248_000;

/// The request headers of the desk's pages.
const DESK: [(&str, &str); 2] = [("x-tidings-desk", "1"), ("origin", PUBLIC)];

/// A query that every role may run.
const WHO: &str = "{ viewer { id } }";

/// A mutation that only operators may run.
const TYPES: &str = "mutation { saveMessageType(input: { code: \"news\", title: \"News\" }) { code } }";

/// Members of the provider's group `operators` sign in as operators, and members of `support` as services.
fn settings(config: &mut ServerConfig, provider: &Provider) {
    config.oidc.issuer = Some(provider.url());
    config.oidc.client_id = Some("tidings".into());
    config.oidc.client_secret = Some(CLIENT_SECRET.into());
    config.oidc.tenant = Some("acme".into());
    config.oidc.admins = vec!["operators".into()];
    config.oidc.services = vec!["support".into()];
}

/// Runs a test with a provider and a server that trusts it.
async fn with_provider(test: impl AsyncFnOnce(&TestApp, &Provider)) {
    let provider = Provider::start(NOW).await;
    with_settings(Kind::Sqlite, |config| settings(config, &provider), async |app| test(app, &provider).await).await;
}

/// A response of the server.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    /// The target of the redirect.
    fn to(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        self.headers["location"].to_str().unwrap()
    }

    fn cookies(&self) -> Vec<&str> {
        self.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap()).collect()
    }

    /// The code of the first error.
    fn code(&self) -> String {
        self.json()["errors"][0]["extensions"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A user's browser, which keeps cookies.
#[derive(Clone)]
struct Browser<'a> {
    app: &'a TestApp,
    cookies: BTreeMap<String, String>,
}

impl<'a> Browser<'a> {
    fn new(app: &'a TestApp) -> Self {
        Self { app, cookies: BTreeMap::new() }
    }

    /// A browser with a session.
    async fn signed_in(app: &'a TestApp, provider: &Provider) -> Self {
        let mut browser = Self::new(app);
        let answer = browser.sign_in(provider, "/desk").await;
        assert_eq!(answer.to(), format!("{PUBLIC}/desk"));
        browser
    }

    /// Runs the whole sign-in as the provider does, and returns the last response.
    async fn sign_in(&mut self, provider: &Provider, to: &str) -> Answer {
        let begun = self.get(&format!("/desk/session/begin?to={to}")).await;
        let (code, state) = provider.grant(begun.to());
        self.come_back(&[("code", &code), ("state", &state)]).await
    }

    /// Starts a sign-in and returns the code and state of the provider's redirect.
    async fn begun(&mut self, provider: &Provider) -> (String, String) {
        provider.grant(self.get("/desk/session/begin").await.to())
    }

    async fn come_back(&mut self, fields: &[(&str, &str)]) -> Answer {
        let mut url = Url::parse("http://any/desk/session/callback").unwrap();
        url.query_pairs_mut().extend_pairs(fields);
        self.get(&format!("{}?{}", url.path(), url.query().unwrap())).await
    }

    async fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None).await
    }

    /// A request to the API with these headers.
    async fn ask(&mut self, query: &str, headers: &[(&str, &str)]) -> Answer {
        let usual = [("content-type", "application/json"), ("accept", "application/graphql-response+json")];
        let usual = usual.iter().filter(|(name, _)| !headers.iter().any(|(of, _)| of == name));
        let all: Vec<_> = usual.chain(headers).copied().collect();
        self.send(Method::POST, "/graphql", &all, Some(json!({ "query": query }).to_string())).await
    }

    async fn send(&mut self, method: Method, path: &str, headers: &[(&str, &str)], body: Option<String>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !self.cookies.is_empty() {
            let all: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header("cookie", all.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.map_or_else(Body::empty, Body::from)).unwrap();
        let response = self.app.routes.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let answer = Answer { status, headers, body: String::from_utf8(body.to_vec()).unwrap() };
        for cookie in answer.cookies() {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// The session as the desk's page gets it.
    async fn session(&mut self) -> Value {
        let mut answer = self.get("/desk/session").await.json();
        assert_eq!(answer["signIn"], true);
        answer["session"].take()
    }
}

/// The session cookie over https.
const SESSION: &str = "__Host-tidings_session";
