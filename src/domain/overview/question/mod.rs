//! Whether overviews that are remembered still hold. Requests that ask at the same time ask together.

mod statement;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::{Among, EntityTrait, LIST, QueryFilter, QuerySelect};
use entity::user::{Column, Entity as User};
use futures_util::FutureExt;

use super::{Overview, Wish};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Bounds, Party, Together};
use crate::domain::inbox::standing::{Reach, Standing};
use crate::domain::tenant::{Needs, Tenant};
use crate::error::Result;
use crate::model::overview::{Entry, Stamp};
use statement::{Inbox, Row, Sender};

/// Overviews that are asked of in one statement.
const ENTRIES: usize = 256;

/// Requests of a tenant's users that wait to hear which of the overviews that are remembered still hold.
type Questions = Together<Needs, Arc<Entry>, HashMap<UserId, Overview>>;

/// Overviews that are remembered and still hold. One statement where any are remembered; two where the log turns out to
/// have gone on, which every later question then knows.
pub(super) async fn recall(
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
    hold(app, tenant, entries).await
}

/// Those of these that still hold.
pub(super) async fn hold(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    entries: Vec<Arc<Entry>>,
) -> Result<HashMap<UserId, Overview>> {
    let questions = tenant.queues.of(|| {
        let bounds = Bounds::reading(app.config.database.connections, ENTRIES);
        Questions::new(Party::tenant(tenant.id), |(app, tenant), jobs| answer(app, tenant, jobs).boxed(), bounds)
    });
    questions.ask(|| (app.clone(), tenant.clone()), entries).await
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
        self.users.values().map(|(standing, _)| standing.complete_upto()).max().unwrap_or_default()
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
            let question = statement::question(app, tenant, (Vec::from_iter(users), senders), reach, now);
            for row in question.rows(&app.db.read).await? {
                match row {
                    Row::Sender(Sender { id, version }) => drop(self.senders.insert(id, version)),
                    Row::Inbox(Inbox { standing, stamp, expired_at }) => {
                        tenant.saw(standing.complete_upto());
                        self.expired_at = self.expired_at.max(expired_at);
                        self.users.insert(standing.user, (standing, stamp));
                    }
                }
            }
            for senders in more.chunks(LIST) {
                self.ask_of(app, senders).await?;
            }
        }
        Ok(())
    }

    /// The versions of senders alone.
    async fn ask_of(&mut self, app: &App, senders: &[UserId]) -> Result<()> {
        let versions = User::find().filter(Column::Id.among(&app.db.read, senders)).select_only();
        let versions = versions.column(Column::Id).column(Column::ProfileVersion).into_tuple::<(UserId, i64)>();
        self.senders.extend(versions.all(&app.db.read).await?);
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
        if !standing.is_behind() && standing.complete_upto() < entry.complete_upto() {
            tenant.went_back(standing.complete_upto());
        }
        entry.at(standing, *stamp)
    }
}
