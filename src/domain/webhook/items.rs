//! What users have read, as endpoints are told of it.

use std::collections::HashMap;

use entity::ids::{Seq, UserId};
use entity::notification::{Column as Sent, Entity as Notifications};
use entity::prelude::*;
use entity::webhook_batch::{Column, Entity as Batches};

use crate::app::App;
use crate::clock::Millis;
use crate::database::transaction;
use crate::domain::tenant::Tenant;
use crate::domain::user;
use crate::error::{Error, Result};

/// That somebody has read something.
#[derive(Debug)]
pub(super) struct Read {
    pub notification: i64,
    /// The partner's own id.
    pub user: String,
    pub at: Millis,
}

/// Batches by their rows, as far as there is something to say: without users who were erased, and what is not kept any more.
pub(super) async fn batches(app: &App, tenant: &Tenant, ids: &[i64]) -> Result<HashMap<i64, Vec<Read>>> {
    let mut batches = HashMap::with_capacity(ids.len());
    for &id in ids {
        let Some(items) = items(app, tenant, id).await? else { continue };
        let read = read(app, tenant, &items).await?;
        if !read.is_empty() {
            batches.insert(id, read);
        }
    }
    Ok(batches)
}

async fn items(app: &App, tenant: &Tenant, id: i64) -> Result<Option<Vec<(UserId, Seq, Millis)>>> {
    let items = Batches::of_tenant(tenant.id).filter(Column::Id.eq(id)).select_only().column(Column::Items);
    let items = items.into_tuple::<String>().one(&app.db.read).await?;
    items.map(|items| serde_json::from_str(&items).map_err(Error::internal)).transpose()
}

async fn read(app: &App, tenant: &Tenant, items: &[(UserId, Seq, Millis)]) -> Result<Vec<Read>> {
    let (mut users, mut seqs): (Vec<UserId>, Vec<Seq>) = items.iter().map(|(user, seq, _)| (*user, *seq)).unzip();
    users.sort_unstable();
    users.dedup();
    seqs.sort_unstable();
    seqs.dedup();
    let users = user::profiles(app, tenant, &users).await?;
    let sent = Notifications::of_tenant(tenant.id).filter(Sent::Seq.among(&app.db.read, &seqs));
    let sent = sent.select_only().columns([Sent::Seq, Sent::Id]).into_tuple::<(Seq, i64)>().all(&app.db.read).await?;
    let sent: HashMap<Seq, i64> = sent.into_iter().collect();
    let one = |(user, seq, at): &(UserId, Seq, Millis)| {
        let user = users.get(user)?.external_id.clone();
        Some(Read { notification: *sent.get(seq)?, user, at: *at })
    };
    Ok(items.iter().filter_map(one).collect())
}

/// Deletes a tenant's batches that were made before an instant, in steps, as their deliveries are.
pub async fn sweep(app: &App, tenant: &Tenant, before: Millis) -> Result<()> {
    loop {
        let many = transaction!(app.db, |txn| {
            let first = Batches::of_tenant(tenant.id).order_by_asc(Column::Id).limit(LIST as u64).select_only();
            let first = first.columns([Column::Id, Column::CreatedAt]).into_tuple::<(i64, Millis)>().all(txn).await?;
            let old = first.iter().take_while(|(_, created_at)| *created_at < before);
            let old: Vec<i64> = old.map(|(id, _)| *id).collect();
            Ok(Batches::delete_many().filter(Column::Id.among(txn, &old)).exec(txn).await?.rows_affected)
        })?;
        if many < LIST as u64 {
            return Ok(());
        }
    }
}
