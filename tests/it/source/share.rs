//! Several tenants with one source: none can exhaust it for the others.

use std::time::{Duration, Instant};

use serde_json::json;
use sources::{QueryFailureKind, SourceQuery};

use super::{Other, query, with};
use crate::support::Kind;

/// A statement that runs until the time limit.
fn endless(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) AS c FROM n",
        Kind::Postgres => "SELECT pg_sleep(60)::text AS a",
        Kind::Mysql => "SELECT SLEEP(60) AS a",
    }
}

impl Other {
    /// Scans as a tenant. Returns the failure, and the time since an instant.
    async fn scan_of(&self, tenant: &str, sql: &str, since: Instant) -> (Option<QueryFailureKind>, Duration) {
        let scanned =
            self.sources.find_for_tenant(tenant, "wms").unwrap().scan(SourceQuery { tenant, ..query(sql) }).await;
        (scanned.err().map(|failure| failure.kind), since.elapsed())
    }
}

#[tokio::test]
async fn a_tenant_whose_scans_never_end_leaves_connections_to_the_others() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        with(kind, json!({ "tenants": ["acme", "globex"], "connections": 2, "timeout_ms": 3000 }), async |other| {
            let since = Instant::now();
            let scan = |tenant, sql| other.scan_of(tenant, sql, since);
            let hostile = || scan("acme", endless(kind));
            let quick = async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                scan("globex", "SELECT 1 AS a").await
            };
            let (first, second, third, (failure, took)) = tokio::join!(hostile(), hostile(), hostile(), quick);
            assert_eq!(failure, None, "{kind:?}");
            assert!(took < Duration::from_millis(2500), "{kind:?} {took:?}");
            for (failure, _) in [first, second, third] {
                assert_eq!(failure, Some(QueryFailureKind::TimedOut), "{kind:?}");
            }
        })
        .await;
    }
}

/// With one connection, other tenants wait for one scan of a tenant, no matter how many it has in the queue.
#[tokio::test]
async fn tenants_take_turns_at_the_only_connection() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        with(kind, json!({ "tenants": "*", "connections": 1, "timeout_ms": 1500 }), async |other| {
            let since = Instant::now();
            let hostile = || other.scan_of("acme", endless(kind), since);
            let quick = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                other.scan_of("globex", "SELECT 1 AS a", since).await
            };
            let (_, second, third, (failure, _)) = tokio::join!(hostile(), hostile(), hostile(), quick);
            // Scans of `acme` that waited too long for a connection have failed as well.
            assert!(second.0.is_some() && third.0.is_some());
            assert_eq!(failure, None, "{kind:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_source_of_one_tenant_lends_it_all_connections() {
    with(Kind::Postgres, json!({ "connections": 2, "timeout_ms": 10_000 }), async |other| {
        let since = Instant::now();
        let scan = || other.scan_of("acme", "SELECT pg_sleep(1)::text AS a", since);
        let (one, another) = tokio::join!(scan(), scan());
        assert_eq!((one.0, another.0), (None, None));
        assert!(one.1.max(another.1) < Duration::from_millis(1900), "{one:?} {another:?}");
        assert_eq!(other.source().tenant_share(), 2);
    })
    .await;
}
