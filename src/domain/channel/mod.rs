//! Channels: notifications are published to them, and users listen to them.
//!
//! Subscribing to a target, following a user and being in a group are the same thing: a row of `subscription`.

mod close;
mod follow;
mod group;
mod listen;
mod permit;
mod statement;
mod sweep;
mod target;

use std::collections::HashMap;

use entity::channel::{Column, Entity as Channel};
use entity::group_subscription;
use entity::ids::ChannelId;
use entity::prelude::*;

use super::tenant::Tenant;
use crate::database::Transaction;
use crate::error::{Error, Result};

pub use entity::channel::Kind;

pub use crate::model::channel::{Code, Target};
pub use close::{close_actor, step as close_step};
pub use follow::{follow, following, unfollow};
pub use group::{
    Group, add_members, all as groups, delete as delete_group, find as find_group, find_by_channel as group_by_channel,
    held as held_groups, member_counts, members as group_members, named as named_groups, of_user as groups_of,
    remove_members, save as save_group,
};
pub use statement::{Members, members};
pub use sweep::sweep;
pub use target::{
    Choice, Listener, Subscribed, Subscriber, TopicSubscription, resolve_actions, subscribe, subscribe_all,
    subscription, subscriptions, unsubscribe, would_subscribe,
};

/// The channels that reminders for one channel are published to: itself, and the groups that subscribe to it.
#[derive(Clone, Debug)]
pub struct Audience {
    pub channel: ChannelId,
    pub groups: Vec<ChannelId>,
}

/// The existing ones of these target and actor channels; others have no listeners. One statement per kind and 1,000.
pub async fn audiences(db: &impl ConnectionTrait, tenant: &Tenant, codes: &[Code]) -> Result<HashMap<Code, Audience>> {
    let mut audiences: HashMap<Code, Audience> = HashMap::new();
    for kind in [Kind::Target, Kind::Actor] {
        let wanted: HashMap<String, &Code> =
            codes.iter().filter(|code| code.kind() == kind).map(|code| (code.text(), code)).collect();
        let texts: Vec<&str> = wanted.keys().map(String::as_str).collect();
        for texts in texts.chunks(LIST) {
            let known =
                Channel::of_tenant(tenant.id).filter(Column::Kind.eq(kind)).filter(Column::Code.among(db, texts));
            let known = known.join(JoinType::LeftJoin, group_subscription::Relation::Target.def().rev());
            let known = known.select_only().column(Column::Id).column(Column::Code);
            let known = known.column(group_subscription::Column::GroupChannelId);
            let rows = known.into_tuple::<(ChannelId, String, Option<ChannelId>)>().all(db).await?;
            for (channel, text, group) in rows {
                let Some(code) = wanted.get(&text) else { continue };
                let audience = Audience { channel, groups: Vec::new() };
                audiences.entry((*code).clone()).or_insert(audience).groups.extend(group);
            }
        }
    }
    Ok(audiences)
}

/// The ids of channels of one kind, in the order of `codes`. Creates missing ones. Until the transaction ends, the
/// sweep cannot delete them, while other transactions can still open them.
async fn open(txn: &Transaction, tenant: &Tenant, codes: &[Code], now: i64) -> Result<Vec<ChannelId>> {
    let mut rows = hold(txn, tenant, codes).await?;
    let missing: Vec<&Code> = codes.iter().filter(|code| !rows.contains_key(&code.text())).collect();
    if !missing.is_empty() {
        let columns = [Column::TenantId, Column::Kind, Column::Code, Column::CreatedAt];
        let row = |code: &&Code| [tenant.id.into(), code.kind().into(), code.text().into(), now.into()];
        insert(txn, columns, missing.iter().map(row).collect(), Existing::Kept).await?;
        let missing: Vec<Code> = missing.into_iter().cloned().collect();
        rows.extend(hold(txn, tenant, &missing).await?);
    }
    let vanished = || Error::Unavailable("a channel is being deleted, try again in a moment".into());
    codes.iter().map(|code| rows.get(&code.text()).copied().ok_or_else(vanished)).collect()
}

/// The ids of the existing channels of one kind, by code. Locks their rows against deletion.
async fn hold(txn: &Transaction, tenant: &Tenant, codes: &[Code]) -> Result<HashMap<String, ChannelId>> {
    let Some(kind) = codes.first().map(Code::kind) else { return Ok(HashMap::new()) };
    let texts: Vec<String> = codes.iter().map(Code::text).collect();
    let mut rows = HashMap::with_capacity(codes.len());
    for texts in texts.chunks(LIST) {
        let known = Channel::of_tenant(tenant.id).filter(Column::Kind.eq(kind)).filter(Column::Code.among(txn, texts));
        // Selects all columns. If `channel_code` covered them, MySQL would lock that index entry and not the row.
        for channel in known.order_by_asc(Column::Id).for_share().all(txn).await? {
            rows.insert(channel.code, channel.id);
        }
    }
    Ok(rows)
}
