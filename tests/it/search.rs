//! User search by prefixes of ids and names.

use auth::CallerRole;
use domain::tenant;
use domain::user::{PrefixField, select_by_prefix};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::{Value, json};

use crate::support::{Actor, TestApp, on_every_database};

const SEARCH: &str = "query($text: String!, $first: Int = 20) { searchUsers(text: $text, first: $first) { id name } }";

async fn named(actor: &Actor<'_>, users: &[(&str, &str)]) {
    let inputs: Vec<Value> = users.iter().map(|(id, name)| json!({ "id": id, "name": name })).collect();
    let save = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";
    actor.ask(save, json!({ "inputs": inputs })).await;
}

async fn found(actor: &Actor<'_>, text: &str, first: i64) -> Vec<String> {
    let users = actor.ask(SEARCH, json!({ "text": text, "first": first })).await["searchUsers"].take();
    users.as_array().unwrap().iter().map(|user| user["id"].as_str().unwrap().to_owned()).collect()
}

/// The database's query plan of the search. Sequential scans are disabled, since PostgreSQL prefers them for few rows.
async fn plan(app: &TestApp, of: (PrefixField, &str)) -> String {
    let tenant = tenant::get_or_create(&app.app, "acme").await.unwrap();
    let db = &app.app.db.read;
    let statement = select_by_prefix(db, &tenant, of, 20).into_statement();
    let backend = statement.db_backend;
    let words = if backend == DbBackend::Sqlite { "EXPLAIN QUERY PLAN" } else { "EXPLAIN" };
    let txn = app.app.db.begin().await.unwrap();
    if backend == DbBackend::Postgres {
        for kind in ["seqscan", "bitmapscan", "sort"] {
            txn.execute_unprepared(&format!("SET LOCAL enable_{kind} = off")).await.unwrap();
        }
    }
    let values = statement.values.map(|values| values.0).unwrap_or_default();
    let explain = Statement::from_sql_and_values(backend, format!("{words} {}", statement.sql), values);
    let mut plan = String::new();
    for row in txn.query_all_raw(explain).await.unwrap() {
        let text = match backend {
            DbBackend::Postgres => row.try_get_by_index::<String>(0).unwrap(),
            DbBackend::Sqlite => row.try_get::<String>("", "detail").unwrap(),
            _ => {
                let column = |name: &str| row.try_get::<Option<String>>("", name).unwrap().unwrap_or_default();
                format!("{} by {}: {}", column("type"), column("key"), column("Extra"))
            }
        };
        plan.push_str(&text);
        plan.push('\n');
    }
    plan
}

on_every_database! {
    async fn users_are_found_by_how_their_ids_and_names_begin(app) {
        let service = app.service();
        named(&service, &[("an", "Zoe"), ("anna", "Mia"), ("An", "Ada"), ("b1", "ANTON"), ("b2", "anette"), ("b3", "Johan")]).await;
        assert_eq!(found(&service, "an", 20).await, ["an", "anna", "b2", "b1"]);
        assert_eq!(found(&service, " an ", 3).await, ["an", "anna", "b2"]);
        assert_eq!(found(&service, "An", 20).await, ["An", "b2", "b1"], "ids are as they are written");
        assert_eq!(found(&service, "ann", 1).await, ["anna"]);
        assert!(found(&service, "nobody", 20).await.is_empty());
        named(&service, &[("b1", "Berta")]).await;
        assert_eq!(found(&service, "ANT", 20).await, [""; 0]);
        assert_eq!(found(&service, "bert", 20).await, ["b1"]);
        let clear = "mutation { saveUserProfiles(inputs: [{ id: \"b1\", clear: [NAME] }]) { id } }";
        service.ask(clear, json!({})).await;
        assert!(found(&service, "bert", 20).await.is_empty());
    }

    async fn case_is_the_same_in_all_alphabets_and_on_all_databases(app) {
        let service = app.service();
        named(&service, &[("1", "Straße"), ("2", "ΟΔΥΣΣΕΥΣ"), ("3", "Émile"), ("4", "Emile"), ("5", "王小明"), ("6", "😀 smile")]).await;
        for (text, id) in [("STRASSE", "1"), ("strasse", "1"), ("οδυσσευς", "2"), ("éM", "3"), ("eM", "4"), ("王小", "5"), ("😀", "6")] {
            assert_eq!(found(&service, text, 20).await, [id], "{text}");
        }
    }

    async fn no_character_is_a_wildcard(app) {
        let service = app.service();
        named(&service, &[("a%b", "100% cotton"), ("a_b", "snake_case"), ("axb", "100 cottons"), ("a\\b", "back\\slash")]).await;
        for (text, id) in [("a%", "a%b"), ("a_", "a_b"), ("100%", "a%b"), ("snake_", "a_b"), ("a\\", "a\\b"), ("back\\", "a\\b")] {
            assert_eq!(found(&service, text, 20).await, [id], "{text}");
        }
        assert!(found(&service, "%", 20).await.is_empty());
        assert!(found(&service, "_", 20).await.is_empty());
    }

    async fn a_search_is_of_one_tenant_and_bounded(app) {
        named(&app.service(), &[("ada", "Ada")]).await;
        assert!(found(&app.stranger("shop", CallerRole::Service), "a", 20).await.is_empty());
        let refused = async |text: &str, first: i64| app.service().refused(SEARCH, json!({ "text": text, "first": first })).await;
        assert!(refused("", 20).await.starts_with("BAD_USER_INPUT text"));
        assert!(refused(&"a".repeat(129), 20).await.starts_with("BAD_USER_INPUT text"));
        assert_eq!(refused("a", -1).await, "BAD_USER_INPUT first: must be 0 to 200");
        assert_eq!(refused("a", 201).await, "BAD_USER_INPUT first: must be 0 to 200");
    }

    async fn a_search_is_a_range_of_an_index(app) {
        let users: Vec<(String, String)> = (0..900).map(|n| (format!("u{n}"), format!("Name {n}"))).collect();
        named(&app.service(), &users.iter().map(|(id, name)| (id.as_str(), name.as_str())).collect::<Vec<_>>()).await;
        app.by_hand(match app.app.db.backend() { DbBackend::MySql => "ANALYZE TABLE users", _ => "ANALYZE" }).await;
        let of_ids = match app.app.db.backend() {
            DbBackend::Postgres => "users_id_prefix",
            DbBackend::Sqlite => "sqlite_autoindex_users_1 (tenant_id=? AND external_id>? AND external_id<?)",
            _ => "users_external_id",
        };
        for (of, index) in [((PrefixField::Id, "u12"), of_ids), ((PrefixField::Name, "name 12"), "users_folded_name")] {
            let plan = plan(app, of).await;
            assert!(plan.contains(index), "{plan}");
            let sorts = ["Sort", "filesort", "TEMP B-TREE", "Seq Scan", "SCAN u"];
            assert!(!sorts.iter().any(|word| plan.contains(word)), "{plan}");
        }
    }

    async fn names_from_before_the_migration_are_found(app) {
        let users: Vec<(String, String)> = (0..1_000).map(|n| (format!("u{n}"), format!("NAME {n}"))).collect();
        named(&app.service(), &users.iter().map(|(id, name)| (id.as_str(), name.as_str())).collect::<Vec<_>>()).await;
        let drop = match app.app.db.backend() {
            DbBackend::Postgres => ["DROP INDEX users_id_prefix", "DROP INDEX users_folded_name"],
            DbBackend::MySql => ["SELECT 1", "DROP INDEX users_folded_name ON users"],
            _ => ["SELECT 1", "DROP INDEX users_folded_name"],
        };
        for statement in drop {
            app.by_hand(statement).await;
        }
        app.by_hand("ALTER TABLE users DROP COLUMN folded_name").await;
        app.by_hand("DELETE FROM seaql_migrations WHERE version = 'm20261124_000027_folded_names'").await;
        app.app.db.migrate().await.unwrap();
        assert_eq!(found(&app.service(), "name 999", 20).await, ["u999"]);
        assert_eq!(found(&app.service(), "name 50", 200).await.len(), 11);
    }
}
