//! Every limit, and attacks on each.

use auth::CallerRole;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{ANSWER, code, post, raw};
use crate::support::{Actor, Kind, TestApp, everyone, with, with_settings};

/// Checks that a query is refused, by this limit if it has a name, with a small response and without a statement.
async fn refused(actor: &Actor<'_>, query: &str, limit: &str) {
    // The first request of a caller creates their tenant.
    actor.send("{ __typename }", json!({})).await;
    let (statements, (status, answer)) = actor.app.statements_of(actor.send(query, json!({}))).await;
    let start: String = query.chars().take(60).collect();
    assert_eq!((status, statements), (StatusCode::BAD_REQUEST, 0), "{start} {answer}");
    let refusal = &answer["errors"][0]["extensions"];
    assert!(matches!(refusal["code"].as_str(), Some("GRAPHQL_VALIDATION_FAILED" | "GRAPHQL_PARSE_FAILED")), "{answer}");
    assert_eq!(refusal["limit"].as_str().unwrap_or_default(), limit, "{start}");
    assert!(answer.to_string().len() < ANSWER, "{start}");
}

fn repeat(many: usize, one: impl Fn(usize) -> String) -> String {
    (0..many).map(one).collect::<Vec<_>>().concat()
}

/// Fragments that spread the next one twice.
fn fan(levels: usize, last: &str) -> String {
    let name = |level: usize| if level == levels { "z".into() } else { format!("f{level}") };
    let fragments =
        repeat(levels, |level| format!("fragment {0} on Viewer{{...{1} ...{1}}}", name(level), name(level + 1)));
    format!("{{viewer{{...f0}}}}{fragments}fragment z on Viewer{{{last}}}")
}

#[tokio::test]
async fn hostile_requests_are_refused_before_they_cost_anything() {
    with(Kind::Sqlite, async |app| {
        let ada = app.user("ada");
        for levels in [10, 25, 200] {
            refused(&ada, &fan(levels, "overview{cursor}"), if levels == 200 { "depth" } else { "fields" }).await;
        }
        let aliased = |many: usize| repeat(many, |place| format!("a{place}: viewer {{ id }} "));
        let inner = |many: usize| repeat(many, |place| format!("a{place}: id "));
        let lists = |many: usize| format!("{{ inboxUsers(ids: {}{}) {{ id }} }}", "[".repeat(many), "]".repeat(many));
        for (query, limit) in [
            (lists(1_200), "nesting"),
            (lists(20_000), "nesting"),
            (format!("query($a: {}ID{}) {{ viewer {{ id }} }}", "[".repeat(1_200), "]".repeat(1_200)), "nesting"),
            (format!("{{ viewer(a: {}{}) {{ id }} }}", "{a:".repeat(1_200), "}".repeat(1_200)), "nesting"),
            (format!("{}{}", "{ viewer ".repeat(1_200), "}".repeat(1_200)), "nesting"),
            (format!("{{ inboxUsers(ids: [\"\"\"x\"{}", "[".repeat(5_000)), ""),
            (format!("{{ viewer {{ {} }} }}", "overview { cursor } ".repeat(2_000)), "fields"),
            ("{ viewer { ...a } } fragment a on Viewer { ...b } fragment b on Viewer { ...a }".into(), ""),
            ("{ viewer { ...a } } fragment a on Viewer { id ...a }".into(), ""),
            ("{ viewer { id } } fragment a on Viewer { id ...a }".into(), ""),
            (format!("{{ {} }}", aliased(21)), "root_fields"),
            (format!("{{ {} }}", aliased(900)), "root_fields"),
            (format!("{{ viewer {{ {} }} }}", inner(101)), "aliases"),
            (format!("{{ viewer {{ id {} }} }}", "@include(if: true) ".repeat(101)), "directives"),
            (format!("{{ viewer {{ {} }} }}", "id @skip(if: true) ".repeat(101)), "directives"),
            (format!("query {} {{ viewer {{ id }} }}", "@a ".repeat(2_000)), "directives"),
            (format!("{{ viewer {{ {} }} }}", "nonsense1 ".repeat(900)), ""),
            (format!("{{ viewer {{ {} }} }}", "x".repeat(60_000)), ""),
            (format!("{{ viewer {{ id }} }} #{}", "x".repeat(70_000)), "document_bytes"),
            (format!("{{ viewer {{ {} }} }}", "id ".repeat(10_000)), "tokens"),
        ] {
            refused(&ada, &query, limit).await;
        }
        // The next honest request succeeds.
        assert_eq!(ada.ask("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"], "ada");
    })
    .await;
}

#[tokio::test]
async fn what_a_query_may_ask_for_is_bounded() {
    with(Kind::Sqlite, async |app| {
        let ada = app.user("ada");
        let nested = format!("{{ __type(name: \"User\") {{ {} kind {} }} }}", "ofType { ".repeat(20), "} ".repeat(20));
        refused(&ada, &nested, "depth").await;
        let fields = repeat(60, |place| format!("a{place}: id "));
        let sent = format!("{{ viewer {{ inbox(first: 200) {{ nodes {{ sender {{ {fields} }} }} }} }} }}");
        refused(&ada, &sent, "complexity").await;
        let size =
            &format!("query($first: Int = 200) {{ viewer {{ inbox(first: $first) {{ nodes {{ {fields} }} }} }} }}");
        refused(&ada, size, "complexity").await;
        ada.ask(size, json!({ "first": 5 })).await;
        let (_, answer) = ada.send(size, json!({ "first": 190 })).await;
        assert_eq!(answer["errors"][0]["extensions"]["limit"], "complexity", "of a document that has passed before");
        let why = ada.refused("{ viewer { inbox(first: 201) { nodes { id } } } }", json!({})).await;
        assert_eq!(why, "BAD_USER_INPUT first: must be 0 to 200");
        app.service().ask(&size.replace("viewer", "inboxUser(id: \"ada\")"), json!({ "first": 190 })).await;
    })
    .await;
}

#[tokio::test]
async fn every_limit_is_a_setting() {
    let tight = |settings: &mut base::config::ServerConfig| {
        settings.limits.depth = 3;
        settings.limits.page_size = 2;
        settings.limits.list_items = 2;
        settings.limits.aliases = 1;
        settings.limits.root_fields = 1;
        settings.limits.directives = 1;
        settings.limits.fields = 12;
        settings.limits.complexity = 8;
        settings.limits.tokens = 60;
        settings.limits.document_bytes = 300;
        settings.limits.nesting = 6;
    };
    with_settings(Kind::Sqlite, tight, async |app| {
        let ada = app.user("ada");
        for (query, limit) in [
            ("{ viewer { inbox(first: 1) { nodes { id } } } }", "depth"),
            ("{ viewer { id } userGroups { code } }", "root_fields"),
            ("{ viewer { a: id b: id } }", "aliases"),
            ("{ viewer { id @skip(if: false) user @skip(if: false) { id } } }", "directives"),
            ("{ viewer { inbox(first: 2) { edges { cursor } pageInfo { endCursor } nodes { id } } } }", "depth"),
            ("{ viewer { overview { cursor } groups { code } id user { id } a: id } }", "complexity"),
            ("{ viewer { id id id id id id id id id id id id } }", "fields"),
            ("{ viewer { groups { code(a: [[[1]]]) } } }", "nesting"),
        ] {
            refused(&ada, query, limit).await;
        }
        refused(&ada, &format!("{{ viewer {{ {} }} }}", "id ".repeat(60)), "tokens").await;
        refused(&ada, &format!("{{ viewer {{ id }} }} #{}", "x".repeat(300)), "document_bytes").await;
        let why = ada.refused("{ viewer { inbox(first: 3) { nodes } } }", json!({})).await;
        assert!(why.starts_with("GRAPHQL_VALIDATION_FAILED"), "{why}");
        let why = ada.refused("{ viewer { inbox(first: 3) { __typename } } }", json!({})).await;
        assert_eq!(why, "BAD_USER_INPUT first: must be 0 to 2");
        let users = "query($ids: [ID!]!) { inboxUsers(ids: $ids) { id } }";
        let why = app.service().refused(users, json!({ "ids": ["a", "b", "c"] })).await;
        assert_eq!(why, "BAD_USER_INPUT ids: must have at most 2 entries in one call, not 3");
    })
    .await;
}

#[tokio::test]
async fn the_deepest_that_may_be_allowed_does_not_overflow_the_stack() {
    let deep = |settings: &mut base::config::ServerConfig| {
        settings.limits.nesting = 200;
        settings.limits.depth = 200;
        settings.limits.recursion = 200;
        settings.limits.complexity = usize::MAX;
    };
    with_settings(Kind::Sqlite, deep, async |app| {
        let ada = app.user("ada");
        let chain = repeat(60, |level| format!("fragment f{level} on Viewer {{ ...f{} }} ", level + 1));
        let chained = format!("{{ viewer {{ ...f0 }} }} {chain} fragment f60 on Viewer {{ user {{ id }} }}");
        assert_eq!(ada.ask(&chained, json!({})).await["viewer"]["user"]["id"], "ada");
        let nested = format!("{{ viewer {{ {} user {{ id }} {} }} }}", "... on Viewer { ".repeat(60), "} ".repeat(60));
        assert_eq!(ada.ask(&nested, json!({})).await["viewer"]["user"]["id"], "ada");
        let why = ada
            .refused(&format!("{{ inboxUsers(ids: {}{}) {{ id }} }}", "[".repeat(198), "]".repeat(198)), json!({}))
            .await;
        assert!(why.starts_with("GRAPHQL_VALIDATION_FAILED"), "{why}");
        let objects = format!("{{ node(id: {}1{}) {{ id }} }}", "{a: ".repeat(198), "}".repeat(198));
        assert!(ada.refused(&objects, json!({})).await.starts_with("GRAPHQL_VALIDATION_FAILED"));
        let lists = format!("query($a: {}ID{}) {{ viewer {{ id }} }}", "[".repeat(198), "]".repeat(198));
        assert!(ada.refused(&lists, json!({})).await.starts_with("GRAPHQL_"));
    })
    .await;
}

#[tokio::test]
async fn a_body_is_read_as_far_as_its_sender_may_send() {
    with(Kind::Sqlite, async |app| {
        let body =
            |bytes: usize| json!({ "query": "{ __typename }", "variables": { "a": "x".repeat(bytes) } }).to_string();
        let (user, service) = (app.user("ada").token, app.service().token);
        for (token, bytes, status) in [
            (&user, 200_000, StatusCode::OK),
            (&user, 300_000, StatusCode::PAYLOAD_TOO_LARGE),
            (&service, 2_000_000, StatusCode::OK),
            (&service, 2_200_000, StatusCode::PAYLOAD_TOO_LARGE),
        ] {
            assert_eq!(raw(app, post(token, body(bytes))).await.0, status, "{bytes}");
        }
        // A body of unknown length from an unknown sender is not read at all.
        let touched = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        for (token, status, most) in
            [(&user, StatusCode::PAYLOAD_TOO_LARGE, 300), (&"none".into(), StatusCode::UNAUTHORIZED, 0)]
        {
            touched.store(0, std::sync::atomic::Ordering::SeqCst);
            let counter = touched.clone();
            let chunks = futures_util::stream::iter((0..10_000).map(move |_| {
                counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                Ok::<_, std::io::Error>(vec![b' '; 1024])
            }));
            let request = post(token, String::new()).map(|_| axum::body::Body::from_stream(chunks));
            assert_eq!(raw(app, request).await.0, status);
            let read = touched.load(std::sync::atomic::Ordering::SeqCst);
            assert!(read <= most, "{read} KiB were read");
        }
    })
    .await;
}

#[tokio::test]
async fn what_takes_too_long_ends() {
    let hasty = |settings: &mut base::config::ServerConfig| settings.limits.execution_millis = 50;
    with_settings(Kind::Sqlite, hasty, async |app: &TestApp| {
        app.user("ada").ask("{ viewer { id } }", json!({})).await;
        // On SQLite, writers wait for the only connection that can write.
        let writing = app.app.db.begin().await.unwrap();
        let (status, answer) =
            app.user("ada").send("mutation { markRead(select: { matching: {} }) { changedCount } }", json!({})).await;
        writing.rollback().await.unwrap();
        assert_eq!((status, code(&answer)), (StatusCode::SERVICE_UNAVAILABLE, &json!("UNAVAILABLE")));
        assert_eq!(answer["errors"][0]["message"], "the mutation took too long, and may or may not have been applied");
        let again =
            app.user("ada").send("mutation { markRead(select: { matching: {} }) { changedCount } }", json!({})).await;
        assert_eq!(again.0, StatusCode::OK);
    })
    .await;
}

#[tokio::test]
async fn a_syntax_error_tells_the_place_and_not_the_query() {
    with(Kind::Sqlite, async |app| {
        let (_, answer) = app.user("ada").send("{ viewer {\n  id SECRET( } }", json!({})).await;
        assert_eq!(code(&answer), "GRAPHQL_PARSE_FAILED");
        assert_eq!(answer["errors"][0]["locations"], json!([{ "line": 2, "column": 14 }]));
        let message = answer["errors"][0]["message"].as_str().unwrap();
        assert!(message.starts_with("the query is not valid GraphQL at line 2, column 14: expected "), "{message}");
        assert!(!answer.to_string().contains("SECRET"));
    })
    .await;
}

#[tokio::test]
async fn names_that_are_spelt_alike_are_told_to_staff_only() {
    with(Kind::Sqlite, async |app| {
        let alike = |answer: &Value| answer["errors"][0]["message"].as_str().unwrap().contains("Did you mean");
        for (actor, is_told) in [(app.user("ada"), false), (app.service(), true), (app.admin(), true)] {
            assert_eq!(alike(&actor.send("{ messageType { code } }", json!({})).await.1), is_told);
        }
    })
    .await;
}

#[tokio::test]
async fn variables_are_checked_also_when_the_document_is_known() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        let service = app.service();
        let send = "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed } }";
        let right = json!({ "type": "news", "audience": everyone(), "content": { "title": "x" } });
        let with = |change: Value| {
            let mut input = right.clone();
            input.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            json!({ "input": input })
        };
        for round in 0..2 {
            for (variables, why) in [
                (json!({}), "BAD_USER_INPUT input: is required, of the type SendAnnouncementInput!"),
                (json!({ "input": null }), "BAD_USER_INPUT input: must be SendAnnouncementInput!, not null"),
                (json!({ "input": 7 }), "BAD_USER_INPUT input: must be SendAnnouncementInput"),
                (with(json!({ "type": 7 })), "BAD_USER_INPUT input.type: must be String"),
                (
                    with(json!({ "nonsense": 7 })),
                    "BAD_USER_INPUT input: has a field \"nonsense\" that SendAnnouncementInput does not have",
                ),
                (
                    with(json!({ "audience": {} })),
                    "BAD_USER_INPUT input.audience: must have exactly one of the fields of NotificationAudienceInput",
                ),
                (
                    with(json!({ "audience": { "users": ["ada", {}] } })),
                    "BAD_USER_INPUT input.audience.users[1]: must be ID",
                ),
                (
                    with(json!({ "expiresAt": "soon" })),
                    "BAD_USER_INPUT input.expiresAt: must be an instant such as 2026-11-21T08:30:00.000Z (RFC 3339)",
                ),
            ] {
                assert_eq!(service.refused(send, variables).await, why, "round {round}");
            }
            service.ask(send, json!({ "input": right })).await;
        }
        assert_eq!(Actor::new(app, "acme", "ada", CallerRole::User).titles(json!({})).await, ["x", "x"]);
    })
    .await;
}
