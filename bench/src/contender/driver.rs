//! A thin driver: tokio-postgres with deadpool, or sqlx over SQLite.

use std::error::Error;

use bytes::BytesMut;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteRow, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Row as _, SqlSafeStr, SqlStr, SqlitePool};
use tokio_postgres::NoTls;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::count_one;
use crate::Result;

/// Each statement is prepared once per connection.
pub enum Driver {
    Postgres(Pool),
    /// A pool for reading, and the single connection that writes.
    Sqlite {
        read: SqlitePool,
        write: SqlitePool,
    },
}

pub struct Statement {
    pub text: String,
    pub safe: SqlStr,
}

/// Bound values. Lists work only on PostgreSQL.
#[derive(Debug)]
pub enum Value<'a> {
    Number(i64),
    Numbers(&'a [i64]),
    Texts(&'a [&'a str]),
}

#[derive(Clone, Copy)]
pub enum Row<'a> {
    Postgres(&'a tokio_postgres::Row),
    Sqlite(&'a SqliteRow),
}

impl From<&str> for Statement {
    fn from(text: &str) -> Self {
        Self { text: text.into(), safe: AssertSqlSafe(text.to_owned()).into_sql_str() }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Number(number) => number.to_sql(kind, out),
            Self::Numbers(numbers) => numbers.to_sql(kind, out),
            Self::Texts(texts) => texts.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT8_ARRAY, Type::TEXT_ARRAY].contains(kind)
    }

    to_sql_checked!();
}

impl Driver {
    pub fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Opens the database with the same durability as Tidings: acknowledged writes are on disk.
    pub async fn open(url: &str, connections: u32) -> Result<Self> {
        if url.starts_with("postgres") {
            let fast = ManagerConfig { recycling_method: RecyclingMethod::Fast };
            let manager = Manager::from_config(url.parse()?, NoTls, fast);
            return Ok(Self::Postgres(Pool::builder(manager).max_size(connections as usize).build()?));
        }
        let options: SqliteConnectOptions = url.parse()?;
        let options = options.pragma("cache_size", "-8192").pragma("temp_store", "memory");
        let options = options.synchronous(SqliteSynchronous::Full);
        let pool = |most| SqlitePoolOptions::new().max_connections(most).test_before_acquire(false);
        let write = pool(1).connect_with(options.clone()).await?;
        Ok(Self::Sqlite { read: pool(connections).connect_with(options).await?, write })
    }

    /// Runs a statement and passes its rows to `read`.
    pub async fn rows<T>(
        &self,
        of: &Statement,
        values: &[Value<'_>],
        read: impl Fn(Vec<Row<'_>>) -> Result<T>,
    ) -> Result<T> {
        count_one();
        match self {
            Self::Postgres(pool) => {
                let client = pool.get().await?;
                let statement = client.prepare_cached(&of.text).await?;
                let rows = client.query(&statement, &bound(values)).await?;
                read(rows.iter().map(Row::Postgres).collect())
            }
            Self::Sqlite { read: pool, .. } => {
                let rows = query(of, values)?.fetch_all(pool).await?;
                read(rows.iter().map(Row::Sqlite).collect())
            }
        }
    }

    /// Runs a statement that writes, and returns the number of changed rows.
    pub async fn change(&self, of: &Statement, values: &[Value<'_>]) -> Result<u64> {
        count_one();
        match self {
            Self::Postgres(pool) => {
                let client = pool.get().await?;
                let statement = client.prepare_cached(&of.text).await?;
                Ok(client.execute(&statement, &bound(values)).await?)
            }
            Self::Sqlite { write, .. } => Ok(query(of, values)?.execute(write).await?.rows_affected()),
        }
    }
}

fn bound<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

type Query = sqlx::query::Query<'static, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

fn query(of: &Statement, values: &[Value<'_>]) -> Result<Query> {
    let mut query = sqlx::query(of.safe.clone());
    for value in values {
        query = match value {
            Value::Number(number) | Value::Numbers([number]) => query.bind(*number),
            list => return Err(format!("SQLite has no lists: {list:?}").into()),
        };
    }
    Ok(query)
}

impl Row<'_> {
    pub fn number(&self, column: &str) -> Result<Option<i64>> {
        Ok(match self {
            Self::Postgres(row) => row.try_get(column)?,
            Self::Sqlite(row) => row.try_get(column)?,
        })
    }

    pub fn small(&self, column: &str) -> Result<Option<i16>> {
        Ok(match self {
            Self::Postgres(row) => row.try_get(column)?,
            Self::Sqlite(row) => row.try_get(column)?,
        })
    }

    pub fn text(&self, column: &str) -> Result<Option<&str>> {
        Ok(match self {
            Self::Postgres(row) => row.try_get(column)?,
            Self::Sqlite(row) => row.try_get(column)?,
        })
    }
}
