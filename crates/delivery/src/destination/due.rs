//! Reads due deliveries.

use std::collections::HashSet;

use entity::delivery::{Column, Entity as Deliveries};
use entity::prelude::*;

use super::{Delivery, DeliveryState};
use base::error::Result;
use store::Store;

/// Up to `many` due deliveries of a destination, without those in `in_hand`. First attempts come before retries, so
/// that retries never delay new deliveries. Two ranges of `delivery_due_at`.
pub(super) async fn load_due(
    store: &Store,
    destination: i64,
    in_hand: &HashSet<i64>,
    many: usize,
) -> Result<Vec<Delivery>> {
    let mut found = Vec::new();
    for state in [DeliveryState::Fresh, DeliveryState::Retrying] {
        let of = Deliveries::find().filter(Column::LaneId.eq(destination)).filter(Column::State.eq(state));
        let of = of.filter(Column::DueAt.lte(store.now())).order_by_asc(Column::DueAt).order_by_asc(Column::Id);
        let rows = of.limit((many + in_hand.len()) as u64).all(&store.db.read).await?;
        found.extend(rows.into_iter().filter(|of| !in_hand.contains(&of.id)));
        if found.len() >= many {
            break;
        }
    }
    found.truncate(many);
    Ok(found)
}
