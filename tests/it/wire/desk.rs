//! The desk: the headers of its page and its assets, and that no other files are served.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use tower::ServiceExt;

use crate::support::{Kind, TestApp, with};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    require-trusted-types-for 'script'; trusted-types lit-html; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

async fn ask(app: &TestApp, method: Method, path: &str) -> (StatusCode, HeaderMap, Bytes) {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    let response = app.routes.clone().oneshot(request).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    (status, headers, to_bytes(response.into_body(), usize::MAX).await.unwrap())
}

/// The references in the page's attributes, except its inline icon.
fn references(page: &str) -> Vec<&str> {
    let attributes = page.split([' ', '>']).filter_map(|attribute| attribute.split_once("=\""));
    let referring =
        attributes.filter(|(name, _)| ["href", "src"].contains(name)).map(|(_, value)| value.trim_end_matches('"'));
    referring.filter(|value| !value.starts_with("data:")).collect()
}

#[tokio::test]
async fn each_place_is_the_page_under_its_policy() {
    with(Kind::Sqlite, async |app| {
        let (_, _, first) = ask(app, Method::GET, "/desk").await;
        for path in [
            "/desk",
            "/desk/",
            "/desk/sent",
            "/desk/sent/abc",
            "/desk/users/a%2Fb",
            "/desk/catalogue/types/x",
            "/desk/now",
        ] {
            let (status, headers, body) = ask(app, Method::GET, path).await;
            assert_eq!((status, &body), (StatusCode::OK, &first), "{path}");
            for (name, value) in [
                ("content-type", "text/html; charset=utf-8"),
                ("content-security-policy", POLICY),
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("cross-origin-opener-policy", "same-origin"),
            ] {
                assert_eq!(headers[name], value, "{path}: {name}");
            }
        }
        let page = String::from_utf8(first.to_vec()).unwrap();
        assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("onload="), "{page}");
        assert!(page.split("<script").skip(1).all(|script| script.contains("></script>")), "{page}");
        let references = references(&page);
        assert_eq!(references.len(), 3, "{references:?}");
        for reference in references {
            let (status, headers, _) = ask(app, Method::GET, reference).await;
            assert_eq!(status, StatusCode::OK, "{reference}");
            assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable", "{reference}");
            assert!(
                headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"),
                "{reference}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_else_is_a_place_and_nothing_is_taken() {
    with(Kind::Sqlite, async |app| {
        for path in [
            "/desk/nothing",
            "/desk/index.html",
            "/desk/assets",
            "/desk/assets/nothing.js",
            "/desk/assets/..%2fCargo.toml",
            "/desk/..",
            "/desk/%2e%2e/Cargo.toml",
            "/desk//etc/passwd",
            "/desk/SENT",
        ] {
            let (status, _, body) = ask(app, Method::GET, path).await;
            assert_eq!((status, body.len()), (StatusCode::NOT_FOUND, 0), "{path}");
        }
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            assert_eq!(ask(app, method, "/desk/sent").await.0, StatusCode::METHOD_NOT_ALLOWED);
        }
    })
    .await;
}
