//! How many users a notification has reached.

use async_graphql::{Result, SimpleObject};
use entity::ids::Seq;

use super::context::CallContext;
use super::loaders::BatchLoader;
use super::scalars::{DateTimeScalar, to_int};
use domain::counters::{self, HourlyCounts};
use domain::notification::Notification;

/// How many users a notification addressed, reached, and was read by.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub struct NotificationStats {
    /// Users addressed at publication: named users, members of the groups, followers of the sender and subscribers of
    /// the target's action without the sender, or all users that the tenant knew. Ignores preferences and later
    /// changes. An announcement to everyone also reaches later users: this is `deliveredCount` if that is greater. Null
    /// until counted, within a minute.
    pub audience_size: Option<i32>,
    /// Users who got it into their inbox, even if they deleted it since. May lag by a minute.
    pub delivered_count: i32,
    /// Users who have read it, and not marked it unread since. May lag by a minute.
    pub read_count: i32,
}

impl NotificationStats {
    /// The stats of one notification.
    pub fn from_notification(of: &Notification) -> Self {
        let number = |count: i64| to_int(count.max(0));
        Self {
            audience_size: of.audience_size.map(|size| number(size.max(of.delivered_count))),
            delivered_count: number(of.delivered_count),
            read_count: number(of.read_count),
        }
    }
}

/// Growth of a notification's counts within an hour, by the time of counting.
#[derive(SimpleObject)]
pub struct NotificationHour {
    /// Start of the hour, in UTC.
    pub at: DateTimeScalar,
    /// Growth of the number of users who got it into their inbox.
    pub delivered_count: i32,
    /// Growth of the number of users who read it; negative if more marked it unread.
    pub read_count: i32,
}

/// Hours of the notifications of a request, read in one batch.
pub type HourLoader = BatchLoader<Seq, Vec<HourlyCounts>>;

impl HourLoader {
    /// The hours of one of them; empty before it is published.
    pub async fn load_hours(&self, call: CallContext<'_>, seq: Option<Seq>) -> Result<Vec<NotificationHour>> {
        let Some(seq) = seq else { return Ok(Vec::new()) };
        let of = self.load(seq, |seqs| counters::load_hours(call.app, call.tenant, seqs)).await?;
        let shown = |of: &HourlyCounts| NotificationHour {
            at: of.at.into(),
            delivered_count: to_int(of.delivered),
            read_count: to_int(of.was_read),
        };
        Ok(of.into_iter().flatten().map(shown).collect())
    }
}
