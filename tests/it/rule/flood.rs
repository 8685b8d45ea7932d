//! Far more rows than a user wants to be notified of.

use serde_json::json;

use super::warehouse::{ended, over, run};
use super::{catalogue, field, many, report_as, reporting, save, titles, warehouse};
use crate::support::{Kind, TestApp, on_every_database};

/// Inserts a hundred thousand rows at once.
fn hundred_thousand(of: Kind) -> &'static str {
    match of {
        Kind::Postgres => "INSERT INTO pallet SELECT n, 'low', 'ada' FROM generate_series(1, 100000) AS n",
        Kind::Mysql => "INSERT INTO pallet SELECT seq, 'low', 'ada' FROM seq_1_to_100000",
        Kind::Sqlite => {
            "INSERT INTO pallet WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) \
                SELECT i, 'low', 'ada' FROM n"
        }
    }
}

/// Checks that operators got one notification, and other users none.
async fn only_operators_hear(app: &TestApp, title: &str) {
    assert_eq!(titles(app.user("olga")).await, [title]);
    assert!(titles(app.user("ada")).await.is_empty());
    assert_eq!((many(app, "notification").await, many(app, "rule_row").await), (1, 0));
}

/// A result is truncated at the row limit of its source. That is a failure, and operators are notified of the third.
#[tokio::test]
async fn a_scan_that_finds_a_hundred_thousand_rows_tells_operators_once() {
    for (kind, of) in [(Kind::Sqlite, Kind::Postgres), (Kind::Postgres, Kind::Mysql), (Kind::Mysql, Kind::Sqlite)] {
        over(kind, of, json!({}), async |app, warehouse| {
            warehouse::save(app, json!({ "alarm": { "type": "alarm" } })).await;
            warehouse.by_hand(hundred_thousand(of)).await;
            for _ in 0..4 {
                assert_eq!(run(app).await, ended("TRUNCATED"));
            }
            only_operators_hear(app, "The rule low has failed 3 times").await;
            // As many rows as the limit permits are a flood.
            warehouse.by_hand("DELETE FROM pallet WHERE id > 10000").await;
            warehouse::save(app, json!({ "alarm": { "type": "alarm" }, "maxNew": 9999 })).await;
            assert_eq!(run(app).await, ended("FLOODED"));
            assert_eq!(titles(app.user("olga")).await.len(), 2);
            assert!(titles(app.user("ada")).await.is_empty());
        })
        .await;
    }
}

on_every_database! {
    /// The first chunk pauses the rule, and the others are refused.
    async fn a_report_of_a_hundred_thousand_rows_tells_operators_once(app) {
        catalogue(app).await;
        save(app, json!({ "alarm": { "type": "alarm" } })).await;
        let rows = |chunk: i64| (0..10_000).map(move |n| json!({ "id": chunk * 10_000 + n, "state": "low", "who": "ada" }));
        let how = |chunk: i64| json!({ "run": "all", "chunk": chunk, "more": chunk < 9 });
        let (raised, _, _, outcome) = report_as(app, rows(0).collect(), how(0)).await;
        assert_eq!((raised, outcome.as_str()), (0, "FLOODED"));
        for chunk in 1..10 {
            let mut input = how(chunk);
            input["rule"] = json!("low");
            input["rows"] = rows(chunk).collect();
            let refused = app.service().refused(&reporting(), json!({ "input": input })).await;
            assert!(refused.starts_with("CONFLICT"), "{refused}");
        }
        only_operators_hear(app, "The rule low is paused").await;
        assert_eq!(field(app, "state").await["state"], "FLOODED");
    }
}
