//! The overview: unread counts and latest items of every type, in one statement for any number of users and types.

mod memory;
mod question;
mod reading;
mod same;
mod statement;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::catalogue::{self, MessageType};
use super::inbox::Item;
use super::inbox::standing::{self, Reach, Verdict};
use super::tenant::{Tenant, head};
use super::view;
use crate::app::App;
use crate::error::{Error, Result};

use reading::Want;

pub use memory::Memory;
pub use question::Questions;
pub use reading::Readings;
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
    /// It shows the inbox as of this place in the log.
    pub cursor: Seq,
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
            let latest =
                latest.map(|item| (item.seq, item.state, item.read_at, item.expires_at, item.content.updated_at));
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

/// Refuses a wish that no overview can fulfil.
pub async fn check(app: &App, tenant: &Tenant, wish: &Wish) -> Result<()> {
    check_cap(wish)?;
    let types = wish.types.as_deref();
    if catalogue::cached(app, tenant).await?.chosen("types", types).is_err() {
        catalogue::current(app, tenant).await?.chosen("types", types)?;
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
/// user and type.) One more for all of them where views are wanted. Requests at the same time share theirs.
pub async fn of(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    wish: &Wish,
) -> Result<HashMap<UserId, Overview>> {
    check_cap(wish)?;
    let inbox = Wish { views: None, ..wish.clone() };
    let mut overviews = tenant.questions.recall(app, tenant, users, &inbox).await?;
    let others: Vec<UserId> = users.iter().filter(|user| !overviews.contains_key(user)).copied().collect();
    if !others.is_empty() {
        overviews.extend(anew(app, tenant, &others, inbox).await?);
    }
    if let Some(first) = wish.views {
        for (user, unread) in view::unread_of(app, users, first).await? {
            overviews.entry(user).and_modify(|overview| overview.views = unread);
        }
    }
    if overviews.len() < users.len() {
        // One of them was erased: whoever asks again finds who has the id now.
        head(&app.db.read, tenant).await?;
    }
    Ok(overviews)
}

/// Reads overviews, those of inboxes that are behind once what is missing has been put there.
async fn anew(app: &Arc<App>, tenant: &Arc<Tenant>, users: &[UserId], wish: Wish) -> Result<HashMap<UserId, Overview>> {
    let mut catalogue = catalogue::cached(app, tenant).await?;
    let (mut users, mut reach, mut overviews) = (users.to_vec(), Reach::End, HashMap::with_capacity(users.len()));
    loop {
        let want = match Want::new(&wish, &catalogue, reach) {
            Ok(want) => want,
            Err(error) => {
                let seen = catalogue.version;
                catalogue = catalogue::current(app, tenant).await?;
                if catalogue.version == seen {
                    return Err(error);
                }
                continue;
            }
        };
        let reading = tenant.readings.read(app, tenant, &users, want).await?;
        match standing::check(app, tenant, &reading.standings, &catalogue).await? {
            Verdict::Outdated(newer) => catalogue = newer,
            Verdict::WereBehind(behind) => {
                // What was read of the others stands.
                let stands = |user: &UserId| behind.binary_search(user).is_err();
                overviews.extend(reading.overviews.into_iter().filter(|(user, _)| stands(user)));
                (users, reach) = (behind, Reach::Cursor);
            }
            Verdict::Stands => {
                overviews.extend(reading.overviews);
                return Ok(overviews);
            }
        }
    }
}
