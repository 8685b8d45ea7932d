//! External databases as sources: the results of scans, and their restrictions.

mod attack;
mod bind;
mod doctor;
mod faults;
mod listen;
mod safety;
mod share;
mod size;
mod types;

use base::config::SourcesConfig;
use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use serde_json::{Value, json};
use sources::{DataSource, DataSources, QueryFailure, QueryFailureKind, QueryRows, SourceQuery};
use std::time::Duration;

use crate::support::{Kind, TestDatabase};

/// Defines a test that runs on every reachable kind of source.
macro_rules! on_every_source {
    ($($(#[$attribute:meta])* async fn $name:ident($other:ident) $body:block)+) => {$(
        $(#[$attribute])*
        async fn $name($other: &crate::source::Other) $body

        mod $name {
            #[tokio::test]
            async fn sqlite() {
                crate::source::with(crate::support::Kind::Sqlite, json!({}), async |other| super::$name(other).await).await;
            }

            #[tokio::test]
            async fn postgres() {
                crate::source::with(crate::support::Kind::Postgres, json!({}), async |other| super::$name(other).await).await;
            }

            #[tokio::test]
            async fn mysql() {
                crate::source::with(crate::support::Kind::Mysql, json!({}), async |other| super::$name(other).await).await;
            }

            use serde_json::json;
        }
    )+};
}
use on_every_source;

/// A database that belongs to another party.
struct Other {
    kind: Kind,
    database: TestDatabase,
    /// A connection with its owner's privileges.
    owner: DatabaseConnection,
    sources: DataSources,
}

/// Runs a test with a source over a new database. Unless `settings` change that, the source has one connection and a
/// time limit of 30 seconds.
async fn with(kind: Kind, settings: Value, test: impl AsyncFnOnce(&Other)) {
    let Some(database) = kind.make().await else { return };
    let owner = Database::connect(&database.url).await.unwrap();
    let mut entry =
        json!({ "name": "wms", "url": database.url, "tenants": ["acme"], "timeout_ms": 30_000, "connections": 1 });
    entry.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let other = Other { kind, sources: sources(&json!([entry])), owner, database };
    test(&other).await;
    let Other { sources, owner, database, .. } = other;
    sources.close().await;
    owner.close().await.unwrap();
    database.remove().await;
}

/// The sources of a configuration file.
fn sources(entries: &Value) -> DataSources {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sources.json");
    std::fs::write(&file, entries.to_string()).unwrap();
    DataSources::load(&SourcesConfig { sources: Some(file) }, &|_| None).unwrap()
}

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// A query with the usual parameters.
fn query(sql: &str) -> SourceQuery<'_> {
    let now = instant("2026-11-21T08:00:00.123456Z");
    SourceQuery { tenant: "acme", sql, now, since: None, timeout: Duration::from_mins(1), limit: 10_000 }
}

impl Other {
    fn source(&self) -> &DataSource {
        self.sources.find_for_tenant("acme", "wms").unwrap()
    }

    async fn scan(&self, sql: &str) -> Result<QueryRows, QueryFailure> {
        let scan: BoxFuture<'_, _> = Box::pin(self.source().scan(query(sql)));
        scan.await
    }

    /// Returns the only row that the query finds.
    async fn row(&self, sql: &str) -> Value {
        let found = self.scan(sql).await.unwrap_or_else(|failure| panic!("{failure:?} of {sql}"));
        assert_eq!(found.rows.len(), 1, "{found:?} of {sql}");
        Value::Object(found.rows[0].clone())
    }

    async fn refuses(&self, sql: &str) -> QueryFailure {
        let failure = self.scan(sql).await.expect_err(sql);
        assert_eq!(failure.kind, QueryFailureKind::Refused, "{failure:?} of {sql}");
        failure
    }

    /// Runs a statement with the owner's privileges.
    async fn by_hand(&self, sql: &str) {
        self.owner.execute_unprepared(sql).await.unwrap();
    }

    /// Returns a number that the owner reads.
    async fn number(&self, sql: &str) -> i64 {
        let backend: DbBackend = self.owner.get_database_backend();
        let row = self.owner.query_one_raw(Statement::from_string(backend, sql)).await.unwrap().unwrap();
        row.try_get_by_index(0).unwrap()
    }
}

on_every_source! {
    async fn a_source_is_of_its_tenants_alone(other) {
        assert!(other.sources.find_for_tenant("globex", "wms").is_none());
        assert!(other.sources.find_for_tenant("acme", "shop").is_none());
        assert_eq!(other.sources.list_for_tenant("globex").count(), 0);
        assert_eq!(other.sources.list_for_tenant("acme").map(DataSource::name).collect::<Vec<_>>(), ["wms"]);
        assert_eq!(other.source().max_rows(), 10_000);
    }

    async fn a_scan_finds_columns_also_where_there_are_no_rows(other) {
        other.by_hand("CREATE TABLE pallet (id INTEGER NOT NULL, place VARCHAR(9))").await;
        let found = other.scan("SELECT id, place AS shelf FROM pallet -- of all").await.unwrap();
        assert_eq!(found, QueryRows { columns: vec!["id".into(), "shelf".into()], rows: vec![], is_truncated: false });
        other.by_hand("INSERT INTO pallet VALUES (1, 'A1'), (2, NULL)").await;
        let found = other.scan("SELECT id, place FROM pallet ORDER BY id;").await.unwrap();
        assert_eq!(json!(found.rows), json!([{ "id": 1, "place": "A1" }, { "id": 2, "place": null }]));
    }

    async fn more_rows_than_may_be_are_left_there(other) {
        other.by_hand("CREATE TABLE pallet (id INTEGER NOT NULL)").await;
        other.by_hand("INSERT INTO pallet VALUES (1), (2), (3)").await;
        let sql = "SELECT id FROM pallet ORDER BY id";
        for (limit, many, is_truncated) in [(2, 2, true), (3, 3, false), (4, 3, false)] {
            let found = other.source().scan(SourceQuery { limit, ..query(sql) }).await.unwrap();
            assert_eq!((found.rows.len(), found.is_truncated), (many, is_truncated), "{limit}");
        }
    }

    async fn a_source_that_shows_what_a_server_keeps_says_so(other) {
        let may = async || other.source().check().await.unwrap().may.join(", ");
        other.by_hand("CREATE TABLE inbox_item (id INTEGER NOT NULL)").await;
        let name = other.database.url.rsplit('/').next().unwrap().to_owned();
        let place = match other.kind {
            Kind::Sqlite => "this file",
            Kind::Postgres => "public",
            Kind::Mysql => &name,
        };
        let words = format!("read the tables of a Tidings server in {place}");
        assert!(!may().await.contains(&words));
        other.by_hand("CREATE TABLE rule_run (id INTEGER NOT NULL)").await;
        // On MySQL, the message may name a database of another test instead: it does not list all.
        let told = may().await;
        assert!(told.contains(&words) || other.kind == Kind::Mysql && told.contains("read the tables of a Tidings server"), "{told}");
    }

    async fn a_source_is_not_the_database_of_the_server(other) {
        assert!(other.sources.reject_own_database("sqlite:elsewhere.db").is_ok());
        assert!(other.sources.reject_own_database("postgres://somebody@127.0.0.1/elsewhere").is_ok());
        let told = other.sources.reject_own_database(&other.database.url).unwrap_err().to_string();
        assert!(told.contains("\"wms\" is the database of this server"), "{told}");
        if other.kind == Kind::Sqlite {
            let file = other.database.url.split_once(':').unwrap().1.split('?').next().unwrap().trim_start_matches("//").to_owned();
            let folder = tempfile::tempdir().unwrap();
            let (link, hard) = (folder.path().join("link.db"), std::path::PathBuf::from(format!("{file}.hard")));
            std::os::unix::fs::symlink(&file, &link).unwrap();
            std::fs::hard_link(&file, &hard).unwrap();
            for path in [&link, &hard] {
                assert!(other.sources.reject_own_database(&format!("sqlite:{}?mode=rwc", path.display())).is_err(), "{}", path.display());
            }
            std::fs::remove_file(hard).unwrap();
        }
    }

    async fn a_plan_is_told_and_nothing_is_run(other) {
        other.by_hand("CREATE TABLE pallet (id INTEGER NOT NULL)").await;
        let plan = other.source().plan(query("SELECT id FROM pallet WHERE :now > :since AND id = 7")).await.unwrap();
        assert!(plan.contains("pallet"), "{plan}");
        let failure = other.source().plan(query("ANALYZE SELECT 1")).await.unwrap_err();
        if other.kind == Kind::Sqlite {
            assert_eq!((failure.kind, failure.position), (QueryFailureKind::Failed, Some(9)), "{failure:?}");
        } else {
            assert_eq!((failure.kind, failure.position), (QueryFailureKind::Refused, Some(1)));
        }
        if other.kind == Kind::Postgres {
            let failure = other.source().plan(query("SELECT :now, nothing")).await.unwrap_err();
            assert_eq!((failure.code.as_deref(), failure.position), (Some("42703"), Some(14)), "{failure:?}");
        }
    }
}
