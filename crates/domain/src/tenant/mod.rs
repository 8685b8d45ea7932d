//! Tenants: the unit of isolation. A tenant is created when a token first names it.

mod queries;

use std::sync::Arc;
use std::time::Instant;

use entity::channel;
use entity::ids::{ChannelId, Seq, TenantId};
use entity::prelude::*;
use entity::target_type::SubscriptionPolicy;
use entity::tenant::{self, Column};
use futures_util::FutureExt;
use tokio::time::timeout;

use base::error::{Error, Result};
use model::id_cipher::IdCipher;
pub use model::tenant::Tenant;
use store::{Caches, Store, transaction};

/// The context of work for a tenant.
pub type TenantContext = (Arc<Store>, Arc<Tenant>);

async fn find_or_insert(store: &Store, code: &str) -> Result<Tenant> {
    if let Some(tenant) = find_by_code(store, code).await? {
        return Ok(tenant);
    }
    create_tenant(store, code).await?;
    find_by_code(store, code).await?.ok_or_else(|| Error::internal("a tenant is missing after it was created"))
}

/// The tenant called `code`, created at the first mention. Concurrent callers get the same one.
///
/// It is looked up again once a minute: if the database has been replaced, the code may name another tenant.
pub async fn get_or_create(store: &Store, code: &str) -> Result<Arc<Tenant>> {
    let mut before = None;
    if let Some((looked_up_at, tenant)) = store.caches.tenants.get(code) {
        if Caches::is_tenant_current(looked_up_at) {
            return Ok(tenant);
        }
        before = Some(tenant);
        let is_old = |(looked_up_at, _): &(Instant, Arc<Tenant>)| !Caches::is_tenant_current(*looked_up_at);
        store.caches.tenants.remove_if(code, is_old);
    }
    let place = timeout(store.db.write_timeout(), store.caches.tenants.get_value_or_guard_async(code)).await;
    match place.map_err(|_| Error::database_busy())? {
        Ok((_, tenant)) => Ok(tenant),
        Err(place) => {
            let looked_up_at = Instant::now();
            // Boxed, because every request's future contains this rare path.
            let found = find_or_insert(store, code).boxed().await?;
            // Keeps the old value for the same tenant, so that its batches stay together.
            let tenant = before.filter(|before| before.is_same(&found)).unwrap_or_else(|| Arc::new(found));
            drop(place.insert((looked_up_at, tenant.clone())));
            Ok(tenant)
        }
    }
}

/// The tenant called `code`. `NOT_FOUND` if it does not exist.
pub async fn get_existing(store: &Store, code: &str) -> Result<Arc<Tenant>> {
    find_by_code(store, code).await?.ok_or_else(|| Error::not_found("tenant", code))?;
    get_or_create(store, code).await
}

/// The tenant with this row id. `NOT_FOUND` if it does not exist.
pub async fn get_by_id(store: &Store, id: TenantId) -> Result<Arc<Tenant>> {
    let code = tenant::Entity::of_tenant(id).select_only().column(Column::Code).into_tuple::<String>();
    let code = code.one(&store.db.read).await?.ok_or_else(|| Error::not_found("tenant", id.to_string()))?;
    get_or_create(store, &code).await
}

async fn find_by_code(store: &Store, code: &str) -> Result<Option<Tenant>> {
    let era = store.db.fence.era();
    let found = tenant::Entity::find().join(JoinType::InnerJoin, channel::Relation::Tenant.def().rev());
    let found = found.filter(channel::Column::Kind.eq(channel::ChannelKind::Everyone)).filter(Column::Code.eq(code));
    let found = found.select_only().columns([Column::Id, Column::IdKey, Column::ErasedCount]);
    let found = found.column(channel::Column::Id).into_tuple::<(TenantId, Vec<u8>, i64, ChannelId)>();
    let Some((id, key, erased_count, everyone)) = found.one(&store.db.read).await? else { return Ok(None) };
    let seal = IdCipher::new(&key).ok_or_else(|| Error::internal("tenant.id_key has not 16 bytes"))?;
    Ok(Some(Tenant::new(id, code.to_owned(), (seal, everyone), erased_count, era)))
}

/// Creates both rows in one transaction, and neither twice, however many requests name the tenant at once.
async fn create_tenant(store: &Store, code: &str) -> Result<()> {
    let mut key = vec![0_u8; 16];
    getrandom::fill(&mut key).map_err(Error::internal)?;
    let now = store.now();
    transaction!(store.db, |txn| {
        let row = [code.into(), key.clone().into(), now.into()];
        insert(txn, [Column::Code, Column::IdKey, Column::CreatedAt], vec![row], ExistingRows::Kept).await?;
        queries::create_everyone_channel(txn, code, now).await
    })
}

/// The current end of the log and version of the catalogue. Also records the number of erased users.
pub async fn load_head(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<(Seq, i64)> {
    let head = tenant::Entity::of_tenant(tenant.id).select_only();
    let head = head.columns([Column::ErasedCount, Column::LastSeq, Column::CatalogueVersion]);
    let head = head.into_tuple::<(i64, Seq, i64)>().one(db).await?;
    let (erased_count, last_seq, version) = head.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    tenant.observe_erased_count(erased_count);
    Ok((last_seq, version))
}

/// The part of the catalogue that is in the tenant's row.
#[derive(Clone, Copy, Debug)]
pub struct CatalogueHead {
    pub version: i64,
    pub follow_policy: SubscriptionPolicy,
}

/// Reads the part of the catalogue that is in the tenant's row.
pub async fn load_catalogue_head(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<CatalogueHead> {
    let head = tenant::Entity::of_tenant(tenant.id).select_only();
    let head = head.columns([Column::CatalogueVersion, Column::FollowPolicy]).into_tuple().one(db).await?;
    let (version, follow_policy) = head.ok_or_else(|| Error::not_found("tenant", &tenant.code))?;
    Ok(CatalogueHead { version, follow_policy })
}

/// Collects the failures of a loop over tenants. A failure does not stop the loop.
#[derive(Debug, Default)]
pub struct TenantFailures(Option<Error>);

impl TenantFailures {
    /// Logs a tenant's failure, and returns its result if there is one.
    pub fn record_failure<T>(&mut self, store: &Store, tenant: TenantId, done: Result<T>) -> Option<T> {
        done.map_err(|error| {
            tracing::warn!(tenant = tenant.0, cause = error.log_message(), "skipped a tenant after an error");
            store.metrics.tenants_passed_over.inc();
            self.0.get_or_insert(error);
        })
        .ok()
    }

    /// The first failure, once all tenants had their turn.
    pub fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
