//! Equal fields run once, as the specification requires, no matter how a client came to write them twice.

use axum::http::StatusCode;
use serde_json::json;

use super::code;
use crate::support::{everyone, on_every_database};

on_every_database! {
    async fn equal_fields_of_a_mutation_run_once(app) {
        app.admin().define_type("news").await;
        let send = "sendAnnouncement(input: { type: \"news\", audience: { everyone: true }, content: { title: \"x\" } })";
        let query = format!(
            "mutation {{ {send} {{ replayed }} {send} {{ notification {{ title }} }} ...again ... on Mutation {{ {send} {{ replayed }} }} }} \
             fragment again on Mutation {{ {send} {{ notification {{ id }} }} }}"
        );
        let data = app.service().ask(&query, json!({})).await;
        assert_eq!(data["sendAnnouncement"]["replayed"], false);
        assert_eq!(data["sendAnnouncement"]["notification"]["title"], "x");
        assert!(data["sendAnnouncement"]["notification"]["id"].is_string());
        assert_eq!(app.user("ada").titles(json!({})).await, ["x"]);
        let twice = format!("mutation {{ one: {send} {{ replayed }} two: {send} {{ replayed }} }}");
        app.service().ask(&twice, json!({})).await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["x", "x", "x"]);
    }

    async fn equal_fields_of_a_query_take_the_statements_of_one(app) {
        let ada = app.user("ada");
        ada.ask("{ viewer { overview { cursor } } }", json!({})).await;
        let (one, _) = app.statements_of(ada.ask("{ viewer { overview { unread { count } } } }", json!({}))).await;
        let many = format!("{{ {} }}", "viewer { ...a overview { unread { count } } } ".repeat(240));
        let many = many + "fragment a on Viewer { overview { unread { count } } }";
        let (statements, data) = app.statements_of(ada.ask(&many, json!({}))).await;
        assert_eq!((statements, &data), (one, &json!({ "viewer": { "overview": { "unread": { "count": 0 } } } })));
    }
}

#[tokio::test]
async fn fragments_may_overlap_as_clients_write_them() {
    crate::support::with(crate::support::Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        let id = app.service().announce("news", everyone(), "x").await;
        let ada = app.user("ada");
        let query = "query Bell($small: Boolean = false, $large: Boolean!) { viewer { user { id } ...A ...B @skip(if: $small) ... @include(if: $large) { overview { cursor } } } } \
            fragment A on Viewer { user { id } overview { unread { count } ...O } } \
            fragment B on Viewer { user { name id } overview { unread { exact } types { type { code } } } } \
            fragment O on InboxOverview { unread { count exact __typename } types { type { title code } of: __typename unread { many: count } } }";
        let whole = json!({ "viewer": { "user": { "id": "ada", "name": null }, "overview": {
            "unread": { "count": 1, "exact": true, "__typename": "CappedCount" },
            "types": [{ "type": { "title": "news", "code": "news" }, "of": "MessageTypeOverview", "unread": { "many": 1 } }] } } });
        assert_eq!(ada.ask(query, json!({ "large": false })).await, whole);
        let data = ada.ask(query, json!({ "small": true, "large": true })).await;
        assert!(data["viewer"]["user"].get("name").is_none() && data["viewer"]["overview"]["cursor"].is_string(), "{data}");
        let keys: Vec<&String> = whole["viewer"]["overview"].as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 2);

        // On an interface, the fields of each object type.
        let item = ada.ask("{ viewer { inbox { nodes { id } } } }", json!({})).await["viewer"]["inbox"]["nodes"][0]["id"].clone();
        let node = "query($id: ID!) { node(id: $id) { __typename id ...N ... on InboxItem { id title isRead } ... on SentNotification { title status } } } \
            fragment N on Node { id ... on InboxItem { type { code } } }";
        let data = ada.ask(node, json!({ "id": item })).await;
        assert_eq!(data["node"], json!({ "__typename": "InboxItem", "id": item, "type": { "code": "news" }, "title": "x", "isRead": false }));
        let data = app.service().ask(node, json!({ "id": id })).await;
        assert_eq!(data["node"], json!({ "__typename": "SentNotification", "id": id, "title": "x", "status": "PUBLISHED" }));
    })
    .await;
}

#[tokio::test]
async fn fields_that_differ_under_one_name_are_refused() {
    crate::support::with(crate::support::Kind::Sqlite, async |app| {
        for query in [
            "{ viewer { user { id: name id } } }",
            "{ viewer { overview(cap: 1) { cursor } overview(cap: 2) { cursor } } }",
            "{ viewer { overview(cap: 1) { cursor } ...a } } fragment a on Viewer { overview { cursor } }",
            "{ viewer { overview { a: cursor } } viewer { overview { a: unread { count } } } }",
        ] {
            let (status, answer) = app.user("ada").send(query, json!({})).await;
            assert_eq!(
                (status, code(&answer)),
                (StatusCode::BAD_REQUEST, &json!("GRAPHQL_VALIDATION_FAILED")),
                "{query}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn graphiqls_introspection_passes() {
    crate::support::with(crate::support::Kind::Sqlite, async |app| {
        let of = |levels: usize| format!("{}{}", "ofType { kind name ".repeat(levels), "}".repeat(levels));
        let query = format!(
            "query IntrospectionQuery {{ __schema {{ queryType {{ name }} mutationType {{ name }} subscriptionType {{ name }} \
             types {{ ...FullType }} directives {{ name description isRepeatable locations args(includeDeprecated: true) {{ ...InputValue }} }} }} }} \
             fragment FullType on __Type {{ kind name description specifiedByURL fields(includeDeprecated: true) {{ name description \
             args(includeDeprecated: true) {{ ...InputValue }} type {{ ...TypeRef }} isDeprecated deprecationReason }} \
             inputFields(includeDeprecated: true) {{ ...InputValue }} interfaces {{ ...TypeRef }} \
             enumValues(includeDeprecated: true) {{ name description isDeprecated deprecationReason }} possibleTypes {{ ...TypeRef }} }} \
             fragment InputValue on __InputValue {{ name description type {{ ...TypeRef }} defaultValue isDeprecated deprecationReason }} \
             fragment TypeRef on __Type {{ kind name {} }}", of(9)
        );
        let data = app.user("ada").ask(&query, json!({})).await;
        assert!(data["__schema"]["types"].as_array().unwrap().len() > 40);
    })
    .await;
}
