//! Tests over HTTP with a cookie, as users of the application.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use auth::{CallerRole, TokenClaims, sign_claims};
use base::clock::Clock;
use base::config::ServerConfig;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tidings::app::App;
use tidings::demo;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::SECRET;
use crate::host::Host;

async fn start(folder: &std::path::Path) -> SocketAddr {
    let database = format!("sqlite://{}?mode=rwc", folder.join("embed.db").display());
    let app = App::start(ServerConfig::for_database(&database, SECRET), Clock::System).await.unwrap();
    demo::fill_tenant(&app).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Host::new(app, Arc::default()).routes()).await });
    address
}

async fn sign_in(address: SocketAddr, user: &str) -> String {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let answer = client.post(format!("http://{address}/sign-in?user={user}")).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

async fn ask(url: &str, (name, value): (&str, &str), body: Value) -> (u16, Value) {
    let request = reqwest::Client::new().post(url).header(name, value).json(&body);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn whoever_is_signed_in_has_an_inbox() {
    let folder = tempfile::tempdir().unwrap();
    let address = start(folder.path()).await;
    let inbox = format!("http://{address}/inbox");
    let query = json!({ "query": "{ viewer { user { id } overview { unread { count } } } }" });
    assert_eq!(ask(&inbox, ("cookie", "session=guessed"), query.clone()).await.0, 401);
    let cookie = sign_in(address, demo::USER).await;
    let (status, answer) = ask(&inbox, ("cookie", &cookie), query.clone()).await;
    assert_eq!(status, 200);
    assert_eq!(answer["data"]["viewer"]["user"]["id"], demo::USER);
    assert!(answer["data"]["viewer"]["overview"]["unread"]["count"].as_u64() > Some(0), "{answer}");
    let cookie = sign_in(address, "somebody-else").await;
    let (_, answer) = ask(&inbox, ("cookie", &cookie), query).await;
    assert_eq!(answer["data"]["viewer"]["user"]["id"], "somebody-else");
    // The guard rejects the same as on the server's own endpoint.
    let (_, answer) = ask(&inbox, ("cookie", &cookie), json!({ "query": "{".repeat(60) })).await;
    assert_eq!(answer["errors"][0]["extensions"]["limit"], "nesting");
    let send = json!({ "query": "mutation { retractSentNotification(id: \"x\") { id } }" });
    let (_, answer) = ask(&inbox, ("cookie", &cookie), send).await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "FORBIDDEN");
}

#[tokio::test]
async fn the_bell_rings_for_whoever_is_signed_in() {
    let folder = tempfile::tempdir().unwrap();
    let address = start(folder.path()).await;
    let cookie = sign_in(address, demo::USER).await;
    let mut request = format!("ws://{address}/inbox/live").into_client_request().unwrap();
    request.headers_mut().insert("cookie", cookie.parse().unwrap());
    request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse().unwrap());
    let (mut socket, _) = connect_async(request).await.unwrap();
    let subscription = "subscription { overviewChanged { overview { unread { count } } } }";
    for message in [
        json!({ "type": "connection_init" }),
        json!({ "id": "1", "type": "subscribe", "payload": { "query": subscription } }),
    ] {
        socket.send(Message::text(message.to_string())).await.unwrap();
    }
    let mut next = async || loop {
        let message = timeout(Duration::from_secs(30), socket.next()).await.unwrap().unwrap().unwrap();
        let message: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        if message["type"] == "next" {
            return message["payload"]["data"]["overviewChanged"]["overview"]["unread"]["count"].as_u64().unwrap();
        }
    };
    let before = next().await;
    let exp = Clock::System.now() / 1000 + 60;
    let claims =
        TokenClaims { tenant: demo::TENANT.into(), sub: "shop".into(), role: CallerRole::Service, exp, scope: None };
    let token = format!("Bearer {}", sign_claims(SECRET, &claims).unwrap());
    let send = "mutation($user: ID!) { sendMessage(input: { type: \"direct\", receiver: $user, content: { title: \"hello\" } }) \
        { notification { id } } }";
    let body = json!({ "query": send, "variables": { "user": demo::USER } });
    let (_, answer) = ask(&format!("http://{address}/graphql"), ("authorization", &token), body).await;
    assert!(answer["errors"].is_null(), "{answer}");
    assert_eq!(next().await, before + 1);
}

#[tokio::test]
async fn operators_have_the_console() {
    let folder = tempfile::tempdir().unwrap();
    let address = start(folder.path()).await;
    for (path, holds) in [("/", "Sign in"), ("/console", "<!doctype html>")] {
        let page = reqwest::get(format!("http://{address}{path}")).await.unwrap();
        assert_eq!(page.status(), 200, "{path}");
        assert!(page.text().await.unwrap().contains(holds), "{path}");
    }
}
