//! Overviews that were read before. Whether one still holds is asked of the database each time, by a small part of what it
//! takes to read it again, so that none is ever shown that does not.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use entity::ids::{Seq, UserId};
use moka::future::Cache;
use sea_orm::QueryResult;

use super::{Overview, Wish};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::inbox::shelf::Place;
use crate::domain::inbox::standing::{self, Standing};
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::sql::Sql;

/// Different wishes that are remembered of a user: his bell's, and those of a page or two.
const WISHES: usize = 4;

/// What an entry takes besides its items, and an item besides its text, in bytes.
const ENTRY: usize = 400;
const ITEM: usize = 500;

/// Of all that an overview shows but time: two overviews of a user with the same one, between which nothing has expired
/// and no sender has another profile, are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// What was published on his channels is in his inbox up to here, and amended up to here.
    cursor: Seq,
    /// Of his inbox: what he or the sweep has changed since it arrived.
    version: i64,
    /// Messages come without a sync, each newer than everything before.
    newest: Seq,
    texts: i64,
    catalogue: i64,
}

/// An overview, and what it was made of.
#[derive(Debug)]
pub(super) struct Entry {
    pub wish: Wish,
    pub stamp: Stamp,
    /// The instant by which it was decided what has expired.
    pub read_at: Millis,
    /// Who sent what it shows, each with the version of his row.
    pub senders: Vec<(UserId, i64)>,
    pub overview: Overview,
    /// The end of the log up to which the inbox is known not to be behind.
    pub complete_upto: AtomicI64,
}

/// By user; what is used least goes first.
#[derive(Clone, Debug)]
pub struct Memory(Cache<UserId, Arc<Vec<Arc<Entry>>>>);

impl Memory {
    /// Of about so many bytes.
    pub fn new(bytes: u64) -> Self {
        let weigh = |_: &UserId, entries: &Arc<Vec<Arc<Entry>>>| {
            let bytes: usize = entries.iter().map(|entry| entry.weight()).sum();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(bytes).weigher(weigh).build())
    }

    /// Spares the question whether those of users still hold, who are known to have changed.
    pub async fn forget(&self, users: &[UserId]) {
        for user in users {
            self.0.invalidate(user).await;
        }
    }

    async fn recall(&self, user: UserId, wish: &Wish) -> Option<Arc<Entry>> {
        self.0.get(&user).await?.iter().find(|entry| entry.wish == *wish).cloned()
    }

    pub(super) async fn keep(&self, entry: Entry) {
        let user = entry.overview.user;
        let mut entries = self.0.get(&user).await.map(|known| known.to_vec()).unwrap_or_default();
        entries.retain(|known| known.wish != entry.wish);
        if entries.len() == WISHES {
            entries.remove(0);
        }
        entries.push(Arc::new(entry));
        self.0.insert(user, Arc::new(entries)).await;
    }
}

impl Entry {
    fn weight(&self) -> usize {
        let items = self.overview.types.iter().filter_map(|of| of.latest.as_ref());
        ENTRY + items.map(|item| ITEM + item.content.length()).sum::<usize>()
    }

    /// The overview as it is now, where it still holds.
    fn at(&self, now: &Now, standing: &Standing, stamp: Stamp) -> Option<Overview> {
        let senders_are_same = self.senders.iter().all(|(sender, version)| now.senders.get(sender) == Some(version));
        let holds = stamp == self.stamp && senders_are_same && !now.has_expired && !standing.is_behind;
        if holds {
            self.complete_upto.fetch_max(standing.complete_upto.0, Ordering::Relaxed);
        }
        holds.then(|| Overview { cursor: standing.complete_upto, ..self.overview.clone() })
    }

    fn complete_upto(&self) -> Seq {
        Seq(self.complete_upto.load(Ordering::Relaxed))
    }
}

impl Stamp {
    /// Adds its columns to the standing of a user `u` of the tenant `t`.
    pub fn push(sql: &mut Sql, user: Place<'_>) {
        sql.push(", u.version AS h_user_version, t.text_version AS h_texts, ");
        sql.push("COALESCE((SELECT i.seq FROM inbox_item i WHERE i.user_id = ");
        user.push(sql);
        sql.push(" ORDER BY i.seq DESC LIMIT 1), 0) AS h_newest");
    }

    /// The columns of [`Self::push`].
    pub const COLUMNS: &str = "h_user_version, h_texts, h_newest";

    pub fn read(row: &QueryResult) -> Result<Self> {
        Ok(Self {
            cursor: row.try_get("", "h_cursor_seq")?,
            version: row.try_get("", "h_user_version")?,
            newest: row.try_get("", "h_newest")?,
            texts: row.try_get("", "h_texts")?,
            catalogue: row.try_get("", "h_version")?,
        })
    }
}

/// What the overviews of several users may have changed by.
#[derive(Default)]
struct Now {
    senders: HashMap<UserId, i64>,
    has_expired: bool,
}

/// Overviews that are remembered and still hold. One statement where any are remembered; two where the log turns out to
/// have gone on, which every later question then knows.
pub(super) async fn recall(
    app: &App,
    tenant: &Tenant,
    users: &[UserId],
    wish: &Wish,
) -> Result<HashMap<UserId, Overview>> {
    let mut entries = HashMap::new();
    for user in users {
        if let Some(entry) = app.caches.overviews.recall(*user, wish).await {
            entries.insert(*user, entry);
        }
    }
    let now = app.now();
    // A clock that went back would show again what has expired.
    entries.retain(|_, entry| entry.read_at <= now);
    let Some(upto) = entries.values().map(|entry| entry.complete_upto()).min() else { return Ok(HashMap::new()) };
    let mut log = if tenant.end() <= upto { Log::Quiet } else { Log::Moved };
    loop {
        let rows = question(app, tenant, &entries, log, now).all(&app.db.read).await?;
        let (mut known, mut standings) = (Now::default(), Vec::with_capacity(entries.len()));
        for row in &rows {
            if row.try_get::<i32>("", "is_sender")? == 1 {
                known.senders.insert(row.try_get("", "h_user_id")?, row.try_get("", "h_user_version")?);
            } else {
                known.has_expired = row.try_get::<i32>("", "has_expired")? == 1;
                standings.push((Standing::read(row)?, Stamp::read(row)?));
            }
        }
        let end = standings.iter().map(|(standing, _)| standing.complete_upto).max().unwrap_or(upto);
        tenant.saw(end);
        if log == Log::Quiet && end > upto {
            log = Log::Moved;
            continue;
        }
        let held = standings.iter().filter_map(|(standing, stamp)| {
            Some((standing.user, entries.get(&standing.user)?.at(&known, standing, *stamp)?))
        });
        return Ok(held.collect());
    }
}

/// What is thought to have happened to the log since the inboxes were last known not to be behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    /// Nothing, as far as this process has seen. Where that is so, nobody can be behind.
    Quiet,
    Moved,
}

/// Where the inboxes stand, whether anything of the tenant has expired since an instant, and a row for each sender.
///
/// One probe of `inbox_item`'s key for a user besides those of his standing, one of `users` for each sender, and one of
/// `notification_tenant_expires_at`.
fn question(app: &App, tenant: &Tenant, entries: &HashMap<UserId, Arc<Entry>>, log: Log, now: Millis) -> Sql {
    let since = entries.values().map(|entry| entry.read_at).min().unwrap_or(now);
    let senders: BTreeSet<UserId> = entries.values().flat_map(|entry| &entry.senders).map(|(id, _)| *id).collect();
    let mut users: Vec<UserId> = entries.keys().copied().collect();
    users.sort_unstable();

    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").push(standing::COLUMNS).push(", ").push(Stamp::COLUMNS);
    sql.push(", CASE WHEN (SELECT n.id FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.expires_at > ").bind(since).push(" AND n.expires_at <= ").bind(now);
    sql.push(" LIMIT 1) IS NOT NULL THEN 1 ELSE 0 END AS has_expired, 0 AS is_sender FROM (");
    match log {
        Log::Quiet => standing::push_known(&mut sql, tenant, &users, &Stamp::push),
        Log::Moved => standing::push(&mut sql, tenant, &users, &Stamp::push),
    }
    sql.push(") h");
    if !senders.is_empty() {
        let senders: Vec<UserId> = senders.into_iter().collect();
        sql.push(" UNION ALL SELECT s.id, 0, 0, 0, 0, s.version, 0, 0, 0, 1 FROM users s WHERE s.id").in_ids(&senders);
    }
    sql
}

/// The senders of a row's item, whose profile it shows.
pub(super) fn sender(row: &QueryResult) -> Result<Option<(UserId, i64)>> {
    let Some(id) = row.try_get::<Option<UserId>>("", "s_id")? else { return Ok(None) };
    Ok(Some((id, row.try_get("", "s_version")?)))
}
