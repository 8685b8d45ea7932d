//! Callers without a token: the server memory they can occupy by not reading responses.

use std::fs;
use std::io::Read;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use base::config::ServerConfig;
use flate2::read::GzDecoder;
use h2::RecvStream;
use h2::client::SendRequest;
use tokio::time::{Duration, Instant, sleep, timeout};
use tower::ServiceExt;

use super::stuck::spoken;
use crate::support::{Kind, PATIENCE, TestApp, with, with_settings};

/// The number of concurrent requests per connection.
const STREAMS: usize = 50;

/// The most bytes of unread responses per network.
const NETWORK_BYTES: i64 = 4 * 1024 * 1024;

/// The path of each asset, and its content.
fn assets() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for (folder, path) in [("console/dist", "/console"), ("desk/dist", "/desk/assets"), ("ui/elements/dist", "/ui/1")] {
        for file in fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "gz") {
                let mut content = Vec::new();
                GzDecoder::new(&*fs::read(&file).unwrap()).read_to_end(&mut content).unwrap();
                all.push((format!("{path}/{}", file.file_stem().unwrap().to_str().unwrap()), content));
            }
        }
    }
    all
}

async fn ask(app: &TestApp, method: Method, path: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, Bytes) {
    let request = headers.iter().fold(Request::builder(), |request, (name, value)| request.header(*name, *value));
    let request = request.method(method).uri(path).body(Body::empty()).unwrap();
    let (head, body) = app.routes.clone().oneshot(request).await.unwrap().into_parts();
    (head.status, head.headers, to_bytes(body, usize::MAX).await.unwrap())
}

#[tokio::test]
async fn all_who_ask_for_an_asset_share_its_bytes() {
    with(Kind::Sqlite, async |app| {
        let assets = assets();
        assert!(assets.len() > 30, "{}", assets.len());
        for (path, content) in assets {
            let (status, headers, first) = ask(app, Method::GET, &path, &[]).await;
            assert!(status == StatusCode::OK && first == content, "{path}");
            assert!(!headers.contains_key("accept-ranges"), "{path}");
            let (_, _, second) = ask(app, Method::GET, &path, &[]).await;
            assert_eq!(first.as_ptr(), second.as_ptr(), "{path} is inflated again");
            let gzip = [("accept-encoding", "gzip")];
            let [one, other] =
                [ask(app, Method::GET, &path, &gzip).await.2, ask(app, Method::GET, &path, &gzip).await.2];
            assert_eq!(one.as_ptr(), other.as_ptr(), "{path} is copied");
            // A range request gets the whole content, which RFC 9110, section 14.2, permits.
            let (status, _, all) = ask(app, Method::GET, &path, &[("range", "bytes=1-2")]).await;
            assert!(status == StatusCode::OK && all == content, "{path}");
            for (asked, length) in [(&[][..], content.len()), (&gzip[..], one.len())] {
                let (status, headers, body) = ask(app, Method::HEAD, &path, asked).await;
                assert_eq!((status, body.len()), (StatusCode::OK, 0), "{path}");
                assert_eq!(headers["content-length"].to_str().unwrap(), length.to_string(), "{path}");
            }
            let tag = headers["etag"].to_str().unwrap();
            for known in
                [tag.to_owned(), format!("\"other\", {tag}"), tag.trim_start_matches("W/").to_owned(), "*".into()]
            {
                let (status, _, body) = ask(app, Method::GET, &path, &[("if-none-match", known.as_str())]).await;
                assert_eq!((status, body.len()), (StatusCode::NOT_MODIFIED, 0), "{path} {known}");
            }
        }
    })
    .await;
}

/// Every route that needs no token, and whether its responses take no memory of their own.
fn routes() -> Vec<(String, bool)> {
    let largest = assets().into_iter().max_by_key(|(_, content)| content.len()).unwrap().0;
    let search = "/graphql?query=%7B__schema%7Btypes%7Bname%20description%20fields%7Bname%20description%7D%7D%7D%7D";
    let asset = |folder: &str| assets().into_iter().find(|(path, _)| path.starts_with(folder)).unwrap().0;
    vec![
        (largest, true),
        (asset("/desk/"), true),
        (asset("/ui/"), true),
        ("/ui/1/nothing.js".into(), true),
        ("/console".into(), true),
        ("/console/".into(), true),
        ("/desk".into(), true),
        ("/desk/sent/abc".into(), true),
        ("/".into(), true),
        ("/nothing".into(), true),
        ("/healthz".into(), false),
        ("/readyz".into(), false),
        ("/metrics".into(), false),
        ("/unsubscribe/acme/nobody".into(), false),
        ("/desk/session".into(), false),
        ("/desk/session/begin".into(), false),
        ("/desk/session/callback?code=a&state=b".into(), false),
        (search.into(), false),
        ("/graphql?query=%7Bviewer%7Bid%7D%7D".into(), false),
        ("/graphql?query=%7B".into(), false),
    ]
}

/// Opens HTTP/2 streams that request a path and read nothing. Returns them, and the number of refused ones.
async fn hold(
    clients: &[SendRequest<Bytes>],
    address: &str,
    (method, path): (&Method, &str),
    from: &str,
) -> (Vec<RecvStream>, usize) {
    let (mut bodies, mut refused_count) = (Vec::new(), 0);
    for client in clients {
        let mut answers = Vec::new();
        for _ in 0..STREAMS {
            let request = Request::builder().method(method).uri(format!("http://{address}{path}"));
            let request = request.header("x-forwarded-for", from).header("range", "bytes=0-9").body(()).unwrap();
            let mut ready = client.clone().ready().await.unwrap();
            answers.push(ready.send_request(request, true).unwrap().0);
        }
        for answer in answers {
            let answer = timeout(PATIENCE, answer).await.expect("it is answered").unwrap();
            refused_count += usize::from(answer.status() == StatusCode::SERVICE_UNAVAILABLE);
            bodies.push(answer.into_body());
        }
    }
    (bodies, refused_count)
}

async fn until_nothing_is_held(app: &TestApp) {
    let until = Instant::now() + PATIENCE;
    while app.app.metrics.unread_bytes.get() > 0 {
        assert!(Instant::now() < until, "who has gone leaves nothing");
        sleep(Duration::from_millis(10)).await;
    }
}

/// The server's own counts are used, since the memory of the test process says little.
#[tokio::test]
async fn a_caller_without_a_token_who_takes_nothing_holds_a_bounded_number_of_bytes() {
    let public = |settings: &mut ServerConfig| {
        settings.wire.public_schema = true;
        settings.connections.proxies = "127.0.0.1".parse().unwrap();
    };
    with_settings(Kind::Sqlite, public, async |app| {
        let node = app.listen().await;
        let held = || app.app.metrics.unread_bytes.get();
        for (path, is_shared) in routes() {
            let clients = [spoken(&node.address, 0).await.0];
            let asked = (&Method::HEAD, &*path);
            let (heads, refused_count) = hold(&clients, &node.address, asked, "203.0.113.7").await;
            assert_eq!((held(), refused_count), (0, 0), "HEAD {path}");
            let asked = (&Method::GET, &*path);
            let (bodies, refused_count) = hold(&clients, &node.address, asked, "203.0.113.7").await;
            assert!(held() <= NETWORK_BYTES, "{path}: {}", held());
            assert_eq!(is_shared, held() == 0, "{path}: {}", held());
            assert!(!is_shared || refused_count == 0, "{path}: {refused_count}");
            drop((heads, bodies, clients));
            until_nothing_is_held(app).await;
        }
        let (largest, _) = &routes()[17];
        let refused_before = app.app.metrics.unread_refused.get();
        let clients = [spoken(&node.address, 0).await.0];
        let (bodies, refused_count) = hold(&clients, &node.address, (&Method::GET, largest), "2001:db8:1:2::1").await;
        assert!(refused_count > 0 && held() <= NETWORK_BYTES, "{refused_count} {}", held());
        let counted = app.app.metrics.unread_refused.get() - refused_before;
        assert_eq!(counted, u64::try_from(refused_count).unwrap());
        let others = [spoken(&node.address, 0).await.0];
        let (same, refused_count) = hold(&others, &node.address, (&Method::GET, largest), "2001:db8:1:2::ffff").await;
        assert_eq!(refused_count, STREAMS, "an IPv6 /64 is one network");
        let (other, refused_count) = hold(&others, &node.address, (&Method::GET, "/desk/session"), "203.0.113.8").await;
        assert_eq!(refused_count, 0, "other networks have theirs");
        drop((bodies, same, other, clients, others));
        until_nothing_is_held(app).await;
        node.stop().await;
    })
    .await;
}
