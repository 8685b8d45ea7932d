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
        // One of them was erased: whoever asks again finds who has the id now.
        head(&app.db.read, tenant).await?;
    }
    Ok(overviews)
}

/// The last answer to a request of a user's, where it would be made again but for the cursor, which comes with it: the one statement by which
/// a remembered overview is asked for, which requests at the same time share, or none where the answer is not remembered.
pub async fn answered(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    user: UserId,
    request: i64,
) -> Result<Option<(Arc<Answer>, Seq)>> {
    let Some(answer) = app.caches.answers.find(user, |of| of.request == request) else { return Ok(None) };
    let held = question::hold(app, tenant, answer.proofs.clone()).await?;
    let cursors: Option<Vec<Seq>> = held.into_iter().collect();
    // All of them show the inbox as of the least of these, and nothing of theirs has come since.
    Ok(cursors.and_then(|cursors| cursors.into_iter().min()).map(|cursor| (answer, cursor)))
}

/// Reads overviews, those of inboxes that are behind once what is missing has been put there.
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
