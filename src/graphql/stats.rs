//! How many users a notification has reached.

use async_graphql::{Result, SimpleObject};
use entity::ids::Seq;

use super::at_once::AtOnce;
use super::context::Call;
use super::scalars::{Instant, int};
use crate::domain::notification::Notification;
use crate::domain::tally::{self, Hour};

/// How many users it addressed, has reached and was read by.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub struct NotificationStats {
    /// Users that it addressed when it was published: named users, members of the groups, followers of the sender and subscribers of the
    /// target's action without the sender, or all users that the tenant knew. Preferences and later changes do not count.
    /// An announcement to everyone reaches users who come later, too: `deliveredCount` where that is more. Null until counted, within a minute.
    pub audience_size: Option<i32>,
    /// Users in whose inbox it has arrived, whatever they did with it since. May lag by a minute.
    pub delivered_count: i32,
    /// Users who have read it, and not marked it unread since. May lag by a minute.
    pub read_count: i32,
}

impl NotificationStats {
    /// Of one.
    pub fn of(of: &Notification) -> Self {
        let number = |count: i64| int(count.max(0));
        Self {
            audience_size: of.audience_size.map(|size| number(size.max(of.delivered_count))),
            delivered_count: number(of.delivered_count),
            read_count: number(of.read_count),
        }
    }
}

/// What the counts of a notification grew by within an hour, as they were counted.
#[derive(SimpleObject)]
pub struct NotificationHour {
    /// When it began: full hours of UTC.
    pub at: Instant,
    /// In the inboxes of so many users more.
    pub delivered_count: i32,
    /// Read by so many users more; negative where more marked it unread.
    pub read_count: i32,
}

/// The hours of notifications that were asked for together.
pub type SharedHours = AtOnce<Seq, Vec<Hour>>;

impl SharedHours {
    /// Those of one of them; none before it is published.
    pub async fn shown(&self, call: Call<'_>, seq: Option<Seq>) -> Result<Vec<NotificationHour>> {
        let Some(seq) = seq else { return Ok(Vec::new()) };
        let of = self.get(seq, |seqs| tally::hours(call.app, call.tenant, seqs)).await?;
        let shown = |of: &Hour| NotificationHour {
            at: of.at.into(),
            delivered_count: int(of.delivered),
            read_count: int(of.was_read),
        };
        Ok(of.into_iter().flatten().map(shown).collect())
    }
}
