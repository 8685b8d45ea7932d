//! Turns log entries into deliveries.

use std::collections::HashMap;

use entity::amendment::{self, Entity as Amendments};
use entity::delivery::{Column, Entity as Deliveries};
use entity::ids::Seq;
use entity::notification::{self, Entity as Notifications};
use entity::prelude::*;

use super::{DeliveryEvent, DeliveryState, Endpoint};
use crate::destination::{LogRange, NewDelivery, insert_deliveries};
use base::clock::Millis;
use base::error::Result;
use domain::tenant::Tenant;
use store::Transaction;

/// Inserts the deliveries for a part of the log.
pub(super) async fn schedule_deliveries(
    txn: &Transaction,
    tenant: &Tenant,
    of: &Endpoint,
    part: LogRange,
) -> Result<()> {
    let mut told = publication_deliveries(txn, tenant, of, part).await?;
    told.extend(amendment_deliveries(txn, tenant, of, part).await?);
    insert_deliveries(txn, tenant, of.id, told, part.now).await
}

fn is_subscribed(of: &Endpoint, event: DeliveryEvent) -> bool {
    of.events & event.bit() != 0
}

/// The publications in a part of the log: a range of `notification_seq`.
async fn publication_deliveries(
    txn: &Transaction,
    tenant: &Tenant,
    of: &Endpoint,
    LogRange { after, upto, now }: LogRange,
) -> Result<Vec<NewDelivery>> {
    use notification::Column;
    if !is_subscribed(of, DeliveryEvent::Published) && !is_subscribed(of, DeliveryEvent::Expired) {
        return Ok(Vec::new());
    }
    let rows = Notifications::of_tenant(tenant.id).filter(Column::Seq.gt(after)).filter(Column::Seq.lte(upto));
    let rows = rows.order_by_asc(Column::Seq).select_only();
    let rows = rows.columns([Column::Id, Column::Seq, Column::PublishedAt, Column::ExpiresAt]);
    let rows = rows.into_tuple::<(i64, Seq, Option<Millis>, Option<Millis>)>().all(txn).await?;
    let mut told = Vec::with_capacity(rows.len());
    for (subject, seq, published_at, expires_at) in rows {
        if is_subscribed(of, DeliveryEvent::Published) {
            let at = published_at.unwrap_or(now);
            told.push(NewDelivery {
                event: DeliveryEvent::Published,
                contact: 0,
                subject,
                seq: Some(seq),
                at,
                due_at: now,
            });
        }
        told.extend(expiry_delivery(of, (subject, seq), expires_at));
    }
    Ok(told)
}

fn expiry_delivery(of: &Endpoint, (subject, seq): (i64, Seq), expires_at: Option<Millis>) -> Option<NewDelivery> {
    let at = expires_at.filter(|_| is_subscribed(of, DeliveryEvent::Expired))?;
    Some(NewDelivery { event: DeliveryEvent::Expired, contact: 0, subject, seq: Some(seq), at, due_at: at })
}

/// The retractions and changed expiries in a part of the log: a range of `amendment`'s key, and a probe of
/// `notification_seq` for each. A retracted notification gets one event, even if it was amended several times.
async fn amendment_deliveries(
    txn: &Transaction,
    tenant: &Tenant,
    of: &Endpoint,
    LogRange { after, upto, now }: LogRange,
) -> Result<Vec<NewDelivery>> {
    use amendment::Column::{Seq as At, SubjectSeq};
    use notification::Column;
    if ![DeliveryEvent::Retracted, DeliveryEvent::Amended, DeliveryEvent::Expired]
        .into_iter()
        .any(|event| is_subscribed(of, event))
    {
        return Ok(Vec::new());
    }
    let entries = Amendments::of_tenant(tenant.id).filter(At.gt(after)).filter(At.lte(upto)).order_by_asc(At);
    let entries = entries.select_only().columns([At, SubjectSeq]).into_tuple::<(Seq, Seq)>().all(txn).await?;
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let subjects: Vec<Seq> = entries.iter().map(|(_, subject)| *subject).collect();
    let rows = Notifications::of_tenant(tenant.id).filter(Column::Seq.is_in_list(txn, &subjects)).select_only();
    let rows = rows.columns([Column::Seq, Column::Id, Column::RetractedAt, Column::ExpiresAt]);
    let rows = rows.into_tuple::<(Seq, i64, Option<Millis>, Option<Millis>)>().all(txn).await?;
    let known: HashMap<Seq, _> =
        rows.into_iter().map(|(seq, id, retracted, expires)| (seq, (id, retracted, expires))).collect();
    let mut told = Vec::with_capacity(entries.len());
    for (seq, of_seq) in entries {
        let Some((subject, retracted_at, expires_at)) = known.get(&of_seq).copied() else { continue };
        let entry = |event, seq, at| NewDelivery { event, contact: 0, subject, seq: Some(seq), at, due_at: now };
        if let Some(at) = retracted_at {
            told.extend(
                is_subscribed(of, DeliveryEvent::Retracted).then(|| entry(DeliveryEvent::Retracted, of_seq, at)),
            );
        } else {
            told.extend(is_subscribed(of, DeliveryEvent::Amended).then(|| entry(DeliveryEvent::Amended, seq, now)));
            told.extend(expiry_delivery(of, (subject, of_seq), expires_at));
        }
    }
    for moved in told.iter().filter(|told| told.event == DeliveryEvent::Expired) {
        move_expiry(txn, of, moved).await?;
    }
    Ok(told)
}

/// Moves the due time of a delivery that waits for its notification to expire.
async fn move_expiry(txn: &Transaction, of: &Endpoint, to: &NewDelivery) -> Result<()> {
    let moved = Deliveries::update_many().col_expr(Column::DueAt, Expr::val(to.due_at));
    let moved = moved.col_expr(Column::HappenedAt, Expr::val(to.at)).filter(Column::LaneId.eq(of.id));
    let moved = moved.filter(Column::Event.eq(DeliveryEvent::Expired)).filter(Column::Seq.eq(to.seq));
    moved.filter(Column::State.eq(DeliveryState::Fresh)).exec(txn).await?;
    Ok(())
}
