//! Rows as JSON. The statements name their columns like those of Tidings.

use std::cmp::Reverse;

use entity::ids::TypeId;
use serde::Serialize;

use super::driver::Row;
use crate::Result;

/// The types of a tenant in catalogue order, with code and title.
pub type Kinds = Vec<(TypeId, String, String)>;

/// Maximum of the unread count.
pub const CAP: i64 = 99;

/// Whether the item of a row was read.
pub type IsRead = fn(&Row<'_>) -> Result<bool>;

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

fn item<'a>(row: &'a Row<'_>, is_read: IsRead) -> Result<Option<Item<'a>>> {
    let Some(id) = row.number("item_seq")? else { return Ok(None) };
    let sender = row.text("s_external_id")?;
    Ok(Some(Item {
        id,
        kind: row.small("item_kind")?,
        title: row.text("item_title")?,
        body: row.text("item_body")?,
        link: row.text("item_link")?,
        created_at: row.number("item_published_at")?,
        is_read: is_read(row)?,
        sender: sender.map(|id| Ok::<_, crate::BoxedError>(Sender { id, name: row.text("s_name")? })).transpose()?,
    }))
}

pub fn overview(rows: &[Row<'_>], kinds: &Kinds, is_read: IsRead) -> Result<Vec<u8>> {
    let (mut types, mut sum, mut cursor) = (Vec::with_capacity(kinds.len()), 0, None);
    for (id, code, title) in kinds {
        let (mut unread, mut latest) = (0, None);
        for row in rows {
            if row.number("x_type_id")? == Some(id.0) {
                unread = row.number("x_unread")?.unwrap_or_default();
                latest = item(row, is_read)?;
                cursor = cursor.max(row.number("h_last_seq")?);
            }
        }
        sum += unread;
        let unread = Count { count: unread.min(CAP), exact: unread <= CAP };
        types.push(OfType { r#type: Kind { code, title }, unread, latest });
    }
    let unread = Count { count: sum.min(CAP), exact: sum <= CAP };
    Ok(serde_json::to_vec(&Overview { unread, types, cursor })?)
}

#[derive(Serialize)]
struct Node<'a> {
    r#type: &'a str,
    #[serde(flatten)]
    item: Item<'a>,
}

/// The newest 20 items of unsorted rows.
pub fn list(rows: &[Row<'_>], kinds: &Kinds, is_read: IsRead) -> Result<Vec<u8>> {
    let mut nodes = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(item) = item(row, is_read)? else { continue };
        let (_, code, _) = kind(kinds, row.number("item_type_id")?.unwrap_or_default())?;
        nodes.push(Node { r#type: code, item });
    }
    nodes.sort_unstable_by_key(|node| Reverse(node.item.id));
    nodes.truncate(20);
    Ok(serde_json::to_vec(&nodes)?)
}

/// The type of a row, with its code and title.
fn kind(kinds: &Kinds, id: i64) -> Result<&(TypeId, String, String)> {
    Ok(kinds.iter().find(|kind| kind.0.0 == id).ok_or("no such type")?)
}
