//! Documents that a request names instead of sending them.

use auth::CallerRole;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tidings::graphql::sha256_hex;

use super::{code, post, raw};
use crate::support::{Kind, TestApp, with, with_settings};

const QUERY: &str = "{ viewer { user { id } } }";

fn persisted(hash: &str) -> Value {
    json!({ "persistedQuery": { "version": 1, "sha256Hash": hash } })
}

async fn send(app: &TestApp, token: &str, body: Value) -> (StatusCode, Value) {
    let (status, _, body) = raw(app, post(token, body.to_string())).await;
    (status, serde_json::from_str(&body).unwrap())
}

#[tokio::test]
async fn a_query_that_was_sent_once_with_its_hash_is_known_by_it() {
    with(Kind::Sqlite, async |app| {
        let (ada, hash) = (app.user("ada").token, sha256_hex(QUERY));
        let by_hash = json!({ "extensions": persisted(&hash) });
        // Apollo's client checks the message or the code, and repeats the request with the query.
        let (status, answer) = send(app, &ada, by_hash.clone()).await;
        assert_eq!((status, code(&answer)), (StatusCode::OK, &json!("PERSISTED_QUERY_NOT_FOUND")));
        assert_eq!(answer["errors"][0]["message"], "PersistedQueryNotFound");
        let (_, answer) = send(app, &ada, json!({ "query": QUERY, "extensions": persisted(&hash) })).await;
        assert_eq!(answer["data"]["viewer"]["user"]["id"], "ada");
        let ben = app.user("ben").token;
        let (_, answer) = send(app, &ben, by_hash.clone()).await;
        assert_eq!(answer["data"]["viewer"]["user"]["id"], "ben");
        let theirs = app.stranger("ada", CallerRole::User).token;
        assert_eq!(code(&send(app, &theirs, by_hash).await.1), "PERSISTED_QUERY_NOT_FOUND", "tenants share nothing");

        let address = format!(
            "/graphql?extensions=%7B%22persistedQuery%22%3A%7B%22version%22%3A1%2C%22sha256Hash%22%3A%22{hash}%22%7D%7D"
        );
        let get = Request::get(address).header("authorization", format!("Bearer {ada}")).body(Body::empty()).unwrap();
        let (status, _, body) = raw(app, get).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, "{\"data\":{\"viewer\":{\"user\":{\"id\":\"ada\"}}}}"));
    })
    .await;
}

#[tokio::test]
async fn a_hash_that_is_not_the_querys_is_refused_and_remembers_nothing() {
    with(Kind::Sqlite, async |app| {
        let ada = app.user("ada").token;
        let wrong = sha256_hex("{ viewer { user { name } } }");
        let (status, answer) = send(app, &ada, json!({ "query": QUERY, "extensions": persisted(&wrong) })).await;
        assert_eq!((status, code(&answer)), (StatusCode::BAD_REQUEST, &json!("GRAPHQL_VALIDATION_FAILED")));
        assert_eq!(
            code(&send(app, &ada, json!({ "extensions": persisted(&wrong) })).await.1),
            "PERSISTED_QUERY_NOT_FOUND"
        );
        // A refused query is not stored either.
        let hash = sha256_hex("{ nonsense }");
        send(app, &ada, json!({ "query": "{ nonsense }", "extensions": persisted(&hash) })).await;
        assert_eq!(
            code(&send(app, &ada, json!({ "extensions": persisted(&hash) })).await.1),
            "PERSISTED_QUERY_NOT_FOUND"
        );
        for extensions in [
            json!({ "persistedQuery": { "version": 2, "sha256Hash": hash } }),
            persisted("short"),
            json!({ "persistedQuery": {} }),
        ] {
            assert_eq!(send(app, &ada, json!({ "extensions": extensions })).await.0, StatusCode::BAD_REQUEST);
        }
    })
    .await;
    with_settings(
        Kind::Sqlite,
        |settings| settings.wire.no_persisted_queries = true,
        async |app| {
            let (status, answer) =
                send(app, &app.user("ada").token, json!({ "extensions": persisted(&sha256_hex(QUERY)) })).await;
            assert_eq!((status, code(&answer)), (StatusCode::OK, &json!("PERSISTED_QUERY_NOT_SUPPORTED")));
            assert_eq!(answer["errors"][0]["message"], "PersistedQueryNotSupported");
        },
    )
    .await;
}

#[tokio::test]
async fn users_run_nothing_but_the_listed_operations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("operations.json");
    let seen = "mutation Seen { markSeen { viewer { overview { cursor } } } }";
    std::fs::write(&path, json!({ "whoami": QUERY, sha256_hex(seen): seen }).to_string()).unwrap();
    with_settings(
        Kind::Sqlite,
        |settings| settings.wire.operations = Some(path.clone()),
        async |app| {
            let (ada, shop) = (app.user("ada").token, app.service().token);
            for body in [
                json!({ "documentId": "whoami" }),
                json!({ "documentId": sha256_hex(QUERY) }),
                json!({ "documentId": format!("sha256:{}", sha256_hex(QUERY)) }),
                json!({ "extensions": persisted(&sha256_hex(QUERY)) }),
                json!({ "query": QUERY }),
                json!({ "documentId": sha256_hex(seen) }),
            ] {
                let (status, answer) = send(app, &ada, body.clone()).await;
                assert_eq!((status, &answer["errors"]), (StatusCode::OK, &Value::Null), "{body} {answer}");
            }
            for (body, status, refusal) in [
                (json!({ "query": "{ viewer { user { name } } }" }), StatusCode::FORBIDDEN, "FORBIDDEN"),
                (json!({ "query": "{ viewer { user { id } }  }" }), StatusCode::FORBIDDEN, "FORBIDDEN"),
                (json!({ "query": "{ __schema { types { name } } }" }), StatusCode::FORBIDDEN, "FORBIDDEN"),
                (json!({ "documentId": "nobody" }), StatusCode::OK, "PERSISTED_QUERY_NOT_FOUND"),
                (
                    json!({ "query": "{ viewer { user { name } } }", "extensions": persisted(&sha256_hex("{ viewer { user { name } } }")) }),
                    StatusCode::FORBIDDEN,
                    "FORBIDDEN",
                ),
                (json!({ "query": "{ viewer { user { name } } }", "documentId": "whoami" }), StatusCode::FORBIDDEN, "FORBIDDEN"),
            ] {
                let (statements, (found, answer)) = app.statements_of(send(app, &ada, body.clone())).await;
                assert_eq!((found, code(&answer), statements), (status, &json!(refusal), 0), "{body}");
            }
            assert_eq!(send(app, &shop, json!({ "query": "{ userGroups { code } }" })).await.0, StatusCode::OK);
        },
    )
    .await;
}

#[tokio::test]
async fn a_list_that_cannot_be_used_is_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("a", "[]"), ("b", "{\"x\": 1}"), ("c", "{\"x\": \"{ viewer\"}"), ("d", "no JSON")] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let error = tidings::graphql::PersistedOperations::load(&path).await.unwrap_err().to_string();
        assert!(error.starts_with("TIDINGS_OPERATIONS="), "{error}");
    }
    assert!(tidings::graphql::PersistedOperations::load(&folder.path().join("nothing")).await.is_err());
}
