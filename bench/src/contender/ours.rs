//! Our statements, bare: those of Tidings itself over a bare driver, and their rows as JSON, behind a bare handler.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use axum::routing::get;
use entity::ids::UserId;
use sea_orm::Value as Bound;
use sea_orm::sea_query::ArrayType;
use tidings::app::App;
use tidings::domain::inbox::page::{self, End, Filter, Window};
use tidings::domain::inbox::standing::Reach;
use tidings::domain::overview::{self, Wish};
use tidings::domain::{catalogue, tenant};

use super::answer::{self, CAP, Kinds};
use super::driver::{Driver, Row, Statement, Value};
use super::{Failed, Shared, json};
use crate::Result;
use crate::work::SCENES;

/// Stands for the user in a statement that is taken down once.
const SOMEBODY: i64 = 987_654_321_012_345;

/// A statement of Tidings.
struct Taken {
    statement: Statement,
    parameters: Vec<Parameter>,
}

enum Parameter {
    User,
    /// A list of them alone.
    Users,
    Number(i64),
    Numbers(Vec<i64>),
}

struct Ours {
    driver: Driver,
    overviews: HashMap<&'static str, (Taken, Kinds)>,
    lists: HashMap<&'static str, (Taken, Kinds)>,
}

/// `/ours/overview/{tenant}/{user}` and `/ours/list/{tenant}/{user}`, where the user is their row.
pub async fn routes(url: &str, connections: u32, app: &Arc<App>) -> Result<Router> {
    let (mut overviews, mut lists) = (HashMap::new(), HashMap::new());
    for code in SCENES {
        let tenant = tenant::named(app, code).await?;
        let catalogue = catalogue::current(app, &tenant).await?;
        let somebody = UserId(SOMEBODY);
        let wish = Wish { cap: Some(CAP), ..Wish::default() };
        let overview = overview::statement(app, &tenant, &[somebody], &catalogue.types, &wish, (Reach::End, app.now()));
        let overview = overview.into_statement();
        let window = Window { many: 20, end: End::Newest, older_than: None, newer_than: None };
        let filter = Filter::default();
        let list = page::statement(app, &tenant, somebody, (&filter, filter.way()), window, (&catalogue, Reach::End))
            .into_statement();
        let kinds = || catalogue.types.iter().map(|kind| (kind.id, kind.code.clone(), kind.title.clone())).collect();
        overviews.insert(code, (Taken::from(overview)?, kinds()));
        lists.insert(code, (Taken::from(list)?, kinds()));
    }
    let ours = Arc::new(Ours { driver: Driver::open(url, connections).await?, overviews, lists });
    Ok(Router::new()
        .route("/ours/overview/{tenant}/{user}", get(overview_of))
        .route("/ours/list/{tenant}/{user}", get(list_of))
        .with_state(ours))
}

impl Taken {
    fn from(of: sea_orm::Statement) -> Result<Self> {
        let values = of.values.map(|values| values.0).unwrap_or_default();
        let parameters = values.iter().map(Parameter::from).collect::<Result<_>>()?;
        Ok(Self { statement: of.sql.as_str().into(), parameters })
    }

    /// For a list of one user.
    fn values<'a>(&'a self, user: &'a [i64; 1]) -> Vec<Value<'a>> {
        let value = |parameter: &'a Parameter| match parameter {
            Parameter::User => Value::Number(user[0]),
            Parameter::Users => Value::Numbers(user),
            Parameter::Number(number) => Value::Number(*number),
            Parameter::Numbers(numbers) => Value::Numbers(numbers),
        };
        self.parameters.iter().map(value).collect()
    }
}

impl Parameter {
    fn from(value: &Bound) -> Result<Self> {
        let number = |value: &Bound| match value {
            Bound::BigInt(Some(number)) => Ok(*number),
            other => Err(format!("a value that nobody expected: {other:?}")),
        };
        Ok(match value {
            Bound::Array(ArrayType::BigInt, Some(values)) => {
                let values = values.iter().map(number).collect::<Result<Vec<_>, _>>()?;
                if values == [SOMEBODY] { Self::Users } else { Self::Numbers(values) }
            }
            value if number(value)? == SOMEBODY => Self::User,
            value => Self::Number(number(value)?),
        })
    }
}

type Asked = Path<(String, i64)>;

async fn overview_of(State(ours): Shared<Ours>, Path((tenant, user)): Asked) -> Result<impl IntoResponse, Failed> {
    let (taken, kinds) = ours.overviews.get(tenant.as_str()).ok_or("no such tenant")?;
    let read = |rows: Vec<Row<'_>>| answer::overview(&rows, kinds, is_read);
    Ok(json(ours.driver.rows(&taken.statement, &taken.values(&[user]), read).await?))
}

async fn list_of(State(ours): Shared<Ours>, Path((tenant, user)): Asked) -> Result<impl IntoResponse, Failed> {
    let (taken, kinds) = ours.lists.get(tenant.as_str()).ok_or("no such tenant")?;
    let read = |rows: Vec<Row<'_>>| answer::list(&rows, kinds, is_read);
    Ok(json(ours.driver.rows(&taken.statement, &taken.values(&[user]), read).await?))
}

fn is_read(row: &Row<'_>) -> Result<bool> {
    Ok(row.small("item_state")? == Some(1) || row.number("item_mark_read_at")?.is_some())
}
