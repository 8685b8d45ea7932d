//! Groups: roles, user types and segments that announcements address and that may subscribe to targets.

use std::collections::HashMap;

use entity::channel::{self, Column, Entity as Channel};
use entity::group_subscription::{self, Entity as GroupSubscription};
use entity::ids::{ChannelId, UserId};
use entity::prelude::*;
use entity::subscription::{self, Entity as Subscription};
use sea_orm::Select;

use super::{ChannelKind, close, subscriptions};
use crate::tenant::Tenant;
use crate::user;
use base::error::{Error, Result};
use model::list_page::{ListEnd, PageRange};
use model::validate;
use store::{Store, Transaction, transaction};

/// Maximum members added or removed in one call.
const MEMBERS: usize = 10_000;

/// Members per transaction, which locks their rows.
const MEMBERS_PER_TRANSACTION: usize = 512;

/// A group that announcements can address.
#[derive(Clone, Debug, PartialEq, Eq, DerivePartialModel)]
#[sea_orm(entity = "channel::Entity")]
pub struct GroupChannel {
    /// The channel of its announcements.
    #[sea_orm(from_col = "id")]
    pub channel: ChannelId,
    /// Its code in the tenant's backend.
    pub code: String,
    /// A title for display.
    pub title: Option<String>,
}

/// The group with this channel. `None` if there is none, or if it was deleted.
pub async fn find_by_channel(store: &Store, tenant: &Tenant, channel: ChannelId) -> Result<Option<GroupChannel>> {
    let group =
        Channel::of_tenant(tenant.id).filter(Column::Kind.eq(ChannelKind::Group)).filter(Column::Id.eq(channel));
    Ok(group.into_partial_model().one(&store.db.read).await?)
}

/// All groups of a tenant, by code.
pub async fn load_all(store: &Store, tenant: &Tenant) -> Result<Vec<GroupChannel>> {
    let groups = Channel::of_tenant(tenant.id).filter(Column::Kind.eq(ChannelKind::Group));
    let mut groups = groups.into_partial_model::<GroupChannel>().all(&store.db.read).await?;
    groups.sort_by(|one, other| one.code.cmp(&other.code));
    Ok(groups)
}

/// The groups that exist, by code. One statement per 1,000 codes.
pub async fn find_by_codes(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    codes: &[String],
) -> Result<HashMap<String, GroupChannel>> {
    query_by_codes(db, tenant, codes, |groups| groups).await
}

/// Like [`find_by_codes`], and prevents that a group is deleted before the transaction ends.
pub async fn lock_by_codes(
    txn: &Transaction,
    tenant: &Tenant,
    codes: &[String],
) -> Result<HashMap<String, GroupChannel>> {
    // Also selects the title: if the index `channel_code` covered all columns, MySQL would lock its entry, not the row.
    query_by_codes(txn, tenant, codes, |groups| groups.order_by_asc(Column::Id).for_share()).await
}

async fn query_by_codes(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    codes: &[String],
    end: impl Fn(Select<Channel>) -> Select<Channel>,
) -> Result<HashMap<String, GroupChannel>> {
    let mut known = HashMap::with_capacity(codes.len());
    for codes in codes.chunks(LIST) {
        let groups = Channel::of_tenant(tenant.id).filter(Column::Kind.eq(ChannelKind::Group));
        let groups = end(groups.filter(Column::Code.is_in_list(db, codes)));
        let groups = groups.into_partial_model::<GroupChannel>().all(db).await?;
        known.extend(groups.into_iter().map(|group| (group.code.clone(), group)));
    }
    Ok(known)
}

/// The group with this code, or `NOT_FOUND`.
pub async fn find(store: &Store, tenant: &Tenant, code: &str) -> Result<GroupChannel> {
    validate::identifier("code", code)?;
    let found = find_by_codes(&store.db.read, tenant, &[code.to_owned()]).await?.remove(code);
    found.ok_or_else(|| Error::not_found("group", code))
}

/// Creates a group or changes its title.
pub async fn save(store: &Store, tenant: &Tenant, code: &str, title: Option<&str>) -> Result<GroupChannel> {
    validate::identifier("code", code)?;
    if let Some(title) = title {
        validate::title("title", title)?;
    }
    let now = store.now();
    transaction!(store.db, |txn| {
        let columns = [Column::TenantId, Column::Kind, Column::Code, Column::Title, Column::CreatedAt];
        let row = [tenant.id.into(), ChannelKind::Group.into(), code.into(), title.into(), now.into()];
        let merged = ExistingRows::Merged { key: &columns[..3], raised: &[], replaced: &[Column::Title] };
        Ok(insert(txn, columns, vec![row], merged).await?)
    })?;
    find(store, tenant, code).await
}

/// Deletes a group and returns its channel; `None` if there is no such group.
///
/// The cost does not depend on the number of members. The closed channel stays, so that members still get earlier
/// announcements. A new group with the same code starts empty.
pub async fn delete(store: &Store, tenant: &Tenant, code: &str) -> Result<Option<ChannelId>> {
    validate::identifier("code", code)?;
    let now = store.now();
    transaction!(store.db, |txn| {
        let group =
            Channel::of_tenant(tenant.id).filter(Column::Kind.eq(ChannelKind::Group)).filter(Column::Code.eq(code));
        let Some(group) = group.for_update(txn).one(txn).await? else { return Ok(None) };
        // Closes the channel first: subscribing the group or sending to it locks the same row.
        close::close_channel(txn, tenant, group.id, now).await?;
        let subscribed = group_subscription::Column::GroupChannelId.eq(group.id);
        GroupSubscription::delete_many().filter(subscribed).exec(txn).await?;
        Ok(Some(group.id))
    })
}

/// Adds users to a group, from now on. Existing members stay.
///
/// At most 10,000 users, in transactions of 512. If the call fails, some may already be members; repeating it adds the
/// rest.
pub async fn add_members(store: &Store, tenant: &Tenant, code: &str, users: &[String]) -> Result<GroupChannel> {
    validate::at_most("users", users.len(), MEMBERS)?;
    validate::identifiers("users", users)?;
    let group = find(store, tenant, code).await?;
    for chunk in users.chunks(MEMBERS_PER_TRANSACTION) {
        user::retry_if_erased(|| add_batch(store, tenant, code, chunk)).await?;
    }
    Ok(group)
}

async fn add_batch(store: &Store, tenant: &Tenant, code: &str, users: &[String]) -> Result<()> {
    let mut users = user::find_or_create(store, tenant, "users", users).await?;
    users.sort_unstable();
    users.dedup();
    let now = store.now();
    transaction!(store.db, |txn| {
        let group = lock_by_codes(txn, tenant, &[code.to_owned()]).await?.remove(code);
        let channel = group.ok_or_else(|| Error::not_found("group", code))?.channel;
        subscriptions::lock_and_subscribe(txn, tenant, &users.iter().map(|user| (*user, channel)).collect(), now)
            .await?;
        Ok(())
    })
}

/// Removes users from a group. They keep earlier announcements. The same limits as [`add_members`].
pub async fn remove_members(store: &Store, tenant: &Tenant, code: &str, users: &[String]) -> Result<GroupChannel> {
    validate::at_most("users", users.len(), MEMBERS)?;
    validate::identifiers("users", users)?;
    let group = find(store, tenant, code).await?;
    for chunk in users.chunks(MEMBERS_PER_TRANSACTION) {
        Box::pin(user::retry_if_erased(|| remove_batch(store, tenant, group.channel, chunk))).await?;
    }
    Ok(group)
}

async fn remove_batch(store: &Store, tenant: &Tenant, channel: ChannelId, users: &[String]) -> Result<()> {
    let mut users: Vec<UserId> = user::find_existing(store, tenant, users).await?.into_values().collect();
    users.sort_unstable();
    subscriptions::sync_before_unsubscribing(store, tenant, &users, &[channel]).await?;
    let now = store.now();
    transaction!(store.db, |txn| subscriptions::end_subscriptions(txn, tenant, &users, &[channel], now).await.map(drop))
}

/// The number of members of each group.
pub async fn count_members(store: &Store, groups: &[ChannelId]) -> Result<HashMap<ChannelId, i64>> {
    let mut counts = HashMap::with_capacity(groups.len());
    for groups in groups.chunks(LIST) {
        let members = Subscription::find().filter(subscription::Column::ChannelId.is_in_list(&store.db.read, groups));
        let members = members.select_only().column(subscription::Column::ChannelId);
        let members = members.expr(subscription::Column::UserId.count()).group_by(subscription::Column::ChannelId);
        counts.extend(members.into_tuple::<(ChannelId, i64)>().all(&store.db.read).await?);
    }
    Ok(counts)
}

/// A page of a group's members, by user id, and whether more follow: a range of the index `subscription_channel_user`.
pub async fn list_members(store: &Store, group: ChannelId, slice: PageRange<UserId>) -> Result<(Vec<UserId>, bool)> {
    use subscription::Column::{ChannelId, UserId};
    let mut rows = Subscription::find().filter(ChannelId.eq(group)).limit(slice.many.saturating_add(1) as u64);
    if let Some(after) = slice.after {
        rows = rows.filter(UserId.gt(after));
    }
    if let Some(before) = slice.before {
        rows = rows.filter(UserId.lt(before));
    }
    let rows = match slice.from {
        ListEnd::First => rows.order_by_asc(UserId),
        ListEnd::Last => rows.order_by_desc(UserId),
    };
    Ok(slice.make_page(rows.select_only().column(UserId).into_tuple().all(&store.db.read).await?))
}

/// The groups that a user is in, by code.
pub async fn load_for_user(store: &Store, tenant: &Tenant, user: UserId) -> Result<Vec<GroupChannel>> {
    let groups = Subscription::of_user(user).join(JoinType::InnerJoin, subscription::Relation::Channel.def());
    let groups = groups.filter(Column::TenantId.eq(tenant.id)).filter(Column::Kind.eq(ChannelKind::Group));
    Ok(groups.order_by_asc(Column::Code).into_partial_model::<GroupChannel>().all(&store.db.read).await?)
}
