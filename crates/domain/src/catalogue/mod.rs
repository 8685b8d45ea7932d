//! The catalogue of a tenant: message types, reasons, view codes, target types, the follow policy and default
//! preferences.
//!
//! Groups are not part of it: there may be thousands, and they come and go (`channel::group`).
//!
//! The server caches the whole catalogue. It is never stale where that matters: every change increments the tenant's
//! `catalogue_version`, and each use (an overview, a list, a send) compares the version in its own statement or
//! transaction.

pub mod action;
mod message_type;
mod queries;
mod reason;
mod target_type;
mod version;
mod view_code;

use std::collections::BTreeMap;
use std::sync::Arc;

use entity::default_preference::Entity as DefaultPreference;
pub use entity::message_type::ReadPolicy;
use entity::preference::PreferenceScope;
use entity::prelude::*;
pub use entity::target_type::SubscriptionPolicy;
use tokio::time::timeout;

use super::tenant::{CatalogueHead, Tenant, load_catalogue_head, load_head};
use base::error::{Error, Result};
pub use message_type::{TypeChange, delete as delete_type, save as save_type};
pub use model::catalogue::{Catalogue, CatalogueParts, DeliveryRule, MessageType, TYPES};
pub use model::template::{EmailTemplate, ItemTemplate};
pub use reason::{delete as delete_reason, save as save_reason};
use store::{ACQUIRE_TIMEOUT, Store};
pub use target_type::{TargetType, delete as delete_target_type, save as save_target_type, save_follow_policy};
pub use version::increment_version;
pub use view_code::{ViewCode, delete as delete_view_code, save as save_view_code};

/// The cached catalogue. Only for callers that compare its version with the database themselves.
pub async fn load_cached(store: &Store, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    load_matching(store, tenant, |_| true).await
}

/// The cached catalogue if it has this version, else the current one: a restored database may have an older version.
pub async fn load_version(store: &Store, tenant: &Tenant, version: i64) -> Result<Arc<Catalogue>> {
    load_matching(store, tenant, |catalogue| catalogue.version == version).await
}

/// The cached catalogue if it fits, or else the current one. Concurrent callers share a load if its result fits.
async fn load_matching(store: &Store, tenant: &Tenant, fits: impl Fn(&Catalogue) -> bool) -> Result<Arc<Catalogue>> {
    let known = || store.caches.catalogues.get(&tenant.id).filter(|catalogue| fits(catalogue));
    if let Some(catalogue) = known() {
        return Ok(catalogue);
    }
    let _reading =
        timeout(ACQUIRE_TIMEOUT, tenant.reading_catalogue.lock()).await.map_err(|_| Error::database_busy())?;
    match known() {
        Some(catalogue) => Ok(catalogue),
        None => load_from_database(store, tenant).await,
    }
}

/// The current catalogue. Costs one small statement more than `load_cached`.
pub async fn load_current(store: &Store, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    let (_, version) = load_head(&store.db.read, tenant).await?;
    load_version(store, tenant, version).await
}

/// Reads the version first: if something changes during the load, the next comparison detects it.
async fn load_from_database(store: &Store, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    let CatalogueHead { version, follow_policy } = load_catalogue_head(&store.db.read, tenant).await?;
    let parts = CatalogueParts {
        types: message_type::load_all(store, tenant).await?,
        reasons: reason::load_all(store, tenant).await?,
        view_codes: view_code::load_all(store, tenant).await?,
        target_types: target_type::load_all(store, tenant).await?,
        follow_policy,
        defaults: load_defaults(store, tenant).await?,
    };
    let catalogue = Arc::new(Catalogue::new(version, parts));
    store.caches.catalogues.insert(tenant.id, catalogue.clone());
    Ok(catalogue)
}

async fn load_defaults(store: &Store, tenant: &Tenant) -> Result<BTreeMap<(PreferenceScope, i64), bool>> {
    let defaults = DefaultPreference::of_tenant(tenant.id).all(&store.db.read).await?;
    Ok(defaults.into_iter().map(|of| ((of.scope, of.subject_id), of.enabled)).collect())
}
