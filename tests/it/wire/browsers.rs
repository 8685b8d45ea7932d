//! Pages of other sites, and responses without a token.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use base::config::ServerConfig;
use serde_json::{Value, json};

use super::{post, raw};
use crate::support::{Kind, TestApp, with, with_settings};

fn preflight(origin: &str) -> Request<Body> {
    Request::builder()
        .method(Method::OPTIONS)
        .uri("/graphql")
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type")
        .body(Body::empty())
        .unwrap()
}

async fn is_let_in(app: &TestApp, origin: &str) -> bool {
    let (_, headers, _) = raw(app, preflight(origin)).await;
    let is_let_in =
        headers.get("access-control-allow-origin").is_some_and(|allowed| allowed == origin || allowed == "*");
    if is_let_in {
        assert!(headers["access-control-allow-headers"].to_str().unwrap().contains("authorization"));
        assert!(headers["access-control-allow-methods"].to_str().unwrap().contains("POST"));
    }
    let mut request = post(&app.user("ada").token, json!({ "query": "{ viewer { id } }" }).to_string());
    request.headers_mut().insert("origin", origin.parse().unwrap());
    let (_, headers, _) = raw(app, request).await;
    assert_eq!(headers.contains_key("access-control-allow-origin"), is_let_in, "{origin}");
    assert!(!headers.contains_key("access-control-allow-credentials"));
    is_let_in
}

#[tokio::test]
async fn pages_of_other_sites_are_shut_out_unless_they_are_listed() {
    with(Kind::Sqlite, async |app| {
        assert_eq!(raw(app, preflight("https://evil.example")).await.0, StatusCode::METHOD_NOT_ALLOWED);
        assert!(!is_let_in(app, "https://evil.example").await);
    })
    .await;
    let listed = |settings: &mut ServerConfig| {
        settings.wire.origins = vec!["https://app.example".into(), "http://localhost:3000".into()];
    };
    with_settings(Kind::Sqlite, listed, async |app| {
        assert!(is_let_in(app, "https://app.example").await);
        assert!(is_let_in(app, "http://localhost:3000").await);
        for other in ["https://evil.example", "http://app.example", "https://app.example.evil.example", "null"] {
            assert!(!is_let_in(app, other).await, "{other}");
        }
    })
    .await;
    with_settings(
        Kind::Sqlite,
        |settings| settings.wire.origins = vec!["*".into()],
        async |app| {
            assert!(is_let_in(app, "https://any.example").await);
        },
    )
    .await;
}

#[tokio::test]
async fn forms_execute_nothing() {
    with(Kind::Sqlite, async |app| {
        let token = app.user("ada").token;
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/graphql",
            "",
        ] {
            let mut request = post(
                &token,
                json!({ "query": "mutation { markSeen { viewer { overview { cursor } } } }" }).to_string(),
            );
            request.headers_mut().insert("content-type", kind.parse().unwrap());
            let (statements, (status, _, body)) = app.statements_of(raw(app, request)).await;
            assert_eq!((status, statements), (StatusCode::UNSUPPORTED_MEDIA_TYPE, 0), "{kind} {body}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_schema_is_for_those_with_a_token_unless_it_is_public() {
    let ask = |query: &str| {
        let body = json!({ "query": query }).to_string();
        Request::post("/graphql").header("content-type", "application/json").body(Body::from(body)).unwrap()
    };
    let introspection = "{ __schema { queryType { name } } __typename }";
    with(Kind::Sqlite, async |app| {
        let (status, headers, body) = raw(app, ask(introspection)).await;
        assert_eq!((status, headers["www-authenticate"].to_str().unwrap()), (StatusCode::UNAUTHORIZED, "Bearer"));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    })
    .await;
    with_settings(
        Kind::Sqlite,
        |settings| settings.wire.public_schema = true,
        async |app| {
            let (status, _, body) = raw(app, ask(introspection)).await;
            assert_eq!(
                (status, body.as_str()),
                (
                    StatusCode::OK,
                    "{\"data\":{\"__schema\":{\"queryType\":{\"name\":\"Query\"}},\"__typename\":\"Query\"}}"
                )
            );
            for query in [
                "{ userGroups { code } }",
                "{ __typename viewer { id } }",
                "mutation { __typename }",
                "{ ...a } fragment a on Query { userGroups { code } }",
            ] {
                let (statements, (status, headers, _)) = app.statements_of(raw(app, ask(query))).await;
                assert_eq!((status, statements), (StatusCode::UNAUTHORIZED, 0), "{query}");
                assert!(headers.contains_key("www-authenticate"));
            }
            let mut wrong = ask(introspection);
            wrong.headers_mut().insert("authorization", "Bearer wrong".parse().unwrap());
            assert_eq!(raw(app, wrong).await.0, StatusCode::UNAUTHORIZED);
        },
    )
    .await;
}
