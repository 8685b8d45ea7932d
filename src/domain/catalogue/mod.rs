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
mod reason;
mod statement;
mod target_type;
mod version;
mod view_code;

use std::collections::BTreeMap;
use std::sync::Arc;

use entity::default_preference::Entity as DefaultPreference;
use entity::preference::Scope;
use entity::prelude::*;
use tokio::time::timeout;

use super::tenant::{CatalogueHead, Tenant, catalogue_head, head};
use crate::app::App;
use crate::database::ACQUIRE_TIMEOUT;
use crate::error::{Error, Result};

pub use crate::model::catalogue::{Catalogue, DeliveryRule, MessageType, Parts, TYPES};
pub use crate::model::template::{LetterTemplate, Template};
pub use entity::message_type::ReadPolicy;
pub use entity::target_type::SubscriptionPolicy;
pub use message_type::{TypeChange, delete as delete_type, save as save_type};
pub use reason::{delete as delete_reason, save as save_reason};
pub use target_type::{TargetType, delete as delete_target_type, save as save_target_type, save_follow_policy};
pub use version::raise_version;
pub use view_code::{ViewCode, delete as delete_view_code, save as save_view_code};

/// The cached catalogue. Only for callers that compare its version with the database themselves.
pub async fn cached(app: &App, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    fitting(app, tenant, |_| true).await
}

/// The cached catalogue if it has this version, else the current one: a restored database may have an older version.
pub async fn at(app: &App, tenant: &Tenant, version: i64) -> Result<Arc<Catalogue>> {
    fitting(app, tenant, |catalogue| catalogue.version == version).await
}

/// The cached catalogue if it fits, or else the current one. Concurrent callers share a load if its result fits.
async fn fitting(app: &App, tenant: &Tenant, fits: impl Fn(&Catalogue) -> bool) -> Result<Arc<Catalogue>> {
    let known = || app.caches.catalogues.get(&tenant.id).filter(|catalogue| fits(catalogue));
    if let Some(catalogue) = known() {
        return Ok(catalogue);
    }
    let _reading = timeout(ACQUIRE_TIMEOUT, tenant.reading_catalogue.lock()).await.map_err(|_| Error::busy())?;
    match known() {
        Some(catalogue) => Ok(catalogue),
        None => load(app, tenant).await,
    }
}

/// The current catalogue. Costs one small statement more than `cached`.
pub async fn current(app: &App, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    let (_, version) = head(&app.db.read, tenant).await?;
    at(app, tenant, version).await
}

/// Reads the version first: if something changes during the load, the next comparison detects it.
async fn load(app: &App, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    let CatalogueHead { version, follow_policy } = catalogue_head(&app.db.read, tenant).await?;
    let parts = Parts {
        types: message_type::all(app, tenant).await?,
        reasons: reason::all(app, tenant).await?,
        view_codes: view_code::all(app, tenant).await?,
        target_types: target_type::all(app, tenant).await?,
        follow_policy,
        defaults: defaults(app, tenant).await?,
    };
    let catalogue = Arc::new(Catalogue::new(version, parts));
    app.caches.catalogues.insert(tenant.id, catalogue.clone());
    Ok(catalogue)
}

async fn defaults(app: &App, tenant: &Tenant) -> Result<BTreeMap<(Scope, i64), bool>> {
    let defaults = DefaultPreference::of_tenant(tenant.id).all(&app.db.read).await?;
    Ok(defaults.into_iter().map(|of| ((of.scope, of.subject_id), of.enabled)).collect())
}
