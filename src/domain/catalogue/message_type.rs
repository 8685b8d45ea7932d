//! Message types: categories of notifications, tabs of the inbox.

use entity::ids::TypeId;
pub use entity::message_type::ReadPolicy;
use sea_orm::{QueryResult, Value};

use super::super::check;
use super::raise_version;
use super::template::{Template, check as check_template};
use crate::app::App;
use crate::database::transaction;
use crate::domain::preference::Scope;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::sql::{Existing, Rows, Sql, insert};

/// The most types of a tenant: every overview lists them all, and SQLite takes no more than 500 branches of a list.
pub const TYPES: usize = 100;

/// A category of notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageType {
    pub id: TypeId,
    pub code: String,
    pub title: String,
    /// Free label under which a UI groups types.
    pub group: Option<String>,
    pub read_policy: ReadPolicy,
    /// Users cannot switch it off.
    pub mandatory: bool,
    /// Seconds from publication to expiry.
    pub ttl_seconds: Option<i64>,
    /// Order in overviews.
    pub position: i32,
    pub template: Option<Template>,
}

/// What `save` makes of a type: all of it, for what is left out goes back to its default.
pub type TypeChange = MessageType;

/// Makes a type or changes the one with this code. `id` does not count.
///
/// A ttl counts for what is sent afterwards; a template for everything that is read afterwards.
pub async fn save(app: &App, tenant: &Tenant, change: &TypeChange) -> Result<()> {
    check_type(change)?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let mut values = columns(change);
        let mut sql = Sql::new(txn);
        sql.push("UPDATE message_type SET id = id");
        for (column, value) in &values {
            sql.push(&format!(", {column} = ")).bind(value.clone());
        }
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND code = ").bind(change.code.clone());
        sql.run(txn).await?;
        values.push(("tenant_id", tenant.id.into()));
        values.push(("code", change.code.clone().into()));
        let columns = &COLUMNS;
        let values = vec![values.into_iter().map(|(_, value)| value).collect()];
        insert(txn, Rows { table: "message_type", columns, values }, Existing::Kept).await?;
        let mut sql = Sql::new(txn);
        sql.push("SELECT count(*) AS many FROM message_type WHERE tenant_id = ").bind(tenant.id);
        let many: i64 = sql.one(txn).await?.map_or(Ok(0), |row| row.try_get("", "many"))?;
        if usize::try_from(many).unwrap_or(usize::MAX) > TYPES {
            return Err(Error::Conflict(format!("a tenant has at most {TYPES} message types")));
        }
        Ok(())
    })
}

/// Takes a type out of the catalogue; false where there is none.
///
/// A type under which something was sent stays (`CONFLICT`), for its items would belong nowhere. Raising the
/// version first holds the tenant's row, so that no send can come in between.
pub async fn delete(app: &App, tenant: &Tenant, code: &str) -> Result<bool> {
    check::code("code", code)?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let mut sql = Sql::new(txn);
        sql.push("SELECT t.id, CASE WHEN EXISTS (SELECT 1 FROM notification n WHERE n.tenant_id = t.tenant_id")
            .push(" AND n.type_id = t.id) THEN 1 ELSE 0 END AS used FROM message_type t WHERE t.tenant_id = ")
            .bind(tenant.id)
            .push(" AND t.code = ")
            .bind(code);
        let Some(row) = sql.one(txn).await? else { return Ok(false) };
        if row.try_get::<i32>("", "used")? == 1 {
            let message = format!("notifications of the message type {code:?} exist, so that it cannot be deleted");
            return Err(Error::Conflict(message));
        }
        let id: TypeId = row.try_get("", "id")?;
        for (table, owners) in [
            ("default_preference", "tenant_id = "),
            ("preference", "user_id IN (SELECT u.id FROM users u WHERE u.tenant_id = "),
        ] {
            let mut sql = Sql::new(txn);
            sql.push(&format!("DELETE FROM {table} WHERE {owners}")).bind(tenant.id);
            sql.push(if table == "preference" { ")" } else { "" });
            sql.push(&format!(" AND scope = {} AND subject_id = ", Scope::Type as i16)).bind(id);
            sql.run(txn).await?;
        }
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM message_type WHERE id = ").bind(id);
        Ok(sql.run(txn).await? > 0)
    })
}

/// All of a tenant's, in no order.
pub(super) async fn all(app: &App, tenant: &Tenant) -> Result<Vec<MessageType>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT id, ").push(&COLUMNS.join(", ")).push(" FROM message_type WHERE tenant_id = ").bind(tenant.id);
    sql.all(&app.db.read).await?.iter().map(read).collect()
}

const COLUMNS: [&str; 11] = [
    "title",
    "group_label",
    "read_policy",
    "mandatory",
    "ttl_seconds",
    "position",
    "template_title",
    "template_body",
    "template_link",
    "tenant_id",
    "code",
];

fn columns(of: &MessageType) -> Vec<(&'static str, Value)> {
    let template = of.template.as_ref();
    let values: [Value; 9] = [
        of.title.clone().into(),
        of.group.clone().into(),
        of.read_policy.into(),
        of.mandatory.into(),
        of.ttl_seconds.into(),
        of.position.into(),
        template.map(|template| template.title.clone()).into(),
        template.and_then(|template| template.body.clone()).into(),
        template.and_then(|template| template.link.clone()).into(),
    ];
    COLUMNS.into_iter().zip(values).collect()
}

fn read(row: &QueryResult) -> Result<MessageType> {
    let title: Option<String> = row.try_get("", "template_title")?;
    let (body, link) = (row.try_get("", "template_body")?, row.try_get("", "template_link")?);
    Ok(MessageType {
        id: row.try_get("", "id")?,
        code: row.try_get("", "code")?,
        title: row.try_get("", "title")?,
        group: row.try_get("", "group_label")?,
        read_policy: row.try_get("", "read_policy")?,
        mandatory: row.try_get("", "mandatory")?,
        ttl_seconds: row.try_get("", "ttl_seconds")?,
        position: row.try_get("", "position")?,
        template: title.map(|title| Template { title, body, link }),
    })
}

fn check_type(of: &MessageType) -> Result<()> {
    check::code("code", &of.code)?;
    check::title("title", &of.title)?;
    if let Some(group) = &of.group {
        check::code("group", group)?;
    }
    if of.ttl_seconds.is_some_and(|ttl| ttl < 1) {
        return Err(Error::bad_input("ttlSeconds", "must be at least 1"));
    }
    of.template.as_ref().map_or(Ok(()), |template| check_template(template).map_err(|error| error.within("template")))
}
