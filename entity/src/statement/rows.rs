//! Inserts many rows, without a separate prepared statement for each number of rows.

use std::fmt::Write;

use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityName, Statement, Value};

/// Maximum number of rows in one VALUES list, so that 27 columns stay below SQLite's limit of 32,766 values.
const ROWS_PER_STATEMENT: usize = 1024;

/// What to do with a row if its key exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingRows<'a, C> {
    /// Keep the existing row and drop the new one.
    Kept,
    /// Fail the whole INSERT.
    Refused,
    /// If a row has the same `key`, the number columns in `raised` keep the greater of both values, and those in
    /// `replaced` take the new one. A key must not occur twice in one INSERT.
    Merged { key: &'a [C], raised: &'a [C], replaced: &'a [C] },
    /// If a row has the same `key`, these number columns become the sum of both values. A key must not occur twice in
    /// one INSERT.
    Summed { key: &'a [C], summed: &'a [C] },
}

/// Inserts rows, with values in the order of `columns`, and returns how many were new (meaningless with
/// [`ExistingRows::Merged`] and [`ExistingRows::Summed`]).
///
/// The lengths of the VALUES lists are powers of two, so that there are at most eleven different statements, which all
/// become prepared. On PostgreSQL, where each statement is a round trip, the list is padded and a LIMIT drops the
/// padding. Rows are arrays of values because 128 active models take five times as long to write.
pub async fn insert<C: ColumnTrait, const N: usize>(
    db: &impl ConnectionTrait,
    columns: [C; N],
    mut rows: Vec<[Value; N]>,
    existing: ExistingRows<'_, C>,
) -> Result<u64, DbErr> {
    let mut inserted = 0;
    while !rows.is_empty() {
        let backend = db.get_database_backend();
        let most = rows.len().min(ROWS_PER_STATEMENT);
        let many = if backend == DbBackend::Postgres { most } else { largest_power_of_two(most) };
        let rest = rows.split_off(many);
        let beyond = rows[0].each_ref().map(Value::as_null);
        rows.resize(many.next_power_of_two(), beyond);
        let (text, is_cut) = (insert_text(backend, columns, &rows, existing), has_limit(backend, rows.len()));
        let mut values: Vec<Value> = rows.into_iter().flatten().collect();
        if is_cut {
            values.push(i64::try_from(many).unwrap_or(i64::MAX).into());
        }
        let done = db.execute_raw(Statement::from_sql_and_values(backend, text, values)).await?;
        inserted += done.rows_affected();
        rows = rest;
    }
    Ok(inserted)
}

fn largest_power_of_two(at_most: usize) -> usize {
    1 << at_most.ilog2()
}

fn insert_text<C: ColumnTrait, const N: usize>(
    backend: DbBackend,
    columns: [C; N],
    rows: &[[Value; N]],
    existing: ExistingRows<'_, C>,
) -> String {
    let names = columns.each_ref().map(C::as_str).join(", ");
    let mut text = String::with_capacity(64 + names.len() + rows.len() * N * 6);
    let _ = write!(text, "INSERT INTO {} ({names}) ", C::EntityName::default().table_name());
    let is_cut = has_limit(backend, rows.len());
    text.push_str(if is_cut { "SELECT * FROM (VALUES " } else { "VALUES " });
    for (row, values) in rows.iter().enumerate() {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for (column, value) in values.iter().enumerate() {
            text.push_str(if column == 0 { "" } else { ", " });
            match backend {
                DbBackend::Postgres => drop(write!(text, "${}", row * N + column + 1)),
                _ => text.push('?'),
            }
            if is_cut && row == 0 {
                text.push_str(cast_to_type(value));
            }
        }
        text.push(')');
    }
    if is_cut {
        let _ = write!(text, ") v LIMIT ${}", rows.len() * N + 1);
    }
    match (existing, backend) {
        (ExistingRows::Refused, _) => {}
        (ExistingRows::Kept, DbBackend::MySql) => {
            let any = columns.first().map_or("", C::as_str);
            let _ = write!(text, " ON DUPLICATE KEY UPDATE {any} = {any}");
        }
        (ExistingRows::Kept, _) => text.push_str(" ON CONFLICT DO NOTHING"),
        (ExistingRows::Merged { key, raised, replaced }, _) => {
            let greatest = if backend == DbBackend::Sqlite { "max" } else { "GREATEST" };
            let raise = |old: &str, new: &str| format!("{greatest}(COALESCE({old}, 0), {new})");
            let replaced = replaced.iter().map(|column| column_assignment(backend, column, |_, new| new.to_owned()));
            let changes = raised.iter().map(|column| column_assignment(backend, column, raise)).chain(replaced);
            push_conflict_clause(&mut text, backend, key, changes);
        }
        (ExistingRows::Summed { key, summed }, _) => {
            let add = |old: &str, new: &str| format!("{old} + {new}");
            push_conflict_clause(
                &mut text,
                backend,
                key,
                summed.iter().map(|column| column_assignment(backend, column, add)),
            );
        }
    }
    text
}

/// Whether the statement has a LIMIT with the number of actual rows.
fn has_limit(backend: DbBackend, places: usize) -> bool {
    backend == DbBackend::Postgres && places > 1
}

/// The cast that tells PostgreSQL the type of a VALUES column.
fn cast_to_type(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "::boolean",
        Value::SmallInt(_) => "::smallint",
        Value::Int(_) => "::integer",
        Value::BigInt(_) => "::bigint",
        Value::Double(_) => "::double precision",
        Value::Bytes(_) => "::bytea",
        _ => "::text",
    }
}

/// The assignment of a column, from its old and its new value.
fn column_assignment<C: ColumnTrait>(backend: DbBackend, column: &C, merged: impl Fn(&str, &str) -> String) -> String {
    let name = column.as_str();
    let old = format!("{}.{name}", C::EntityName::default().table_name());
    let new = if backend == DbBackend::MySql { format!("VALUES({name})") } else { format!("excluded.{name}") };
    format!("{name} = {}", merged(&old, &new))
}

fn push_conflict_clause<C: ColumnTrait>(
    text: &mut String,
    backend: DbBackend,
    key: &[C],
    changes: impl Iterator<Item = String>,
) {
    if backend == DbBackend::MySql {
        text.push_str(" ON DUPLICATE KEY UPDATE ");
    } else {
        let key: Vec<&str> = key.iter().map(C::as_str).collect();
        let _ = write!(text, " ON CONFLICT ({}) DO UPDATE SET ", key.join(", "));
    }
    text.push_str(&changes.collect::<Vec<_>>().join(", "));
}
