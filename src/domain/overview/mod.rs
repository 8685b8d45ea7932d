//! The overview: unread counts and latest items of every type, in one statement for any number of users and types.

mod question;
mod reading;
mod statement;

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{Seq, UserId};

use super::catalogue;
use super::inbox::standing::{self, Reach, Verdict};
use super::tenant::{Tenant, head};
use super::view;
use crate::app::App;
use crate::error::{Error, Result};

use reading::Want;

use crate::model::answer::Answer;
pub use crate::model::overview::{Added, Count, Entry, Overview, TypeOverview, Wish};
pub use question::{Stood, doubtful, still_standing};
pub use statement::statement;

/// Rejects an invalid cap or an unknown type.
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

/// Returns the overviews of users. Takes one statement if all are cached and valid, or if none is cached; two if some
/// have changed; plus a sync of inboxes that are behind. Views take one more for all users. (MySQL needs one statement
/// per 2,000 pairs of user and type.) Concurrent requests share statements.
pub async fn of(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    wish: &Wish,
) -> Result<HashMap<UserId, Overview>> {
    check_cap(wish)?;
    let inbox = Wish { views: None, ..wish.clone() };
    let mut overviews = question::recall(app, tenant, users, &inbox).await?;
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
        // A user was erased. This notes the erasure, so that a retry looks the ids up again.
        head(&app.db.read, tenant).await?;
    }
    Ok(overviews)
}

/// Returns the cached response to this request and the current cursor, if the response is still valid. Costs one shared
/// statement, or none on a miss.
pub async fn answered(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    user: UserId,
    request: i64,
) -> Result<Option<(Arc<Answer>, Seq)>> {
    let Some(answer) = app.caches.answers.find(user, |of| of.request == request) else { return Ok(None) };
    let held = question::hold(app, tenant, answer.proofs.clone()).await?;
    let cursors: Option<Vec<Seq>> = held.into_iter().collect();
    // All validators hold up to the smallest of these positions, and nothing newer concerns this user.
    Ok(cursors.and_then(|cursors| cursors.into_iter().min()).map(|cursor| (answer, cursor)))
}

/// Reads overviews from the database. Syncs inboxes that are behind first.
pub async fn anew(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    users: &[UserId],
    wish: Wish,
) -> Result<HashMap<UserId, Overview>> {
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
        let reading = reading::shared(app, tenant, &users, want).await?;
        match standing::check(app, tenant, &reading.standings, &catalogue).await? {
            Verdict::Outdated(newer) => catalogue = newer,
            Verdict::WereBehind(behind) => {
                // The results of the other users are valid.
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
