//! Writes the `item.read` webhooks, in batches, when readings are counted, so that each is sent once and none is lost.

use std::collections::BTreeMap;

use entity::delivery::{self, DeliveryEvent, Entity as Deliveries};
use entity::destination::{Column, DestinationKind, Entity as Destinations};
use entity::ids::{Seq, TenantId, UserId};
use entity::prelude::*;
use entity::tally;
use entity::webhook_batch::{self, Entity as Batches};

use base::clock::Millis;
use base::error::{Error, Result};
use store::Transaction;

/// Items per batch.
const ITEMS: usize = 1000;

/// Writes batches of the readings in tallies, and a delivery for each endpoint that subscribes to `item.read`.
///
/// Call it before locking notifications: amendments lock endpoints first, too.
pub(super) async fn write_read_webhooks(txn: &Transaction, tallies: &[tally::Model], now: Millis) -> Result<()> {
    let mut read: BTreeMap<TenantId, Vec<(UserId, Seq, Millis)>> = BTreeMap::new();
    for of in tallies.iter().filter(|of| of.was_read > 0 && of.reader_id > UserId(0)) {
        read.entry(of.tenant_id).or_default().push((of.reader_id, of.seq, of.happened_at));
    }
    for (tenant, items) in read {
        let endpoints = wake_endpoints(txn, tenant, now).await?;
        if endpoints.is_empty() {
            continue;
        }
        for items in items.chunks(ITEMS) {
            let batch = webhook_batch::ActiveModel {
                tenant_id: Set(tenant),
                items: Set(serde_json::to_string(items).map_err(Error::internal)?),
                created_at: Set(now),
                ..Default::default()
            };
            let batch = Batches::insert(batch).exec(txn).await?.last_insert_id;
            insert_deliveries(txn, tenant, &endpoints, batch, now).await?;
        }
    }
    Ok(())
}

/// The tenant's endpoints that subscribe to `item.read`. They are due from now on.
async fn wake_endpoints(txn: &Transaction, tenant: TenantId, now: Millis) -> Result<Vec<i64>> {
    let all = Destinations::of_tenant(tenant)
        .filter(Column::Kind.eq(DestinationKind::Webhook))
        .order_by_asc(Column::Id)
        .select_only();
    let all = all.columns([Column::Id, Column::Events]).into_tuple::<(i64, i64)>().all(txn).await?;
    let wanting = all.into_iter().filter(|(_, events)| events & DeliveryEvent::Read.bit() != 0);
    let wanting: Vec<i64> = wanting.map(|(endpoint, _)| endpoint).collect();
    if !wanting.is_empty() {
        let due = Destinations::update_of_tenant(tenant).col_expr(Column::DueAt, Expr::val(now));
        due.filter(Column::Id.is_in_list(txn, &wanting)).exec(txn).await?;
    }
    Ok(wanting)
}

async fn insert_deliveries(
    txn: &Transaction,
    tenant: TenantId,
    endpoints: &[i64],
    batch: i64,
    now: Millis,
) -> Result<()> {
    let row = |endpoint: &i64| delivery::ActiveModel {
        tenant_id: Set(tenant),
        lane_id: Set(*endpoint),
        event: Set(DeliveryEvent::Read),
        subject_id: Set(Some(batch)),
        happened_at: Set(now),
        state: Set(delivery::DeliveryState::Fresh),
        due_at: Set(now),
        created_at: Set(now),
        ..Default::default()
    };
    Deliveries::insert_many(endpoints.iter().map(row)).exec_without_returning(txn).await?;
    Ok(())
}
