//! The statements of the three designs.

use async_graphql::Result;
use futures_util::future::try_join_all;
use sea_orm::{ConnectionTrait, DbBackend, FromQueryResult, Statement, Value};
use store::ReadPool;

use super::{Letter, TypeOverview};
use crate::contender::count_one;

#[derive(Clone, Copy)]
pub enum Design {
    Loop,
    AtOnce,
    Batched,
}

#[derive(FromQueryResult)]
struct Kind {
    tenant_id: i64,
    id: i64,
    code: String,
    title: String,
}

#[derive(FromQueryResult)]
struct Unread {
    count: i64,
}

#[derive(FromQueryResult)]
struct Row {
    type_id: i64,
    unread: i64,
    id: i64,
    title: String,
    content: String,
    created_at: i64,
    sender_id: Option<i64>,
    is_read: bool,
}

/// The receiver kinds 0, 1 and 2 are all users, a role and one user.
const JOINED: &str = "FROM letter_record r LEFT JOIN letter_role g ON g.role_id = r.receiver_id AND g.user_id = $1 \
     LEFT JOIN letter_read d ON d.letter_id = r.id AND d.user_id = $1 WHERE r.tenant_id = $2 AND r.type_id = $3 AND \
     (r.receiver_kind = 0 OR r.receiver_kind = 1 OR (r.receiver_kind = 2 AND r.receiver_id = $1)) AND \
     (r.receiver_kind <> 1 OR g.user_id IS NOT NULL)";

const LETTER: &str = "r.id, r.title, r.content, r.created_at, r.sender_id";

impl Design {
    pub async fn overview(self, db: &ReadPool, tenant: &str, user: i64) -> Result<Vec<TypeOverview>> {
        let kinds =
            "SELECT k.* FROM letter_type k JOIN tenant t ON t.id = k.tenant_id WHERE t.code = $1 ORDER BY k.code";
        let kinds: Vec<Kind> = all(db, kinds.into(), [tenant.into()]).await?;
        match self {
            Self::Loop => {
                let mut types = Vec::with_capacity(kinds.len());
                for kind in kinds {
                    types.push(of_type(db, kind, user).await?);
                }
                Ok(types)
            }
            Self::AtOnce => try_join_all(kinds.into_iter().map(|kind| of_type(db, kind, user))).await,
            Self::Batched => batched(db, kinds, user).await,
        }
    }
}

async fn of_type(db: &ReadPool, kind: Kind, user: i64) -> Result<TypeOverview> {
    let values = || -> [Value; 3] { [user.into(), kind.tenant_id.into(), kind.id.into()] };
    let count = format!("SELECT count(*) AS count {JOINED} AND d.letter_id IS NULL");
    let unread: Vec<Unread> = all(db, count, values()).await?;
    let latest = format!("SELECT {LETTER}, d.letter_id IS NOT NULL AS is_read {JOINED} ORDER BY r.id DESC LIMIT 1");
    let latest: Vec<Letter> = all(db, latest, values()).await?;
    let unread = unread.first().map_or(0, |unread| unread.count);
    Ok(TypeOverview { code: kind.code, title: kind.title, unread, latest: latest.into_iter().next() })
}

async fn batched(db: &ReadPool, kinds: Vec<Kind>, user: i64) -> Result<Vec<TypeOverview>> {
    let Some(tenant) = kinds.first().map(|kind| kind.tenant_id) else { return Ok(Vec::new()) };
    let roles = "SELECT g.role_id FROM letter_role g WHERE g.user_id = $1";
    let roles = match db.get_database_backend() {
        DbBackend::Postgres => format!("= ANY(ARRAY({roles}))"),
        _ => format!("IN ({roles})"),
    };
    let text = format!(
        "SELECT m.type_id, m.unread, {LETTER}, EXISTS (SELECT 1 FROM letter_read e WHERE e.user_id = $1 AND \
         e.letter_id = r.id) AS is_read FROM (SELECT r.type_id, count(*) FILTER (WHERE r.id NOT IN (SELECT d.letter_id \
         FROM letter_read d WHERE d.user_id = $1)) AS unread, max(r.id) AS latest FROM letter_record r WHERE \
         (r.tenant_id = $2 AND r.receiver_kind = 0 AND r.receiver_id = 0) OR (r.tenant_id = $2 AND r.receiver_kind = 1 \
         AND r.receiver_id {roles}) OR (r.tenant_id = $2 AND r.receiver_kind = 2 AND r.receiver_id = $1) \
         GROUP BY r.type_id) m JOIN letter_record r ON r.id = m.latest"
    );
    let rows: Vec<Row> = all(db, text, [user.into(), tenant.into()]).await?;
    let of = |kind: Kind| {
        let row = rows.iter().find(|row| row.type_id == kind.id);
        let latest = row.map(|row| Letter {
            id: row.id,
            title: row.title.clone(),
            content: row.content.clone(),
            created_at: row.created_at,
            sender_id: row.sender_id,
            is_read: row.is_read,
        });
        TypeOverview { code: kind.code, title: kind.title, unread: row.map_or(0, |row| row.unread), latest }
    };
    Ok(kinds.into_iter().map(of).collect())
}

async fn all<T: FromQueryResult>(
    db: &ReadPool,
    text: String,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<T>> {
    count_one();
    Ok(T::find_by_statement(Statement::from_sql_and_values(db.get_database_backend(), text, values)).all(db).await?)
}
