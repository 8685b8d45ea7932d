//! Rows of Tidings' statements as JSON.

use entity::ids::TypeId;
use serde::Serialize;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::kind;
use crate::Result;

/// The types of a tenant in their order, each with its code and title.
pub type Kinds = Vec<(TypeId, String, String)>;

pub enum Row<'a> {
    Postgres(&'a tokio_postgres::Row),
    Sqlite(&'a SqliteRow),
}

impl Row<'_> {
    fn number(&self, column: &str) -> Result<Option<i64>> {
        Ok(match self {
            Self::Postgres(row) => row.try_get(column)?,
            Self::Sqlite(row) => row.try_get(column)?,
        })
    }

    fn small(&self, column: &str) -> Result<Option<i16>> {
        Ok(match self {
            Self::Postgres(row) => row.try_get(column)?,
            Self::Sqlite(row) => row.try_get(column)?,
        })
    }

    fn text(&self, column: &str) -> Result<Option<&str>> {
        Ok(match self {
            Self::Postgres(row) => row.try_get(column)?,
            Self::Sqlite(row) => row.try_get(column)?,
        })
    }
}

#[derive(Serialize)]
struct Count {
    count: i64,
    exact: bool,
}

#[derive(Serialize)]
struct Kind<'a> {
    code: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct Sender<'a> {
    id: &'a str,
    name: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    id: i64,
    kind: Option<i16>,
    title: Option<&'a str>,
    body: Option<&'a str>,
    link: Option<&'a str>,
    created_at: Option<i64>,
    is_read: bool,
    sender: Option<Sender<'a>>,
}

#[derive(Serialize)]
struct OfType<'a> {
    r#type: Kind<'a>,
    unread: Count,
    latest: Option<Item<'a>>,
}

#[derive(Serialize)]
struct Overview<'a> {
    unread: Count,
    types: Vec<OfType<'a>>,
    cursor: Option<i64>,
}

fn item<'a>(row: &'a Row<'_>) -> Result<Option<Item<'a>>> {
    let Some(id) = row.number("item_seq")? else { return Ok(None) };
    let sender = row.text("s_external_id")?;
    Ok(Some(Item {
        id,
        kind: row.small("item_kind")?,
        title: row.text("item_title")?,
        body: row.text("item_body")?,
        link: row.text("item_link")?,
        created_at: row.number("item_published_at")?,
        is_read: row.small("item_state")? == Some(1) || row.number("item_mark_read_at")?.is_some(),
        sender: sender.map(|id| Ok::<_, crate::BoxedError>(Sender { id, name: row.text("s_name")? })).transpose()?,
    }))
}

pub fn overview_of(rows: &[Row<'_>], kinds: &Kinds) -> Result<Vec<u8>> {
    let (mut types, mut sum, mut cursor) = (Vec::with_capacity(kinds.len()), 0, None);
    for (id, code, title) in kinds {
        let (mut unread, mut latest) = (0, None);
        for row in rows {
            if row.number("x_type_id")? == Some(id.0) {
                unread = row.number("x_unread")?.unwrap_or_default();
                latest = item(row)?;
                cursor = row.number("h_last_seq")?;
            }
        }
        sum += unread;
        let unread = Count { count: unread.min(99), exact: unread <= 99 };
        types.push(OfType { r#type: Kind { code, title }, unread, latest });
    }
    let unread = Count { count: sum.min(99), exact: sum <= 99 };
    Ok(serde_json::to_vec(&Overview { unread, types, cursor })?)
}

#[derive(Serialize)]
struct Node<'a> {
    r#type: &'a str,
    #[serde(flatten)]
    item: Item<'a>,
}

pub fn list(rows: &[Row<'_>], kinds: &Kinds) -> Result<Vec<u8>> {
    let mut nodes = Vec::with_capacity(rows.len());
    for row in rows.iter().take(20) {
        let Some(item) = item(row)? else { continue };
        let (_, code, _) = kind(kinds, row.number("item_type_id")?.unwrap_or_default())?;
        nodes.push(Node { r#type: code, item });
    }
    Ok(serde_json::to_vec(&nodes)?)
}
