//! A subgraph of Apollo Federation 2:
//! <https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec>.

use auth::CallerRole;
use serde_json::{Value, json};

use crate::support::{Kind, TestApp, on_every_database, with};

const ENTITIES: &str =
    "query($of: [_Any!]!) { _entities(representations: $of) { ... on User { id name avatarUrl locale } } }";

fn users(ids: &[&str]) -> Value {
    json!({ "of": ids.iter().map(|id| json!({ "__typename": "User", "id": id })).collect::<Vec<_>>() })
}

fn profile(id: &str, name: Option<&str>) -> Value {
    json!({ "id": id, "name": name, "avatarUrl": null, "locale": null })
}

async fn name(app: &TestApp, inputs: &[Value]) {
    let query = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";
    app.service().ask(query, json!({ "inputs": inputs })).await;
}

#[tokio::test]
async fn a_gateway_finds_the_schema_and_the_users_of_its_graph() {
    with(Kind::Sqlite, async |app| {
        let sdl = app.service().ask("{ _service { sdl } }", json!({})).await["_service"]["sdl"].take();
        let sdl = sdl.as_str().unwrap();
        assert!(sdl.contains("https://specs.apollo.dev/federation/v2"), "{sdl:.500}");
        assert!(sdl.contains("type User @key(fields: \"id\")"));
        assert!(sdl.contains("id: ID! @shareable"), "other subgraphs may have the fields of a profile, too");

        name(app, &[json!({ "id": "ada", "name": "Ada" })]).await;
        let both = json!([profile("ada", Some("Ada")), profile("ben", None)]);
        for actor in [app.service(), app.admin(), app.user("ada"), app.user("chen")] {
            assert_eq!(actor.ask(ENTITIES, users(&["ada", "ben"])).await["_entities"], both);
        }
    })
    .await;
}

#[tokio::test]
async fn a_representation_is_no_way_to_what_belongs_to_another() {
    with(Kind::Sqlite, async |app| {
        name(app, &[json!({ "id": "ada", "name": "Ada" }), json!({ "id": "ben", "name": "Ben" })]).await;
        let private = ENTITIES.replace("locale", "overview { unread { count } }");
        let why = app.user("ada").refused(&private, users(&["ben"])).await;
        assert!(why.starts_with("GRAPHQL_VALIDATION_FAILED"), "{why}");
        let stranger = app.stranger("shop", CallerRole::Service).ask(ENTITIES, users(&["ada"])).await;
        assert_eq!(stranger["_entities"], json!([profile("ada", None)]));
        let many: Vec<String> = (0..5_000).map(|place| format!("u{place}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let code = app.user("ada").refused(ENTITIES, users(&many)).await;
        assert!(code.starts_with("GRAPHQL_VALIDATION_FAILED"), "{code}");
    })
    .await;
}

#[tokio::test]
async fn a_representation_that_cannot_be_is_null_and_the_others_are_answered() {
    with(Kind::Sqlite, async |app| {
        name(app, &[json!({ "id": "ada", "name": "Ada" }), json!({ "id": "ben", "name": "Ben" })]).await;
        let [ada, ben] = ["ada", "ben"].map(|id| json!({ "__typename": "User", "id": id }));
        for id in ["", " ada", "a\0b", &"x".repeat(129)] {
            let wrong = json!({ "__typename": "User", "id": id });
            let (_, answer) = app.service().send(ENTITIES, json!({ "of": [ada, wrong, ben] })).await;
            let expected = json!([profile("ada", Some("Ada")), null, profile("ben", Some("Ben"))]);
            assert_eq!(answer["data"]["_entities"], expected, "{wrong} {answer:#}");
            assert_eq!(answer["errors"].as_array().map(Vec::len), Some(1), "{wrong} {answer:#}");
            let error = &answer["errors"][0];
            assert_eq!(
                (&error["extensions"]["code"], &error["path"]),
                (&json!("BAD_USER_INPUT"), &json!(["_entities", 1])),
                "{wrong} {answer:#}"
            );
        }
        // Invalid representations, which no gateway sends, resolve to nothing.
        let nothing = [
            json!({}),
            json!({ "__typename": "Nobody" }),
            json!("x"),
            json!({ "__typename": "User" }),
            json!({ "__typename": "User", "id": 7.5 }),
        ];
        for nothing in nothing {
            let code = app.service().refused(ENTITIES, json!({ "of": [ada, nothing] })).await;
            assert!(code.starts_with("BAD_USER_INPUT"), "{nothing} {code}");
        }
    })
    .await;
}

on_every_database! {
    async fn users_whom_a_gateway_names_together_are_read_together(app) {
        let ids: Vec<String> = (0..150).map(|place| format!("u{place}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let named = |id: &&str| json!({ "id": id, "name": format!("Name of {id}") });
        name(app, &ids[..100].iter().map(named).collect::<Vec<_>>()).await;
        // A node with empty caches.
        let other = app.beside().await;
        other.service().ask(ENTITIES, users(&["somebody else"])).await;
        let (statements, data) = other.statements_of(other.service().ask(ENTITIES, users(&ids))).await;
        assert!(statements <= 2, "{statements} statements");
        let expected = ids.iter().enumerate().map(|(place, id)| {
            let name = format!("Name of {id}");
            profile(id, (place < 100).then_some(name.as_str()))
        });
        assert_eq!(data["_entities"], expected.collect::<Value>());
        let unheard = app.service().ask("{ inboxUser(id: \"u149\") { id } }", json!({})).await;
        assert_eq!(unheard["inboxUser"], Value::Null, "who is named by a gateway is not made");
        other.app.db.close().await;
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
