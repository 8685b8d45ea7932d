//! Many rows at once, without a new prepared statement for each number of them.

use sea_orm::{ConnectionTrait, DbBackend, Value};

use super::Sql;
use crate::error::Result;

/// The most rows of one VALUES list, so that 24 columns stay below SQLite's 32,766 values.
const ROWS_PER_STATEMENT: usize = 1024;

/// The rows of one INSERT, each as wide as `columns`.
#[derive(Debug)]
pub struct Rows {
    /// Into which table.
    pub table: &'static str,
    /// Its columns, in the order of the values.
    pub columns: &'static [&'static str],
    /// The values, row by row.
    pub values: Vec<Vec<Value>>,
}

/// Inserts rows, and returns how many were new (with [`Existing::Merged`] the number means nothing).
///
/// They travel as VALUES lists in powers of two, so that there are eleven different statements at the most, all of them
/// prepared after a while. (Arrays and `unnest` would be one on PostgreSQL, but the query builder's cannot hold NULL.)
pub async fn insert(db: &impl ConnectionTrait, rows: Rows, existing: Existing) -> Result<u64> {
    let Rows { table, columns, mut values } = rows;
    let mut inserted = 0;
    while !values.is_empty() {
        let rest = values.split_off(largest_power_of_two(values.len().min(ROWS_PER_STATEMENT)));
        let mut sql = Sql::new(db);
        sql.push(&format!("INSERT INTO {table} ({}) ", columns.join(", ")));
        push_values(&mut sql, values);
        match existing {
            Existing::Kept => {
                sql.or_ignore(columns[0]);
            }
            Existing::Refused => {}
            Existing::Merged { key, raised, replaced } => push_merge(&mut sql, table, key, raised, replaced),
        }
        inserted += sql.run(db).await?;
        values = rest;
    }
    Ok(inserted)
}

/// What happens to a row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays as it is, and the new one is dropped.
    Kept,
    /// The whole INSERT fails.
    Refused,
    /// Of what has the same `key`, columns of numbers in `raised` keep the greater of both values, and those in `replaced`
    /// take the new one. No key may come twice in one INSERT.
    Merged { key: &'static [&'static str], raised: &'static [&'static str], replaced: &'static [&'static str] },
}

fn push_merge(sql: &mut Sql, table: &str, key: &[&str], raised: &[&str], replaced: &[&str]) {
    let is_mysql = sql.backend() == DbBackend::MySql;
    let new = |column: &str| if is_mysql { format!("VALUES({column})") } else { format!("excluded.{column}") };
    let greatest = sql.greatest();
    let raise = |column: &&str| format!("{column} = {greatest}(COALESCE({table}.{column}, 0), {})", new(column));
    let replace = |column: &&str| format!("{column} = {}", new(column));
    let changes: Vec<String> = raised.iter().map(raise).chain(replaced.iter().map(replace)).collect();
    if is_mysql {
        sql.push(" ON DUPLICATE KEY UPDATE ");
    } else {
        sql.push(&format!(" ON CONFLICT ({}) DO UPDATE SET ", key.join(", ")));
    }
    sql.push(&changes.join(", "));
}

fn largest_power_of_two(at_most: usize) -> usize {
    1 << at_most.ilog2()
}

fn push_values(sql: &mut Sql, rows: Vec<Vec<Value>>) {
    sql.push("VALUES ");
    for (place, row) in rows.into_iter().enumerate() {
        sql.push(if place == 0 { "(" } else { ", (" });
        for (column, value) in row.into_iter().enumerate() {
            if column > 0 {
                sql.push(", ");
            }
            sql.bind(value);
        }
        sql.push(")");
    }
}
