//! Polls the database once a second for changes without a notice.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use entity::ids::{Seq, TenantId};
use entity::prelude::*;
use entity::{notification, tenant};

use super::event::RoomEvent;
use super::rooms::LiveRooms;
use base::clock::Millis;
use base::error::Result;
use store::Store;

/// Reads the end of the log and the catalogue version of every tenant with connected users, in case a notice was lost,
/// and what expired since the last poll. Two statements per thousand tenants.
pub async fn poll_changes(store: &Store, live: &LiveRooms) -> Result<()> {
    let now = store.now();
    let tenants: Vec<TenantId> = live.rooms.lock().keys().copied().collect();
    if tenants.is_empty() {
        live.expired_upto.store(now, Ordering::Relaxed);
        return Ok(());
    }
    for tenants in tenants.chunks(LIST) {
        poll_tenants((store, live), tenants, now).await?;
    }
    live.expired_upto.store(now, Ordering::Relaxed);
    Ok(())
}

async fn poll_tenants((store, live): (&Store, &LiveRooms), tenants: &[TenantId], now: Millis) -> Result<()> {
    use tenant::Column;
    let db = &store.db.read;
    let heads = tenant::Entity::find().filter(Column::Id.is_in_list(db, tenants)).select_only();
    let heads = heads.columns([Column::Id, Column::LastSeq, Column::CatalogueVersion]);
    for (tenant, last_seq, catalogue_version) in heads.into_tuple().all(db).await? {
        live.send_event(tenant, RoomEvent::Head { last_seq, catalogue_version });
    }
    let mut gone: HashMap<TenantId, Vec<Seq>> = HashMap::new();
    for (tenant, seq) in find_expired(store, tenants, (live.expired_upto.load(Ordering::Relaxed), now)).await? {
        gone.entry(tenant).or_default().push(seq);
    }
    for tenant in tenants {
        let seqs = gone.remove(tenant).unwrap_or_default();
        live.send_event(*tenant, RoomEvent::Expired { seqs, upto: now });
    }
    Ok(())
}

/// The notifications that expired after the first time, up to the second.
pub(super) async fn find_expired(
    store: &Store,
    tenants: &[TenantId],
    (after, upto): (Millis, Millis),
) -> Result<Vec<(TenantId, Seq)>> {
    use notification::Column;
    let expired = notification::Entity::find().filter(Column::ExpiresAt.gt(after)).filter(Column::ExpiresAt.lte(upto));
    let expired =
        expired.filter(Column::Seq.is_not_null()).filter(Column::TenantId.is_in_list(&store.db.read, tenants));
    let expired = expired.select_only().column(Column::TenantId).column(Column::Seq);
    Ok(expired.into_tuple().all(&store.db.read).await?)
}
