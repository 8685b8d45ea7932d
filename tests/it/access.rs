//! Roles and their permissions: no user can see another user's data.

use auth::CallerRole;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
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
            ("mutation { markSeen(user: \"ada\") { changedCount } }", "user service"),
            ("mutation { markRead(select: { matching: {} }, user: \"ada\") { changedCount } }", "user service"),
            ("{ inboxUser(id: \"ada\") { user { id } } }", "service admin"),
            ("{ inboxUsers(ids: [\"ada\"]) { user { id } } }", "service admin"),
            ("{ searchUsers(text: \"a\") { id } }", "service admin"),
            ("{ auditLog { nodes { action } } }", "admin"),
            ("{ serviceStatus { version } }", "admin"),
            ("{ previewNotification(input: { content: { title: \"x\" } }) { title } }", "service admin"),
            ("{ defaultPreferences { types { code } } }", "service admin"),
            ("{ audienceSize(audience: { everyone: true }) { count } }", "service admin"),
            ("{ explainDelivery(notification: \"x\", user: \"ada\") { present } }", "service admin"),
            (send, "service admin"),
            ("mutation { sendNotifications(inputs: []) { replayed } }", "service admin"),
            ("mutation { saveUserProfiles(inputs: [{ id: \"ada\" }]) { id } }", "service admin"),
            ("mutation { updateDeliveryHours(input: {}, user: \"ada\") { viewer { id } } }", "user service admin"),
            ("mutation { saveUserGroup(code: \"g\") { code } }", "service admin"),
            ("mutation { addUserGroupMembers(code: \"g\", users: []) { code } }", "service admin"),
            ("mutation { removeUserGroupMembers(code: \"g\", users: []) { code } }", "service admin"),
            ("mutation { deleteUserGroup(code: \"g\") { deletedId } }", "service admin"),
            ("mutation { saveMessageType(input: { code: \"t\", title: \"t\" }) { code } }", "admin"),
            ("mutation { deleteMessageType(code: \"t\") { deletedId } }", "admin"),
            ("mutation { saveSubscriptionReason(code: \"r\", actions: [\"a\"]) { code } }", "admin"),
            ("mutation { deleteSubscriptionReason(code: \"r\") { deletedCode } }", "admin"),
            ("mutation { saveDefaultPreferences { types { code } } }", "admin"),
            ("mutation { visitView(key: { code: \"chat\", externalId: \"7\" }) { view { externalId } } }", "user"),
            ("mutation { joinView(key: { code: \"chat\", externalId: \"7\" }, users: []) { view { externalId } } }", "service"),
            ("mutation { leaveView(key: { code: \"chat\", externalId: \"7\" }, users: []) { view { externalId } } }", "service"),
            ("mutation { recordActivity(inputs: []) { views { externalId } } }", "service"),
            ("mutation { saveViewCode(code: \"chat\", open: false) { code } }", "admin"),
            ("mutation { deleteViewCode(code: \"chat\") { deletedCode } }", "admin"),
            ("mutation { saveTargetType(code: \"doc\", subscriptionPolicy: OPEN) { code } }", "admin"),
            ("mutation { deleteTargetType(code: \"doc\") { deletedCode } }", "admin"),
            ("mutation { saveFollowPolicy(followPolicy: OPEN) { followPolicy } }", "admin"),
            ("{ targetTypes { code } followPolicy }", "user service admin"),
            ("{ webhookEndpoints { id } }", "admin"),
            ("{ outboundDeliveries { nodes { id } } }", "service admin"),
            ("mutation { createWebhookEndpoint(input: { url: \"https://127.0.0.1/\" }) { secret } }", "admin"),
            ("mutation { deleteWebhookEndpoint(id: \"x\") { deletedId } }", "admin"),
            ("mutation { replayOutboundDeliveries(select: { ids: [] }) { replayedCount } }", "service admin"),
            ("{ webPush { id } }", "admin"),
            ("mutation { switchWebPush(to: ON) { id } }", "admin"),
            ("mutation { renewWebPushKey { id } }", "admin"),
            ("mutation { deleteWebPush { deletedId } }", "admin"),
            ("{ webPushKey }", "user service admin"),
            ("{ messageTypes { code } subscriptionReasons { code } userGroups { code } viewCodes { code } }", "user service admin"),
        ];
        for (query, roles) in operations {
            for (role, actor) in [("user", app.user("ada")), ("service", app.service()), ("admin", app.admin())] {
                let (_, answer) = actor.send(query, json!({})).await;
                let code = &answer["errors"][0]["extensions"]["code"];
                let expected = if roles.split(' ').any(|of| of == role) { Value::Null } else { json!("FORBIDDEN") };
                // `NOT_FOUND` also shows that the role is permitted: the service has already deleted the operator's
                // group, and the chat has no members.
                assert!(*code == expected || (expected.is_null() && code == "NOT_FOUND"), "{role}: {query}: {answer}");
            }
        }
    }

    async fn a_user_sees_the_profile_of_another_and_nothing_else_of_them(app) {
        app.admin().define_type("direct").await;
        app.service().ask("mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"Ben\", avatarUrl: \"/b.png\", locale: \"de\" }]) { id } }", json!({})).await;
        app.user("ben").message("direct", "ada", "hello").await;
        let sender = |fields: &str| format!("{{ viewer {{ inbox {{ nodes {{ sender {{ {fields} }} }} }} }} }}");
        let data = app.user("ada").ask(&sender("id name avatarUrl locale"), json!({})).await;
        assert_eq!(data["viewer"]["inbox"]["nodes"][0]["sender"], json!({ "id": "ben", "name": "Ben", "avatarUrl": "/b.png", "locale": "de" }));
        for private in ["overview { cursor }", "inbox { nodes { id } }", "subscriptions { nodes { action } }", "following { nodes { id } }",
                        "groups { code }", "preferences { types { code } }", "views { externalId }"] {
            let why = app.user("ada").refused(&sender(private), json!({})).await;
            assert!(why.starts_with("GRAPHQL_VALIDATION_FAILED"), "{why}");
            let why = app.user("ada").refused(&format!("{{ inboxUser(id: \"ben\") {{ {private} }} }}"), json!({})).await;
            assert!(why.starts_with("FORBIDDEN"), "{why}");
        }
    }

    async fn tenants_have_nothing_to_do_with_each_other(app) {
        for operator in [app.admin(), app.stranger("op", CallerRole::Admin)] {
            operator.define_type("release").await;
            operator.ask("mutation { saveUserGroup(code: \"design\") { code } }", json!({})).await;
            operator.ask("mutation { addUserGroupMembers(code: \"design\", users: [\"ada\"]) { code } }", json!({})).await;
        }
        let theirs = app.stranger("ada", CallerRole::User);
        theirs.subscribe("7", &["comment"]).await;
        theirs.ask("mutation { followUser(user: \"ben\") { user { id } } }", json!({})).await;
        app.service().announce("release", everyone(), "everyone").await;
        app.service().announce("release", json!({ "groups": ["design"] }), "group").await;
        app.service().announce("release", json!({ "users": ["ada"] }), "named").await;
        app.service().remind("release", "7", "comment", Some("ben"), "reminder").await;
        app.service().message("release", "ada", "message").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["message", "named", "group", "everyone"]);
        assert!(theirs.titles(json!({})).await.is_empty());
        let data = app.stranger("shop", CallerRole::Service).ask("{ inboxUser(id: \"operator\") { user { id } } }", json!({})).await;
        assert_eq!(data["inboxUser"], Value::Null);
    }

    async fn a_field_of_a_profile_stays_when_left_out_and_goes_when_cleared(app) {
        let save = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id name avatarUrl locale } }";
        let service = app.service();
        service.ask(save, json!({ "inputs": [{ "id": "ada", "name": "Ada", "locale": "en" }, { "id": "ben", "name": "Ben" }] })).await;
        let data = service.ask(save, json!({ "inputs": [{ "id": "ada", "avatarUrl": "https://x.test/a.png", "name": null, "clear": ["LOCALE"] }] })).await;
        assert_eq!(data["saveUserProfiles"], json!([{ "id": "ada", "name": "Ada", "avatarUrl": "https://x.test/a.png", "locale": null }]));
        let why = service.refused(save, json!({ "inputs": [{ "id": "ben", "name": "B" }, { "id": "ada", "avatarUrl": "javascript:1" }] })).await;
        assert!(why.starts_with("BAD_USER_INPUT inputs[1].avatarUrl: must be"), "{why}");
        let data = service.ask("{ inboxUsers(ids: [\"ben\", \"nobody\"]) { user { name } } }", json!({})).await;
        assert_eq!(data["inboxUsers"], json!([{ "user": { "name": "Ben" } }, null]));
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
                Request::get("/graphql?query=mutation%7BmarkSeen%7BchangedCount%7D%7D")
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
