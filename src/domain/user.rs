//! Users: recipients, known by the partner's own id and made when it is first mentioned.

mod by;
mod erase;
mod export;
mod held;
mod mention;
mod orphan;

use std::collections::HashMap;

use entity::ids::UserId;
use sea_orm::{ConnectionTrait, QueryResult};

use super::check;
use super::tenant::{Tenant, head};
use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::sql::{LIST, Sql};

pub use by::By;
pub use erase::{erase, step as erase_step};
pub use export::export;
pub use held::{again, gone, held, lost};
pub use mention::{Mentions, Window, find, mention, mention_one, mention_within};
pub use orphan::sweep as sweep_orphans;

/// A user as others see him.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// His row.
    pub id: UserId,
    /// The partner's id of him.
    pub external_id: String,
    /// As far as the partner has told it.
    pub name: Option<String>,
    /// An http(s) URL or a path.
    pub avatar_url: Option<String>,
    /// BCP 47.
    pub locale: Option<String>,
}

/// A change of a profile: what is left out stays, `Some(None)` clears.
#[derive(Clone, Debug, Default)]
pub struct ProfileChange {
    /// The partner's id of the user.
    pub external_id: String,
    pub name: Option<Option<String>>,
    pub avatar_url: Option<Option<String>>,
    pub locale: Option<Option<String>>,
}

impl Profile {
    /// The columns that `read` wants, of the users table under `alias`.
    pub fn columns(alias: &str) -> String {
        format!(
            "{alias}.id AS {alias}_id, {alias}.external_id AS {alias}_external_id, {alias}.name AS {alias}_name, \
             {alias}.avatar_url AS {alias}_avatar_url, {alias}.locale AS {alias}_locale"
        )
    }

    /// A user of a row, if there is one in it.
    pub fn read(row: &QueryResult, alias: &str) -> Result<Option<Self>> {
        let Some(id) = row.try_get::<Option<UserId>>(alias, "_id")? else { return Ok(None) };
        Ok(Some(Self {
            id,
            external_id: row.try_get(alias, "_external_id")?,
            name: row.try_get(alias, "_name")?,
            avatar_url: row.try_get(alias, "_avatar_url")?,
            locale: row.try_get(alias, "_locale")?,
        }))
    }
}

/// The newest seq published before `instant`. One statement, so that a send between two cannot be passed over.
pub async fn before(db: &impl ConnectionTrait, tenant: &Tenant, instant: i64) -> Result<i64> {
    let mut sql = Sql::new(db);
    sql.push("SELECT COALESCE((SELECT n.seq - 1 FROM notification n WHERE n.tenant_id = ")
        .bind(tenant.id)
        .push(" AND n.published_at >= ")
        .bind(instant)
        .push(" ORDER BY n.published_at, n.seq LIMIT 1), t.last_seq) AS cursor_seq FROM tenant t WHERE t.id = ")
        .bind(tenant.id);
    let row = sql.one(db).await?.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    Ok(row.try_get("", "cursor_seq")?)
}

/// The profiles of users by their rows: a statement for every thousand of them.
pub async fn profiles(app: &App, tenant: &Tenant, ids: &[UserId]) -> Result<HashMap<UserId, Profile>> {
    let mut profiles = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(LIST) {
        let mut sql = Sql::new(&app.db.read);
        sql.push("SELECT ").push(&Profile::columns("u")).push(" FROM users u WHERE u.tenant_id = ").bind(tenant.id);
        sql.push(" AND u.id").among(ids);
        for row in sql.all(&app.db.read).await? {
            if let Some(profile) = Profile::read(&row, "u")? {
                profiles.insert(profile.id, profile);
            }
        }
    }
    if profiles.len() < ids.len() {
        // One of them was erased: whoever asks again finds who has the id now.
        head(&app.db.read, tenant).await?;
    }
    Ok(profiles)
}

/// Notes that what the users' inboxes show has changed, in the transaction that changes it, so that no overview of before is
/// shown again, and open sessions are told when it is committed. What arrives needs no note.
pub async fn changed(txn: &Transaction, tenant: &Tenant, users: &[UserId]) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("UPDATE users SET version = version + 1 WHERE id").among(users);
    sql.run(txn).await?;
    txn.tell(Notice::changed(tenant.id, users));
    Ok(())
}

/// Changes profiles, all or none, and returns the users' rows in the order given.
pub async fn save(app: &App, tenant: &Tenant, changes: Vec<ProfileChange>) -> Result<Vec<UserId>> {
    check::count("inputs", changes.len(), 1000)?;
    for (place, change) in changes.iter().enumerate() {
        check_profile(change).map_err(|error| error.within(&format!("inputs[{place}]")))?;
    }
    again(|| save_all(app, tenant, &changes)).await
}

async fn save_all(app: &App, tenant: &Tenant, changes: &[ProfileChange]) -> Result<Vec<UserId>> {
    let ids: Vec<String> = changes.iter().map(|change| change.external_id.clone()).collect();
    let users = mention(app, tenant, "inputs", &ids).await?;
    // The rows are locked in the order of their ids, or two calls over the same users could wait for each other.
    let mut ordered: Vec<(UserId, &ProfileChange)> = users.iter().copied().zip(changes).collect();
    ordered.sort_by_key(|(user, _)| *user);
    let tells = |change: &ProfileChange| (&change.name, &change.avatar_url, &change.locale) != (&None, &None, &None);
    transaction!(app.db, |txn| {
        for (user, change) in &ordered {
            save_one(txn, tenant, *user, change).await?;
        }
        // Whoever sent something is shown with it.
        txn.tell(Notice { doubtful: changes.iter().any(tells), ..Notice::of(tenant.id) });
        Ok(())
    })?;
    Ok(users)
}

async fn save_one(txn: &Transaction, tenant: &Tenant, user: UserId, change: &ProfileChange) -> Result<()> {
    let fields = [("name", &change.name), ("avatar_url", &change.avatar_url), ("locale", &change.locale)];
    let mut sql = Sql::new(txn);
    sql.push("UPDATE users SET profile_version = profile_version + 1");
    for (column, value) in fields {
        if let Some(value) = value {
            sql.push(&format!(", {column} = ")).bind(value.clone());
        }
    }
    sql.push(" WHERE id = ").bind(user);
    if sql.run(txn).await? == 0 {
        return lost(txn, tenant).await;
    }
    Ok(())
}

fn check_profile(change: &ProfileChange) -> Result<()> {
    check::code("id", &change.external_id)?;
    if let Some(Some(name)) = &change.name {
        check::title("name", name)?;
    }
    if let Some(Some(url)) = &change.avatar_url {
        check::link("avatarUrl", url)?;
    }
    if let Some(Some(locale)) = &change.locale {
        let subtag = |tag: &str| (1..=8).contains(&tag.len()) && tag.chars().all(|c| c.is_ascii_alphanumeric());
        if locale.len() > 35 || !locale.split('-').all(subtag) {
            return Err(Error::bad_input("locale", "must be a language tag such as en or zh-Hans-CN (BCP 47)"));
        }
    }
    Ok(())
}
