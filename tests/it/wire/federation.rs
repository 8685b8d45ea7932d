//! A subgraph of Apollo Federation 2: <https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec>.

use serde_json::{Value, json};
use tidings::auth::Role;

use crate::support::{Kind, everyone, on_every_database, with};

const ENTITIES: &str = "query($of: [_Any!]!) { _entities(representations: $of) { ... on User { id overview { unread { count } } \
    inbox(first: 1) { nodes { title } } } } }";

fn users(ids: &[&str]) -> Value {
    json!({ "of": ids.iter().map(|id| json!({ "__typename": "User", "id": id })).collect::<Vec<_>>() })
}

#[tokio::test]
async fn a_gateway_finds_the_schema_and_the_users_of_its_graph() {
    with(Kind::Sqlite, async |app| {
        let sdl = app.service().ask("{ _service { sdl } }", json!({})).await["_service"]["sdl"].take();
        let sdl = sdl.as_str().unwrap();
        assert!(sdl.contains("https://specs.apollo.dev/federation/v2"), "{sdl:.500}");
        assert!(sdl.contains("type User @key(fields: \"id\")"));

        app.admin().define_type("news").await;
        app.admin().announce("news", everyone(), "hello").await;
        let data = app.service().ask(ENTITIES, users(&["ada", "ben"])).await;
        let one = |id: &str| json!({ "id": id, "overview": { "unread": { "count": 1 } }, "inbox": { "nodes": [{ "title": "hello" }] } });
        assert_eq!(data["_entities"], json!([one("ada"), one("ben")]));
        assert_eq!(app.user("ada").ask(ENTITIES, users(&["ada"])).await["_entities"], json!([one("ada")]));
    })
    .await;
}

#[tokio::test]
async fn a_representation_is_no_way_to_what_belongs_to_another() {
    with(Kind::Sqlite, async |app| {
        assert!(app.user("ada").refused(ENTITIES, users(&["ben"])).await.starts_with("NOT_FOUND"));
        app.admin().define_type("news").await;
        app.admin().announce("news", everyone(), "hello").await;
        let stranger = app.stranger("shop", Role::Service).ask(ENTITIES, users(&["ada"])).await;
        assert_eq!(stranger["_entities"][0]["overview"]["unread"]["count"], 0);
        let wrong = [
            json!({ "of": [{}] }),
            json!({ "of": [{ "__typename": "Nobody" }] }),
            json!({ "of": ["x"] }),
            json!({ "of": [{ "__typename": "User" }] }),
            json!({ "of": [{ "__typename": "User", "id": 7.5 }] }),
        ];
        for variables in wrong {
            let code = app.service().refused(ENTITIES, variables.clone()).await;
            assert!(code.starts_with("BAD_USER_INPUT"), "{variables} {code}");
        }
        let many: Vec<String> = (0..5_000).map(|place| format!("u{place}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let code = app.user("ada").refused(ENTITIES, users(&many)).await;
        assert!(code.starts_with("GRAPHQL_VALIDATION_FAILED"), "{code}");
    })
    .await;
}

on_every_database! {
    async fn users_whom_a_gateway_names_together_are_read_together(app) {
        app.admin().define_type("news").await;
        let ids: Vec<String> = (0..150).map(|place| format!("u{place}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let named = "query($of: [_Any!]!) { _entities(representations: $of) { ... on User { id overview { unread { count } } } } }";
        let listed = "query($ids: [ID!]!) { users(ids: $ids) { id overview { unread { count } } } }";
        let (statements, _) = app.statements_of(app.service().ask(named, users(&ids))).await;
        assert!(statements < 30, "{statements} statements for users who are made");
        app.admin().announce("news", everyone(), "hello").await;
        app.service().ask(listed, json!({ "ids": ids })).await;
        let (alike, list) = app.statements_of(app.service().ask(listed, json!({ "ids": ids }))).await;
        let (statements, data) = app.statements_of(app.service().ask(named, users(&ids))).await;
        assert_eq!((statements, &data["_entities"]), (alike, &list["users"]));
        assert_eq!(data["_entities"][149]["overview"]["unread"]["count"], 1);
    }
}

#[tokio::test]
async fn each_field_of_entities_has_its_own_users_in_its_own_order() {
    with(Kind::Sqlite, async |app| {
        let query = "query($one: [_Any!]!, $other: [_Any!]!) { _entities(representations: $one) { ... on User { id } } \
            other: _entities(representations: $other) { ... on User { id name } } }";
        let (one, other) = (users(&["ben", "ada", "ben"])["of"].take(), json!({ "__typename": "User", "id": 7 }));
        let data = app.service().ask(query, json!({ "one": one, "other": other })).await;
        assert_eq!(data["_entities"], json!([{ "id": "ben" }, { "id": "ada" }, { "id": "ben" }]));
        assert_eq!(data["other"], json!([{ "id": "7", "name": null }]));
    })
    .await;
}
