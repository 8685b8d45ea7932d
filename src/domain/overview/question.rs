//! Whether overviews that are remembered still hold. Requests that ask at the same time ask together.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use futures_util::FutureExt;

use super::memory::{Entry, Stamp};
use super::{Overview, Wish};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::inbox::standing::{self, Reach, Standing};
use crate::domain::tenant::Tenant;
use crate::domain::together::{Bounds, Together};
use crate::error::Result;
use crate::sql::{LIST, Sql};

/// Overviews that are asked of in one statement.
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
        // Nothing has happened since, as far as this process has seen. Where that is so, nobody can be behind.
        known.ask(app, tenant, &quiet, Reach::KnownEnd, now).await?;
        // What these statements saw counts, whatever others make of the end meanwhile.
        let end = tenant.end().max(known.end());
        moved.extend(quiet.into_iter().filter(|entry| entry.complete_upto() < end));
    }
    if !moved.is_empty() {
        known.ask(app, tenant, &moved, Reach::End, now).await?;
    }
    let held = |entry: &Arc<Entry>| Some((entry.overview.user, known.of(tenant, entry, now)?));
    Ok(jobs.iter().map(|job| Ok(job.iter().filter_map(held).collect())).collect())
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
    /// As far as the log went.
    fn end(&self) -> Seq {
        self.users.values().map(|(standing, _)| standing.complete_upto).max().unwrap_or_default()
    }

    async fn ask(
        &mut self,
        app: &App,
        tenant: &Tenant,
        entries: &[&Arc<Entry>],
        reach: Reach,
        now: Millis,
    ) -> Result<()> {
        for entries in entries.chunks(ENTRIES) {
            let users: BTreeSet<UserId> = entries.iter().map(|entry| entry.overview.user).collect();
            let senders: BTreeSet<UserId> =
                entries.iter().flat_map(|entry| &entry.senders).map(|(id, _)| *id).collect();
            let senders = Vec::from_iter(senders);
            let (senders, more) = senders.split_at(senders.len().min(LIST));
            let rows = question(app, tenant, (Vec::from_iter(users), senders), reach, now).all(&app.db.read).await?;
            for row in rows {
                if row.try_get::<i32>("", "is_sender")? == 1 {
                    self.senders.insert(row.try_get("", "h_user_id")?, row.try_get("", "h_user_version")?);
                    continue;
                }
                let standing = Standing::read(&row)?;
                tenant.saw(standing.complete_upto);
                self.expired_at = self.expired_at.max(row.try_get("", "expired_at")?);
                self.users.insert(standing.user, (standing, Stamp::read(&row)?));
            }
            for senders in more.chunks(LIST) {
                self.ask_of(app, senders).await?;
            }
        }
        Ok(())
    }

    /// The versions of senders alone.
    async fn ask_of(&mut self, app: &App, senders: &[UserId]) -> Result<()> {
        let mut sql = Sql::new(&app.db.read);
        sql.push("SELECT s.id, s.profile_version FROM users s WHERE s.id").among(senders);
        for row in sql.all(&app.db.read).await? {
            self.senders.insert(row.try_get("", "id")?, row.try_get("", "profile_version")?);
        }
        Ok(())
    }

    /// The overview of an entry, where it still holds. A clock that went back would show again what has expired.
    fn of(&self, tenant: &Tenant, entry: &Entry, now: Millis) -> Option<Overview> {
        let has_expired = entry.read_at < self.expired_at || now < entry.read_at;
        let senders_are_same = entry.senders.iter().all(|(sender, version)| self.senders.get(sender) == Some(version));
        if has_expired || !senders_are_same {
            return None;
        }
        let (standing, stamp) = self.users.get(&entry.overview.user)?;
        if !standing.is_behind && standing.complete_upto < entry.complete_upto() {
            tenant.went_back(standing.complete_upto);
        }
        entry.at(standing, *stamp)
    }
}

/// Where the inboxes stand, when something of the tenant last expired, and a row for each sender.
///
/// One probe of `inbox_item`'s key for a user besides those of his standing, one of `users` for each sender, and one of
/// `notification_tenant_expires_at`.
fn question(
    app: &App,
    tenant: &Tenant,
    (mut users, senders): (Vec<UserId>, &[UserId]),
    reach: Reach,
    now: Millis,
) -> Sql {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").push(standing::COLUMNS).push(", ").push(Stamp::COLUMNS);
    sql.push(", COALESCE((SELECT n.expires_at FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.expires_at <= ").bind(now).push(" ORDER BY n.expires_at DESC LIMIT 1), 0) AS expired_at");
    sql.push(", 0 AS is_sender FROM (");
    standing::pad(&sql, &mut users);
    standing::push(&mut sql, tenant, &users, reach, &Stamp::push);
    sql.push(") h");
    if !senders.is_empty() {
        sql.push(" UNION ALL SELECT s.id, 0, 0, 0, 0, s.profile_version, 0, 0, 0, 1 FROM users s WHERE s.id")
            .among(senders);
    }
    sql
}
