//! Many rows at once, without a new prepared statement for each number of them.

use std::fmt::Write;

use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityName, Statement, Value};

/// The most rows of one VALUES list, so that 27 columns stay below SQLite's 32,766 values.
const ROWS_PER_STATEMENT: usize = 1024;

/// What happens to a row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing<'a, C> {
    /// It stays as it is, and the new one is dropped.
    Kept,
    /// The whole INSERT fails.
    Refused,
    /// Of what has the same `key`, columns of numbers in `raised` keep the greater of both values, and those in `replaced`
    /// take the new one. No key may come twice in one INSERT.
    Merged { key: &'a [C], raised: &'a [C], replaced: &'a [C] },
    /// Of what has the same `key`, these columns of numbers become the sum of both values. No key may come twice in one INSERT.
    Summed { key: &'a [C], summed: &'a [C] },
}

/// Inserts rows, their values in the order of `columns`, and returns how many were new (with [`Existing::Merged`] and
/// [`Existing::Summed`] the number means nothing).
///
/// They travel as VALUES lists in powers of two, so that there are eleven different statements at the most, all of them
/// prepared after a while. PostgreSQL, to which each statement is a way there and back, leaves out what is beyond the rows. Rows are
/// positions, not active models, for of these 128 take five times as long to write.
pub async fn insert<C: ColumnTrait, const N: usize>(
    db: &impl ConnectionTrait,
    columns: [C; N],
    mut rows: Vec<[Value; N]>,
    existing: Existing<'_, C>,
) -> Result<u64, DbErr> {
    let mut inserted = 0;
    while !rows.is_empty() {
        let backend = db.get_database_backend();
        let most = rows.len().min(ROWS_PER_STATEMENT);
        let many = if backend == DbBackend::Postgres { most } else { largest_power_of_two(most) };
        let rest = rows.split_off(many);
        let beyond = rows[0].each_ref().map(Value::as_null);
        rows.resize(many.next_power_of_two(), beyond);
        let (text, is_cut) = (text(backend, columns, &rows, existing), is_cut(backend, rows.len()));
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

fn text<C: ColumnTrait, const N: usize>(
    backend: DbBackend,
    columns: [C; N],
    rows: &[[Value; N]],
    existing: Existing<'_, C>,
) -> String {
    let names = columns.each_ref().map(C::as_str).join(", ");
    let mut text = String::with_capacity(64 + names.len() + rows.len() * N * 6);
    let _ = write!(text, "INSERT INTO {} ({names}) ", C::EntityName::default().table_name());
    let is_cut = is_cut(backend, rows.len());
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
                text.push_str(cast(value));
            }
        }
        text.push(')');
    }
    if is_cut {
        let _ = write!(text, ") v LIMIT ${}", rows.len() * N + 1);
    }
    match (existing, backend) {
        (Existing::Refused, _) => {}
        (Existing::Kept, DbBackend::MySql) => {
            let any = columns.first().map_or("", C::as_str);
            let _ = write!(text, " ON DUPLICATE KEY UPDATE {any} = {any}");
        }
        (Existing::Kept, _) => text.push_str(" ON CONFLICT DO NOTHING"),
        (Existing::Merged { key, raised, replaced }, _) => {
            let greatest = if backend == DbBackend::Sqlite { "max" } else { "GREATEST" };
            let raise = |old: &str, new: &str| format!("{greatest}(COALESCE({old}, 0), {new})");
            let replaced = replaced.iter().map(|column| change(backend, column, |_, new| new.to_owned()));
            let changes = raised.iter().map(|column| change(backend, column, raise)).chain(replaced);
            merge(&mut text, backend, key, changes);
        }
        (Existing::Summed { key, summed }, _) => {
            let add = |old: &str, new: &str| format!("{old} + {new}");
            merge(&mut text, backend, key, summed.iter().map(|column| change(backend, column, add)));
        }
    }
    text
}

/// Whether a statement says how many of its places hold rows.
fn is_cut(backend: DbBackend, places: usize) -> bool {
    backend == DbBackend::Postgres && places > 1
}

/// By what PostgreSQL knows the type of a column of values.
fn cast(value: &Value) -> &'static str {
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

/// What becomes of a column, of its old value and the new one.
fn change<C: ColumnTrait>(backend: DbBackend, column: &C, merged: impl Fn(&str, &str) -> String) -> String {
    let name = column.as_str();
    let old = format!("{}.{name}", C::EntityName::default().table_name());
    let new = if backend == DbBackend::MySql { format!("VALUES({name})") } else { format!("excluded.{name}") };
    format!("{name} = {}", merged(&old, &new))
}

fn merge<C: ColumnTrait>(text: &mut String, backend: DbBackend, key: &[C], changes: impl Iterator<Item = String>) {
    if backend == DbBackend::MySql {
        text.push_str(" ON DUPLICATE KEY UPDATE ");
    } else {
        let key: Vec<&str> = key.iter().map(C::as_str).collect();
        let _ = write!(text, " ON CONFLICT ({}) DO UPDATE SET ", key.join(", "));
    }
    text.push_str(&changes.collect::<Vec<_>>().join(", "));
}
