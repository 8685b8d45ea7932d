//! A scan only reads, even with a powerful role: the sources of these tests use the owner's role.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sources::{QueryFailure, QueryFailureKind, SourceQuery};
use tokio::time::sleep;

use super::{Other, on_every_source, query, sources, with};
use crate::support::{Kind, PATIENCE};

impl Other {
    async fn has_stock(&self) {
        self.by_hand("CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)").await;
        self.by_hand("INSERT INTO stock VALUES (1, 10), (2, 20), (3, 30)").await;
    }

    /// Checks that the source's only connection is available and clean.
    async fn is_well(&self) {
        assert_eq!(self.row("SELECT COUNT(*) AS many FROM stock").await, json!({ "many": 3 }));
    }
}

on_every_source! {
    async fn nothing_is_written(other) {
        other.has_stock().await;
        let before = sum(other).await;
        for sql in [
            "INSERT INTO stock VALUES (4, 40)",
            "UPDATE stock SET amount = 0",
            "DELETE FROM stock",
            "DROP TABLE stock",
            "CREATE TABLE mine (id INTEGER)",
            "  /* a */ -- b\n DELETE FROM stock",
            "COMMIT",
            "SET x = 1",
            "SELECT 1 AS a; DELETE FROM stock",
            "SELECT 1 AS a; SELECT 2 AS b",
            "SELECT ';' AS a; -- b\n DELETE FROM stock",
            "EXPLAIN SELECT 1",
            "",
            " -- nothing",
        ] {
            let failure = other.scan(sql).await.expect_err(sql);
            assert!(matches!(failure.kind, QueryFailureKind::Refused | QueryFailureKind::Failed), "{failure:?} of {sql}");
        }
        let own: &[&str] = match other.kind {
            Kind::Sqlite => &[
                "ATTACH 'other.db' AS other",
                "PRAGMA query_only = off",
                "VACUUM INTO 'other.db'",
                "WITH gone AS (SELECT 1) DELETE FROM stock",
                "WITH new(id) AS (SELECT 9) INSERT INTO stock SELECT id, id FROM new",
                "SELECT 1 AS a /* ; */; DELETE FROM stock",
                "SELECT load_extension('other') AS a",
            ],
            Kind::Postgres => &[
                "WITH gone AS (DELETE FROM stock RETURNING id) SELECT id FROM gone",
                "WITH gone AS (SELECT 1) INSERT INTO stock SELECT 4, 40",
                "SELECT id INTO mine FROM stock",
                "SELECT id FROM stock FOR UPDATE",
                "SELECT id FROM stock FOR SHARE",
                "COPY stock TO '/tmp/stock'",
                "COPY stock TO PROGRAM 'true'",
                "COPY stock TO STDOUT",
                "DO $$ BEGIN DELETE FROM stock; END $$",
                "CALL empty()",
                "SELECT nextval('numbers') AS a",
                "SELECT setval('numbers', 9) AS a",
                "SELECT empty() AS a",
            ],
            Kind::Mysql => &[
                "SELECT id FROM stock FOR UPDATE",
                "SELECT id FROM stock FOR /* a */ SHARE",
                "SELECT id FROM stock LOCK IN SHARE MODE",
                "SELECT id FROM stock INTO OUTFILE '/tmp/stock'",
                "SELECT id INTO @a FROM stock LIMIT 1",
                "SELECT id FROM stock /*! INTO OUTFILE '/tmp/stock' */",
                "SELECT id FROM stock /*M!100100 FOR UPDATE */",
                "SET STATEMENT max_statement_time = 0 FOR SELECT 1",
                "CALL empty()",
                "DO SLEEP(1)",
                "HANDLER stock OPEN",
                "LOAD DATA INFILE '/etc/passwd' INTO TABLE stock",
                "WITH gone AS (SELECT 1 AS id) DELETE FROM stock",
            ],
        };
        if other.kind == Kind::Postgres {
            other.by_hand("CREATE SEQUENCE numbers").await;
            other.by_hand("CREATE FUNCTION empty() RETURNS int LANGUAGE sql AS 'DELETE FROM stock; SELECT 1'").await;
        }
        let is_mariadb = other.source().check().await.unwrap().version.starts_with("MariaDB");
        if is_mariadb {
            other.by_hand("CREATE SEQUENCE numbers").await;
        }
        let of_mariadb = ["SELECT NEXTVAL(numbers) AS a", "SELECT NEXT VALUE FOR numbers AS a", "SELECT SETVAL(numbers, 9) AS a"];
        for sql in own.iter().chain(of_mariadb.iter().filter(|_| is_mariadb)) {
            let failure = other.scan(sql).await.expect_err(sql);
            assert!(matches!(failure.kind, QueryFailureKind::Refused | QueryFailureKind::Failed), "{failure:?} of {sql}");
            other.is_well().await;
        }
        assert_eq!(sum(other).await, before);
    }

    /// Every statement ends, and the next one finds a clean connection.
    async fn what_takes_too_long_is_ended(other) {
        other.has_stock().await;
        let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)";
        let cross = format!("{many} SELECT COUNT(*) AS c FROM n a, n b, n c WHERE a.i + b.i + c.i > 5");
        let mut endless = vec![cross.as_str()];
        endless.extend(match other.kind {
            Kind::Sqlite => &["WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) AS c FROM n"][..],
            Kind::Postgres => &[
                "SELECT pg_sleep(60)::text AS a",
                "SELECT set_config('statement_timeout', '0', false) AS a, pg_sleep(60)::text AS b",
            ],
            Kind::Mysql => &["SELECT SLEEP(60) AS a", "SELECT BENCHMARK(1000000000000, 1 + 1) AS a"],
        });
        for sql in endless {
            let timeout = Duration::from_millis(300);
            let failure = other.source().scan(SourceQuery { timeout, ..query(sql) }).await.expect_err(sql);
            assert_eq!(failure.kind, QueryFailureKind::TimedOut, "{failure:?} of {sql}");
            other.is_well().await;
        }
    }

    async fn no_value_of_a_row_and_no_secret_is_told(other) {
        other.by_hand("CREATE TABLE card (code VARCHAR(99))").await;
        other.by_hand("INSERT INTO card VALUES ('hunter2')").await;
        let sql = match other.kind {
            Kind::Sqlite => "SELECT json_extract(code, '$') AS a FROM card",
            Kind::Postgres => "SELECT code::int AS a FROM card",
            Kind::Mysql => "SELECT extractvalue(1, CONCAT('~', code)) AS a FROM card",
        };
        let failure = other.scan(sql).await.unwrap_err();
        assert_eq!(failure.kind, QueryFailureKind::Failed, "{failure:?}");
        assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
        assert!(!format!("{:?}", other.sources).contains(&other.database.url));
    }
}

/// A checksum of the stock, as its owner sees it.
async fn sum(other: &Other) -> i64 {
    let integer = match other.kind {
        Kind::Mysql => "SIGNED",
        _ => "BIGINT",
    };
    other.number(&format!("SELECT CAST(COUNT(*) * 1000000 + SUM(id * 1000 + amount) AS {integer}) FROM stock")).await
}

/// Named locks and settings belong to a connection, and end with the scan.
#[tokio::test]
async fn what_a_scan_leaves_behind_goes_with_its_connection() {
    with(Kind::Postgres, json!({}), async |other| {
        let row =
            other.row("SELECT pg_try_advisory_lock(7) AS a, set_config('search_path', 'nowhere', false) AS b").await;
        assert_eq!(row, json!({ "a": true, "b": "nowhere" }));
        assert_eq!(other.row("SELECT pg_try_advisory_lock(7) AS a, current_schema()::text AS b").await["b"], "public");
    })
    .await;
    with(Kind::Mysql, json!({}), async |other| {
        let name = other.database.url.rsplit('/').next().unwrap().to_owned();
        let lock = format!("SELECT GET_LOCK('{name}', 20) AS a, @left := 1 AS b");
        assert_eq!(other.row(&lock).await["a"], 1);
        assert_eq!(
            other.row(&format!("SELECT GET_LOCK('{name}', 20) AS a, @left AS b")).await,
            json!({ "a": 1, "b": null })
        );
        other.by_hand(&format!("DO GET_LOCK('{name}', 20)")).await;
        let timeout = Duration::from_millis(300);
        let found = other.source().scan(SourceQuery { timeout, ..query(&lock) }).await;
        assert_eq!(found.unwrap_err().kind, QueryFailureKind::TimedOut);
    })
    .await;
}

/// In PostgreSQL, a new connection costs more than most scans.
#[tokio::test]
async fn a_connection_that_is_used_again_is_as_new() {
    with(Kind::Postgres, json!({}), async |other| {
        let of = |what: &str| format!("SELECT pg_backend_pid() AS process, {what} AS said");
        let first = other.row(&of("pg_try_advisory_lock(7)")).await["process"].clone();
        // The connection is returned in the background.
        let until = Instant::now() + PATIENCE;
        let mut next = Value::Null;
        while next["process"] != first {
            assert!(Instant::now() < until, "it never comes back");
            let locks = "(SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())";
            next = other.row(&of(locks)).await;
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(next["said"], 0);
        other.by_hand(&format!("SELECT pg_terminate_backend({first})")).await;
        assert_ne!(other.row(&of("1")).await["process"], first, "one that is gone is not missed");
    })
    .await;
}

/// A scan sees what the role was granted, and `check` reports any further privileges.
#[tokio::test]
async fn a_role_sees_the_views_that_it_was_granted() {
    with(Kind::Postgres, json!({}), async |other| {
        other.has_stock().await;
        let role = other.database.url.rsplit('/').next().unwrap().to_owned();
        other.by_hand("CREATE VIEW scarce AS SELECT id FROM stock WHERE amount < 15").await;
        other.by_hand(&format!("CREATE ROLE {role} LOGIN PASSWORD 'hunter2'")).await;
        other.by_hand("REVOKE CREATE ON SCHEMA public FROM PUBLIC").await;
        other.by_hand(&format!("GRANT SELECT ON scarce TO {role}")).await;
        let checked = other.source().check().await.unwrap();
        assert!(checked.version.starts_with("PostgreSQL ") && checked.may[0].contains("superuser"), "{checked:?}");

        let url = other.database.url.replacen("postgres@", &format!("{role}:hunter2@"), 1);
        let own = sources(&json!([{ "name": "own", "url": url, "tenants": "*" }]));
        let source = own.find_for_tenant("anybody", "own").unwrap();
        assert_eq!(source.check().await.unwrap().may, Vec::<String>::new());
        assert_eq!(source.scan(query("SELECT id FROM scarce")).await.unwrap().rows.len(), 1);
        let failure = source.scan(query("SELECT id FROM stock")).await.unwrap_err();
        assert_eq!((failure.kind, failure.code.as_deref()), (QueryFailureKind::Refused, Some("42501")));
        assert_eq!(failure.message, "permission denied for table stock");

        other.by_hand(&format!("GRANT UPDATE (amount) ON stock TO {role}")).await;
        other.by_hand(&format!("GRANT pg_read_server_files TO {role}")).await;
        let may = source.check().await.unwrap().may;
        assert_eq!(may, ["write to 1 tables or views", "use the privileges of pg_read_server_files"]);
        own.close().await;
        other.by_hand(&format!("DROP OWNED BY {role}")).await;
        other.by_hand(&format!("DROP ROLE {role}")).await;
    })
    .await;
    with(Kind::Mysql, json!({}), async |other| {
        other.has_stock().await;
        let name = other.database.url.rsplit('/').next().unwrap().to_owned();
        other.by_hand("CREATE VIEW scarce AS SELECT id FROM stock WHERE amount < 15").await;
        other.by_hand(&format!("CREATE USER {name} IDENTIFIED BY 'hunter2'")).await;
        other.by_hand(&format!("GRANT SELECT ON {name}.scarce TO {name}")).await;
        let checked = other.source().check().await.unwrap();
        assert!(checked.may.contains(&"ALL PRIVILEGES".to_owned()), "{checked:?}");

        let url = other.database.url.replacen("root@", &format!("{name}:hunter2@"), 1);
        let own = sources(&json!([{ "name": "own", "url": url, "tenants": "*" }]));
        let source = own.find_for_tenant("anybody", "own").unwrap();
        assert_eq!(source.check().await.unwrap().may, Vec::<String>::new());
        assert_eq!(source.scan(query("SELECT id FROM scarce")).await.unwrap().rows.len(), 1);
        let failure = source.scan(query("SELECT id FROM stock")).await.unwrap_err();
        assert_eq!((failure.kind, failure.code.as_deref()), (QueryFailureKind::Refused, Some("1142")));
        other.by_hand(&format!("GRANT INSERT (id, amount), DELETE ON {name}.stock TO {name}")).await;
        other.by_hand(&format!("GRANT FILE ON *.* TO {name}")).await;
        assert_eq!(source.check().await.unwrap().may, ["DELETE", "FILE", "INSERT"]);
        own.close().await;
        other.by_hand(&format!("DROP USER {name}")).await;
    })
    .await;
}

/// The error does not contain the wrong password.
#[tokio::test]
async fn who_may_not_come_in_is_refused() {
    let told = |failure: QueryFailure| {
        assert_eq!(failure.kind, QueryFailureKind::Refused, "{failure:?}");
        assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    };
    for kind in [Kind::Postgres, Kind::Mysql] {
        with(kind, json!({}), async |other| {
            let url = other.database.url.replacen("postgres@", "nobody_at_all:hunter2@", 1);
            let url = url.replacen("root@", "root:hunter2@", 1);
            let own = sources(&json!([{ "name": "own", "url": url, "tenants": "*" }]));
            told(own.find_for_tenant("acme", "own").unwrap().check().await.unwrap_err());
            own.close().await;
        })
        .await;
    }
}
