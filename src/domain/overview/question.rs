//! Whether overviews that are remembered still hold. Requests that ask at the same time ask together.

use std::collections::{BTreeSet, HashMap};
use std::iter::repeat_n;
use std::sync::Arc;

use entity::ids::UserId;
use futures_util::FutureExt;
use sea_orm::DbBackend;

use super::memory::{Entry, Stamp};
use super::{Overview, Wish};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::inbox::standing::{self, Standing};
use crate::domain::tenant::Tenant;
use crate::domain::together::{Bounds, Together};
use crate::error::Result;
use crate::sql::Sql;

/// Overviews that are asked of in one statement, unless a single request has more.
const ENTRIES: usize = 256;

/// Requests of a tenant's users that wait to hear which of the overviews that are remembered still hold.
#[derive(Debug)]
pub struct Questions(Arc<Together<Arc<Entry>, HashMap<UserId, Overview>>>);

impl Questions {
    /// None yet.
    pub fn new(app: &App) -> Self {
        Self(Together::new(|app, tenant, jobs| answer(app, tenant, jobs).boxed(), Bounds::reading(app, ENTRIES)))
    }

    /// Overviews that are remembered and still hold. One statement where any are remembered; two where the log turns out to
    /// have gone on, which every later question then knows.
    pub(super) async fn recall(
        &self,
        app: &Arc<App>,
        tenant: &Arc<Tenant>,
        users: &[UserId],
        wish: &Wish,
    ) -> Result<HashMap<UserId, Overview>> {
        let mut entries = Vec::new();
        for user in users {
            entries.extend(app.caches.overviews.recall(*user, wish).await);
        }
        if entries.is_empty() {
            return Ok(HashMap::new());
        }
        self.0.ask(app, tenant, entries).await
    }
}

async fn answer(
    app: &App,
    tenant: &Tenant,
    jobs: &mut [Vec<Arc<Entry>>],
) -> Result<Vec<Result<HashMap<UserId, Overview>>>> {
    let now = app.now();
    let end = tenant.end();
    let (quiet, mut moved): (Vec<_>, Vec<_>) = jobs.iter().flatten().partition(|entry| end <= entry.complete_upto());
    let mut known = Known::default();
    if !quiet.is_empty() {
        known.ask(app, tenant, &quiet, Log::Quiet, now).await?;
        let end = tenant.end();
        moved.extend(quiet.into_iter().filter(|entry| entry.complete_upto() < end));
    }
    if !moved.is_empty() {
        known.ask(app, tenant, &moved, Log::Moved, now).await?;
    }
    let held = |entry: &Arc<Entry>| Some((entry.overview.user, known.of(entry, now)?));
    Ok(jobs.iter().map(|job| Ok(job.iter().filter_map(held).collect())).collect())
}

/// What is thought to have happened to the log since the inboxes were last known not to be behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    /// Nothing, as far as this process has seen. Where that is so, nobody can be behind.
    Quiet,
    Moved,
}

/// What overviews may have changed by.
#[derive(Default)]
struct Known {
    users: HashMap<UserId, (Standing, Stamp)>,
    /// Versions of their rows.
    senders: HashMap<UserId, i64>,
    /// When something of the tenant last expired.
    expired_at: Millis,
}

impl Known {
    async fn ask(&mut self, app: &App, tenant: &Tenant, entries: &[&Arc<Entry>], log: Log, now: Millis) -> Result<()> {
        for row in question(app, tenant, entries, log, now).all(&app.db.read).await? {
            if row.try_get::<i32>("", "is_sender")? == 1 {
                self.senders.insert(row.try_get("", "h_user_id")?, row.try_get("", "h_user_version")?);
                continue;
            }
            let standing = Standing::read(&row)?;
            tenant.saw(standing.complete_upto);
            self.expired_at = self.expired_at.max(row.try_get("", "expired_at")?);
            self.users.insert(standing.user, (standing, Stamp::read(&row)?));
        }
        Ok(())
    }

    /// The overview of an entry, where it still holds. A clock that went back would show again what has expired.
    fn of(&self, entry: &Entry, now: Millis) -> Option<Overview> {
        let has_expired = entry.read_at < self.expired_at || now < entry.read_at;
        let senders_are_same = entry.senders.iter().all(|(sender, version)| self.senders.get(sender) == Some(version));
        if has_expired || !senders_are_same {
            return None;
        }
        let (standing, stamp) = self.users.get(&entry.overview.user)?;
        entry.at(standing, *stamp)
    }
}

/// Where the inboxes stand, when something of the tenant last expired, and a row for each sender.
///
/// One probe of `inbox_item`'s key for a user besides those of his standing, one of `users` for each sender, and one of
/// `notification_tenant_expires_at`.
fn question(app: &App, tenant: &Tenant, entries: &[&Arc<Entry>], log: Log, now: Millis) -> Sql {
    let users: BTreeSet<UserId> = entries.iter().map(|entry| entry.overview.user).collect();
    let mut users: Vec<UserId> = users.into_iter().collect();
    let senders: BTreeSet<UserId> = entries.iter().flat_map(|entry| &entry.senders).map(|(id, _)| *id).collect();
    let senders: Vec<UserId> = senders.into_iter().collect();

    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").push(standing::COLUMNS).push(", ").push(Stamp::COLUMNS);
    sql.push(", COALESCE((SELECT n.expires_at FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.expires_at <= ").bind(now).push(" ORDER BY n.expires_at DESC LIMIT 1), 0) AS expired_at");
    sql.push(", 0 AS is_sender FROM (");
    if sql.backend() == DbBackend::MySql {
        // A branch for each: as many as a power of two, so that there are few different statements.
        users.extend(repeat_n(users[0], users.len().next_power_of_two() - users.len()));
    }
    match log {
        Log::Quiet => standing::push_known(&mut sql, tenant, &users, &Stamp::push),
        Log::Moved => standing::push(&mut sql, tenant, &users, &Stamp::push),
    }
    sql.push(") h");
    if !senders.is_empty() {
        sql.push(" UNION ALL SELECT s.id, 0, 0, 0, 0, s.version, 0, 0, 0, 1 FROM users s WHERE s.id").in_ids(&senders);
    }
    sql
}
