//! Rows of numbers, which PostgreSQL returns as one array per column: values and order must stay the same.

use base::error::Result;
use entity::numbers;
use store::SqlBuilder;

use crate::support::{TestApp, on_every_database};

numbers! {
    #[derive(Debug, PartialEq)]
    struct Pair {
        first: i64 = "p.a AS one",
        second: Option<i64> = "p.b AS two",
    }
}

/// Returns the pairs that satisfy `which`, the largest first.
async fn pairs(app: &TestApp, which: &str) -> Result<Vec<Pair>> {
    let mut sql = SqlBuilder::new(&app.app.db.read);
    sql.push("SELECT ")
        .push_columns::<Pair>()
        .push(" FROM (SELECT 1 AS a, 7 AS b UNION ALL SELECT 3, -9223372036854775807 ");
    sql.push("UNION ALL SELECT 2, NULL UNION ALL SELECT NULL, 4) p WHERE ").push(which).push(" ORDER BY p.a DESC");
    sql.fetch_numbers(&app.app.db.read).await
}

on_every_database! {
    async fn rows_of_numbers_come_as_they_are(app) {
        let pair = |first, second| Pair { first, second };
        let all = [pair(3, Some(-9_223_372_036_854_775_807)), pair(2, None), pair(1, Some(7))];
        assert_eq!(pairs(app, "p.a IS NOT NULL").await.unwrap(), all);
        assert_eq!(pairs(app, "p.a > 3").await.unwrap(), []);
        assert!(pairs(app, "p.b = 4").await.is_err(), "NULL is no number");
    }
}
