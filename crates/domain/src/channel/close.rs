//! Closes channels: they get no more publications, and listeners are removed once they have synced the last one.
//!
//! Closing costs the request the same for any number of listeners. Afterwards a job goes through the listeners and
//! removes those that have synced past the newest publication. It leaves the others alone, because unopened inboxes are
//! not synced. The job checks them again every hour, until they have synced or the sweep has deleted the publications.
//! Then it deletes the channel.

use entity::channel::{self, Entity as Channel};
use entity::ids::{ChannelId, Seq, UserId};
use entity::prelude::*;
use entity::publication::{self, Entity as Publication};
use entity::subscription::{self, Entity as Subscription};
use entity::tenant;

use super::{ChannelCode, ChannelKind, find_audiences, subscriptions};
use crate::job::{self, JobProgress, LockedJob};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use store::Transaction;

/// Listeners per transaction, which locks their rows.
const LISTENERS: u64 = 500;

/// How long the job waits for listeners who have not synced, in milliseconds.
const PATIENCE: Millis = 3_600_000;

/// How long the job waits for the last publication's counters, in milliseconds: removed users would not be counted.
const COUNTING: Millis = 15_000;

/// Closes the channel of a user's actions.
pub async fn close_actor_channel(txn: &Transaction, tenant: &Tenant, user: UserId, now: Millis) -> Result<()> {
    let code = ChannelCode::Actor(user.0);
    if let Some(audience) = find_audiences(txn, tenant, &[code]).await?.into_values().next() {
        close_channel(txn, tenant, audience.channel, now).await?;
    }
    Ok(())
}

/// Takes a channel out of use. Its publications stay, and its code is free again.
pub(super) async fn close_channel(txn: &Transaction, tenant: &Tenant, channel: ChannelId, now: Millis) -> Result<()> {
    let closed = Channel::update_many().col_expr(channel::Column::Kind, Expr::val(ChannelKind::Deleted));
    let closed = closed.col_expr(channel::Column::Code, Expr::val(channel.to_string()));
    closed.filter(channel::Column::Id.eq(channel)).exec(txn).await?;
    job::create_job(txn, tenant, (job::JobKind::Close, channel.0), None, now).await
}

/// Removes some listeners from a closed channel.
pub async fn run_step(txn: &Transaction, tenant: &Tenant, job: &LockedJob, now: Millis) -> Result<JobProgress> {
    let channel = ChannelId(job.subject);
    let published = Publication::find().filter(publication::Column::ChannelId.eq(channel));
    let published = published.select_only().column(publication::Column::Seq).order_by_desc(publication::Column::Seq);
    let newest = published.into_tuple::<Seq>().one(txn).await?.unwrap_or_default();
    let counted = tenant::Entity::of_tenant(tenant.id).select_only().column(tenant::Column::CountedSeq);
    if counted.into_tuple::<Seq>().one(txn).await?.unwrap_or_default() < newest {
        return Ok(JobProgress::At { place: job.place, due_at: now + COUNTING });
    }
    let listeners = Subscription::find().filter(subscription::Column::ChannelId.eq(channel));
    let listeners = listeners.order_by_asc(subscription::Column::UserId);
    let some = listeners.clone().filter(subscription::Column::UserId.gt(job.place)).limit(LISTENERS);
    let some = some.select_only().column(subscription::Column::UserId);
    let users = some.into_tuple::<UserId>().all(txn).await?;
    if let Some(last) = users.last() {
        subscriptions::remove_from_closed(txn, channel, &users, newest).await?;
        return Ok(JobProgress::At { place: last.0, due_at: 0 });
    }
    if listeners.one(txn).await?.is_some() {
        return Ok(JobProgress::At { place: 0, due_at: now + PATIENCE });
    }
    Channel::delete_by_id(channel).exec(txn).await?;
    Ok(JobProgress::Done)
}
