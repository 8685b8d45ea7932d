//! The catalogue of a tenant: message types, reasons, groups, codes of views and default preferences.
//!
//! It is kept in memory, whole, and is never stale where it matters: every change raises the tenant's
//! `catalogue_version`, and what relies on the catalogue (an overview, a list, a send) compares the version in the
//! very statement or transaction that uses it.

mod message_type;
mod reason;
mod template;
mod view_code;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use entity::ids::{ChannelId, TypeId};
use sea_orm::QueryResult;

use super::channel;
use super::preference::Scope;
use super::tenant::{Tenant, head};
use crate::app::App;
use crate::database::Transaction;
use crate::error::Result;
use crate::sql::Sql;

pub use message_type::{MessageType, ReadPolicy, TypeChange, delete as delete_type, save as save_type};
pub use reason::{delete as delete_reason, save as save_reason};
pub use template::{Scene, TargetScene, Template, Templates, Text};
pub use view_code::{ViewCode, delete as delete_view_code, save as save_view_code};

/// A group as announcements address it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What its announcements are published to.
    pub channel: ChannelId,
    /// The partner's code of it.
    pub code: String,
    /// For people.
    pub title: Option<String>,
}

/// All of a tenant's catalogue, at one version.
#[derive(Debug)]
pub struct Catalogue {
    /// `tenant.catalogue_version` when it was read, or before.
    pub version: i64,
    /// In catalogue order: by position, then by code.
    pub types: Vec<Arc<MessageType>>,
    /// Reason → the actions it subscribes to.
    pub reasons: BTreeMap<String, Vec<String>>,
    /// By code.
    pub groups: BTreeMap<String, Group>,
    /// (scope, action or type) → on or off.
    pub defaults: BTreeMap<(Scope, i64), bool>,
    /// Code of views → whether users may join and leave them by themselves. Views may have other codes, which are closed.
    pub view_codes: BTreeMap<String, bool>,
    /// Those of the types, compiled.
    pub templates: Templates,
    by_id: HashMap<TypeId, Arc<MessageType>>,
}

impl Catalogue {
    /// The type with this code.
    pub fn message_type(&self, code: &str) -> Option<&Arc<MessageType>> {
        self.types.iter().find(|kind| kind.code == code)
    }

    /// Whether users may join and leave views of this code by themselves.
    pub fn is_open(&self, view_code: &str) -> bool {
        self.view_codes.get(view_code).copied().unwrap_or_default()
    }

    /// The type with this row.
    pub fn type_by_id(&self, id: TypeId) -> Option<&Arc<MessageType>> {
        self.by_id.get(&id)
    }
}

/// The catalogue as this process last saw it: for what checks its version against the database itself.
pub async fn cached(app: &App, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    match app.caches.catalogues.get(&tenant.id).await {
        Some(catalogue) => Ok(catalogue),
        None => load(app, tenant).await,
    }
}

/// The catalogue at `version` or newer.
pub async fn at(app: &App, tenant: &Tenant, version: i64) -> Result<Arc<Catalogue>> {
    match app.caches.catalogues.get(&tenant.id).await {
        Some(catalogue) if catalogue.version >= version => Ok(catalogue),
        _ => load(app, tenant).await,
    }
}

/// The catalogue as it is now, for one small statement more than `cached`.
pub async fn current(app: &App, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    let (_, version) = head(&app.db.read, tenant).await?;
    at(app, tenant, version).await
}

/// Tells every node that the catalogue is another; call it in the transaction that changes it.
///
/// It locks the tenant's row, so that changes of the catalogue and sends come one after the other.
pub async fn raise_version(txn: &Transaction, tenant: &Tenant) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("UPDATE tenant SET catalogue_version = catalogue_version + 1 WHERE id = ").bind(tenant.id);
    sql.run(txn).await?;
    Ok(())
}

/// The version is read before the rest: when something changes in between, the next comparison notices.
async fn load(app: &App, tenant: &Tenant) -> Result<Arc<Catalogue>> {
    let (_, version) = head(&app.db.read, tenant).await?;
    let mut types = message_type::all(app, tenant).await?;
    types.sort_by(|a, b| (a.position, &a.code).cmp(&(b.position, &b.code)));
    let types: Vec<Arc<MessageType>> = types.into_iter().map(Arc::new).collect();
    let catalogue = Arc::new(Catalogue {
        version,
        templates: Templates::compile(&types),
        by_id: types.iter().map(|kind| (kind.id, kind.clone())).collect(),
        types,
        reasons: reason::all(app, tenant).await?,
        groups: groups(app, tenant).await?,
        view_codes: view_code::all(app, tenant).await?,
        defaults: defaults(app, tenant).await?,
    });
    app.caches.catalogues.insert(tenant.id, catalogue.clone()).await;
    Ok(catalogue)
}

async fn groups(app: &App, tenant: &Tenant) -> Result<BTreeMap<String, Group>> {
    let read = |row: &QueryResult| -> Result<(String, Group)> {
        let code: String = row.try_get("", "code")?;
        Ok((code.clone(), Group { channel: row.try_get("", "id")?, code, title: row.try_get("", "title")? }))
    };
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT id, code, title FROM channel WHERE tenant_id = ").bind(tenant.id);
    sql.push(" AND kind = ").bind(channel::Kind::Group as i16);
    sql.all(&app.db.read).await?.iter().map(read).collect()
}

async fn defaults(app: &App, tenant: &Tenant) -> Result<BTreeMap<(Scope, i64), bool>> {
    let read = |row: &QueryResult| -> Result<((Scope, i64), bool)> {
        let scope = Scope::of(row.try_get("", "scope")?);
        Ok(((scope, row.try_get("", "subject_id")?), row.try_get("", "enabled")?))
    };
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT scope, subject_id, enabled FROM default_preference WHERE tenant_id = ").bind(tenant.id);
    sql.all(&app.db.read).await?.iter().map(read).collect()
}
