//! Turns due dispatches into deliveries to the addresses of users who still need them, or schedules digests.

use entity::dispatch::{self, Column, Entity as Dispatches};
use entity::ids::UserId;
use entity::prelude::*;

use super::digest;
use super::queries::{AddressSelection, AddressedItem, AddressedUser, select_addressed_users, select_items};
use crate::destination::{DeliveryEvent, DestinationKind, Lease, NewDelivery, insert_deliveries};
use base::clock::Millis;
use base::error::Result;
use domain::inbox::sync;
use domain::notification::{self, NotificationState};
use domain::tenant::Tenant;
use domain::user::retry_if_erased;
use model::catalogue::DeliveryRule;
use store::{Store, Transaction, transaction};

/// Users per step.
const USERS: u64 = 500;

/// Processes one step of the first due dispatch. Returns whether there may be more, or `None` if the lease is lost.
///
/// Syncs the inboxes first, so that the result is what users would see now.
pub async fn fan_out(store: &Store, tenant: &Tenant, kind: DestinationKind, lease: Lease) -> Result<Option<bool>> {
    retry_if_erased(|| fan_out_next(store, tenant, kind, lease)).await
}

async fn fan_out_next(store: &Store, tenant: &Tenant, kind: DestinationKind, lease: Lease) -> Result<Option<bool>> {
    let now = store.now();
    let due = Dispatches::find().filter(Column::LaneId.eq(lease.destination)).filter(Column::DueAt.lte(now));
    let due = due.order_by_asc(Column::DueAt).order_by_asc(Column::Seq).limit(1);
    let Some(due) = due.one(&store.db.read).await? else { return Ok(Some(false)) };
    let of = notification::find_by_id(store, tenant, due.notification_id).await?;
    let of = of.filter(|of| of.status(now) == NotificationState::Published);
    let rule = of.as_ref().and_then(|of| of.message_type.delivery_rule(kind).cloned());
    let Some((of, rule)) = of.zip(rule) else {
        return record_step(store, tenant, lease, &due, FanOutStep::default(), None).await;
    };
    let next = select_addressed_users(&store.db.read, tenant, kind, (&of, due.seq), due.after_user, USERS);
    let users: Vec<UserId> =
        next.fetch_by_name::<AddressedUser>(&store.db.read).await?.into_iter().map(|of| of.user_id).collect();
    let last = users.last().copied().filter(|_| users.len() as u64 == USERS);
    sync::sync_to_end(store, tenant, &users).await?;
    let found = find_recipients(store, tenant, &due, &rule, &users).await?;
    record_step(store, tenant, lease, &due, found, last).await
}

/// The result of a step.
#[derive(Default)]
struct FanOutStep {
    told: Vec<NewDelivery>,
    /// Users who get a digest instead, and when.
    digests: Vec<(UserId, Millis)>,
}

/// The addresses that get the item, or the users who get it in their digest.
async fn find_recipients(
    store: &Store,
    tenant: &Tenant,
    of: &dispatch::Model,
    rule: &DeliveryRule,
    users: &[UserId],
) -> Result<FanOutStep> {
    if users.is_empty() {
        return Ok(FanOutStep::default());
    }
    let now = store.now();
    let items = select_items(&store.db.read, tenant, rule.kind, AddressSelection::Users(users), &[of.seq], now);
    let items =
        items.fetch_by_name::<AddressedItem>(&store.db.read).await?.into_iter().filter(|item| item.is_wanted(rule));
    if rule.digest {
        let digests = items.filter_map(|item| Some((item.user_id, item.hours.parse().digest_after(now)?)));
        return Ok(FanOutStep { digests: digests.collect(), ..FanOutStep::default() });
    }
    let told = |item: AddressedItem| NewDelivery {
        event: DeliveryEvent::Published,
        contact: item.contact_id,
        subject: of.notification_id,
        seq: Some(of.seq),
        at: of.due_at,
        due_at: of.due_at,
    };
    Ok(FanOutStep { told: items.map(told).collect(), ..FanOutStep::default() })
}

/// Records a step: its deliveries and digests, and how far it got in the audience, or that the dispatch is done.
async fn record_step(
    store: &Store,
    tenant: &Tenant,
    lease: Lease,
    of: &dispatch::Model,
    found: FanOutStep,
    last: Option<UserId>,
) -> Result<Option<bool>> {
    transaction!(store.db, |txn| {
        let now = store.now();
        if lease.lock_destination(txn, now).await?.is_none() {
            return Ok(None);
        }
        insert_deliveries(txn, tenant, lease.destination, found.told.clone(), now).await?;
        digest::schedule_digests(txn, tenant, of, &found.digests).await?;
        match last {
            Some(last) => {
                let on = Dispatches::update_many().col_expr(Column::AfterUser, Expr::val(last));
                on.filter(Column::LaneId.eq(of.lane_id)).filter(Column::Seq.eq(of.seq)).exec(txn).await?;
            }
            None => delete_dispatch(txn, of).await?,
        }
        Ok(Some(true))
    })
}

/// Keeps the rows of `recipient`: other destinations may still need them.
async fn delete_dispatch(txn: &Transaction, of: &dispatch::Model) -> Result<()> {
    let done = Dispatches::delete_many().filter(Column::LaneId.eq(of.lane_id)).filter(Column::Seq.eq(of.seq));
    done.exec(txn).await?;
    Ok(())
}
