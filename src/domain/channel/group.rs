//! Groups: roles, user types and segments that announcements address, and that may subscribe to targets.

use std::collections::HashMap;

use entity::ids::{ChannelId, UserId};
use sea_orm::{ConnectionTrait, QueryResult};

use super::{Kind, close, listen};
use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::domain::tenant::Tenant;
use crate::domain::{check, user};
use crate::error::{Error, Result};
use crate::sql::{Existing, LIST, Rows, Sql, insert};

/// The most members added or removed in one call.
const MEMBERS: usize = 10_000;

/// Members changed in one transaction, which locks their rows.
const MEMBERS_PER_TRANSACTION: usize = 512;

/// A group as announcements address it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What its announcements are published to.
    pub channel: ChannelId,
    /// The partner's code of it.
    pub code: String,
    /// For people.
    pub title: Option<String>,
}

impl Group {
    fn read(row: &QueryResult) -> Result<Self> {
        Ok(Self { channel: row.try_get("", "id")?, code: row.try_get("", "code")?, title: row.try_get("", "title")? })
    }
}

/// A statement for groups of a tenant, to which conditions are added.
fn select(db: &impl ConnectionTrait, tenant: &Tenant) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT c.id, c.code, c.title FROM channel c WHERE c.tenant_id = ").bind(tenant.id);
    sql.push(" AND c.kind = ").bind(Kind::Group as i16);
    sql
}

/// All groups of a tenant, by code.
pub async fn all(app: &App, tenant: &Tenant) -> Result<Vec<Group>> {
    let rows = select(&app.db.read, tenant).all(&app.db.read).await?;
    let mut groups = rows.iter().map(Group::read).collect::<Result<Vec<_>>>()?;
    groups.sort_by(|one, other| one.code.cmp(&other.code));
    Ok(groups)
}

/// Those groups that there are, by code. A statement for every thousand.
pub async fn named(db: &impl ConnectionTrait, tenant: &Tenant, codes: &[String]) -> Result<HashMap<String, Group>> {
    look_up(db, tenant, codes, |_| {}).await
}

/// The same, and none of them is deleted before the transaction ends.
pub async fn held(txn: &Transaction, tenant: &Tenant, codes: &[String]) -> Result<HashMap<String, Group>> {
    look_up(txn, tenant, codes, |sql| {
        sql.push(" ORDER BY c.id").for_share();
    })
    .await
}

async fn look_up(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    codes: &[String],
    end: impl Fn(&mut Sql),
) -> Result<HashMap<String, Group>> {
    let mut groups = HashMap::with_capacity(codes.len());
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    for codes in codes.chunks(LIST) {
        let mut sql = select(db, tenant);
        sql.push(" AND c.code").among(codes);
        end(&mut sql);
        for row in sql.all(db).await? {
            let group = Group::read(&row)?;
            groups.insert(group.code.clone(), group);
        }
    }
    Ok(groups)
}

/// The group with this code.
pub async fn find(app: &App, tenant: &Tenant, code: &str) -> Result<Group> {
    check::code("code", code)?;
    let found = named(&app.db.read, tenant, &[code.to_owned()]).await?.remove(code);
    found.ok_or_else(|| Error::not_found("group", code))
}

/// Makes a group, or gives it another title.
pub async fn save(app: &App, tenant: &Tenant, code: &str, title: Option<&str>) -> Result<Group> {
    check::code("code", code)?;
    if let Some(title) = title {
        check::title("title", title)?;
    }
    let now = app.now();
    transaction!(app.db, |txn| {
        let title = title.map(str::to_owned);
        let values = vec![tenant.id.into(), (Kind::Group as i16).into(), code.into(), title.into(), now.into()];
        let columns = &["tenant_id", "kind", "code", "title", "created_at"];
        let key = &["tenant_id", "kind", "code"];
        let merged = Existing::Merged { key, raised: &[], replaced: &["title"] };
        insert(txn, Rows { table: "channel", columns, values: vec![values] }, merged).await
    })?;
    find(app, tenant, code).await
}

/// Deletes a group; false where there is none.
///
/// Costs the same however many members it has: its channel lives on, closed, so that they still get what was sent to it
/// before, and a new group with the same code begins anew.
pub async fn delete(app: &App, tenant: &Tenant, code: &str) -> Result<bool> {
    check::code("code", code)?;
    let now = app.now();
    transaction!(app.db, |txn| {
        let mut sql = select(txn, tenant);
        sql.push(" AND c.code = ").bind(code).for_update();
        let Some(row) = sql.one(txn).await? else { return Ok(false) };
        let id = Group::read(&row)?.channel;
        // First the channel, whose row whoever subscribes the group, or sends to it, locks too.
        close::close(txn, tenant, id, now).await?;
        let mut sql = Sql::new(txn);
        sql.push("DELETE FROM group_subscription WHERE group_channel_id = ").bind(id);
        sql.run(txn).await?;
        Ok(true)
    })
}

/// Users hear what is sent to the group from now on; who was in it stays.
///
/// At most 10,000, in transactions of 512: where it fails, some may be in it already, and the same call again adds the rest.
pub async fn add_members(app: &App, tenant: &Tenant, code: &str, users: &[String]) -> Result<Group> {
    check::count("users", users.len(), MEMBERS)?;
    users.iter().try_for_each(|id| check::code("users", id))?;
    let group = find(app, tenant, code).await?;
    for chunk in users.chunks(MEMBERS_PER_TRANSACTION) {
        user::again(|| add_some(app, tenant, code, chunk)).await?;
    }
    Ok(group)
}

async fn add_some(app: &App, tenant: &Tenant, code: &str, users: &[String]) -> Result<()> {
    let mut users = user::mention(app, tenant, "users", users).await?;
    users.sort_unstable();
    users.dedup();
    let now = app.now();
    transaction!(app.db, |txn| {
        let group = held(txn, tenant, &[code.to_owned()]).await?.remove(code);
        let channel = group.ok_or_else(|| Error::not_found("group", code))?.channel;
        listen::begin(txn, tenant, &users, &[channel], now).await?;
        Ok(())
    })
}

/// Users no longer hear what is sent to the group; what was sent before is theirs. The same limits as [`add_members`].
pub async fn remove_members(app: &App, tenant: &Tenant, code: &str, users: &[String]) -> Result<Group> {
    check::count("users", users.len(), MEMBERS)?;
    users.iter().try_for_each(|id| check::code("users", id))?;
    let group = find(app, tenant, code).await?;
    for chunk in users.chunks(MEMBERS_PER_TRANSACTION) {
        user::again(|| remove_some(app, tenant, group.channel, chunk)).await?;
    }
    Ok(group)
}

async fn remove_some(app: &App, tenant: &Tenant, channel: ChannelId, users: &[String]) -> Result<()> {
    let mut users: Vec<UserId> = user::find(app, tenant, users).await?.into_values().collect();
    users.sort_unstable();
    listen::before_ceasing(app, tenant, &users, &[channel]).await?;
    let now = app.now();
    transaction!(app.db, |txn| listen::cease(txn, tenant, &users, &[channel], now).await.map(drop))
}

/// How many members groups have.
pub async fn member_counts(app: &App, groups: &[ChannelId]) -> Result<HashMap<ChannelId, i64>> {
    let mut counts = HashMap::with_capacity(groups.len());
    for groups in groups.chunks(LIST) {
        let mut sql = Sql::new(&app.db.read);
        sql.push("SELECT channel_id, count(*) AS members FROM subscription WHERE channel_id").among(groups);
        sql.push(" GROUP BY channel_id");
        for row in sql.all(&app.db.read).await? {
            counts.insert(row.try_get("", "channel_id")?, row.try_get("", "members")?);
        }
    }
    Ok(counts)
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
    sql.all(&app.db.read).await?.iter().map(Group::read).collect()
}
