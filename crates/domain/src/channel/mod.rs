//! Channels: notifications are published to them, and users listen to them.
//!
//! Subscribing to a target, following a user and being in a group are the same thing: a row of `subscription`.

mod close;
mod follow;
mod group;
mod permit;
mod queries;
mod subscriptions;
mod sweep;
mod target_subscription;

use std::collections::HashMap;

pub use entity::channel::ChannelKind;
use entity::channel::{Column, Entity as Channel};
use entity::group_subscription;
use entity::ids::ChannelId;
use entity::prelude::*;

use super::tenant::Tenant;
use base::error::{Error, Result};
pub use close::{close_actor_channel, run_step as close_step};
pub use follow::{follow, list_following, unfollow};
pub use group::{
    GroupChannel, add_members, count_members, delete as delete_group, find as find_group,
    find_by_channel as find_group_by_channel, find_by_codes as find_groups, list_members as list_group_members,
    load_all as load_groups, load_for_user as load_groups_of_user, lock_by_codes as lock_groups, remove_members,
    save as save_group,
};
pub use model::channel::{ActionTarget, ChannelCode};
pub use queries::{MembershipCounts, count_memberships};
use store::Transaction;
pub use sweep::sweep;
pub use target_subscription::{
    ActionChoice, ListenerId, SubscribeOutcome, SubscriptionRequest, TopicSubscription, count_new_subscriptions,
    find_subscription, list_subscriptions, resolve_actions, subscribe, subscribe_all, unsubscribe,
};

/// The channels that reminders for one channel are published to: itself, and the groups that subscribe to it.
#[derive(Clone, Debug)]
pub struct ChannelAudience {
    pub channel: ChannelId,
    pub groups: Vec<ChannelId>,
}

/// The existing ones of these target and actor channels; others have no listeners. One statement per kind and 1,000.
pub async fn find_audiences(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    codes: &[ChannelCode],
) -> Result<HashMap<ChannelCode, ChannelAudience>> {
    let mut audiences: HashMap<ChannelCode, ChannelAudience> = HashMap::new();
    for kind in [ChannelKind::Target, ChannelKind::Actor] {
        let wanted: HashMap<String, &ChannelCode> =
            codes.iter().filter(|code| code.kind() == kind).map(|code| (code.stored_form(), code)).collect();
        let texts: Vec<&str> = wanted.keys().map(String::as_str).collect();
        for texts in texts.chunks(LIST) {
            let known =
                Channel::of_tenant(tenant.id).filter(Column::Kind.eq(kind)).filter(Column::Code.is_in_list(db, texts));
            let known = known.join(JoinType::LeftJoin, group_subscription::Relation::Target.def().rev());
            let known = known.select_only().column(Column::Id).column(Column::Code);
            let known = known.column(group_subscription::Column::GroupChannelId);
            let rows = known.into_tuple::<(ChannelId, String, Option<ChannelId>)>().all(db).await?;
            for (channel, text, group) in rows {
                let Some(code) = wanted.get(&text) else { continue };
                let audience = ChannelAudience { channel, groups: Vec::new() };
                audiences.entry((*code).clone()).or_insert(audience).groups.extend(group);
            }
        }
    }
    Ok(audiences)
}

/// The ids of channels of one kind, in the order of `codes`. Creates missing ones. Until the transaction ends, the
/// sweep cannot delete them, while other transactions can still open them.
async fn open_channels(txn: &Transaction, tenant: &Tenant, codes: &[ChannelCode], now: i64) -> Result<Vec<ChannelId>> {
    let mut rows = lock_channels(txn, tenant, codes).await?;
    let missing: Vec<&ChannelCode> = codes.iter().filter(|code| !rows.contains_key(&code.stored_form())).collect();
    if !missing.is_empty() {
        let columns = [Column::TenantId, Column::Kind, Column::Code, Column::CreatedAt];
        let row = |code: &&ChannelCode| [tenant.id.into(), code.kind().into(), code.stored_form().into(), now.into()];
        insert(txn, columns, missing.iter().map(row).collect(), ExistingRows::Kept).await?;
        let missing: Vec<ChannelCode> = missing.into_iter().cloned().collect();
        rows.extend(lock_channels(txn, tenant, &missing).await?);
    }
    let vanished = || Error::Unavailable("a channel is being deleted, try again in a moment".into());
    codes.iter().map(|code| rows.get(&code.stored_form()).copied().ok_or_else(vanished)).collect()
}

/// The ids of the existing channels of one kind, by code. Locks their rows against deletion.
async fn lock_channels(
    txn: &Transaction,
    tenant: &Tenant,
    codes: &[ChannelCode],
) -> Result<HashMap<String, ChannelId>> {
    let Some(kind) = codes.first().map(ChannelCode::kind) else { return Ok(HashMap::new()) };
    let texts: Vec<String> = codes.iter().map(ChannelCode::stored_form).collect();
    let mut rows = HashMap::with_capacity(codes.len());
    for texts in texts.chunks(LIST) {
        let known =
            Channel::of_tenant(tenant.id).filter(Column::Kind.eq(kind)).filter(Column::Code.is_in_list(txn, texts));
        // Selects all columns. If `channel_code` covered them, MySQL would lock that index entry and not the row.
        for channel in known.order_by_asc(Column::Id).for_share().all(txn).await? {
            rows.insert(channel.code, channel.id);
        }
    }
    Ok(rows)
}
