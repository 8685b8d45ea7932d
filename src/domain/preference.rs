//! What users want to hear, by action and by message type, with the tenant's defaults below.

use std::collections::{BTreeMap, BTreeSet};

use entity::ids::UserId;
pub use entity::preference::Scope;
use sea_orm::Value;

use super::action;
use super::catalogue::{Catalogue, current, raise_version};
use super::check;
use super::inbox::sync;
use super::tenant::Tenant;
use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::error::{Error, Result};
use crate::hub::Notice;
use crate::sql::{Existing, LIST, Rows, Sql, insert};

/// The most preferences of each kind in one call, and of actions that a user may have of their own.
const CHANGES: usize = 1000;

/// One switch as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference {
    /// An action, or a message type's code.
    pub code: String,
    pub enabled: bool,
    /// Whether the user has set it himself.
    pub is_own: bool,
}

/// All of a user's switches.
#[derive(Clone, Debug, Default)]
pub struct Preferences {
    /// Every action that the tenant has a default for or the user has set, by code.
    pub actions: Vec<Preference>,
    /// Every message type, in catalogue order.
    pub types: Vec<Preference>,
}

/// A switch to set; nothing puts it back to the default.
#[derive(Clone, Debug)]
pub struct Change {
    pub code: String,
    pub enabled: Option<bool>,
}

/// All switches of a user.
pub async fn of(app: &App, tenant: &Tenant, user: UserId) -> Result<Preferences> {
    let catalogue = current(app, tenant).await?;
    let db = &app.db.read;
    let mut sql = Sql::new(db);
    sql.push("SELECT f.scope, f.subject_id, f.enabled FROM preference f WHERE f.user_id = ").bind(user);
    let mut own = BTreeMap::new();
    for row in sql.all(db).await? {
        let key = (row.try_get::<Scope>("", "scope")?, row.try_get::<i64>("", "subject_id")?);
        own.insert(key, row.try_get::<bool>("", "enabled")?);
    }
    let types = catalogue.types.iter().map(|kind| {
        let key = (Scope::Type, kind.id.0);
        let enabled = own.get(&key).or(catalogue.defaults.get(&key)).copied().unwrap_or(true);
        Preference { code: kind.code.clone(), enabled: enabled || kind.mandatory, is_own: own.contains_key(&key) }
    });
    Ok(Preferences { types: types.collect(), actions: by_action(app, tenant, &catalogue, &own).await? })
}

async fn by_action(
    app: &App,
    tenant: &Tenant,
    catalogue: &Catalogue,
    own: &BTreeMap<(Scope, i64), bool>,
) -> Result<Vec<Preference>> {
    let named = |(scope, id): &(Scope, i64)| (*scope == Scope::Action).then_some(*id);
    let ids: BTreeSet<i64> = own.keys().chain(catalogue.defaults.keys()).filter_map(named).collect();
    let mut actions = Vec::with_capacity(ids.len());
    for ids in Vec::from_iter(ids).chunks(LIST) {
        let mut sql = Sql::new(&app.db.read);
        sql.push("SELECT id, code FROM action WHERE tenant_id = ").bind(tenant.id).push(" AND id").among(ids);
        for row in sql.all(&app.db.read).await? {
            let key = (Scope::Action, row.try_get::<i64>("", "id")?);
            let enabled = own.get(&key).or(catalogue.defaults.get(&key)).copied().unwrap_or(true);
            actions.push(Preference { code: row.try_get("", "code")?, enabled, is_own: own.contains_key(&key) });
        }
    }
    actions.sort_by(|a, b| a.code.cmp(&b.code));
    Ok(actions)
}

/// Sets switches of a user. What was published before stays as he had it then: his inbox is synced first.
///
/// Switching a mandatory type off is `BAD_USER_INPUT`; more than 1,000 actions of their own are a `CONFLICT`.
pub async fn update(app: &App, tenant: &Tenant, user: UserId, actions: &[Change], types: &[Change]) -> Result<()> {
    let catalogue = current(app, tenant).await?;
    for (place, change) in types.iter().enumerate() {
        let mandatory = catalogue.message_type(&change.code).is_some_and(|kind| kind.mandatory);
        if mandatory && change.enabled == Some(false) {
            let message = format!("the message type {:?} is mandatory", change.code);
            return Err(Error::bad_input(format!("types[{place}].enabled"), message));
        }
    }
    let changes = resolve(app, tenant, &catalogue, actions, types).await?;
    sync::caught_up(app, tenant, &[user]).await?;
    transaction!(app.db, |txn| {
        sync::within(txn, tenant, &[user], app.now()).await?;
        txn.tell(Notice::changed(tenant.id, &[user]));
        let before = own_actions(txn, user).await?;
        set(txn, "preference", "user_id", user.into(), &changes).await?;
        let after = own_actions(txn, user).await?;
        if after > before && usize::try_from(after).is_ok_and(|many| many > CHANGES) {
            let message = format!("a user has at most {CHANGES} preferences of actions: put some back to the default");
            return Err(Error::Conflict(message));
        }
        Ok(())
    })
}

/// How many actions a user has switched on or off.
async fn own_actions(txn: &Transaction, user: UserId) -> Result<i64> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT count(*) AS many FROM preference f WHERE f.user_id = ").bind(user);
    sql.push(" AND f.scope = ").bind(Scope::Action as i16);
    Ok(sql.one(txn).await?.map_or(Ok(0), |row| row.try_get("", "many"))?)
}

/// Sets the tenant's defaults. They apply to whatever is not yet in an inbox.
pub async fn save_defaults(app: &App, tenant: &Tenant, actions: &[Change], types: &[Change]) -> Result<()> {
    let catalogue = current(app, tenant).await?;
    let changes = resolve(app, tenant, &catalogue, actions, types).await?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        set(txn, "default_preference", "tenant_id", tenant.id.into(), &changes).await
    })
}

type Resolved = BTreeMap<(Scope, i64), Option<bool>>;

async fn resolve(
    app: &App,
    tenant: &Tenant,
    catalogue: &Catalogue,
    by_action: &[Change],
    by_type: &[Change],
) -> Result<Resolved> {
    check::count("actions", by_action.len(), CHANGES)?;
    check::count("types", by_type.len(), CHANGES)?;
    let mut changes = BTreeMap::new();
    for (place, change) in by_type.iter().enumerate() {
        let kind = catalogue.message_type(&change.code).ok_or_else(|| {
            Error::bad_input(format!("types[{place}].code"), format!("no message type {:?}", change.code))
        })?;
        changes.insert((Scope::Type, kind.id.0), change.enabled);
    }
    for (place, change) in by_action.iter().enumerate() {
        check::code(&format!("actions[{place}].code"), &change.code)?;
    }
    // What goes back to the default needs no row, if there is none yet.
    let codes = |is_set: bool| {
        let named = by_action.iter().filter(move |change| change.enabled.is_some() == is_set);
        named.map(|change| change.code.as_str()).collect::<Vec<_>>()
    };
    let mut known = action::preferred(app, tenant, &codes(true)).await?;
    known.extend(action::found(app, tenant, &codes(false)).await?);
    for change in by_action {
        match known.get(&change.code) {
            Some(action) => drop(changes.insert((Scope::Action, action.0), change.enabled)),
            None if change.enabled.is_none() => {}
            None => return Err(Error::internal("an action vanished while being made")),
        }
    }
    Ok(changes)
}

/// Takes out all that is named and puts in what is not back to the default.
async fn set(txn: &Transaction, table: &'static str, owner: &'static str, id: Value, to: &Resolved) -> Result<()> {
    for scope in [Scope::Action, Scope::Type] {
        let subjects: Vec<i64> = to.keys().filter(|(of, _)| *of == scope).map(|(_, id)| *id).collect();
        if subjects.is_empty() {
            continue;
        }
        let mut sql = Sql::new(txn);
        sql.push(&format!("DELETE FROM {table} WHERE {owner} = ")).bind(id.clone());
        sql.push(" AND scope = ").bind(scope as i16).push(" AND subject_id").among(&subjects);
        sql.run(txn).await?;
    }
    let row = |(&(scope, subject), enabled): (&(Scope, i64), &Option<bool>)| {
        enabled.map(|on| vec![id.clone(), (scope as i16).into(), subject.into(), on.into()])
    };
    let columns: &'static [&'static str] = match owner {
        "user_id" => &["user_id", "scope", "subject_id", "enabled"],
        _ => &["tenant_id", "scope", "subject_id", "enabled"],
    };
    insert(txn, Rows { table, columns, values: to.iter().filter_map(row).collect() }, Existing::Kept).await?;
    Ok(())
}

/// Adds that `user` wants to hear a notification: `subject` is the alias of its publication (or of itself), whose
/// type is joined as `mt`. This is the one place where preferences decide.
///
/// Each of the four look-ups is one probe of a primary key.
pub fn push_wants(sql: &mut Sql, tenant: &Tenant, user: &str, subject: &str) {
    sql.push("(mt.mandatory OR (");
    for (scope, column) in [(Scope::Type, "type_id"), (Scope::Action, "action_id")] {
        if scope == Scope::Action {
            sql.push(" AND ");
        }
        let scope = scope as i16;
        sql.push(&format!(
            "COALESCE((SELECT f.enabled FROM preference f WHERE f.user_id = {user} AND f.scope = {scope} AND \
             f.subject_id = {subject}.{column}), (SELECT d.enabled FROM default_preference d WHERE d.tenant_id = "
        ));
        sql.bind(tenant.id).push(&format!(" AND d.scope = {scope} AND d.subject_id = {subject}.{column}), TRUE)"));
    }
    sql.push("))");
}
