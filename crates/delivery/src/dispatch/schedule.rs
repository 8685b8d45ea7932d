//! Schedules dispatches for new log entries.

use entity::dispatch::{Column, Entity as Dispatches};
use entity::ids::{Seq, TypeId};
use entity::notification::{self, Entity as Notifications};
use entity::prelude::*;

use crate::destination::{Destination, LogRange};
use base::clock::Millis;
use base::error::Result;
use domain::catalogue;
use domain::tenant::Tenant;
use store::{Store, Transaction};

/// Inserts a row for each publication of a type with a rule, for any audience: a range of `notification_seq`.
pub async fn schedule_dispatches(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    of: &Destination,
    part: LogRange,
) -> Result<()> {
    use notification::Column as Published;
    let catalogue = catalogue::load_current(store, tenant).await?;
    if catalogue.types.iter().all(|kind| kind.delivery_rule(of.kind).is_none()) {
        return Ok(());
    }
    let rows = Notifications::of_tenant(tenant.id).filter(Published::Seq.gt(part.after));
    let rows = rows.filter(Published::Seq.lte(part.upto)).order_by_asc(Published::Seq).select_only();
    let rows = rows.columns([Published::Id, Published::Seq, Published::TypeId, Published::PublishedAt]);
    let rows = rows.into_tuple::<(i64, Seq, TypeId, Option<Millis>)>().all(txn).await?;
    let due = |(id, seq, of_type, published_at): (i64, Seq, TypeId, Option<Millis>)| {
        let rule = catalogue.type_by_id(of_type)?.delivery_rule(of.kind)?;
        let due_at = published_at.unwrap_or(part.now) + rule.delay_seconds * 1000;
        Some([of.id.into(), seq.into(), tenant.id.into(), id.into(), due_at.into()])
    };
    let columns = [Column::LaneId, Column::Seq, Column::TenantId, Column::NotificationId, Column::DueAt];
    insert(txn, columns, rows.into_iter().filter_map(due).collect(), ExistingRows::Kept).await?;
    Ok(())
}

/// When the destination's first dispatch is due: the beginning of a range of `dispatch_due_at`.
pub async fn first_due_at(txn: &Transaction, destination: i64) -> Result<Option<Millis>> {
    let first = Dispatches::find().filter(Column::LaneId.eq(destination)).order_by_asc(Column::DueAt).limit(1);
    Ok(first.select_only().column(Column::DueAt).into_tuple().one(txn).await?)
}
