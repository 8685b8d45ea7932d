//! Orphans: rows that name a user who no longer exists and that no job erases. There should be none. This deletes rows
//! from before erasure was a job, or left by a fault.
//!
//! Rows of users are found by the gaps between the ids of existing users: one probe of each table's key per gap, for
//! any size of the tables.

use std::collections::BTreeSet;

use entity::ids::{TenantId, UserId};
use entity::prelude::*;
use entity::user::{self, Entity as User};
use entity::{
    contact, digest, inbox_item, notification, preference, publication, read_mark, recipient, subscription, tally_span,
    view_visit,
};

use super::erase::{delete_batch, end_of_sent, erase_from_sent};
use super::queries::{
    FirstOrphanRow, IdGap, NOTIFICATIONS, OrphanRow, is_known_user, select_first_in_gaps, select_orphans,
};
use base::error::Result;
use domain::tenant::{self, Tenant, TenantFailures};
use store::{Store, Transaction, transaction};

/// User ids read at once.
const USERS: usize = 2000;

/// Gaps per statement.
const GAPS: usize = 64;

/// Deletes all orphans. Returns how many missing users were found, counted once per table or part of the sent
/// notifications.
pub async fn sweep(store: &Store) -> Result<u64> {
    let (mut found, mut failures) = (0, TenantFailures::default());
    let tenants = entity::tenant::Entity::find().select_only().column(entity::tenant::Column::Id);
    let tenants = tenants.order_by_asc(entity::tenant::Column::Id).into_tuple::<TenantId>();
    for tenant in tenants.all(&store.db.read).await? {
        found += failures.record_failure(store, tenant, sweep_sent(store, tenant).await).unwrap_or_default();
    }
    let mut after = Some(0);
    while let Some(from) = after {
        let (gaps, next) = find_gaps(store, from).await?;
        for gaps in gaps.chunks(GAPS) {
            found += sweep_gaps(store, gaps, inbox_item::Column::Seq).await?;
            found += sweep_gaps(store, gaps, read_mark::Column::ReadUpto).await?;
            found += sweep_gaps(store, gaps, subscription::Column::ChannelId).await?;
            found += sweep_gaps(store, gaps, preference::Column::SubjectId).await?;
            found += sweep_gaps(store, gaps, view_visit::Column::ViewId).await?;
            found += sweep_gaps(store, gaps, contact::Column::Id).await?;
            found += sweep_gaps(store, gaps, digest::Column::LaneId).await?;
            found += sweep_gaps(store, gaps, tally_span::Column::AfterSeq).await?;
        }
        after = next;
    }
    failures.into_result().map(|()| found)
}

/// The gaps after an id, and the id from which to continue.
async fn find_gaps(store: &Store, from: i64) -> Result<(Vec<IdGap>, Option<i64>)> {
    let users = User::find().filter(user::Column::Id.gt(from)).select_only().column(user::Column::Id);
    let users = users.order_by_asc(user::Column::Id).limit(USERS as u64).into_tuple::<i64>();
    let users = users.all(&store.db.read).await?;
    let (mut gaps, mut last) = (Vec::new(), from);
    for id in &users {
        if *id > last + 1 {
            gaps.push((last, *id));
        }
        last = *id;
    }
    if users.len() == USERS {
        return Ok((gaps, Some(last)));
    }
    gaps.push((last, i64::MAX));
    Ok((gaps, None))
}

/// Deletes the rows of a table with user ids in gaps, except users under erasure. Returns how many ids there were.
async fn sweep_gaps<C: ColumnTrait>(store: &Store, gaps: &[IdGap], key: C) -> Result<u64>
where
    C::EntityName: OfUser<Column = C>,
{
    let (mut gaps, mut found) = (gaps.to_vec(), 0);
    while !gaps.is_empty() {
        let firsts = select_first_in_gaps(&store.db.read, C::EntityName::USER, &gaps)
            .fetch_by_name::<FirstOrphanRow>(&store.db.read)
            .await?;
        gaps.clear();
        for FirstOrphanRow { before_id, user_id } in firsts {
            gaps.push((user_id.0, before_id));
            while transaction!(store.db, |txn| sweep_rows(txn, user_id, key).await)? {}
            found += 1;
        }
    }
    Ok(found)
}

/// Deletes a batch of a user's rows of a table, and returns whether there may be more. Ids are not reused: an id of no
/// user, and of no user under erasure, never becomes a user.
async fn sweep_rows<C: ColumnTrait>(txn: &Transaction, user: UserId, key: C) -> Result<bool>
where
    C::EntityName: OfUser<Column = C>,
{
    if is_known_user(txn, user).await? {
        return Ok(false);
    }
    delete_batch(txn, user, key).await
}

/// Scans everything that a tenant has sent, and removes users that no longer exist.
async fn sweep_sent(store: &Store, tenant: TenantId) -> Result<u64> {
    let tenant = tenant::get_by_id(store, tenant).await?;
    let end = end_of_sent(&store.db.read, &tenant).await?;
    let (mut from, mut found) = (1, 0);
    while from <= end {
        for user in find_orphans(store, &tenant, from).await? {
            transaction!(store.db, |txn| erase_from_sent(txn, &tenant, user, from).await)?;
            found += 1;
        }
        from += NOTIFICATIONS;
    }
    Ok(found)
}

/// The users that a part of the sent notifications names and that no longer exist.
async fn find_orphans(store: &Store, tenant: &Tenant, from: i64) -> Result<BTreeSet<UserId>> {
    use notification::Column::{Id, ReceiverId, SenderId};
    let (db, mut strangers) = (&store.db.read, BTreeSet::new());
    for part in [
        select_orphans(db, tenant, from, (recipient::Column::NotificationId, recipient::Column::UserId)),
        select_orphans(db, tenant, from, (Id, ReceiverId)),
        select_orphans(db, tenant, from, (Id, SenderId)),
        select_orphans(db, tenant, from, (publication::Column::Seq, publication::Column::ActorId)),
    ] {
        strangers.extend(part.fetch_by_name::<OrphanRow>(db).await?.into_iter().map(|stranger| stranger.user_id));
    }
    Ok(strangers)
}
