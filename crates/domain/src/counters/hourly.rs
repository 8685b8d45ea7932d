//! Counters by hour.

use std::collections::HashMap;

use entity::ids::{Seq, TenantId};
use entity::notification::{self, Entity as Notification, NotificationKind};
use entity::prelude::*;
use entity::tally_hour::{self, Column, Entity as TallyHour};

use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use store::{Store, Transaction};

/// Milliseconds per hour.
const HOUR: Millis = 60 * 60 * 1000;

/// The most hours of a notification that are returned: the first ones.
pub const HOURS: usize = 1000;

/// The changes of the counters in one hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourlyCounts {
    /// When the hour began.
    pub at: Millis,
    /// How many more inboxes received the notification.
    pub delivered: i64,
    /// How many more users have read it. Negative if more of them marked it unread.
    pub was_read: i64,
}

/// Adds counts to the current hour. Leaves out messages, since they have one recipient.
pub(super) async fn add_to_hour(
    txn: &Transaction,
    tenant: TenantId,
    sums: &[(Seq, (i64, i64))],
    now: Millis,
) -> Result<()> {
    let seqs: Vec<Seq> = sums.iter().map(|(seq, _)| *seq).collect();
    let for_many = Notification::of_tenant(tenant).filter(notification::Column::Seq.is_in_list(txn, &seqs));
    let for_many = for_many.filter(notification::Column::Kind.ne(NotificationKind::Message)).select_only();
    let for_many: Vec<Seq> = for_many.column(notification::Column::Seq).into_tuple().all(txn).await?;
    let row = |(seq, (delivered, was_read)): &(Seq, (i64, i64))| {
        [tenant.into(), (*seq).into(), (now / HOUR).into(), (*delivered).into(), (*was_read).into()]
    };
    let rows = sums.iter().filter(|(seq, _)| for_many.contains(seq)).map(row).collect();
    let columns = [Column::TenantId, Column::Seq, Column::Hour, Column::Delivered, Column::WasRead];
    let summed = ExistingRows::Summed { key: &columns[..3], summed: &columns[3..] };
    insert(txn, columns, rows, summed).await?;
    Ok(())
}

/// The hours with changes for each notification, oldest first: a range of the key for each.
pub async fn load_hours(store: &Store, tenant: &Tenant, seqs: &[Seq]) -> Result<HashMap<Seq, Vec<HourlyCounts>>> {
    let mut all: HashMap<Seq, Vec<HourlyCounts>> = HashMap::new();
    for seqs in seqs.chunks(LIST) {
        let rows = TallyHour::of_tenant(tenant.id).filter(Column::Seq.is_in_list(&store.db.read, seqs));
        let rows = rows.order_by_asc(Column::Seq).order_by_asc(Column::Hour);
        for tally_hour::Model { seq, hour, delivered, was_read, .. } in rows.all(&store.db.read).await? {
            let of = all.entry(seq).or_default();
            if of.len() < HOURS {
                of.push(HourlyCounts { at: hour * HOUR, delivered, was_read });
            }
        }
    }
    Ok(all)
}
