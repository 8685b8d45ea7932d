//! Statements written by hand, on the three databases.
//!
//! What an ordinary statement is, the entities say; the rest stands in the files named `statement.rs`, and is written with this.
//! A [`Sql`] is text with bound values; the few words that differ are methods of it.

use entity::statement::{Columns, Numbers, array, folded, one_by_one, padded, unfolded};
use sea_orm::sea_query::Nullable;
use sea_orm::{ConnectionTrait, DbBackend, ExecResult, FromQueryResult, Statement, Value};

use crate::error::Result;

/// The most values of a statement that SQLite takes, as it is built by default.
const SQLITE_VALUES: usize = 32_766;

/// The most values of a statement that PostgreSQL and MySQL take.
const VALUES: usize = 65_535;

/// A statement in the making: text as it is pushed, values as they are bound.
#[derive(Debug)]
pub struct Sql {
    backend: DbBackend,
    text: String,
    values: Vec<Value>,
}

impl Sql {
    /// An empty statement for the database behind `db`.
    pub fn new(db: &impl ConnectionTrait) -> Self {
        Self { backend: db.get_database_backend(), text: String::with_capacity(512), values: Vec::new() }
    }

    /// Which database it is for.
    pub fn backend(&self) -> DbBackend {
        self.backend
    }

    /// Adds text, which holds no values.
    pub fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds the columns of what its rows are read into.
    pub fn columns<T: Columns>(&mut self) -> &mut Self {
        T::write(&mut self.text);
        self
    }

    /// Adds a value.
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

    /// Adds ` IN (…)` over ids or texts, of which there are at most [`entity::statement::LIST`]; none at all matches nothing.
    pub fn among<T: Clone + Into<Value> + Nullable>(&mut self, values: &[T]) -> &mut Self {
        if let Some(array) = array(self.backend, values) {
            return self.push(" = ANY(").bind(array).push("::bigint[])");
        }
        self.push(" IN (");
        for (place, value) in padded(values).into_iter().enumerate() {
            self.push(if place > 0 { ", " } else { "" }).bind(value);
        }
        self.push(")")
    }

    /// Ends an INSERT that leaves what is already there alone. `column` is any that the table has.
    pub fn or_ignore(&mut self, column: &str) -> &mut Self {
        match self.backend {
            DbBackend::MySql => self.push(&format!(" ON DUPLICATE KEY UPDATE {column} = {column}")),
            _ => self.push(" ON CONFLICT DO NOTHING"),
        }
    }

    /// Ends a SELECT that locks the rows it returns. SQLite has one writer, who holds the whole file.
    pub fn for_update(&mut self) -> &mut Self {
        match self.backend {
            DbBackend::Sqlite => self,
            DbBackend::Postgres => self.push(" FOR NO KEY UPDATE"),
            _ => self.push(" FOR UPDATE"),
        }
    }

    /// The same, without waiting: rows that somebody holds are left out.
    pub fn for_update_of_free(&mut self) -> &mut Self {
        match self.backend {
            DbBackend::Sqlite => self,
            _ => self.for_update().push(" SKIP LOCKED"),
        }
    }

    /// The name of the function that gives the largest of its arguments.
    pub fn greatest(&self) -> &'static str {
        if self.backend == DbBackend::Sqlite { "max" } else { "GREATEST" }
    }

    /// As it is, for EXPLAIN and for the database.
    pub fn into_statement(self) -> Statement {
        let most = if self.backend == DbBackend::Sqlite { SQLITE_VALUES } else { VALUES };
        debug_assert!(self.values.len() <= most, "{} values in {:.1000}", self.values.len(), self.text);
        Statement::from_sql_and_values(self.backend, self.text, self.values)
    }

    /// Runs it and reads its rows, by the names of their columns.
    pub async fn rows<T: FromQueryResult>(self, db: &impl ConnectionTrait) -> Result<Vec<T>> {
        let rows = db.query_all_raw(self.into_statement()).await?;
        Ok(rows.iter().map(|row| T::from_query_result(row, "")).collect::<std::result::Result<_, _>>()?)
    }

    /// Runs it and reads the first columns of its rows.
    pub async fn all<T: Columns>(self, db: &impl ConnectionTrait) -> Result<Vec<T>> {
        let rows = db.query_all_raw(self.into_statement()).await?;
        Ok(rows.iter().map(|row| T::read(row, 0)).collect::<std::result::Result<_, _>>()?)
    }

    /// Runs it and reads its rows, whose columns are numbers alone: many rows for little more than one, where the database is PostgreSQL.
    pub async fn numbers<T: Numbers>(mut self, db: &impl ConnectionTrait) -> Result<Vec<T>> {
        if self.backend != DbBackend::Postgres {
            return Ok(one_by_one(&db.query_all_raw(self.into_statement()).await?)?);
        }
        self.text = folded(&self.text, T::MANY);
        let row = db.query_one_raw(self.into_statement()).await?;
        Ok(row.map(|row| unfolded(&row)).transpose()?.unwrap_or_default())
    }

    /// Runs it and reads its first row.
    pub async fn row<T: FromQueryResult>(self, db: &impl ConnectionTrait) -> Result<Option<T>> {
        let row = db.query_one_raw(self.into_statement()).await?;
        Ok(row.map(|row| T::from_query_result(&row, "")).transpose()?)
    }

    /// Runs it and returns how many rows it touched.
    pub async fn run(self, db: &impl ConnectionTrait) -> Result<u64> {
        Ok(db.execute_raw(self.into_statement()).await.map(|done: ExecResult| done.rows_affected())?)
    }
}
