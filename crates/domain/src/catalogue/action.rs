//! Actions: what happens to targets. An action is any string of the tenant's backend. It gets a row when it is first
//! sent or named in a preference.
//!
//! Every use of a row updates its `used_at`, at most once an hour. No process still uses a row that was untouched for
//! the whole retention window, so the sweep can safely check whether retained data names it.

use std::collections::{BTreeSet, HashMap};

use entity::action::{Column, Entity as Action};
use entity::default_preference::{self, Entity as DefaultPreference};
use entity::ids::ActionId;
use entity::notification::{self, Entity as Notification};
use entity::preference::{self, Entity as Preference, PreferenceScope};
use entity::prelude::*;

use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::{Error, Result};
use store::{PendingAudit, Store, transaction};

/// Maximum actions of a tenant.
const ACTIONS: i64 = 100_000;

/// Preferences create no more actions beyond this number, so that users cannot use up the room for sent actions.
const PREFERRED: i64 = 10_000;

/// `action.used_at` may lag by this much, in milliseconds.
const USED: Millis = 60 * 60 * 1000;

/// The ids of sent actions. Creates missing rows. `CONFLICT` if that makes more than 100,000 actions of a tenant.
pub async fn find_or_create_sent(
    store: &Store,
    tenant: &Tenant,
    codes: &[String],
) -> Result<HashMap<String, ActionId>> {
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    find_or_create(store, tenant, &codes, ACTIONS).await
}

/// The ids of actions in preferences. Creates missing rows. `CONFLICT` if that makes more than 10,000 of a tenant.
pub async fn find_or_create_preferred(
    store: &Store,
    tenant: &Tenant,
    codes: &[&str],
) -> Result<HashMap<String, ActionId>> {
    find_or_create(store, tenant, codes, PREFERRED).await
}

/// The ids of actions. Creates missing rows; `CONFLICT` if the tenant would then have more than `most`.
async fn find_or_create(
    store: &Store,
    tenant: &Tenant,
    codes: &[&str],
    most: i64,
) -> Result<HashMap<String, ActionId>> {
    let mut known = find_existing(store, tenant, codes).await?;
    let missing: BTreeSet<&str> = codes.iter().filter(|code| !known.contains_key(**code)).copied().collect();
    if missing.is_empty() {
        return Ok(known);
    }
    let (missing, now) = (Vec::from_iter(missing), store.now());
    let making = async {
        transaction!(store.db, |txn| {
            let rows = missing.iter().map(|code| [tenant.id.into(), (*code).into(), now.into()]).collect();
            insert(txn, [Column::TenantId, Column::Code, Column::UsedAt], rows, ExistingRows::Kept).await?;
            let many = Action::of_tenant(tenant.id).count_rows(txn).await?;
            if many > most {
                return Err(Error::Conflict(format!(
                    "the tenant has too many actions: at most {most} can be created this way"
                )));
            }
            Ok(())
        })
    };
    PendingAudit::without_audit(making).await?;
    known.extend(find_existing(store, tenant, &missing).await?);
    Ok(known)
}

/// The ids of those actions that exist.
pub async fn find_existing(store: &Store, tenant: &Tenant, codes: &[&str]) -> Result<HashMap<String, ActionId>> {
    let mut known = HashMap::with_capacity(codes.len());
    let mut unknown: BTreeSet<&str> = BTreeSet::new();
    for code in codes {
        match store.caches.actions.get(&(tenant.id, (*code).to_owned())) {
            Some((action, used_at)) if !is_touch_due(store, used_at) => drop(known.insert((*code).to_owned(), action)),
            _ => drop(unknown.insert(code)),
        }
    }
    for codes in Vec::from_iter(unknown).chunks(LIST) {
        for (code, action, used_at) in load_and_touch(store, tenant, codes).await? {
            store.caches.actions.insert((tenant.id, code.clone()), (action, used_at));
            known.insert(code, action);
        }
    }
    Ok(known)
}

/// Whether `used_at` is due for an update.
fn is_touch_due(store: &Store, used_at: Millis) -> bool {
    used_at < store.now() - USED
}

/// The rows of existing actions, with their `used_at`. If it was due for an update, reads the rows again afterwards,
/// because the sweep may have deleted them in between.
async fn load_and_touch(store: &Store, tenant: &Tenant, codes: &[&str]) -> Result<Vec<(String, ActionId, Millis)>> {
    loop {
        let known = Action::of_tenant(tenant.id).filter(Column::Code.is_in_list(&store.db.read, codes));
        let (mut found, mut idle) = (Vec::new(), Vec::new());
        for action in known.all(&store.db.read).await? {
            if is_touch_due(store, action.used_at) {
                idle.push(action.id);
            }
            found.push((action.code, action.id, action.used_at));
        }
        if idle.is_empty() {
            return Ok(found);
        }
        touch_actions(store, tenant, &idle).await?;
    }
}

/// Sets `used_at` of actions to now.
async fn touch_actions(store: &Store, tenant: &Tenant, actions: &[ActionId]) -> Result<()> {
    if actions.is_empty() {
        return Ok(());
    }
    let now = store.now();
    let touching = async {
        transaction!(store.db, |txn| {
            let touch = Action::update_of_tenant(tenant.id).col_expr(Column::UsedAt, Expr::val(now));
            let touch = touch.filter(Column::Id.is_in_list(txn, actions)).filter(Column::UsedAt.lt(now));
            Ok(touch.exec(txn).await?)
        })
    };
    PendingAudit::without_audit(touching).await?;
    Ok(())
}

/// Deletes a tenant's actions that were not used since `since` (at least a day ago) and that no retained data names.
/// Returns how many.
pub async fn sweep(store: &Store, tenant: &Tenant, since: Millis) -> Result<u64> {
    let mut swept = 0;
    let mut after = Some(String::new());
    while let Some(code) = after {
        let (last, idle) = next_idle(store, tenant, &code, since).await?;
        let named = find_referenced(store, tenant, &idle).await?;
        let (named, unused): (Vec<_>, Vec<_>) = idle.into_iter().partition(|action| named.contains(action));
        touch_actions(store, tenant, &named).await?;
        swept += delete_unused(store, tenant, &unused, since).await?;
        after = last;
    }
    Ok(swept)
}

/// Deletes those actions that are still unused.
async fn delete_unused(store: &Store, tenant: &Tenant, actions: &[ActionId], since: Millis) -> Result<u64> {
    if actions.is_empty() {
        return Ok(0);
    }
    transaction!(store.db, |txn| {
        let delete = Action::delete_of_tenant(tenant.id).filter(Column::Id.is_in_list(txn, actions));
        Ok(delete.filter(Column::UsedAt.lt(since)).exec(txn).await?.rows_affected)
    })
}

/// The unused ones of the next 1,000 actions after a code, and the code to go on after: a range of `action_code`.
async fn next_idle(
    store: &Store,
    tenant: &Tenant,
    after: &str,
    since: Millis,
) -> Result<(Option<String>, Vec<ActionId>)> {
    let next = Action::of_tenant(tenant.id).filter(Column::Code.gt(after)).order_by_asc(Column::Code);
    let next = next.limit(LIST as u64).all(&store.db.read).await?;
    let idle = next.iter().filter(|action| action.used_at < since).map(|action| action.id).collect();
    let last = next.into_iter().nth(LIST - 1).map(|action| action.code);
    Ok((last, idle))
}

/// The actions that notifications or preferences name: a walk over all of the tenant's notifications and preferences.
async fn find_referenced(store: &Store, tenant: &Tenant, actions: &[ActionId]) -> Result<BTreeSet<ActionId>> {
    let db = &store.db.read;
    if actions.is_empty() {
        return Ok(BTreeSet::new());
    }
    let sent = Notification::of_tenant(tenant.id).filter(notification::Column::ActionId.is_in_list(db, actions));
    let sent = sent.select_only().column(notification::Column::ActionId).distinct();
    let mut named: BTreeSet<ActionId> = sent.into_tuple::<ActionId>().all(db).await?.into_iter().collect();
    let own = Preference::find().filter(preference::Column::SubjectId.is_in_list(db, actions));
    let own = own.filter(preference::Column::Scope.eq(PreferenceScope::Action));
    let own = own.select_only().column(preference::Column::SubjectId).distinct();
    named.extend(own.into_tuple::<ActionId>().all(db).await?);
    let defaults =
        DefaultPreference::of_tenant(tenant.id).filter(default_preference::Column::Scope.eq(PreferenceScope::Action));
    let defaults = defaults.filter(default_preference::Column::SubjectId.is_in_list(db, actions));
    let defaults = defaults.select_only().column(default_preference::Column::SubjectId);
    named.extend(defaults.into_tuple::<ActionId>().all(db).await?);
    Ok(named)
}
