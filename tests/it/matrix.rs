//! Every field, mutation and subscription of the schema × every role, and every input × every invalid value.
//!
//! Generated from the schema by introspection, so that additions are covered without being listed here.

mod calls;
mod lists;
mod values;

use auth::CallerRole;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{Actor, TestApp, everyone, on_every_database};
use calls::{Call, Kind, Types};

/// The permitted values of `extensions.code`.
const CODES: [&str; 7] = [
    "UNAUTHENTICATED",
    "FORBIDDEN",
    "NOT_FOUND",
    "BAD_USER_INPUT",
    "CONFLICT",
    "GRAPHQL_PARSE_FAILED",
    "GRAPHQL_VALIDATION_FAILED",
];

/// Text that no response may contain: words of the database, of Rust, and of internal logs.
const INTERNALS: [&str; 9] =
    ["sqlx", "sqlite", "SELECT ", "INSERT ", "panicked", "INTERNAL", "internal error", ".rs:", "RUST_BACKTRACE"];

/// The maximum size of an error response in bytes.
const ANSWER: usize = 16 * 1024;

/// Returns the first result of a subscription from its event stream, or an empty one if the subscription waits for an
/// event.
async fn first_result(app: &TestApp, call: &Call, body: Body) -> String {
    let mut chunks = body.into_data_stream();
    let mut text = String::new();
    let result = async {
        loop {
            let chunk = chunks.next().await.expect("a stream that ends says so").expect("it does not break off");
            text.push_str(std::str::from_utf8(&chunk).expect("events are text"));
            // The line is complete once another line follows.
            if let Some((data, _)) = text.split_once("data: ").and_then(|(_, data)| data.split_once('\n')) {
                return data.to_owned();
            }
        }
    };
    // An overview arrives at once. The other subscriptions only have to start.
    let has_begun = async {
        while call.query.contains("overviewChanged") || app.app.metrics.subscriptions.get() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        result = result => result,
        () = has_begun => "{}".to_owned(),
    }
}

/// Sends a call and returns the code of its first error, if any.
async fn code_of(app: &TestApp, token: Option<&str>, call: &Call, variables: &Value) -> Option<String> {
    let body = json!({ "query": call.query, "variables": variables }).to_string();
    let mut request = Request::post("/graphql").header("content-type", "application/json");
    if call.kind == Kind::Subscription {
        request = request.header("accept", "text/event-stream");
    }
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Body::from(body.replace(values::SURROGATE, "\\ud800"))).unwrap();
    let response = app.routes.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let text = if response.headers()[header::CONTENT_TYPE] == "text/event-stream" {
        first_result(app, call, response.into_body()).await
    } else {
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    };
    let answer: Value = serde_json::from_str(&text).unwrap();
    let what = || format!("{} {variables:.300} {status} {text:.1000}", call.query);
    // The list of error codes contains such words itself.
    let tells = |internal: &&str| text.contains(internal) && !call.query.contains("errorCodes");
    assert!(!INTERNALS.iter().any(tells), "{}", what());
    assert!(!status.is_server_error(), "{}", what());
    let errors = answer["errors"].as_array()?;
    assert!(text.len() <= ANSWER, "{} bytes: {}", text.len(), what());
    for error in errors {
        let code = error["extensions"]["code"].as_str().unwrap_or_default();
        assert!(CODES.contains(&code), "{}", what());
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{}", what());
    }
    if status == StatusCode::UNAUTHORIZED {
        assert_eq!(errors[0]["extensions"]["code"], "UNAUTHENTICATED");
    }
    errors[0]["extensions"]["code"].as_str().map(ToOwned::to_owned)
}

/// Everything that the tenant's own backend can see.
async fn state(app: &TestApp) -> Value {
    let query = "{ inboxUsers(ids: [\"ada\", \"ben\"]) { user { id name avatarUrl locale } overview { unread { count } unseen { count } types { type { code } unread { count } } } \
        inbox(first: 50, filter: { state: ALL }) { nodes { id title body isRead isArchived } } \
        subscriptions(first: 50) { nodes { action target { type externalId } } } following(first: 50) { nodes { id } } groups { code } \
        preferences { actions { code enabled source } types { code enabled source } } } \
        userGroups { code title memberCount } subscriptionReasons { code actions } \
        messageTypes { code title group mandatory position readPolicy ttlSeconds template { title body link } } }";
    app.service().ask(query, json!({})).await
}

async fn furnish(app: &TestApp) {
    for operator in [app.admin(), app.stranger("operator", CallerRole::Admin)] {
        operator.define_type("news").await;
        operator
            .ask("mutation { saveSubscriptionReason(code: \"cause\", actions: [\"comment\"]) { code } }", json!({}))
            .await;
        // The targets of the calls have this type.
        let open = "mutation { saveTargetType(code: \"news\", subscriptionPolicy: OPEN) { code } saveFollowPolicy(followPolicy: OPEN) { followPolicy } }";
        operator.ask(open, json!({})).await;
        operator.ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
        operator.ask("mutation { saveViewCode(code: \"team\", open: true) { code } }", json!({})).await;
        operator.ask("mutation { addUserGroupMembers(code: \"team\", users: [\"ada\"]) { code } }", json!({})).await;
        operator.announce("news", json!({ "users": ["ada", "ben"] }), "named").await;
        operator.announce("news", everyone(), "everyone").await;
    }
    app.user("ada").subscribe("7", &["comment"]).await;
    app.user("ada").ask("mutation { followUser(user: \"ben\") { user { id } } }", json!({})).await;
    app.user("ben").titles(json!({})).await;
}

/// Returns the first of the tenant's callers with the permission.
async fn who_may<'a>(app: &'a TestApp, call: &Call) -> Actor<'a> {
    for actor in [app.user("ada"), app.service()] {
        if code_of(app, Some(&actor.token), call, &call.variables).await.as_deref() != Some("FORBIDDEN") {
            return actor;
        }
    }
    app.admin()
}

on_every_database! {
    async fn everybody_does_what_the_schema_says_and_changes_nothing_where_it_says_no(app) {
        furnish(app).await;
        let types = Types::of(&app.user("ada")).await;
        let actors = [
            ("USER", app.user("ada")),
            ("USER", app.user("ben")),
            ("SERVICE", app.service()),
            ("ADMIN", app.admin()),
        ];
        let strangers =
            [app.stranger("ada", CallerRole::User), app.stranger("shop", CallerRole::Service), app.stranger("operator", CallerRole::Admin)];
        let calls = types.calls();
        assert!(calls.len() > 40, "{} calls are walked", calls.len());
        assert!(calls.iter().filter(|call| call.kind == Kind::Subscription).count() > 2, "subscriptions are walked");
        for call in calls {
            let before = state(app).await;
            assert_eq!(code_of(app, None, &call, &call.variables).await.as_deref(), Some("UNAUTHENTICATED"), "{}", call.query);
            for stranger in &strangers {
                code_of(app, Some(&stranger.token), &call, &call.variables).await;
            }
            assert_eq!(state(app).await, before, "nobody else's business: {}", call.query);
            for (role, actor) in &actors {
                let before = state(app).await;
                let code = code_of(app, Some(&actor.token), &call, &call.variables).await;
                let is_forbidden = code.as_deref() == Some("FORBIDDEN");
                if let Some(is_named) = call.names(role) {
                    assert_eq!(is_forbidden, !is_named, "{role} {} {code:?}", call.query);
                }
                if code.is_some() || call.kind != Kind::Mutation {
                    assert_eq!(state(app).await, before, "{role} {}", call.query);
                }
            }
        }
    }

    async fn lists_may_be_as_long_as_is_said_and_no_longer(app) {
        furnish(app).await;
        let types = Types::of(&app.user("ada")).await;
        let mut walked = 0;
        for call in types.calls().iter().filter(|call| !call.query.contains("inboxUser(id: \"ada\")")) {
            let actor = who_may(app, call).await;
            let token = actor.token.as_str();
            let code = async |variables: Value| code_of(app, Some(token), call, &variables).await;
            for place in types.places(call) {
                let Some(list) = &place.list else { continue };
                walked += 1;
                let most = lists::most(&call.query, &place.name());
                let most = most.unwrap_or_else(|| panic!("how long may {} of {} be?", place.name(), call.query));
                code(place.set(call, lists::same(list, most))).await;
                if let Some(different) = lists::different(list, &place.of, most) {
                    code(place.set(call, different)).await;
                }
                let before = state(app).await;
                let refused = code(place.set(call, lists::same(list, most + 1))).await;
                let what = || format!("{} of {}", place.name(), call.query);
                assert_eq!(refused.as_deref(), Some("BAD_USER_INPUT"), "{}", what());
                assert_eq!(state(app).await, before, "{}", what());
            }
        }
        assert!(walked > 20, "{walked} lists are walked");
    }

    async fn no_input_breaks_anything(app) {
        furnish(app).await;
        let types = Types::of(&app.user("ada")).await;
        let foreign = app.stranger("ada", CallerRole::User).items(json!({})).await[0]["id"].clone();
        let mut walked = 0;
        // `inboxUser` has the same fields as `viewer`, so skip it.
        for call in types.calls().iter().filter(|call| !call.query.contains("inboxUser(id: \"ada\")")) {
            let actor = who_may(app, call).await;
            let mut refused = Vec::new();
            for place in types.places(call) {
                for value in values::hostile(&place.of, &foreign) {
                    walked += 1;
                    let variables = place.set(call, value);
                    if code_of(app, Some(&actor.token), call, &variables).await.is_some() {
                        refused.push(variables);
                    }
                }
            }
            // Repeat the refused calls only: accepted ones may change the state.
            let before = state(app).await;
            for variables in &refused {
                code_of(app, Some(&actor.token), call, variables).await;
            }
            assert_eq!(state(app).await, before, "{} {refused:.2000?}", call.query);
        }
        assert!(walked > 1_000, "{walked} inputs are walked");
    }
}
