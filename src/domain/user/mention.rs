//! Who a tenant's users are: found by the partner's own ids, and made when these are first mentioned.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::*;
use entity::user::Column;
use futures_util::FutureExt;

use super::{again, before};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Act, Bounds, Party, Together, Transaction, transaction};
use crate::domain::probe;
use crate::domain::tenant::{Needs, Tenant};
use crate::error::{Error, Result};
use crate::model::check;

/// Users who are looked up in one statement.
const MENTIONS: usize = 256;

/// The rows of users, in the order asked for, making those who were never mentioned. `field` is blamed for bad ids.
pub async fn mention(app: &App, tenant: &Tenant, field: &str, external_ids: &[String]) -> Result<Vec<UserId>> {
    for id in external_ids {
        check::code(field, id)?;
    }
    again(|| async {
        let mut known = find(app, tenant, external_ids).await?;
        let missing: BTreeSet<&String> = external_ids.iter().filter(|id| !known.contains_key(*id)).collect();
        if !missing.is_empty() {
            let missing: Vec<String> = missing.into_iter().cloned().collect();
            make(app, tenant, &missing).await?;
            known.extend(find(app, tenant, &missing).await?);
        }
        external_ids.iter().map(|id| known.get(id).copied().ok_or(Error::Erased)).collect()
    })
    .await
}

/// The row of one user, made now if this is the first mention. Those who are looked up at the same time are looked up together.
pub async fn mention_one(app: &Arc<App>, tenant: &Arc<Tenant>, field: &str, external_id: &str) -> Result<UserId> {
    if let Some(id) = app.caches.users.get(&(tenant.id, tenant.erased_count(), external_id.to_owned())) {
        return Ok(id);
    }
    // Boxed, since this is in every request, and rare.
    async {
        check::code(field, external_id)?;
        match mentions(app, tenant).ask(|| (app.clone(), tenant.clone()), vec![external_id.to_owned()]).await? {
            Some(user) => Ok(user),
            None => Ok(mention(app, tenant, field, &[external_id.to_owned()]).await?[0]),
        }
    }
    .boxed()
    .await
}

/// Users of a tenant who wait to be looked up.
type Mentions = Together<Needs, String, Option<UserId>>;

fn mentions(app: &App, tenant: &Tenant) -> Arc<Mentions> {
    tenant.queues.of(|| {
        let bounds = Bounds::reading(app.config.database.connections, MENTIONS);
        Mentions::new(Party::tenant(tenant.id), |(app, tenant), jobs| look_up(app, tenant, jobs).boxed(), bounds)
    })
}

/// The first of each job, if the tenant has heard of them.
async fn look_up(app: &App, tenant: &Tenant, jobs: &mut [Vec<String>]) -> Result<Vec<Result<Option<UserId>>>> {
    let ids: Vec<String> = jobs.iter().flatten().cloned().collect();
    let known = find(app, tenant, &ids).await?;
    Ok(jobs.iter().map(|job| Ok(job.iter().find_map(|id| known.get(id).copied()))).collect())
}

/// The rows of those users whom the tenant has heard of.
pub async fn find(app: &App, tenant: &Tenant, external_ids: &[String]) -> Result<HashMap<String, UserId>> {
    // From before they are read: whoever is erased meanwhile is not remembered beyond that.
    let erased_count = tenant.erased_count();
    let mut known = HashMap::with_capacity(external_ids.len());
    let mut unknown = Vec::new();
    for id in external_ids {
        match app.caches.users.get(&(tenant.id, erased_count, id.clone())) {
            Some(user) => drop(known.insert(id.clone(), user)),
            None => unknown.push(id.clone()),
        }
    }
    for (id, user) in read(&app.db.read, tenant, &unknown).await? {
        app.caches.users.insert((tenant.id, erased_count, id.clone()), user);
        known.insert(id, user);
    }
    Ok(known)
}

/// A user whom the tenant has heard of.
#[derive(FromQueryResult)]
struct Known {
    external_id: String,
    id: UserId,
}

async fn read(db: &impl ConnectionTrait, tenant: &Tenant, ids: &[String]) -> Result<HashMap<String, UserId>> {
    let mut known = HashMap::with_capacity(ids.len());
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for ids in ids.chunks(LIST) {
        // A probe of `users_external_id` for each.
        let of = probe::by_text(db, tenant, "users", ("external_id", "n.external_id, n.id"), ids);
        known.extend(of.rows::<Known>(db).await?.into_iter().map(|of| (of.external_id, of.id)));
    }
    Ok(known)
}

/// How far an inbox reaches back that is made now.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// To what was published at this instant.
    pub from: Millis,
    /// In any case to this place in the log.
    pub before: Seq,
}

async fn make(app: &App, tenant: &Tenant, external_ids: &[String]) -> Result<()> {
    let now = app.now();
    let window = Window { from: now - app.config.retention_millis(), before: Seq(i64::MAX) };
    let making = async { transaction!(app.db, |txn| make_within(txn, tenant, external_ids, window, now).await) };
    Act::aside(making).await
}

/// The inbox of a new user reaches back as far as the retention window: their cursor stands before its first entry.
async fn make_within(txn: &Transaction, tenant: &Tenant, ids: &[String], window: Window, now: Millis) -> Result<()> {
    let cursor = before(txn, tenant, window.from).await?.min(window.before.0 - 1);
    let columns = [Column::TenantId, Column::ExternalId, Column::CursorSeq, Column::CreatedAt];
    let rows = ids.iter().map(|id| [tenant.id.into(), id.clone().into(), cursor.into(), now.into()]).collect();
    insert(txn, columns, rows, Existing::Kept).await?;
    Ok(())
}

/// The rows of users in a transaction that keeps them from being erased, for it has written to the tenant's row; those who
/// are missing are made. In the order asked for.
pub async fn mention_within(
    txn: &Transaction,
    tenant: &Tenant,
    external_ids: &[String],
    window: Window,
    now: Millis,
) -> Result<Vec<UserId>> {
    let mut known = read(txn, tenant, external_ids).await?;
    let missing: Vec<String> = external_ids.iter().filter(|id| !known.contains_key(*id)).cloned().collect();
    if !missing.is_empty() {
        make_within(txn, tenant, &missing, window, now).await?;
        known.extend(read(txn, tenant, &missing).await?);
    }
    external_ids.iter().map(|id| known.get(id).copied().ok_or(Error::Erased)).collect()
}
