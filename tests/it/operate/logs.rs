//! The server's log, and the private data that must not be in it.

use auth::{CallerRole, TokenClaims, sign_claims};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{Kind, Process, Redis, SECRET, Socket, with};

const USER: &str = "ada.lovelace@example.org";
const TITLE: &str = "Your diagnosis is ready";

fn token(role: CallerRole, sub: &str) -> String {
    let claims = TokenClaims { tenant: "acme".into(), sub: sub.into(), role, exp: 4_000_000_000, scope: None };
    sign_claims(SECRET, &claims).unwrap()
}

/// Uses the server in all kinds of ways, correctly and incorrectly.
async fn use_it(server: &Process) {
    let (user, admin) = (token(CallerRole::User, USER), token(CallerRole::Admin, "operator"));
    let define = "mutation { saveMessageType(input: { code: \"visit\", title: \"Visits\", template: { \
        title: \"{{ params.missing }}\" } }) { code } }";
    server.ask(&admin, define, json!({})).await.unwrap();
    let message = "mutation($to: ID!, $title: String!) { sendMessage(input: { type: \"visit\", receiver: $to, \
        content: { title: $title } }) { notification { id } } }";
    server.ask(&admin, message, json!({ "to": USER, "title": TITLE })).await.unwrap();
    server.ask(&user, "{ viewer { user { id } inbox { nodes { title } } } }", json!({})).await.unwrap();
    server.ask(&user, &format!("{{ inboxUser(id: \"{USER}\") {{ nonsense }} "), json!({})).await;
    server.ask(&user, "query($id: ID!) { node(id: $id) { id } }", json!({ "id": TITLE })).await;
    server.ask(&format!("{user}x"), "{ viewer { id } }", json!({})).await;
    let address = format!("http://{}/graphql", server.address);
    let client = reqwest::Client::new();
    // URL-encoded: `{ viewer { id } }`, and the title as a variable.
    let title = TITLE.replace(' ', "%20");
    let get = client.get(format!("{address}?query=%7Bviewer%7Bid%7D%7D&variables=%7B%22a%22%3A%22{title}%22%7D"));
    let answer = get.bearer_auth(&user).header("x-request-id", "of-the-proxy-1").send().await.unwrap();
    assert_eq!(answer.headers()["x-request-id"], "of-the-proxy-1");
    let lost = client.get(format!("http://{}/{user}/{USER}", server.address)).send().await.unwrap();
    assert_eq!(lost.status(), 404);
    let mut socket = Socket::open(&server.address, &user).await;
    socket.subscribe("1", "{ viewer { id } }", json!({})).await;
    socket.data().await;
    socket.say_text(USER).await;
    socket.close_code().await;
}

/// Returns the log lines of a server that was used.
async fn log_of(format: &str) -> Vec<String> {
    let database = Kind::Sqlite.make().await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let settings = [("TIDINGS_LOG", "info,tidings=debug"), ("TIDINGS_LOG_FORMAT", format)];
    let mut server = Process::start_with(&database.url, &settings, Some(file.path())).await;
    use_it(&server).await;
    server.stop();
    let log = std::fs::read_to_string(file.path()).unwrap();
    for secret in [USER, "lovelace", TITLE, "diagnosis", &token(CallerRole::User, USER)[..40], SECRET] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    log.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_request_is_a_line_that_says_neither_who_nor_what() {
    let log = log_of("text").await;
    let line = log.iter().find(|line| line.contains("of-the-proxy-1")).expect("the request has a line");
    for part in [
        "request{id=\"of-the-proxy-1\"}",
        "answered",
        "method=\"GET\"",
        "path=\"/graphql\"",
        "status=200",
        "kind=\"query\"",
        "operation=\"viewer\"",
        "code=\"OK\"",
        "micros=",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(log.iter().any(|line| line.contains("path=\"other\" status=404")), "{log:#?}");
    let ended = log.iter().find(|line| line.contains("session ended")).expect("the session has a line");
    assert!(ended.contains("request{id=") && ended.contains("code=4400"), "{ended}");
    let failed = log.iter().find(|line| line.contains("a template failed")).expect("the template has a line");
    assert!(failed.contains("text=Title kind=\"undefined value\" line=1"), "{failed}");
}

#[tokio::test]
async fn lines_are_json_where_a_program_reads_them() {
    let log = log_of("json").await;
    let lines: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
    let line = lines.iter().find(|line| line["spans"][0]["id"] == "of-the-proxy-1").expect("the request has a line");
    assert_eq!(
        (&line["message"], &line["method"], &line["path"]),
        (&json!("answered"), &json!("GET"), &json!("/graphql"))
    );
    assert_eq!((&line["status"], &line["kind"], &line["code"]), (&json!(200), &json!("query"), &json!("OK")));
}

#[tokio::test]
async fn every_answer_carries_a_request_id() {
    with(Kind::Sqlite, async |app| {
        let ask = async |path: &str, id: Option<&[u8]>| {
            let mut request = Request::get(path);
            if let Some(id) = id {
                request = request.header("x-request-id", id);
            }
            let response = app.routes.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            response.headers()["x-request-id"].to_str().unwrap().to_owned()
        };
        for path in ["/graphql", "/healthz", "/readyz", "/metrics", "/console", "/nothing"] {
            let id = ask(path, None).await;
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
            assert_ne!(ask(path, None).await, id);
        }
        let longest = "x".repeat(64);
        for id in ["a", "7f-3_/+=", &longest] {
            assert_eq!(ask("/healthz", Some(id.as_bytes())).await, id);
        }
        let too_long = "x".repeat(65);
        for id in [&b""[..], b"two words", "Größe".as_bytes(), b"\xff", too_long.as_bytes()] {
            let new = ask("/healthz", Some(id)).await;
            assert!(new.as_bytes() != id && new.len() == 32, "{new}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_bus_that_is_lost_and_found_has_a_line_each() {
    let Some(mut redis) = Redis::start().await else { return };
    let database = Kind::Sqlite.make().await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let url = redis.url();
    let settings = [("TIDINGS_LOG", "info"), ("REDIS_URL", url.as_str())];
    let mut server = Process::start_with(&database.url, &settings, Some(file.path())).await;
    let metrics =
        async || reqwest::get(format!("http://{}/metrics", server.address)).await.unwrap().text().await.unwrap();
    while !metrics().await.contains("tidings_bus_connected 1") {}
    redis.stop();
    let away = server.logged("the bus between nodes is down: sessions are late by up to a second").await;
    assert!(away.contains("WARN") && away.contains("failure="), "{away}");
    redis.start_again().await;
    let back = server.logged("the bus between nodes is back").await;
    assert!(back.contains("INFO"), "{back}");
    server.stop();
    let log = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(log.matches("the bus between nodes").count(), 2, "{log}");
}

/// URLs may contain passwords and tokens.
#[tokio::test]
async fn a_password_in_a_url_is_shown_nowhere() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let nobody = crate::support::free_port();
    let url = format!("http://user:HIDDEN@127.0.0.1:{nobody}/HIDDEN?token=HIDDEN");
    let of_database = ("DATABASE_URL", &*database.url);
    let shown = |arguments: &[&str], further: &[(&str, &str)]| {
        let settings =
            [&[of_database, ("TIDINGS_SECRET", SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")], further].concat();
        let (is_done, said, log) = Process::command(arguments, &settings);
        assert!(!said.contains("HIDDEN") && !log.contains("HIDDEN"), "{arguments:?}: {said}{log}");
        (is_done, said + &log)
    };
    for name in ["TIDINGS_JWKS", "OTEL_EXPORTER_OTLP_ENDPOINT", "REDIS_URL", "DATABASE_URL", "TIDINGS_DIRECT_URL"] {
        for value in [&*url, "user:HIDDEN@host:1", "http://user:HIDDEN@", "postgres://user:HIDDEN@127.0.0.1:1/x"] {
            shown(&["doctor"], &[(name, value)]);
            shown(&["doctor", "--json"], &[(name, value)]);
            shown(&["serve", "--help"], &[(name, value)]);
        }
    }
    for name in ["TIDINGS_PUBLIC_URL", "TIDINGS_OIDC_ISSUER", "TIDINGS_WECHAT_API", "TIDINGS_ORIGINS", "TIDINGS_ISSUER"]
    {
        for value in [
            "https://user:HIDDEN@127.0.0.1/",
            "user:HIDDEN@host:1",
            "http://user:HI/HIDDEN@host",
            "x://u:HIDDEN'HIDDEN@h",
        ] {
            for command in [&["doctor"][..], &["serve", "--help"]] {
                shown(command, &[(name, value)]);
            }
        }
    }
    let (is_done, said) = shown(&["serve"], &[("TIDINGS_PUBLIC_URL", "https://user:HIDDEN@inbox.example.com")]);
    assert!(!is_done && said.contains("must not have a user or password"), "{said}");
    let (is_done, said) = shown(&["serve"], &[("TIDINGS_JWKS", "http://user:HIDDEN@keys.example.com/keys.json")]);
    assert!(!is_done && said.contains("TIDINGS_JWKS must be a file or an https URL"), "{said}");
    let (_, said) = shown(&["doctor"], &[("TIDINGS_JWKS", &url)]);
    assert!(said.contains(&format!("TIDINGS_JWKS: http://127.0.0.1:{nobody} cannot be used")), "{said}");
    let (is_done, said) = shown(&["serve"], &[("OTEL_EXPORTER_OTLP_ENDPOINT", "user:HIDDEN@host:1")]);
    assert!(!is_done && said.contains("OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as"), "{said}");
    let log = tempfile::NamedTempFile::new().unwrap();
    let settings =
        [("TIDINGS_JWKS", &*url), ("OTEL_EXPORTER_OTLP_ENDPOINT", &url), ("TIDINGS_LOG", "debug,opentelemetry=debug")];
    let mut server = Process::start_with(&database.url, &settings, Some(log.path())).await;
    server.logged("could not refresh the JWKS").await;
    server.ask(&token(CallerRole::User, USER), "{ viewer { id } }", json!({})).await.unwrap();
    server.stop();
    let log = std::fs::read_to_string(log.path()).unwrap();
    assert!(log.contains("opentelemetry") && !log.contains("HIDDEN"), "{log}");
}
