//! Who may do what, and that nobody sees what is another's.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tidings::auth::Role;
use tower::ServiceExt;

use crate::support::{TestApp, everyone, on_every_database};

async fn http(app: &TestApp, request: Request<Body>) -> (StatusCode, Value) {
    let response = app.routes.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

on_every_database! {
    async fn each_role_does_what_is_its_own(app) {
        app.admin().define_type("release").await;
        let send = "mutation { sendAnnouncement(input: { type: \"release\", audience: { everyone: true }, content: { title: \"x\" } }) { replayed } }";
        let operations = [
            ("{ viewer { id } }", "user"),
            ("mutation { markSeen { cursor } }", "user"),
            ("mutation { markRead(select: { matching: {} }) { changedCount } }", "user"),
            ("{ user(id: \"ada\") { id } }", "service admin"),
            ("{ users(ids: [\"ada\"]) { id } }", "service admin"),
            (send, "service admin"),
            ("mutation { sendMany(inputs: []) { replayed } }", "service admin"),
            ("mutation { saveUsers(inputs: [{ id: \"ada\" }]) { id } }", "service admin"),
            ("mutation { saveGroup(code: \"g\") { code } }", "service admin"),
            ("mutation { addGroupMembers(code: \"g\", users: []) { code } }", "service admin"),
            ("mutation { removeGroupMembers(code: \"g\", users: []) { code } }", "service admin"),
            ("mutation { deleteGroup(code: \"g\") }", "service admin"),
            ("mutation { saveMessageType(input: { code: \"t\", title: \"t\" }) { code } }", "admin"),
            ("mutation { deleteMessageType(code: \"t\") }", "admin"),
            ("mutation { saveReason(code: \"r\", actions: [\"a\"]) { code } }", "admin"),
            ("mutation { deleteReason(code: \"r\") }", "admin"),
            ("mutation { saveDefaultPreferences }", "admin"),
            ("mutation { visitView(key: { code: \"chat\", id: \"7\" }) { id } }", "user"),
            ("mutation { joinView(key: { code: \"chat\", id: \"7\" }, users: []) { id } }", "service"),
            ("mutation { leaveView(key: { code: \"chat\", id: \"7\" }, users: []) { id } }", "service"),
            ("mutation { recordActivity(inputs: []) { id } }", "service"),
            ("mutation { saveViewCode(code: \"chat\", open: false) { code } }", "admin"),
            ("mutation { deleteViewCode(code: \"chat\") }", "admin"),
            ("{ messageTypes { code } reasons { code } groups { code } viewCodes { code } }", "user service admin"),
        ];
        for (query, roles) in operations {
            for (role, actor) in [("user", app.user("ada")), ("service", app.service()), ("admin", app.admin())] {
                let (_, answer) = actor.send(query, json!({})).await;
                let code = &answer["errors"][0]["extensions"]["code"];
                let expected = if roles.split(' ').any(|of| of == role) { Value::Null } else { json!("FORBIDDEN") };
                // The service made and deleted the group that the operator asks for then; nobody is in the chat that the user visits.
                assert!(*code == expected || (expected.is_null() && code == "NOT_FOUND"), "{role}: {query}: {answer}");
            }
        }
    }

    async fn a_user_sees_the_profile_of_another_and_nothing_else_of_them(app) {
        app.admin().define_type("direct").await;
        app.service().ask("mutation { saveUsers(inputs: [{ id: \"ben\", name: \"Ben\", avatarUrl: \"/b.png\", locale: \"de\" }]) { id } }", json!({})).await;
        app.user("ben").message("direct", "ada", "hello").await;
        let sender = |fields: &str| format!("{{ viewer {{ inbox {{ nodes {{ sender {{ {fields} }} }} }} }} }}");
        let data = app.user("ada").ask(&sender("id name avatarUrl locale"), json!({})).await;
        assert_eq!(data["viewer"]["inbox"]["nodes"][0]["sender"], json!({ "id": "ben", "name": "Ben", "avatarUrl": "/b.png", "locale": "de" }));
        for private in ["overview { cursor }", "inbox { nodes { id } }", "subscriptions { nodes { action } }", "following { nodes { id } }",
                        "groups { code }", "preferences { types { code } }", "views { id }"] {
            let why = app.user("ada").refused(&sender(private), json!({})).await;
            assert_eq!(why, "NOT_FOUND : no inbox of user \"ben\"");
        }
    }

    async fn tenants_have_nothing_to_do_with_each_other(app) {
        for operator in [app.admin(), app.stranger("op", Role::Admin)] {
            operator.define_type("release").await;
            operator.ask("mutation { saveGroup(code: \"design\") { code } }", json!({})).await;
            operator.ask("mutation { addGroupMembers(code: \"design\", users: [\"ada\"]) { code } }", json!({})).await;
        }
        let theirs = app.stranger("ada", Role::User);
        theirs.subscribe("7", &["comment"]).await;
        theirs.ask("mutation { follow(user: \"ben\") { id } }", json!({})).await;
        app.service().announce("release", everyone(), "everyone").await;
        app.service().announce("release", json!({ "groups": ["design"] }), "group").await;
        app.service().announce("release", json!({ "users": ["ada"] }), "named").await;
        app.service().remind("release", "7", "comment", Some("ben"), "reminder").await;
        app.service().message("release", "ada", "message").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["message", "named", "group", "everyone"]);
        assert!(theirs.titles(json!({})).await.is_empty());
        let data = app.stranger("shop", Role::Service).ask("{ user(id: \"operator\") { id } }", json!({})).await;
        assert_eq!(data["user"], Value::Null);
    }

    async fn a_field_of_a_profile_stays_when_left_out_and_goes_when_null(app) {
        let save = "mutation($inputs: [UserInput!]!) { saveUsers(inputs: $inputs) { id name avatarUrl locale } }";
        let service = app.service();
        service.ask(save, json!({ "inputs": [{ "id": "ada", "name": "Ada", "locale": "en" }, { "id": "ben", "name": "Ben" }] })).await;
        let data = service.ask(save, json!({ "inputs": [{ "id": "ada", "avatarUrl": "https://x.test/a.png", "locale": null }] })).await;
        assert_eq!(data["saveUsers"], json!([{ "id": "ada", "name": "Ada", "avatarUrl": "https://x.test/a.png", "locale": null }]));
        let why = service.refused(save, json!({ "inputs": [{ "id": "ben", "name": "B" }, { "id": "ada", "avatarUrl": "javascript:1" }] })).await;
        assert!(why.starts_with("BAD_USER_INPUT inputs[1].avatarUrl: must be"), "{why}");
        let data = service.ask("{ users(ids: [\"ben\", \"nobody\"]) { name } }", json!({})).await;
        assert_eq!(data["users"], json!([{ "name": "Ben" }, null]));
    }
}

#[tokio::test]
async fn the_wire_refuses_what_is_no_request() {
    crate::support::with(crate::support::Kind::Sqlite, async |app| {
        let user = app.user("ada");
        let bearer = format!("Bearer {}", user.token);
        let post = |kind: &str, body: String| {
            Request::post("/graphql")
                .header("content-type", kind)
                .header("authorization", &bearer)
                .body(Body::from(body))
                .unwrap()
        };
        let query = json!({ "query": "{ viewer { id } }" }).to_string();
        for (request, status) in [
            (post("application/json", query.clone()), StatusCode::OK),
            (post("application/json; charset=utf-8", query.clone()), StatusCode::OK),
            (post("text/plain", query.clone()), StatusCode::UNSUPPORTED_MEDIA_TYPE),
            (post("application/x-www-form-urlencoded", query.clone()), StatusCode::UNSUPPORTED_MEDIA_TYPE),
            (post("application/json", "{".into()), StatusCode::BAD_REQUEST),
            (post("application/json", format!("[{query}]")), StatusCode::BAD_REQUEST),
            (post("application/json", json!({ "query": 1 }).to_string()), StatusCode::BAD_REQUEST),
            (post("application/json", " ".repeat(3 * 1024 * 1024)), StatusCode::PAYLOAD_TOO_LARGE),
            (
                Request::get("/graphql?query=%7Bviewer%7Bid%7D%7D")
                    .header("authorization", &bearer)
                    .body(Body::empty())
                    .unwrap(),
                StatusCode::OK,
            ),
            (
                Request::get("/graphql?query=mutation%7BmarkSeen%7Bcursor%7D%7D")
                    .header("authorization", &bearer)
                    .body(Body::empty())
                    .unwrap(),
                StatusCode::METHOD_NOT_ALLOWED,
            ),
            (
                Request::get("/graphql").header("authorization", &bearer).body(Body::empty()).unwrap(),
                StatusCode::BAD_REQUEST,
            ),
            (Request::get("/readyz").body(Body::empty()).unwrap(), StatusCode::OK),
        ] {
            let what = format!("{} {}", request.method(), request.uri());
            assert_eq!(http(app, request).await.0, status, "{what}");
        }
        let anonymous =
            Request::post("/graphql").header("content-type", "application/json").body(Body::from(query)).unwrap();
        let (status, body) = http(app, anonymous).await;
        assert_eq!(
            (status, &body["errors"][0]["extensions"]["code"]),
            (StatusCode::UNAUTHORIZED, &json!("UNAUTHENTICATED"))
        );
        let (status, body) = user.send("{ viewer { nonsense } }", json!({})).await;
        assert_eq!(
            (status, &body["errors"][0]["extensions"]["code"]),
            (StatusCode::BAD_REQUEST, &json!("GRAPHQL_VALIDATION_FAILED"))
        );
        assert!(body.get("data").is_none());
        let (status, body) = user.send("{ viewer { SECRET", json!({})).await;
        assert_eq!(
            (status, &body["errors"][0]["extensions"]["code"]),
            (StatusCode::BAD_REQUEST, &json!("GRAPHQL_PARSE_FAILED"))
        );
        assert!(!body.to_string().contains("SECRET"));
    })
    .await;
}
