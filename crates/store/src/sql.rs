//! Handwritten SQL for the three databases.
//!
//! Ordinary statements are entity calls. The rest, in the files named `statement.rs`, is written with [`SqlBuilder`]:
//! text with bound values, and methods for the few parts that differ between the databases.

use entity::statement::{FromColumns, FromNumbers, array_value, fold_into_arrays, pad_list, read_arrays, read_rows};
use sea_orm::sea_query::Nullable;
use sea_orm::{ConnectionTrait, DbBackend, ExecResult, FromQueryResult, Statement, Value};

use base::error::Result;

/// SQLite's default limit of bound values in a statement.
const SQLITE_VALUES: usize = 32_766;

/// The limit of bound values in a statement on PostgreSQL and MySQL.
const VALUES: usize = 65_535;

/// Builds a statement: text is pushed, values are bound.
#[derive(Debug)]
pub struct SqlBuilder {
    backend: DbBackend,
    text: String,
    values: Vec<Value>,
}

impl SqlBuilder {
    /// An empty statement for the database behind `db`.
    pub fn new(db: &impl ConnectionTrait) -> Self {
        Self { backend: db.get_database_backend(), text: String::with_capacity(512), values: Vec::new() }
    }

    /// The database that the statement is for.
    pub fn backend(&self) -> DbBackend {
        self.backend
    }

    /// Adds text. Values must be bound instead.
    pub fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds the list of columns that `T` is read from.
    pub fn push_columns<T: FromColumns>(&mut self) -> &mut Self {
        T::push_columns(&mut self.text);
        self
    }

    /// Binds a value and adds its placeholder.
    pub fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.values.push(value.into());
        if self.backend == DbBackend::Postgres {
            self.text.push('$');
            self.text.push_str(&self.values.len().to_string());
        } else {
            self.text.push('?');
        }
        self
    }

    /// Adds ` IN (…)` over ids or texts. At most [`entity::statement::LIST`] are allowed; an empty list matches
    /// nothing.
    pub fn push_list<T: Clone + Into<Value> + Nullable>(&mut self, values: &[T]) -> &mut Self {
        if let Some(array) = array_value(self.backend, values) {
            return self.push(" = ANY(").bind(array).push("::bigint[])");
        }
        self.push(" IN (");
        for (place, value) in pad_list(values).into_iter().enumerate() {
            self.push(if place > 0 { ", " } else { "" }).bind(value);
        }
        self.push(")")
    }

    /// Ends an INSERT that keeps existing rows. `column` is any column of the table.
    pub fn or_ignore(&mut self, column: &str) -> &mut Self {
        match self.backend {
            DbBackend::MySql => self.push(&format!(" ON DUPLICATE KEY UPDATE {column} = {column}")),
            _ => self.push(" ON CONFLICT DO NOTHING"),
        }
    }

    /// Ends a SELECT that locks the rows it returns. No-op on SQLite, which has a single writer.
    pub fn for_update(&mut self) -> &mut Self {
        match self.backend {
            DbBackend::Sqlite => self,
            DbBackend::Postgres => self.push(" FOR NO KEY UPDATE"),
            _ => self.push(" FOR UPDATE"),
        }
    }

    /// The same, but skips rows locked by others instead of waiting.
    pub fn for_update_skip_locked(&mut self) -> &mut Self {
        match self.backend {
            DbBackend::Sqlite => self,
            _ => self.for_update().push(" SKIP LOCKED"),
        }
    }

    /// The name of the function that returns the largest of its arguments.
    pub fn greatest_function(&self) -> &'static str {
        if self.backend == DbBackend::Sqlite { "max" } else { "GREATEST" }
    }

    /// The finished statement, for running it or for EXPLAIN.
    pub fn into_statement(self) -> Statement {
        let most = if self.backend == DbBackend::Sqlite { SQLITE_VALUES } else { VALUES };
        debug_assert!(self.values.len() <= most, "{} values in {:.1000}", self.values.len(), self.text);
        Statement::from_sql_and_values(self.backend, self.text, self.values)
    }

    /// Runs it and reads its rows by column name.
    pub async fn fetch_by_name<T: FromQueryResult>(self, db: &impl ConnectionTrait) -> Result<Vec<T>> {
        let rows = db.query_all_raw(self.into_statement()).await?;
        Ok(rows.iter().map(|row| T::from_query_result(row, "")).collect::<std::result::Result<_, _>>()?)
    }

    /// Runs it and reads the first columns of its rows.
    pub async fn fetch_all<T: FromColumns>(self, db: &impl ConnectionTrait) -> Result<Vec<T>> {
        let rows = db.query_all_raw(self.into_statement()).await?;
        Ok(rows.iter().map(|row| T::read_columns(row, 0)).collect::<std::result::Result<_, _>>()?)
    }

    /// Runs it and reads rows of numbers only. On PostgreSQL, many rows then cost little more than one.
    pub async fn fetch_numbers<T: FromNumbers>(mut self, db: &impl ConnectionTrait) -> Result<Vec<T>> {
        if self.backend != DbBackend::Postgres {
            return Ok(read_rows(&db.query_all_raw(self.into_statement()).await?)?);
        }
        self.text = fold_into_arrays(&self.text, T::MANY);
        let row = db.query_one_raw(self.into_statement()).await?;
        Ok(row.map(|row| read_arrays(&row)).transpose()?.unwrap_or_default())
    }

    /// Runs it and reads its first row.
    pub async fn fetch_optional<T: FromQueryResult>(self, db: &impl ConnectionTrait) -> Result<Option<T>> {
        let row = db.query_one_raw(self.into_statement()).await?;
        Ok(row.map(|row| T::from_query_result(&row, "")).transpose()?)
    }

    /// Runs it and returns how many rows it touched.
    pub async fn execute(self, db: &impl ConnectionTrait) -> Result<u64> {
        Ok(db.execute_raw(self.into_statement()).await.map(|done: ExecResult| done.rows_affected())?)
    }
}
