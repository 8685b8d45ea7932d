//! Sends dead or delivered deliveries again.

use entity::delivery::{Column, Entity as Deliveries};
use entity::prelude::*;

use super::disable::mark_due;
use super::{Delivery, DeliveryEvent, DeliveryState};
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use model::validate;
use store::{Store, Transaction, transaction};

/// The most deliveries of one call.
const MOST: usize = 100_000;

/// Which deliveries to send again.
#[derive(Clone, Debug)]
pub enum ReplaySelection {
    /// Those of these ids that are dead or delivered; at most 1,000 ids.
    Ids(Vec<i64>),
    /// All dead deliveries of a destination, or those since a time; at most 100,000, the longest due first.
    Dead { destination: i64, since: Option<Millis> },
}

/// Makes deliveries due now under the same ids, with the count of attempts reset. Returns how many. Skips pings.
/// Deliveries past the retention window no longer exist.
pub async fn replay_deliveries(store: &Store, tenant: &Tenant, which: ReplaySelection) -> Result<usize> {
    match which {
        ReplaySelection::Ids(ids) => {
            validate::at_most("select.ids", ids.len(), LIST)?;
            transaction!(store.db, |txn| {
                let done = Column::State.is_in_list(txn, &[DeliveryState::Delivered, DeliveryState::Dead]);
                let of = Deliveries::of_tenant(tenant.id).filter(Column::Id.is_in_list(txn, &ids)).filter(done);
                reset_deliveries(txn, store, tenant, of.filter(Column::Event.ne(DeliveryEvent::Ping)).all(txn).await?)
                    .await
            })
        }
        ReplaySelection::Dead { destination, since } => {
            let mut replayed = 0;
            // A delivery that is dead again during this call has a later due time, so it is replayed once.
            let began = store.now();
            while replayed < MOST {
                let step = LIST.min(MOST - replayed);
                let many = transaction!(store.db, |txn| {
                    let mut of = Deliveries::of_tenant(tenant.id).filter(Column::LaneId.eq(destination));
                    of = of.filter(Column::State.eq(DeliveryState::Dead)).filter(Column::Event.ne(DeliveryEvent::Ping));
                    of = of.filter(Column::DueAt.lte(began));
                    if let Some(since) = since {
                        of = of.filter(Column::HappenedAt.gte(since));
                    }
                    let some = of.order_by_asc(Column::DueAt).order_by_asc(Column::Id).limit(step as u64);
                    reset_deliveries(txn, store, tenant, some.all(txn).await?).await
                })?;
                replayed += many;
                if many < step {
                    break;
                }
            }
            Ok(replayed)
        }
    }
}

async fn reset_deliveries(txn: &Transaction, store: &Store, tenant: &Tenant, all: Vec<Delivery>) -> Result<usize> {
    if all.is_empty() {
        return Ok(0);
    }
    let now = store.now();
    let mut destinations: Vec<i64> = all.iter().map(|of| of.lane_id).collect();
    destinations.sort_unstable();
    destinations.dedup();
    // Locks destinations before deliveries, as the delivery loop does.
    mark_due(txn, tenant.id, &destinations, now).await?;
    let ids: Vec<i64> = all.iter().map(|of| of.id).collect();
    let to = Deliveries::update_many().col_expr(Column::State, Expr::val(DeliveryState::Fresh));
    let to = to.col_expr(Column::DueAt, Expr::val(now)).col_expr(Column::Attempts, Expr::val(0_i64));
    let to = to.col_expr(Column::FirstTriedAt, Expr::val(None::<Millis>));
    to.filter(Column::Id.is_in_list(txn, &ids)).exec(txn).await?;
    Ok(all.len())
}
