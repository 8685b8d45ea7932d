//! Bulk inserts: COPY on PostgreSQL, multi-row INSERTs on SQLite.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bytes::Bytes;
use futures_util::SinkExt;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, raw_sql};
use tokio_postgres::Client;

use crate::Result;

/// Rows per write.
const TOGETHER: usize = 2000;

/// A value of a row.
pub enum Cell {
    Null,
    Number(i64),
    Text(String),
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<i64>> for Cell {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

enum Database {
    Postgres(Client),
    Sqlite(SqlitePool),
}

pub struct Sink {
    database: Database,
    waiting: BTreeMap<&'static str, (&'static str, String, usize)>,
}

impl Sink {
    pub async fn open(url: &str) -> Result<Self> {
        let database = if url.starts_with("postgres") {
            let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            Database::Postgres(client)
        } else {
            // Not Tidings' own pool, whose time-outs are too short for some of this.
            Database::Sqlite(SqlitePoolOptions::new().max_connections(1).connect(url).await?)
        };
        Ok(Self { database, waiting: BTreeMap::new() })
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.database, Database::Postgres(_))
    }

    pub async fn run(&mut self, statement: &str) -> Result<()> {
        for table in self.waiting.keys().copied().collect::<Vec<_>>() {
            self.flush(table).await?;
        }
        match &self.database {
            Database::Postgres(client) => client.batch_execute(statement).await?,
            Database::Sqlite(pool) => {
                raw_sql(AssertSqlSafe(statement)).execute(pool).await?;
            }
        }
        Ok(())
    }

    /// Adds a row; it is buffered until the batch is full.
    pub async fn row(&mut self, table: &'static str, columns: &'static str, cells: &[Cell]) -> Result<()> {
        let is_postgres = self.is_postgres();
        let (_, text, count) = self.waiting.entry(table).or_insert_with(|| (columns, String::new(), 0));
        if !is_postgres {
            text.push_str(if *count > 0 { ", (" } else { "(" });
        }
        for (place, cell) in cells.iter().enumerate() {
            if place > 0 {
                text.push(if is_postgres { '\t' } else { ',' });
            }
            match cell {
                Cell::Null => text.push_str(if is_postgres { "\\N" } else { "NULL" }),
                Cell::Number(number) => drop(write!(text, "{number}")),
                // The values written here contain no quotes, tabs or backslashes.
                Cell::Text(value) if is_postgres => text.push_str(value),
                Cell::Text(value) => drop(write!(text, "'{value}'")),
            }
        }
        text.push(if is_postgres { '\n' } else { ')' });
        *count += 1;
        if *count == TOGETHER { self.flush(table).await } else { Ok(()) }
    }

    async fn flush(&mut self, table: &'static str) -> Result<()> {
        let Some((columns, text, _)) = self.waiting.remove(table) else { return Ok(()) };
        match &self.database {
            Database::Postgres(client) => {
                let copy = client.copy_in::<_, Bytes>(&format!("COPY {table} ({columns}) FROM STDIN")).await?;
                let mut copy = std::pin::pin!(copy);
                copy.send(text.into()).await?;
                copy.finish().await?;
            }
            Database::Sqlite(pool) => {
                let insert = format!("INSERT INTO {table} ({columns}) VALUES {text}");
                raw_sql(AssertSqlSafe(insert)).execute(pool).await?;
            }
        }
        Ok(())
    }

    /// Updates the planner's statistics, as the database does by itself after a while.
    pub async fn settle(&mut self) -> Result<()> {
        self.run("ANALYZE").await?;
        if let Database::Postgres(client) = &self.database {
            client.batch_execute("VACUUM").await?;
        }
        Ok(())
    }
}
