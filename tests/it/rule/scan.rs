//! Rows that a scan finds in external databases.

use std::time::Duration;

use auth::CallerRole;
use chrono::TimeDelta;
use rules::RuleScanner;
use serde_json::{Value, json};

use super::warehouse::{Dice, Rows, changed, ended, inboxes_show, input, over, run, running, save, until_runs};
use super::{SAVE, complete, field, many, titles};
use crate::support::{Kind, OVERVIEWS, Socket, TestApp};

/// Every kind of inbox database with every kind of source.
macro_rules! on_all {
    ($($name:ident)+) => {$(
        mod $name {
            use crate::support::Kind::{Mysql, Postgres, Sqlite};

            #[tokio::test]
            async fn sqlite_over_sqlite() { super::$name(Sqlite, Sqlite).await; }
            #[tokio::test]
            async fn sqlite_over_postgres() { super::$name(Sqlite, Postgres).await; }
            #[tokio::test]
            async fn sqlite_over_mysql() { super::$name(Sqlite, Mysql).await; }
            #[tokio::test]
            async fn postgres_over_sqlite() { super::$name(Postgres, Sqlite).await; }
            #[tokio::test]
            async fn postgres_over_postgres() { super::$name(Postgres, Postgres).await; }
            #[tokio::test]
            async fn postgres_over_mysql() { super::$name(Postgres, Mysql).await; }
            #[tokio::test]
            async fn mysql_over_sqlite() { super::$name(Mysql, Sqlite).await; }
            #[tokio::test]
            async fn mysql_over_postgres() { super::$name(Mysql, Postgres).await; }
            #[tokio::test]
            async fn mysql_over_mysql() { super::$name(Mysql, Mysql).await; }
        }
    )+};
}
on_all! { inboxes_show_what_the_table_holds }

/// The table changes at random. After each run, every inbox shows the table, and nothing was raised twice.
async fn inboxes_show_what_the_table_holds(kind: Kind, of: Kind) {
    over(kind, of, json!({}), async |app, warehouse| {
        save(app, json!({})).await;
        let (mut rows, mut dice, mut raised) = (Rows::new(), Dice(7), 0);
        for round in 0..12 {
            raised += changed(&mut rows, &mut dice, (40, 60));
            warehouse.holds(&rows).await;
            let (_, _, _, outcome) = run(app).await;
            assert_eq!(outcome, "COMPLETE");
            inboxes_show(app, &rows, &format!("round {round}")).await;
        }
        assert_eq!(many(app, "notification").await, i64::try_from(raised).unwrap());
    })
    .await;
}

#[tokio::test]
async fn it_runs_when_it_is_due_and_what_was_missed_once() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        over(kind, Kind::Sqlite, json!({}), async |app, warehouse| {
            let scanner = RuleScanner::default();
            save(app, json!({})).await;
            until_runs(app, &scanner, 1).await;
            warehouse.by_hand("INSERT INTO pallet VALUES (1, 'low', 'ada')").await;
            app.advance(TimeDelta::seconds(29));
            scanner.start_due_scans(&app.app.rules).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(many(app, "rule_run").await, 1);
            app.advance(TimeDelta::hours(5));
            until_runs(app, &scanner, 2).await;
            assert_eq!(titles(app.user("ada")).await, ["1: low"]);
            scanner.start_due_scans(&app.app.rules).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(many(app, "rule_run").await, 2, "what was missed is run once");
            app.admin().ask("mutation { pauseNotificationRule(code: \"low\") { state } }", json!({})).await;
            app.advance(TimeDelta::hours(5));
            scanner.start_due_scans(&app.app.rules).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(many(app, "rule_run").await, 2, "it is paused");
            assert!(app.service().refused(&running(), json!({})).await.starts_with("CONFLICT"));
        })
        .await;
    }
}

#[tokio::test]
async fn of_two_nodes_one_runs_it() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        over(kind, Kind::Sqlite, json!({}), async |app, warehouse| {
            let other = app.beside().await;
            let scanners = [RuleScanner::default(), RuleScanner::default()];
            save(app, json!({})).await;
            for round in 1..=5 {
                warehouse.by_hand(&format!("INSERT INTO pallet VALUES ({round}, 'low', 'ada')")).await;
                let looks = futures_util::future::join(
                    scanners[0].start_due_scans(&app.app.rules),
                    scanners[1].start_due_scans(&other.app.rules),
                );
                let (one, two) = looks.await;
                one.and(two).unwrap();
                until_runs(app, &scanners[1], round).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
                assert_eq!(many(app, "rule_run").await, round);
                app.advance(TimeDelta::seconds(30));
            }
            assert_eq!(titles(app.user("ada")).await.len(), 5);
            other.app.rules.sources.close().await;
            other.app.db.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn what_has_failed_resolves_nothing_and_is_right_again_afterwards() {
    for of in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        over(Kind::Sqlite, of, json!({ "max_rows": 3, "timeout_ms": 1000 }), async |app, warehouse| {
            save(app, json!({ "alarm": { "type": "alarm" } })).await;
            warehouse.by_hand("INSERT INTO pallet VALUES (1, 'low', 'ada'), (2, 'low', 'ada')").await;
            assert_eq!(run(app).await, complete(2, 0, 0));
            warehouse.by_hand("ALTER TABLE pallet RENAME TO other").await;
            for failures in 1..=4 {
                assert_eq!(run(app).await, ended("FAILED"));
                assert_eq!(field(app, "failureCount").await["failureCount"], failures);
            }
            assert_eq!(titles(app.user("olga")).await, ["The rule low has failed 3 times"], "they are told once");
            let next =
                field(app, "nextRunAt").await["nextRunAt"].as_str().unwrap().parse::<chrono::DateTime<chrono::Utc>>();
            assert_eq!(next.unwrap() - app.now(), TimeDelta::seconds(480), "16 times as far off");
            let error = field(app, "runs(first: 1) { error }").await["runs"][0]["error"].as_str().unwrap().to_owned();
            assert!(error.contains("pallet") && !error.contains(&warehouse.database.url), "{error}");
            warehouse.by_hand("ALTER TABLE other RENAME TO pallet").await;
            warehouse.by_hand("INSERT INTO pallet VALUES (3, 'low', 'ada'), (4, 'low', 'ada')").await;
            assert_eq!(run(app).await, ended("TRUNCATED"));
            warehouse.by_hand("DELETE FROM pallet WHERE id > 2").await;
            let slow = match of {
                Kind::Postgres => "SELECT id, state, who FROM pallet, pg_sleep(20)",
                Kind::Mysql => "SELECT id, state, who FROM pallet WHERE SLEEP(20) = 0",
                Kind::Sqlite => {
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) AS id FROM n"
                }
            };
            let scan = |sql: &str| json!({ "scan": { "source": "wms", "sql": sql, "schedule": "@every 30s" } });
            save(app, scan(slow)).await;
            assert_eq!(run(app).await, ended("TIMED_OUT"));
            save(app, scan("SELECT id, state, NULL AS who FROM pallet UNION ALL SELECT 9, 'low', NULL")).await;
            assert_eq!(run(app).await, ended("FAILED"));
            assert_eq!(titles(app.user("ada")).await, ["2: low", "1: low"]);
            save(app, json!({})).await;
            warehouse.by_hand("DELETE FROM pallet WHERE id = 1").await;
            assert_eq!(run(app).await, complete(0, 0, 1));
            assert_eq!(field(app, "failureCount").await["failureCount"], 0);
            let next =
                field(app, "nextRunAt").await["nextRunAt"].as_str().unwrap().parse::<chrono::DateTime<chrono::Utc>>();
            assert_eq!(next.unwrap() - app.now(), TimeDelta::seconds(30), "as before it failed");
            assert_eq!(titles(app.user("ada")).await, ["2: low"]);
        })
        .await;
    }
}

#[tokio::test]
async fn a_run_whose_rule_became_another_does_nothing_more() {
    over(Kind::Sqlite, Kind::Postgres, json!({}), async |app, warehouse| {
        warehouse.by_hand("INSERT INTO pallet VALUES (1, 'low', 'ada')").await;
        let slow = "SELECT id, state, who FROM pallet, pg_sleep(2)";
        save(app, json!({ "scan": { "source": "wms", "sql": slow, "schedule": "@every 30s" } })).await;
        let meanwhile = async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            assert!(app.service().refused(&running(), json!({})).await.starts_with("UNAVAILABLE"), "it is under way");
            app.admin().ask("mutation { pauseNotificationRule(code: \"low\") { state } }", json!({})).await;
        };
        let run = running();
        let (ended, ()) = futures_util::future::join(app.service().refused(&run, json!({})), meanwhile).await;
        assert!(ended.starts_with("CONFLICT"), "{ended}");
        assert!(titles(app.user("ada")).await.is_empty());
        assert_eq!(many(app, "rule_row").await + many(app, "rule_run").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_rule_that_is_saved_while_it_runs_is_run_as_it_is_now() {
    over(Kind::Sqlite, Kind::Postgres, json!({}), async |app, warehouse| {
        warehouse.by_hand("INSERT INTO pallet VALUES (1, 'low', 'ada')").await;
        let scan = |sql: &str| json!({ "scan": { "source": "wms", "sql": sql, "schedule": "0 0 1 1 *" } });
        save(app, scan("SELECT id, state, who FROM pallet, pg_sleep(1)")).await;
        let scanner = RuleScanner::default();
        scanner.start_due_scans(&app.app.rules).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        save(app, scan("SELECT id, 'new' AS state, who FROM pallet")).await;
        until_runs(app, &scanner, 1).await;
        assert_eq!(titles(app.user("ada")).await, ["1: new"]);
        assert_eq!(many(app, "rule_run").await, 1);
    })
    .await;
}

/// The operators of a rule must not see the values of its rows.
#[tokio::test]
async fn what_a_row_has_is_not_told_with_a_failure() {
    over(Kind::Sqlite, Kind::Postgres, json!({}), async |app, warehouse| {
        warehouse.by_hand("INSERT INTO pallet VALUES (4711, 'low', 'Smith')").await;
        let error =
            async || field(app, "runs(first: 1) { error }").await["runs"][0]["error"].as_str().unwrap().to_owned();
        save(app, json!({ "audience": { "groupColumn": "who" } })).await;
        assert_eq!(run(app).await, ended("FAILED"));
        assert_eq!(error().await, "`rows[0].audience.groups[0]` names no group: \"…\"; create it with saveUserGroup");
        for sql in [
            "SELECT id, who::regclass::text AS state, who FROM pallet",
            "SELECT make_date(id, 99, 1)::text AS state, id, who FROM pallet",
        ] {
            save(app, json!({ "scan": { "source": "wms", "sql": sql, "schedule": "@every 30s" } })).await;
            assert_eq!(run(app).await, ended("FAILED"));
            let error = error().await;
            assert!(error.contains('…') && !error.contains("Smith") && !error.contains("4711"), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_trial_says_what_would_be_and_writes_nothing() {
    for of in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        over(Kind::Sqlite, of, json!({}), async |app, warehouse| {
            warehouse.by_hand("INSERT INTO pallet VALUES (1, 'low', 'ada'), (2, 'out', 'ben')").await;
            let tried = "mutation($input: NotificationRuleInput!) { tryNotificationRule(input: $input, first: 1) { \
                rows raised amended resolved baseline flooded error samples { key title body templateError audienceSize } plan } }";
            let again = async |changes: Value| {
                app.admin().ask(tried, json!({ "input": input(&changes) })).await["tryNotificationRule"].clone()
            };
            let mut first = again(json!({})).await;
            assert!(first["plan"].take().as_str().is_some_and(|plan| !plan.is_empty()));
            let sample = json!({ "key": { "id": 1 }, "title": "1: low", "body": null, "templateError": null, "audienceSize": 1 });
            let expected = json!({
                "rows": 2, "raised": 2, "amended": 0, "resolved": 0, "baseline": false, "flooded": false, "error": null,
                "samples": [sample], "plan": null,
            });
            assert_eq!(first, expected);
            assert_eq!(again(json!({ "firstRun": "BASELINE" })).await["baseline"], true);
            assert_eq!(again(json!({ "maxNew": 1 })).await["flooded"], true);
            let wrong = |sql: &str| json!({ "scan": { "source": "wms", "sql": sql, "schedule": "@every 30s" } });
            for sql in ["SELECT nothing FROM pallet", "DELETE FROM pallet", "SELECT 1 AS id; SELECT 2 AS id", "SELECT 1 AS other"] {
                assert!(again(wrong(sql)).await["error"].is_string(), "{sql}");
            }
            let failing = again(wrong("SELECT id, who FROM pallet ORDER BY id")).await;
            assert!(failing["samples"][0]["templateError"].is_string(), "{failing}");
            assert_eq!(many(app, "rule").await + many(app, "notification").await, 0);
            assert_eq!(field(app, "code").await, Value::Null);
            // An existing rule is compared with its known rows.
            save(app, json!({})).await;
            run(app).await;
            warehouse.by_hand("DELETE FROM pallet WHERE id = 1").await;
            warehouse.by_hand("UPDATE pallet SET state = 'low'").await;
            let later = again(json!({})).await;
            assert_eq!((&later["raised"], &later["amended"], &later["resolved"]), (&json!(0), &json!(1), &json!(1)));
            assert_eq!(titles(app.user("ada")).await, ["1: low"]);
        })
        .await;
    }
}

#[tokio::test]
async fn a_trial_is_in_the_audit_log_with_its_source_and_query() {
    const LOG: &str = "{ auditLog(first: 9) { nodes { action subjectKind subject detail actor { role name } } } }";
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        over(kind, Kind::Sqlite, json!({}), async |app, _| {
            let tried =
                "mutation($input: NotificationRuleInput!) { tryNotificationRule(input: $input) { rows error } }";
            let long = format!("SELECT\n{} AS id", "1 + ".repeat(400) + "1");
            for sql in ["SELECT 1 AS id; DROP TABLE pallet", &long] {
                let scan = json!({ "source": "wms", "sql": sql, "schedule": "@every 30s" });
                app.admin().ask(tried, json!({ "input": input(&json!({ "scan": scan })) })).await;
            }
            let unknown = json!({ "source": "other", "sql": "SELECT 1 AS id", "schedule": "@every 30s" });
            app.admin().refused(tried, json!({ "input": input(&json!({ "scan": unknown })) })).await;
            let entries = app.admin().ask(LOG, json!({})).await["auditLog"]["nodes"].take();
            let of = |detail: &str| {
                json!({ "action": "tryNotificationRule", "subjectKind": "RULE", "subject": "low", "detail": detail,
                    "actor": { "role": "ADMIN", "name": "operator" } })
            };
            let shown = format!("wms: {}", long.replace('\n', " "));
            assert_eq!(entries[0], of(&shown[..1_000]));
            assert_eq!(entries[1], of("wms: SELECT 1 AS id; DROP TABLE pallet"));
            assert_ne!(entries[2]["action"], "tryNotificationRule", "what names no source reads none");
        })
        .await;
    }
}

/// No matter how many rules of one tenant are due before it.
#[tokio::test]
async fn a_rule_of_another_tenant_waits_for_one_turn_alone() {
    let settings = json!({ "tenants": "*", "connections": 1, "timeout_ms": 1000 });
    over(Kind::Sqlite, Kind::Sqlite, settings, async |app, warehouse| {
        warehouse.by_hand("INSERT INTO pallet VALUES (1, 'low', 'ada')").await;
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) AS id, 'ada' AS who FROM n";
        for code in 0..6 {
            let scan = json!({ "source": "wms", "sql": endless, "schedule": "@every 30s" });
            save(app, json!({ "code": format!("low{code}"), "scan": scan })).await;
        }
        app.advance(TimeDelta::seconds(1));
        let other = app.stranger("operator", CallerRole::Admin);
        other.define(json!({ "code": "stock", "title": "Stock", "template": { "title": "{{ params.id }}" } })).await;
        other.ask(SAVE, json!({ "input": input(&json!({})) })).await;
        let scanner = RuleScanner::default();
        let complete = "rule_run WHERE outcome = 0";
        for _ in 0..500 {
            scanner.start_due_scans(&app.app.rules).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            if many(app, complete).await > 0 {
                break;
            }
        }
        assert_eq!(many(app, complete).await, 1, "it has run");
        assert!(many(app, "rule_run").await <= 3, "after two of the six at most");
    })
    .await;
}

#[tokio::test]
async fn a_source_that_says_so_is_read_at_once() {
    over(Kind::Sqlite, Kind::Postgres, json!({ "channel": "pallets" }), async |app, warehouse| {
        let server = app.listen().await;
        save(
            app,
            json!({ "scan": { "source": "wms", "sql": "SELECT id, state, who FROM pallet", "schedule": "0 0 1 1 *" } }),
        )
        .await;
        let mut socket = Socket::subscribed(&server.address, &app.user("ada").token, OVERVIEWS, json!({})).await;
        socket.until_unread(0).await;
        for unread in 1..=3 {
            warehouse.by_hand(&format!("INSERT INTO pallet VALUES ({unread}, 'low', 'ada'); NOTIFY pallets")).await;
            socket.until_unread(unread).await;
        }
        server.stop().await;
    })
    .await;
}

/// Even if its schedule is due once a year.
#[tokio::test]
async fn a_run_that_was_cut_off_is_run_again_when_its_lease_is_over() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        over(kind, Kind::Sqlite, json!({}), async |app, warehouse| {
            let scanner = RuleScanner::default();
            let scan = json!({ "source": "wms", "sql": "SELECT id, state, who FROM pallet", "schedule": "0 0 1 1 *" });
            save(app, json!({ "scan": scan })).await;
            warehouse.by_hand("INSERT INTO pallet VALUES (1, 'low', 'ada')").await;
            // The run panics between its start and its end.
            app.panic_at("INSERT INTO rule_run");
            scanner.start_due_scans(&app.app.rules).await.unwrap();
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(many(app, "rule_run").await, 0);
            scanner.start_due_scans(&app.app.rules).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(many(app, "rule_run").await, 0, "the lease is not over");
            app.advance(TimeDelta::seconds(16));
            until_runs(app, &scanner, 1).await;
            assert_eq!(titles(app.user("ada")).await, ["1: low"]);
            assert_eq!(many(app, "notification").await, 1);
            let next = field(app, "nextRunAt").await["nextRunAt"].clone();
            assert_eq!(next, "2027-01-01T00:00:00.000Z");
        })
        .await;
    }
}

#[tokio::test]
async fn news_while_it_runs_are_run_for_again() {
    over(Kind::Sqlite, Kind::Postgres, json!({}), async |app, _| {
        let slow = "SELECT id, state, who FROM pallet, pg_sleep(1)";
        save(app, json!({ "scan": { "source": "wms", "sql": slow, "schedule": "0 0 1 1 *" } })).await;
        let scanner = RuleScanner::default();
        scanner.start_due_scans(&app.app.rules).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        app.advance(TimeDelta::seconds(1));
        let heard_at = app.app.now();
        rules::mark_source_due(&app.app, "wms", heard_at).await.unwrap();
        until_runs(app, &scanner, 2).await;
        let is_done = async || field(app, "nextRunAt").await["nextRunAt"] == "2027-01-01T00:00:00.000Z";
        assert!(is_done().await);
        // A slower node got the same notice.
        rules::mark_source_due(&app.app, "wms", heard_at - 1).await.unwrap();
        assert!(is_done().await, "it is known by now");
        rules::mark_source_due(&app.app, "wms", heard_at + 1).await.unwrap();
        assert!(!is_done().await);
    })
    .await;
}

#[tokio::test]
async fn a_rule_whose_source_is_gone_fails() {
    over(Kind::Sqlite, Kind::Sqlite, json!({}), async |app, _| {
        save(app, json!({})).await;
        let mut config = app.app.config.clone();
        config.sources.sources = None;
        let without = TestApp::at(config, app.app.clock.clone()).await;
        rules::fail_without_source(&without.app.rules).await.unwrap();
        assert_eq!(many(app, "rule_run").await, 0, "another node may have it");
        app.advance(TimeDelta::seconds(61));
        rules::fail_without_source(&app.app.rules).await.unwrap();
        assert_eq!(many(app, "rule_run").await, 0, "this one does");
        rules::fail_without_source(&without.app.rules).await.unwrap();
        let run = field(app, "runs { outcome error }").await["runs"][0].clone();
        assert_eq!(run, json!({ "outcome": "FAILED", "error": "no source \"wms\"" }));
        without.app.db.close().await;
    })
    .await;
}

#[tokio::test]
async fn sources_and_rules_are_their_tenants() {
    over(Kind::Sqlite, Kind::Sqlite, json!({}), async |app, _| {
        let sources = "{ ruleSources { name kind error } }";
        let own = app.admin().ask(sources, json!({})).await;
        assert_eq!(own["ruleSources"], json!([{ "name": "wms", "kind": "SQLITE", "error": null }]));
        let stranger = app.stranger("operator", auth::CallerRole::Admin);
        assert_eq!(stranger.ask(sources, json!({})).await["ruleSources"], json!([]));
        stranger.define(json!({ "code": "stock", "title": "Stock", "template": { "title": "x" } })).await;
        assert!(stranger.refused(SAVE, json!({ "input": input(&json!({})) })).await.starts_with("NOT_FOUND"));
    })
    .await;
}
