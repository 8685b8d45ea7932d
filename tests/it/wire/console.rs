//! The console: the headers of its page and its assets, and that no other files are served.

use std::fs;
use std::io::Read;
use std::path::Path;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use flate2::read::GzDecoder;
use tower::ServiceExt;

use crate::support::{Kind, TestApp, with};

async fn ask(app: &TestApp, method: Method, path: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, Bytes) {
    let request = headers.iter().fold(Request::builder(), |request, (name, value)| request.header(*name, *value));
    let request = request.method(method).uri(path).body(Body::empty()).unwrap();
    let response = app.routes.clone().oneshot(request).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    (status, headers, to_bytes(response.into_body(), usize::MAX).await.unwrap())
}

async fn get(app: &TestApp, path: &str) -> (StatusCode, HeaderMap, Bytes) {
    ask(app, Method::GET, path, &[]).await
}

/// The page's text, and the nonce in its policy.
async fn page(app: &TestApp, path: &str) -> (String, String) {
    let (status, headers, body) = get(app, path).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    let policy = headers["content-security-policy"].to_str().unwrap();
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap().to_owned();
    let expected = format!(
        "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; style-src 'self' 'nonce-{nonce}'; \
         style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    assert_eq!(policy, expected);
    assert_eq!(headers["cache-control"], "no-store");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
    (String::from_utf8(body.to_vec()).unwrap(), nonce)
}

/// All references in the page's attributes, except its inline icon.
fn references(page: &str) -> Vec<&str> {
    let attributes = page.split([' ', '>']).filter_map(|attribute| attribute.split_once("=\""));
    let names = ["href", "src", "data-editor-worker", "data-graphql-worker", "data-json-worker"];
    let referring = attributes.filter(|(name, _)| names.contains(name)).map(|(_, value)| value.trim_end_matches('"'));
    referring.filter(|value| !value.starts_with("data:")).collect()
}

#[tokio::test]
async fn the_page_may_run_and_load_only_what_the_server_serves() {
    with(Kind::Sqlite, async |app| {
        let (text, nonce) = page(app, "/console").await;
        let (again, other) = page(app, "/console/").await;
        assert!(nonce.len() >= 22 && nonce != other, "a nonce is for one answer: {nonce} {other}");
        assert_eq!(text.replace(&nonce, ""), again.replace(&other, ""));
        assert_eq!(text.matches(&nonce).count(), 1);
        assert!(!text.contains("<style") && !text.contains("style=") && !text.contains("onload="), "{text}");
        assert!(text.split("<script").skip(1).all(|script| script.contains("></script>")), "{text}");

        let references = references(&text);
        assert_eq!(references.len(), 6, "{references:?}");
        for reference in references {
            assert!(reference.starts_with("/console/"), "{reference}");
            assert_eq!(get(app, reference).await.0, StatusCode::OK, "{reference}");
        }
    })
    .await;
}

#[tokio::test]
async fn assets_are_kept_for_good_and_sent_as_the_client_takes_them() {
    with(Kind::Sqlite, async |app| {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("console/dist");
        let files = fs::read_dir(built).unwrap().map(|entry| entry.unwrap().path());
        let mut count = 0;
        for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "gz")) {
            count += 1;
            let gzipped = fs::read(&path).unwrap();
            let mut content = Vec::new();
            GzDecoder::new(&*gzipped).read_to_end(&mut content).unwrap();

            let name = path.file_stem().unwrap().to_str().unwrap();
            let address = format!("/console/{name}");
            let (status, headers, body) = get(app, &address).await;
            assert_eq!((status, headers.get("content-encoding")), (StatusCode::OK, None), "{name}");
            assert!(body == content, "{name}");
            let kind = match name.rsplit('.').next() {
                Some("js") => "text/javascript; charset=utf-8",
                Some("css") => "text/css; charset=utf-8",
                Some("ttf") => "font/ttf",
                _ => "text/plain; charset=utf-8",
            };
            assert_eq!(headers["content-type"], kind, "{name}");
            assert_eq!(headers["x-content-type-options"], "nosniff", "{name}");
            assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable", "{name}");
            assert_eq!(headers["vary"], "accept-encoding", "{name}");
            assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"), "{name}");

            let browser = [("accept-encoding", "gzip, deflate, br, zstd")];
            let (_, headers, body) = ask(app, Method::GET, &address, &browser).await;
            assert_eq!(headers["content-encoding"], "gzip", "{name}");
            assert!(body == gzipped, "{name}");

            let tag = headers["etag"].to_str().unwrap();
            let (status, headers, body) = ask(app, Method::GET, &address, &[("if-none-match", tag)]).await;
            assert_eq!((status, body.len()), (StatusCode::NOT_MODIFIED, 0), "{name}");
            assert_eq!(headers["etag"], tag, "{name}");
            let (status, ..) = ask(app, Method::GET, &address, &[("if-none-match", "W/\"another\"")]).await;
            assert_eq!(status, StatusCode::OK, "{name}");
        }
        assert!(count > 5, "the console is built: {count} assets");
    })
    .await;
}

#[tokio::test]
async fn nothing_else_is_served_and_nothing_is_taken() {
    with(Kind::Sqlite, async |app| {
        let (text, _) = page(app, "/console").await;
        let script = references(&text).into_iter().find(|reference| reference.contains("/main-")).unwrap();
        for path in ["/console", "/console/", script] {
            let (status, headers, body) = ask(app, Method::HEAD, path, &[]).await;
            assert_eq!((status, body.len()), (StatusCode::OK, 0), "{path}");
            assert!(headers.contains_key("content-security-policy"), "{path}");
            for method in [Method::POST, Method::PUT, Method::DELETE] {
                let (status, headers, _) = ask(app, method, path, &[]).await;
                assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
                assert_eq!(headers["allow"], "GET,HEAD", "{path}");
            }
        }
        for path in [
            "/console/nothing.js",
            "/console/index.html",
            "/console/assets.rs",
            &format!("{script}.gz"),
            &script.to_uppercase().replacen("CONSOLE", "console", 1),
            "/console/..",
            "/console/../Cargo.toml",
            "/console/..%2fCargo.toml",
            "/console/%2e%2e%2f%2e%2e%2fCargo.toml",
            "/console/..%5cCargo.toml",
            "/console//etc/passwd",
            "/console/%2fetc%2fpasswd",
            "/console/%00",
            "/console/a/b",
        ] {
            let (status, _, body) = get(app, path).await;
            assert_eq!((status, body.len()), (StatusCode::NOT_FOUND, 0), "{path}");
        }
    })
    .await;
}
