//! The elements that pages of any origin can load.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use tower::ServiceExt;

use crate::support::{Kind, TestApp, with, with_settings};

async fn get(app: &TestApp, path: &str, known: &str) -> (StatusCode, HeaderMap, Bytes) {
    let request = Request::get(path).header("if-none-match", known).header("origin", "https://shop.example");
    let response = app.routes.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    (status, headers, to_bytes(response.into_body(), usize::MAX).await.unwrap())
}

#[tokio::test]
async fn pages_of_any_origin_load_the_elements() {
    with(Kind::Sqlite, async |app| {
        let (status, headers, entry) = get(app, "/ui/1/tidings.js", "").await;
        assert_eq!(
            (status, &headers["content-type"]),
            (StatusCode::OK, &"text/javascript; charset=utf-8".parse().unwrap())
        );
        let entry = String::from_utf8(entry.to_vec()).unwrap();
        let parts: Vec<&str> = entry.split(['"', '\'']).filter_map(|part| part.strip_prefix("./")).collect();
        assert!(!parts.is_empty(), "{entry}");
        for (name, kept) in parts.iter().map(|part| (*part, "immutable")).chain([("tidings.js", "max-age=300,")]) {
            let path = format!("/ui/1/{name}");
            let (status, headers, content) = get(app, &path, "").await;
            assert!(status == StatusCode::OK && !content.is_empty(), "{name}");
            assert!(headers["cache-control"].to_str().unwrap().contains(kept), "{name}");
            assert_eq!(headers["access-control-allow-origin"], "*", "{name}");
            assert_eq!(headers["cross-origin-resource-policy"], "cross-origin", "{name}");
            assert_eq!(headers["x-content-type-options"], "nosniff", "{name}");
            let (status, headers, content) = get(app, &path, headers["etag"].to_str().unwrap()).await;
            assert_eq!((status, content.len()), (StatusCode::NOT_MODIFIED, 0), "{name}");
            assert_eq!(headers["access-control-allow-origin"], "*", "{name}");
        }
        assert_eq!(get(app, "/ui/1/other.js", "").await.0, StatusCode::NOT_FOUND);
        assert_eq!(get(app, "/ui/2/tidings.js", "").await.0, StatusCode::NOT_FOUND);
    })
    .await;
}

#[tokio::test]
async fn a_server_may_have_no_elements() {
    with_settings(
        Kind::Sqlite,
        |settings| settings.wire.no_ui = true,
        async |app| {
            assert_eq!(get(app, "/ui/1/tidings.js", "").await.0, StatusCode::NOT_FOUND);
        },
    )
    .await;
}
