//! Overviews that are read whole. Requests that want the same of their users at the same time read together.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{TypeId, UserId};
use entity::prelude::*;
use futures_util::FutureExt;
use sea_orm::{DbBackend, QueryResult};

use super::statement::{Row, statement};
use super::{Count, Overview, TypeOverview, Wish};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Bounds, Party, Together};
use crate::domain::catalogue::{Catalogue, MessageType};
use crate::domain::inbox::Item;
use crate::domain::inbox::item::Contents;
use crate::domain::inbox::standing::{Reach, Standing};
use crate::domain::tenant::{Needs, Tenant};
use crate::domain::view;
use crate::error::Result;
use crate::model::overview::Entry;
use crate::model::proof::Proof;

/// Users of requests that read together. That many cost PostgreSQL half of what they cost one by one, and more of them no
/// less than that each.
const USERS: usize = 16;

/// Branches that one statement on MySQL may have, one a user and type: each has some twenty of its 65,535 parameters.
const BRANCHES: usize = 2000;

/// Requests of a tenant's users whose overviews wait to be read.
type Readings = Together<Needs, (UserId, Arc<Want>), Reading>;

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

/// Reads overviews, in one statement with whatever else waits at the moment. Those of many users need no company.
pub(super) async fn shared(app: &Arc<App>, tenant: &Arc<Tenant>, users: &[UserId], want: Want) -> Result<Reading> {
    if users.len() >= USERS {
        return read(app, tenant, users, &want).await;
    }
    let readings = tenant.queues.of(|| {
        let connections = app.config.database.connections;
        let mut bounds = Bounds::reading(connections, USERS);
        if app.db.backend() == DbBackend::MySql {
            // Each user is a branch of the statement: nothing is gained by reading together.
            bounds = Bounds { rounds: connections as usize, things: 1, ..bounds };
        }
        Readings::new(Party::tenant(tenant.id), |(app, tenant), jobs| together(app, tenant, jobs).boxed(), bounds)
    });
    let want = Arc::new(want);
    readings.ask(|| (app.clone(), tenant.clone()), users.iter().map(|user| (*user, want.clone())).collect()).await
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
        let statement = statement(app, tenant, users, &want.types, &want.wish, (want.reach, now)).into_statement();
        let found = app.db.read.query_all_raw(statement).await?.into_iter();
        let rows = found.map(|row| Ok((Row::from_query_result(&row, "")?, row))).collect::<Result<Vec<_>>>()?;
        if rows.iter().all(|(row, _)| row.standing.catalogue_version == want.catalogue.version) {
            let mut overviews = assemble(&rows, want)?;
            prove(&rows, &mut overviews, now);
            remember(app, &overviews, want).await;
            reading.overviews.extend(overviews);
        }
        reading.standings.extend(rows.iter().map(|(row, _)| row.standing));
    }
    reading.standings.dedup_by_key(|standing| standing.user);
    Ok(reading)
}

/// Notes what overviews were made of.
fn prove(rows: &[(Row, QueryResult)], overviews: &mut HashMap<UserId, Overview>, read_at: Millis) {
    let mut proofs: HashMap<UserId, Option<Proof>> = HashMap::with_capacity(overviews.len());
    for (Row { standing, stamp, s_id, s_version, .. }, _) in rows {
        let proof = proofs.entry(standing.user).or_insert_with(|| Proof::of(standing, *stamp, read_at));
        if let Some(proof) = proof {
            proof.senders.extend(s_id.zip(*s_version));
        }
    }
    for (user, proof) in proofs {
        if let Some((overview, mut proof)) = overviews.get_mut(&user).zip(proof) {
            proof.senders.shrink_to_fit();
            overview.proof = Some(Arc::new(proof));
        }
    }
}

/// Those of which it can be told whether they still hold.
async fn remember(app: &App, overviews: &HashMap<UserId, Overview>, want: &Want) {
    for overview in overviews.values() {
        let Some(proof) = overview.proof.clone() else { continue };
        let entry = Entry::new(want.wish.clone(), overview.clone(), want.catalogue.clone(), proof);
        app.caches.overviews.keep(overview.user, entry).await;
    }
}

fn assemble(rows: &[(Row, QueryResult)], want: &Want) -> Result<HashMap<UserId, Overview>> {
    let Want { wish, types, catalogue, .. } = want;
    let mut found: HashMap<(UserId, TypeId), (i64, Option<Item>)> = HashMap::with_capacity(rows.len());
    let (mut overviews, mut contents) = (HashMap::new(), Contents::default());
    for (Row { standing, h_unseen, x_type_id, x_unread, item_notification, .. }, row) in rows {
        let unseen = Count::of(h_unseen.unwrap_or_default(), wish.cap);
        overviews.entry(standing.user).or_insert_with(|| Overview {
            user: standing.user,
            unread: Count { count: 0, is_exact: true },
            unseen,
            views: view::Unread::default(),
            cap: wish.cap,
            types: Vec::with_capacity(types.len()),
            proof: None,
            cursor: standing.complete_upto(),
            catalogue_version: catalogue.version,
        });
        if let Some(kind) = *x_type_id {
            let latest = item_notification.map(|_| contents.item(row, catalogue)).transpose()?;
            found.insert((standing.user, kind), (x_unread.unwrap_or_default(), latest));
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
