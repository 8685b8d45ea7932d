//! The limit: the statements of Tidings itself over a bare driver, and their rows as JSON, behind a bare handler.

mod row;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use entity::ids::{TypeId, UserId};
use sea_orm::Value;
use sea_orm::sea_query::ArrayType;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr, SqlitePool};
use tidings::app::App;
use tidings::domain::inbox::page::{self, End, Filter, Window};
use tidings::domain::inbox::standing::Reach;
use tidings::domain::overview::{self, Wish};
use tidings::domain::{catalogue, tenant};
use tokio_postgres::NoTls;
use tokio_postgres::types::ToSql;

use super::{Failed, Shared, count_one};
use crate::Result;
use crate::work::SCENES;
use row::{Kinds, Row, list, overview_of};

/// Stands for the user in a statement that is taken down once.
const SOMEBODY: i64 = 987_654_321_012_345;

/// A statement of Tidings.
struct Taken {
    text: String,
    safe: SqlStr,
    parameters: Vec<Parameter>,
}

enum Parameter {
    User,
    /// A list of them alone.
    Users,
    Number(i64),
    Numbers(Vec<i64>),
}

enum Driver {
    Postgres(Pool),
    Sqlite(SqlitePool),
}

pub struct Limit {
    driver: Driver,
    overviews: HashMap<&'static str, (Taken, Kinds)>,
    lists: HashMap<&'static str, (Taken, Kinds)>,
}

/// `/limit/overview/{tenant}/{user}` and `/limit/list/{tenant}/{user}`, where the user is their row.
pub async fn routes(url: &str, connections: u32, app: &Arc<App>) -> Result<Router> {
    let (mut overviews, mut lists) = (HashMap::new(), HashMap::new());
    for code in SCENES {
        let tenant = tenant::named(app, code).await?;
        let catalogue = catalogue::current(app, &tenant).await?;
        let somebody = UserId(SOMEBODY);
        let wish = Wish { cap: Some(99), ..Wish::default() };
        let overview = overview::statement(app, &tenant, &[somebody], &catalogue.types, &wish, (Reach::End, app.now()));
        let overview = overview.into_statement();
        let window = Window { many: 20, end: End::Newest, older_than: None, newer_than: None };
        let filter = Filter::default();
        let list = page::statement(app, &tenant, somebody, &filter, window, (&catalogue, Reach::End)).into_statement();
        let kinds = || catalogue.types.iter().map(|kind| (kind.id, kind.code.clone(), kind.title.clone())).collect();
        overviews.insert(code, (Taken::from(overview)?, kinds()));
        lists.insert(code, (Taken::from(list)?, kinds()));
    }
    let limit = Arc::new(Limit { driver: open(url, connections).await?, overviews, lists });
    Ok(Router::new()
        .route("/limit/overview/{tenant}/{user}", get(read_overview))
        .route("/limit/list/{tenant}/{user}", get(read_list))
        .with_state(limit))
}

async fn open(url: &str, connections: u32) -> Result<Driver> {
    if url.starts_with("postgres") {
        let fast = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(url.parse()?, NoTls, fast);
        return Ok(Driver::Postgres(Pool::builder(manager).max_size(connections as usize).build()?));
    }
    let options: SqliteConnectOptions = url.parse()?;
    let options = options.pragma("cache_size", "-8192").pragma("temp_store", "memory");
    let pool = SqlitePoolOptions::new().max_connections(connections).test_before_acquire(false);
    Ok(Driver::Sqlite(pool.connect_with(options).await?))
}

impl Taken {
    fn from(of: sea_orm::Statement) -> Result<Self> {
        let safe = AssertSqlSafe(of.sql.clone()).into_sql_str();
        let values = of.values.map(|values| values.0).unwrap_or_default();
        Ok(Self { text: of.sql, safe, parameters: values.iter().map(Parameter::from).collect::<Result<_>>()? })
    }
}

impl Parameter {
    fn from(value: &Value) -> Result<Self> {
        let number = |value: &Value| match value {
            Value::BigInt(Some(number)) => Ok(*number),
            other => Err(format!("a value that nobody expected: {other:?}")),
        };
        Ok(match value {
            Value::Array(ArrayType::BigInt, Some(values)) => {
                let values = values.iter().map(number).collect::<Result<Vec<_>, _>>()?;
                if values == [SOMEBODY] { Self::Users } else { Self::Numbers(values) }
            }
            value if number(value)? == SOMEBODY => Self::User,
            value => Self::Number(number(value)?),
        })
    }
}

impl Driver {
    async fn rows<T>(&self, of: &Taken, user: i64, read: impl Fn(Vec<Row<'_>>) -> T) -> Result<T> {
        count_one();
        match self {
            Self::Postgres(pool) => {
                let client = pool.get().await?;
                let statement = client.prepare_cached(&of.text).await?;
                let users = vec![user];
                let values = of.parameters.iter().map(|parameter| -> &(dyn ToSql + Sync) {
                    match parameter {
                        Parameter::User => &user,
                        Parameter::Users => &users,
                        Parameter::Number(number) => number,
                        Parameter::Numbers(numbers) => numbers,
                    }
                });
                let rows = client.query(&statement, &values.collect::<Vec<_>>()).await?;
                Ok(read(rows.iter().map(Row::Postgres).collect()))
            }
            Self::Sqlite(pool) => {
                let mut query = sqlx::query(of.safe.clone());
                for parameter in &of.parameters {
                    query = match parameter {
                        Parameter::Number(number) => query.bind(*number),
                        _ => query.bind(user),
                    };
                }
                let rows = query.fetch_all(pool).await?;
                Ok(read(rows.iter().map(Row::Sqlite).collect()))
            }
        }
    }
}

type Asked = Path<(String, i64)>;

async fn read_overview(State(limit): Shared<Limit>, Path((tenant, user)): Asked) -> Result<impl IntoResponse, Failed> {
    let (statement, kinds) = limit.overviews.get(tenant.as_str()).ok_or("no such tenant")?;
    let body = limit.driver.rows(statement, user, |rows| overview_of(&rows, kinds)).await??;
    Ok(([(CONTENT_TYPE, "application/json")], body))
}

async fn read_list(State(limit): Shared<Limit>, Path((tenant, user)): Asked) -> Result<impl IntoResponse, Failed> {
    let (statement, kinds) = limit.lists.get(tenant.as_str()).ok_or("no such tenant")?;
    let body = limit.driver.rows(statement, user, |rows| list(&rows, kinds)).await??;
    Ok(([(CONTENT_TYPE, "application/json")], body))
}

/// The type of a row, with its code and title.
fn kind(kinds: &Kinds, id: i64) -> Result<&(TypeId, String, String)> {
    Ok(kinds.iter().find(|kind| kind.0.0 == id).ok_or("no such type")?)
}
