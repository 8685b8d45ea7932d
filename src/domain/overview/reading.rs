//! Overviews that are read whole. Requests that want the same of their users at the same time read together.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{TypeId, UserId};
use futures_util::FutureExt;
use sea_orm::{DbBackend, QueryResult};

use super::memory::{self, Entry, Stamp};
use super::{Count, Overview, TypeOverview, Wish, statement};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::catalogue::{Catalogue, MessageType};
use crate::domain::inbox::Item;
use crate::domain::inbox::item::Contents;
use crate::domain::inbox::standing::{Reach, Standing};
use crate::domain::tenant::Tenant;
use crate::domain::together::{Bounds, Together};
use crate::domain::view;
use crate::error::Result;
use crate::sql::LIST;

/// Users of requests that read together. That many cost PostgreSQL half of what they cost one by one, and more of them no
/// less than that each.
const USERS: usize = 16;

/// Branches that one statement on MySQL may have, one a user and type: each has some twenty of its 65,535 parameters.
const BRANCHES: usize = 2000;

/// Requests of a tenant's users whose overviews wait to be read.
#[derive(Debug)]
pub struct Readings(Arc<Together<(UserId, Arc<Want>), Reading>>);

/// What is wanted of a user.
#[derive(Debug)]
pub(super) struct Want {
    wish: Wish,
    types: Vec<Arc<MessageType>>,
    /// That the types are of.
    catalogue: Arc<Catalogue>,
    reach: Reach,
}

/// What was read of users.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Where their inboxes stood.
    pub standings: Vec<Standing>,
    /// Their overviews; none where the catalogue is another by now.
    pub overviews: HashMap<UserId, Overview>,
}

impl Want {
    /// Fails where the catalogue has no such type.
    pub fn new(wish: &Wish, catalogue: &Arc<Catalogue>, reach: Reach) -> Result<Self> {
        let types = catalogue.chosen("types", wish.types.as_deref())?;
        Ok(Self { wish: wish.clone(), types, catalogue: catalogue.clone(), reach })
    }

    fn is_same(&self, other: &Self) -> bool {
        let facts = |of: &Self| (of.catalogue.version, of.reach);
        self.wish == other.wish && facts(self) == facts(other)
    }
}

impl Readings {
    /// None yet. On MySQL, where each user is a branch of the statement, nothing is gained by reading together.
    pub fn new(app: &App) -> Self {
        let mut bounds = Bounds::reading(app, USERS);
        if app.db.backend() == DbBackend::MySql {
            bounds = Bounds { rounds: app.config.database.connections as usize, things: 1, ..bounds };
        }
        Self(Together::new(|app, tenant, jobs| together(app, tenant, jobs).boxed(), bounds))
    }

    /// Reads overviews, in one statement with whatever else waits at the moment. Those of many users need no company.
    pub(super) async fn read(
        &self,
        app: &Arc<App>,
        tenant: &Arc<Tenant>,
        users: &[UserId],
        want: Want,
    ) -> Result<Reading> {
        if users.len() >= USERS {
            return read(app, tenant, users, &want).await;
        }
        let want = Arc::new(want);
        self.0.ask(app, tenant, users.iter().map(|user| (*user, want.clone())).collect()).await
    }
}

/// A statement for each different want.
async fn together(app: &App, tenant: &Tenant, jobs: &mut [Vec<(UserId, Arc<Want>)>]) -> Result<Vec<Result<Reading>>> {
    let mut wants: Vec<(Arc<Want>, Vec<UserId>)> = Vec::new();
    for (user, want) in jobs.iter().flatten() {
        match wants.iter_mut().find(|(known, _)| known.is_same(want)) {
            Some((_, users)) => users.push(*user),
            None => wants.push((want.clone(), vec![*user])),
        }
    }
    let mut readings = Vec::with_capacity(wants.len());
    for (want, mut users) in wants {
        users.sort_unstable();
        users.dedup();
        let reading = read(app, tenant, &users, &want).await?;
        readings.push((want, reading));
    }
    let of = |job: &Vec<(UserId, Arc<Want>)>| {
        let mut own = Reading::default();
        for (user, want) in job {
            let Some((_, all)) = readings.iter().find(|(known, _)| known.is_same(want)) else { continue };
            own.standings.extend(all.standings.iter().find(|standing| standing.user == *user));
            own.overviews.extend(all.overviews.get(user).map(|overview| (*user, overview.clone())));
        }
        Ok(own)
    };
    Ok(jobs.iter().map(of).collect())
}

/// Reads overviews, and remembers them.
async fn read(app: &App, tenant: &Tenant, users: &[UserId], want: &Want) -> Result<Reading> {
    let is_mysql = app.db.backend() == DbBackend::MySql;
    let at_once = if is_mysql { BRANCHES / want.types.len().max(1) } else { LIST };
    let mut reading = Reading::default();
    for users in users.chunks(at_once.min(LIST)) {
        let now = app.now();
        let rows = statement(app, tenant, users, &want.types, &want.wish, (want.reach, now)).all(&app.db.read).await?;
        let standings = rows.iter().map(Standing::read).collect::<Result<Vec<_>>>()?;
        if standings.iter().all(|standing| standing.catalogue_version == want.catalogue.version) {
            let overviews = assemble(&rows, &standings, want)?;
            remember(app, &rows, &standings, &overviews, (want, now)).await?;
            reading.overviews.extend(overviews);
        }
        reading.standings.extend(standings);
    }
    reading.standings.dedup_by_key(|standing| standing.user);
    Ok(reading)
}

/// Those of inboxes that were read whole: that were not behind, and hold nothing beyond where they were cut.
async fn remember(
    app: &App,
    rows: &[QueryResult],
    standings: &[Standing],
    overviews: &HashMap<UserId, Overview>,
    (want, read_at): (&Want, Millis),
) -> Result<()> {
    let mut entries: HashMap<UserId, Entry> = HashMap::with_capacity(overviews.len());
    for (row, standing) in rows.iter().zip(standings).filter(|(_, standing)| !standing.is_behind) {
        let Some(overview) = overviews.get(&standing.user) else { continue };
        let stamp = Stamp::read(row)?;
        if stamp.newest > standing.complete_upto {
            continue;
        }
        let entry = entries.entry(standing.user).or_insert_with(|| Entry {
            wish: want.wish.clone(),
            stamp,
            read_at,
            senders: Vec::new(),
            overview: overview.clone(),
            catalogue: want.catalogue.clone(),
            complete_upto: standing.complete_upto.0.into(),
        });
        entry.senders.extend(memory::sender(row)?);
    }
    for entry in entries.into_values() {
        app.caches.overviews.keep(entry).await;
    }
    Ok(())
}

fn assemble(rows: &[QueryResult], standings: &[Standing], want: &Want) -> Result<HashMap<UserId, Overview>> {
    let Want { wish, types, catalogue, .. } = want;
    let mut found: HashMap<(UserId, TypeId), (i64, Option<Item>)> = HashMap::with_capacity(rows.len());
    let (mut overviews, mut contents) = (HashMap::new(), Contents::default());
    for (row, standing) in rows.iter().zip(standings) {
        let unseen = Count::of(row.try_get::<Option<i64>>("", "h_unseen")?.unwrap_or_default(), wish.cap);
        overviews.entry(standing.user).or_insert_with(|| Overview {
            user: standing.user,
            unread: Count { count: 0, is_exact: true },
            unseen,
            views: view::Unread::default(),
            cap: wish.cap,
            types: Vec::with_capacity(types.len()),
            cursor: standing.complete_upto,
            catalogue_version: catalogue.version,
        });
        if let Some(kind) = row.try_get::<Option<TypeId>>("", "x_type_id")? {
            let latest = Item::read_among(row, catalogue, &mut contents)?;
            found.insert((standing.user, kind), (row.try_get("", "x_unread")?, latest));
        }
    }
    for overview in overviews.values_mut() {
        let mut sum = 0;
        for kind in types {
            let (unread, latest) = found.remove(&(overview.user, kind.id)).unwrap_or_default();
            sum += unread;
            let unread = Count::of(unread, wish.cap);
            overview.types.push(TypeOverview { message_type: kind.clone(), unread, latest });
        }
        overview.unread = Count::of(sum, wish.cap);
    }
    Ok(overviews)
}
