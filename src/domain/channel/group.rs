//! Groups: roles, user types and segments that announcements address, and that may subscribe to targets.

use std::collections::HashMap;

use entity::ids::{ChannelId, UserId};

use super::{Kind, listen};
use crate::app::App;
use crate::database::transaction;
use crate::domain::catalogue::{self, raise_version};
use crate::domain::inbox::sync;
use crate::domain::tenant::Tenant;
use crate::domain::{check, user};
use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::sql::Sql;

pub use catalogue::Group;

/// The most members added or removed in one call.
const MEMBERS: usize = 10_000;

/// Members changed in one transaction: each of them is locked and synced in it.
const MEMBERS_PER_TRANSACTION: usize = 500;

/// The group with this code.
pub async fn find(app: &App, tenant: &Tenant, code: &str) -> Result<Group> {
    let catalogue = catalogue::current(app, tenant).await?;
    catalogue.groups.get(code).cloned().ok_or_else(|| Error::not_found("group", code))
}

/// Makes a group, or gives it another title.
pub async fn save(app: &App, tenant: &Tenant, code: &str, title: Option<&str>) -> Result<Group> {
    check::code("code", code)?;
    if let Some(title) = title {
        check::title("title", title)?;
    }
    let now = app.now();
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let kind = Kind::Group as i16;
        let mut sql = Sql::new(txn);
        sql.push("UPDATE channel SET title = ").bind(title.map(str::to_owned));
        sql.push(" WHERE tenant_id = ").bind(tenant.id).push(" AND kind = ").bind(kind);
        sql.push(" AND code = ").bind(code);
        sql.run(txn).await?;
        let mut sql = Sql::new(txn);
        sql.push("INSERT INTO channel (tenant_id, kind, code, title, created_at) VALUES (").bind(tenant.id);
        sql.push(", ").bind(kind).push(", ").bind(code).push(", ").bind(title.map(str::to_owned));
        sql.push(", ").bind(now).push(")").or_ignore("code");
        sql.run(txn).await?;
        Ok(())
    })?;
    find(app, tenant, code).await
}

/// Takes a group out of the catalogue; false where there is none.
///
/// Costs the same however many members it has: its channel lives on, deaf, so that they still get what was sent to it
/// before, and a new group with the same code begins anew.
pub async fn delete(app: &App, tenant: &Tenant, code: &str) -> Result<bool> {
    check::code("code", code)?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let mut sql = Sql::new(txn);
        sql.push("SELECT id FROM channel WHERE tenant_id = ").bind(tenant.id);
        sql.push(" AND kind = ").bind(Kind::Group as i16).push(" AND code = ").bind(code);
        let Some(row) = sql.one(txn).await? else { return Ok(false) };
        let id: ChannelId = row.try_get("", "id")?;
        // First the channel, whose row whoever subscribes the group locks too.
        super::deafen(txn, id).await?;
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM group_subscription WHERE group_channel_id = ").bind(id);
        sql.run(txn).await?;
        Ok(true)
    })
}

/// Users hear what is sent to the group from now on; who was in it stays.
pub async fn add_members(app: &App, tenant: &Tenant, code: &str, users: &[String]) -> Result<Group> {
    check::count("users", users.len(), MEMBERS)?;
    let group = find(app, tenant, code).await?;
    let mut users = user::mention(app, tenant, "users", users).await?;
    users.sort_unstable();
    users.dedup();
    for users in users.chunks(MEMBERS_PER_TRANSACTION) {
        sync::caught_up(app, tenant, users).await?;
        let now = app.now();
        transaction!(app.db, |txn| listen::begin(txn, tenant, users, &[group.channel], now).await)?;
        app.hub.tell(Notice::listeners(tenant.id, users));
    }
    Ok(group)
}

/// Users no longer hear what is sent to the group; what was sent before is theirs.
pub async fn remove_members(app: &App, tenant: &Tenant, code: &str, users: &[String]) -> Result<Group> {
    check::count("users", users.len(), MEMBERS)?;
    users.iter().try_for_each(|id| check::code("users", id))?;
    let group = find(app, tenant, code).await?;
    let users: Vec<UserId> = user::find(app, tenant, users).await?.into_values().collect();
    for users in users.chunks(MEMBERS_PER_TRANSACTION) {
        sync::caught_up(app, tenant, users).await?;
        let now = app.now();
        transaction!(app.db, |txn| listen::cease(txn, tenant, users, &[group.channel], now).await)?;
        app.hub.tell(Notice::listeners(tenant.id, users));
    }
    Ok(group)
}

/// How many members groups have.
pub async fn member_counts(app: &App, groups: &[ChannelId]) -> Result<HashMap<ChannelId, i64>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT channel_id, count(*) AS members FROM subscription WHERE channel_id").in_ids(groups);
    sql.push(" GROUP BY channel_id");
    let rows = sql.all(&app.db.read).await?;
    rows.iter().map(|row| Ok((row.try_get("", "channel_id")?, row.try_get("", "members")?))).collect()
}

/// The groups that a user is in, by code.
pub async fn of_user(app: &App, tenant: &Tenant, user: UserId) -> Result<Vec<Group>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push(
        "SELECT c.id, c.code, c.title FROM subscription s JOIN channel c ON c.id = s.channel_id WHERE s.user_id = ",
    )
    .bind(user)
    .push(" AND c.tenant_id = ")
    .bind(tenant.id)
    .push(&format!(" AND c.kind = {} ORDER BY c.code", Kind::Group as i16));
    let read = |row: &sea_orm::QueryResult| -> Result<Group> {
        Ok(Group { channel: row.try_get("", "id")?, code: row.try_get("", "code")?, title: row.try_get("", "title")? })
    };
    sql.all(&app.db.read).await?.iter().map(read).collect()
}
