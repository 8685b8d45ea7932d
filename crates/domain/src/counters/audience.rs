//! Counts the audience of notifications: the subscribers of their channels at publication, regardless of preferences.
//!
//! Counting happens later. A user who unsubscribes before that leaves a row in `departure`, which is counted too.

use std::collections::HashMap;

use entity::ids::{Seq, TenantId};
use entity::notification::{self, Entity as Notification};
use entity::prelude::*;
use entity::tenant::{Column, Entity as Head};
use sea_orm::sea_query::ExprTrait;

use super::case_by_seq;
use super::queries::{
    AudienceCount, EveryoneAnnouncement, NewcomerCount, count_by_channel, count_newcomers, delete_counted_departures,
    select_everyone_announcements,
};
use crate::tenant::{self, Tenant, TenantFailures};
use base::clock::Millis;
use base::error::Result;
use store::{Store, transaction};

/// Log entries per step. Halved when a step takes too long.
const ENTRIES: i64 = 200;

/// Counts the audiences of all tenants' new publications, within a minute after they were published. Only channels are
/// counted here: the audience of a notification to named users was counted when it was sent.
pub(super) async fn count_audiences(store: &Store) -> Result<()> {
    let behind = Head::find().filter(Expr::col(Column::CountedSeq).lt(Expr::col(Column::LastSeq)));
    let behind = behind.select_only().column(Column::Id).into_tuple::<TenantId>();
    let behind = behind.all(&store.db.read).await?;
    if behind.is_empty() {
        return Ok(());
    }
    let mut failures = TenantFailures::default();
    for tenant in behind {
        failures.record_failure(store, tenant, count_for_tenant(store, tenant).await);
    }
    transaction!(store.db, |txn| delete_counted_departures(txn).execute(txn).await)?;
    failures.into_result()
}

async fn count_for_tenant(store: &Store, tenant: TenantId) -> Result<()> {
    let tenant = tenant::get_by_id(store, tenant).await?;
    let (mut most, mut is_more) = (ENTRIES, true);
    while is_more {
        is_more = match count_entries(store, &tenant, most).await {
            // There may be millions of subscribers.
            Err(error) if error.is_slow() && most > 1 => {
                most /= 2;
                true
            }
            counted => counted?,
        };
    }
    Ok(())
}

/// Counts the audiences of up to `most` log entries. Returns false once the end of the log is reached.
async fn count_entries(store: &Store, tenant: &Tenant, most: i64) -> Result<bool> {
    let db = &store.db.read;
    let head = Head::of_tenant(tenant.id).select_only().column(Column::CountedSeq).column(Column::LastSeq);
    let Some((after, last)) = head.into_tuple::<(Seq, Seq)>().one(db).await? else { return Ok(false) };
    let upto = Ord::min(last, store.gaps.read().advance(tenant.id, after, most));
    let counted = count_by_channel(db, tenant, (after, upto)).fetch_by_name::<AudienceCount>(db).await?;
    let mut sizes: HashMap<Seq, i64> = counted.into_iter().map(|of| (of.seq, of.size)).collect();
    let announced =
        select_everyone_announcements(db, tenant, (after, upto)).fetch_by_name::<EveryoneAnnouncement>(db).await?;
    for (seq, size) in everyone_sizes(db, tenant, &announced).await? {
        // Erased users are already counted, by their departures.
        *sizes.entry(seq).or_default() += size;
    }
    let sizes = Vec::from_iter(sizes);
    transaction!(store.db, |txn| {
        use notification::Column::{AudienceSize, Seq};
        // A channel without subscribers counts 0.
        let size = Notification::update_of_tenant(tenant.id).col_expr(AudienceSize, case_by_seq(&sizes));
        size.filter(AudienceSize.is_null()).filter(Seq.gt(after)).filter(Seq.lte(upto)).exec(txn).await?;
        let counted = Head::update_of_tenant(tenant.id).col_expr(Column::CountedSeq, Expr::val(upto));
        Ok(counted.filter(Column::CountedSeq.lt(upto)).exec(txn).await?)
    })?;
    Ok(upto < last)
}

/// For each announcement, how many of the existing users were known to the tenant when it was published. Announcements
/// are in the order of publication.
async fn everyone_sizes(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    of: &[EveryoneAnnouncement],
) -> Result<Vec<(Seq, i64)>> {
    if of.is_empty() {
        return Ok(Vec::new());
    }
    let instants: Vec<Millis> = of.iter().map(|announced| announced.published_at).collect();
    let newcomers = count_newcomers(db, tenant, &instants).fetch_by_name::<NewcomerCount>(db).await?;
    let newcomers: HashMap<i32, i64> = newcomers.into_iter().map(|of| (of.nth, of.many)).collect();
    let mut size = 0;
    let sizes = (0..).zip(of).map(|(nth, announced)| {
        size += newcomers.get(&nth).unwrap_or(&0);
        (announced.seq, size)
    });
    Ok(sizes.collect())
}
