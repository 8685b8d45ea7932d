//! Short query plans.

use base::error::Result;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::scene::Scene;

/// The access paths for the large user, each once with its number of occurrences; on PostgreSQL also the number of
/// pages. Runs in a transaction that is rolled back.
pub async fn explain(scene: &Scene, mut statement: Statement) -> Result<Vec<String>> {
    let backend = scene.app.db.backend();
    let word = match backend {
        DbBackend::Postgres => "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) ",
        DbBackend::MySql => "EXPLAIN ",
        _ => "EXPLAIN QUERY PLAN ",
    };
    statement.sql = format!("{word}{}", statement.sql);
    let txn = scene.app.db.begin().await?;
    let rows = txn.query_all_raw(statement).await?;
    let mut lines = Vec::new();
    for row in &rows {
        lines.push(match backend {
            DbBackend::Postgres => row.try_get_by_index::<String>(0)?,
            DbBackend::MySql => mysql_row(row)?,
            _ => row.try_get::<String>("", "detail")?,
        });
    }
    txn.rollback().await?;
    Ok(ways(&lines))
}

fn ways(lines: &[String]) -> Vec<String> {
    let mut ways: Vec<(String, usize)> = Vec::new();
    let pages = lines.iter().map(|line| line.trim()).find(|line| line.starts_with("Buffers:"));
    for (place, line) in lines.iter().enumerate() {
        let way = line.trim().trim_start_matches("->").trim();
        let is_way = ["Scan", "SEARCH", "SCAN", "key="].iter().any(|word| way.contains(word));
        if !is_way || way.contains("never executed") || way.contains("key=- ") || is_inner(way) {
            continue;
        }
        let condition = lines.get(place + 1).map(|next| next.trim()).filter(|next| next.starts_with("Index Cond"));
        let way = if let Some(condition) = condition { format!("{way} {condition}") } else { way.to_owned() };
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, many)) => *many += 1,
            None => ways.push((way, 1)),
        }
    }
    let line = |(way, many): (String, usize)| format!("{many:>3} × {way}");
    ways.into_iter().map(line).chain(pages.map(str::to_owned)).collect()
}

/// Whether SQLite scans only the few rows of a sub-select of ours.
fn is_inner(way: &str) -> bool {
    let name = way.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
    way.starts_with("CO-ROUTINE") || name.is_some_and(|name| matches!(name.as_bytes()[0], b'b' | b'c' | b'h' | b'x'))
}

fn mysql_row(row: &sea_orm::QueryResult) -> Result<String> {
    let text = |column: &str| -> Result<String> {
        Ok(row.try_get::<Option<String>>("", column)?.unwrap_or_else(|| "-".into()))
    };
    let table = text("table")?;
    let table = if table.starts_with('<') { "derived".into() } else { table };
    Ok(format!("{table:<8} {:<8} key={} {}", text("type")?, text("key")?, text("Extra")?))
}
