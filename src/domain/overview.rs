//! The overview: unread counts and latest items of every type, in one statement for any number of users and types.

mod memory;
mod same;
mod statement;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use sea_orm::{DbBackend, QueryResult};

use super::catalogue::{self, Catalogue, MessageType};
use super::inbox::Item;
use super::inbox::item::Contents;
use super::inbox::standing::{self, Standing};
use super::tenant::Tenant;
use super::view;
use crate::app::App;
use crate::clock::Millis;
use crate::error::{Error, Result};

use memory::{Entry, Stamp};

pub use memory::Memory;
pub use statement::statement;

/// What to put into an overview.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wish {
    /// Codes of types; nothing means all.
    pub types: Option<Vec<String>>,
    /// Counts stop here; at least 1.
    pub cap: Option<i64>,
    /// Whether `unseen` is wanted, which costs a walk over what arrived since.
    pub unseen: bool,
    /// How many unread views are wanted along with their sum, which together cost one more statement.
    pub views: Option<usize>,
}

/// How many, or that there are more than the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Count {
    pub count: i64,
    /// False where there were more than the cap, which is then the count.
    pub is_exact: bool,
}

impl Count {
    /// What is above the cap is cut. Where items were counted, they were counted up to one above it.
    pub fn of(counted: i64, cap: Option<i64>) -> Self {
        match cap {
            Some(cap) if counted > cap => Self { count: cap, is_exact: false },
            _ => Self { count: counted, is_exact: true },
        }
    }
}

/// Where one user's inbox stands.
#[derive(Clone, Debug)]
pub struct Overview {
    pub user: UserId,
    pub unread: Count,
    pub unseen: Count,
    /// Unread activities of all views; nothing unless they were wanted.
    pub views: view::Unread,
    /// Where counts stop.
    pub cap: Option<i64>,
    /// In catalogue order.
    pub types: Vec<TypeOverview>,
    /// The inbox is complete up to here.
    pub cursor: Seq,
    /// It may hold what is newer than that, for something is missing yet.
    pub is_behind: bool,
    /// Of the catalogue that it shows.
    pub catalogue_version: i64,
}

impl Overview {
    /// Two overviews with the same one show the same, but for the cursor.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.unread, self.unseen, self.catalogue_version, self.views.total).hash(&mut hasher);
        for of in &self.views.views {
            (&of.key, of.unread, of.last_activity_at, of.last_visited_at, &of.latest).hash(&mut hasher);
        }
        for kind in &self.types {
            let latest = kind.latest.as_ref();
            let latest = latest
                .map(|item| (item.seq, item.state as i16, item.read_at, item.expires_at, item.content.updated_at));
            (kind.message_type.id, kind.unread, latest).hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl Overview {
    /// Inbox and views together, where views were wanted.
    pub fn total(&self) -> Count {
        if self.unread.is_exact { Count::of(self.unread.count + self.views.total, self.cap) } else { self.unread }
    }
}

/// One type of it.
#[derive(Clone, Debug)]
pub struct TypeOverview {
    pub message_type: Arc<MessageType>,
    pub unread: Count,
    /// The newest item that is neither archived nor expired.
    pub latest: Option<Item>,
}

/// Branches that one statement on MySQL may have, one a user and type: each has some twenty of its 65,535 parameters.
const BRANCHES: usize = 2000;

/// Refuses a wish that no overview can fulfil.
pub async fn check(app: &App, tenant: &Tenant, wish: &Wish) -> Result<()> {
    check_cap(wish)?;
    if chosen(&*catalogue::cached(app, tenant).await?, wish.types.as_deref()).is_err() {
        chosen(&*catalogue::current(app, tenant).await?, wish.types.as_deref())?;
    }
    Ok(())
}

fn check_cap(wish: &Wish) -> Result<()> {
    if wish.cap.is_some_and(|cap| cap < 1) {
        return Err(Error::bad_input("cap", "must be at least 1"));
    }
    Ok(())
}

/// The overviews of users: one statement where nothing has changed since they were read, or where they are read for the
/// first time; two where something has; where some are behind, their sync too. (On MySQL so many for every 2,000 pairs of
/// user and type.) One more for all of them where views are wanted.
pub async fn of(app: &App, tenant: &Tenant, users: &[UserId], wish: &Wish) -> Result<HashMap<UserId, Overview>> {
    check_cap(wish)?;
    let types = catalogue::cached(app, tenant).await?.types.len().max(1);
    let at_once = if app.db.backend() == DbBackend::MySql { BRANCHES / types } else { users.len() };
    let mut overviews = HashMap::with_capacity(users.len());
    let inbox = Wish { views: None, ..wish.clone() };
    for users in users.chunks(at_once.max(1)) {
        let known = memory::recall(app, tenant, users, &inbox).await?;
        let others: Vec<UserId> = users.iter().filter(|user| !known.contains_key(user)).copied().collect();
        overviews.extend(known);
        if !others.is_empty() {
            overviews.extend(together(app, tenant, &others, &inbox).await?);
        }
    }
    if let Some(first) = wish.views {
        for (user, unread) in view::unread_of(app, users, first).await? {
            overviews.entry(user).and_modify(|overview| overview.views = unread);
        }
    }
    Ok(overviews)
}

/// Reads overviews, and remembers them.
async fn together(app: &App, tenant: &Tenant, users: &[UserId], wish: &Wish) -> Result<HashMap<UserId, Overview>> {
    let mut catalogue = catalogue::cached(app, tenant).await?;
    let mut is_synced = false;
    loop {
        let types = match chosen(&catalogue, wish.types.as_deref()) {
            Ok(types) => types,
            Err(error) => {
                let seen = catalogue.version;
                catalogue = catalogue::current(app, tenant).await?;
                if catalogue.version == seen {
                    return Err(error);
                }
                continue;
            }
        };
        let now = app.now();
        let rows = statement(app, tenant, users, &types, wish, now).all(&app.db.read).await?;
        let standings = rows.iter().map(Standing::read).collect::<Result<Vec<_>>>()?;
        if let Some(newer) = standing::check(app, tenant, &standings, &catalogue, &mut is_synced).await? {
            catalogue = newer;
            continue;
        }
        let overviews = assemble(&rows, &standings, &catalogue, &types, wish)?;
        remember(app, &rows, &standings, &overviews, (wish, now)).await?;
        return Ok(overviews);
    }
}

/// Those of inboxes that were not behind when they were read.
async fn remember(
    app: &App,
    rows: &[QueryResult],
    standings: &[Standing],
    overviews: &HashMap<UserId, Overview>,
    (wish, read_at): (&Wish, Millis),
) -> Result<()> {
    let mut entries: HashMap<UserId, Entry> = HashMap::with_capacity(overviews.len());
    for (row, standing) in rows.iter().zip(standings).filter(|(_, standing)| !standing.is_behind) {
        let Some(overview) = overviews.get(&standing.user) else { continue };
        let stamp = Stamp::read(row)?;
        let entry = entries.entry(standing.user).or_insert_with(|| Entry {
            wish: wish.clone(),
            stamp,
            read_at,
            senders: Vec::new(),
            overview: overview.clone(),
            complete_upto: standing.complete_upto.0.into(),
        });
        entry.senders.extend(memory::sender(row)?);
    }
    for entry in entries.into_values() {
        app.caches.overviews.keep(entry).await;
    }
    Ok(())
}

fn chosen(catalogue: &Catalogue, codes: Option<&[String]>) -> Result<Vec<Arc<MessageType>>> {
    let Some(codes) = codes else { return Ok(catalogue.types.clone()) };
    for code in codes {
        if catalogue.message_type(code).is_none() {
            return Err(Error::bad_input("types", format!("no message type {code:?}")));
        }
    }
    Ok(catalogue.types.iter().filter(|kind| codes.contains(&kind.code)).cloned().collect())
}

fn assemble(
    rows: &[QueryResult],
    standings: &[Standing],
    catalogue: &Arc<Catalogue>,
    types: &[Arc<MessageType>],
    wish: &Wish,
) -> Result<HashMap<UserId, Overview>> {
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
            is_behind: standing.is_behind,
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
