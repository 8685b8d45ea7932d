//! User preferences by action, message type and outbound channel, on top of the tenant's defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use entity::action::{Column as ActionColumn, Entity as Action};
use entity::default_preference::{self, Entity as DefaultPreference};
use entity::destination::DestinationKind;
use entity::ids::UserId;
pub use entity::preference::PreferenceScope;
use entity::preference::{Column, Entity as Own};
use entity::prelude::*;
use sea_orm::Iterable;
use sea_orm::sea_query::ExprTrait;

use super::catalogue::{Catalogue, action, increment_version, load_current};
use super::inbox::sync;
use super::tenant::Tenant;
use base::error::{Error, Result};
use cluster::hub::Notice;
use model::catalogue::{MessageType, unknown_type};
use model::validate;
use store::{Store, Transaction, transaction};

/// The most preferences of each kind in one call, and the most action preferences of a user.
const CHANGES: usize = 1000;

/// One switch as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferenceSwitch {
    /// An action, or a message type's code.
    pub code: String,
    pub enabled: bool,
    /// Whether the user has set it themselves.
    pub is_own: bool,
}

/// A switch of a message type for one outbound channel, as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelPreference {
    pub kind: DestinationKind,
    /// Its code is the message type's.
    pub of: PreferenceSwitch,
}

/// All of a user's switches.
#[derive(Clone, Debug, Default)]
pub struct PreferenceSet {
    /// Every action that the tenant has a default for or the user has set, by code.
    pub actions: Vec<PreferenceSwitch>,
    /// Every message type, in catalogue order.
    pub types: Vec<PreferenceSwitch>,
    /// Every message type with each outbound channel that has a delivery rule or a setting for it, in catalogue order.
    pub channels: Vec<ChannelPreference>,
}

/// A switch to set; `None` resets it to the default. In a list, resets come last.
#[derive(Clone, Debug)]
pub struct PreferenceChange {
    pub code: String,
    pub enabled: Option<bool>,
}

/// The switches to set in one call.
#[derive(Clone, Debug, Default)]
pub struct PreferenceChanges {
    pub actions: Vec<PreferenceChange>,
    pub types: Vec<PreferenceChange>,
    /// Switches of message types, each with its outbound channel.
    pub channels: Vec<(DestinationKind, PreferenceChange)>,
}

/// All switches of a user.
pub async fn load_for_user(store: &Store, tenant: &Tenant, user: UserId) -> Result<PreferenceSet> {
    let own = Own::of_user(user).all(&store.db.read).await?;
    merge_with_defaults(store, tenant, &own.into_iter().map(|of| ((of.scope, of.subject_id), of.enabled)).collect())
        .await
}

/// The tenant's defaults: the switches of a user without settings of their own.
pub async fn load_defaults(store: &Store, tenant: &Tenant) -> Result<PreferenceSet> {
    merge_with_defaults(store, tenant, &BTreeMap::new()).await
}

async fn merge_with_defaults(
    store: &Store,
    tenant: &Tenant,
    own: &BTreeMap<(PreferenceScope, i64), bool>,
) -> Result<PreferenceSet> {
    let catalogue = load_current(store, tenant).await?;
    let switch = |kind: &MessageType, scope: PreferenceScope| {
        let key = (scope, kind.id.0);
        let enabled = own.get(&key).or(catalogue.defaults.get(&key)).copied().unwrap_or(true);
        PreferenceSwitch { code: kind.code.clone(), enabled: enabled || kind.mandatory, is_own: own.contains_key(&key) }
    };
    let types = catalogue.types.iter().map(|kind| switch(kind, PreferenceScope::Type));
    let by_channel = |kind: &Arc<MessageType>| {
        let is_set =
            |scope| own.contains_key(&(scope, kind.id.0)) || catalogue.defaults.contains_key(&(scope, kind.id.0));
        let channels = PreferenceScope::iter().filter_map(|scope| Some((scope, scope.destination_kind()?)));
        let shown = channels.filter(|(scope, by)| kind.delivery_rule(*by).is_some() || is_set(*scope));
        shown.map(|(scope, by)| ChannelPreference { kind: by, of: switch(kind, scope) }).collect::<Vec<_>>()
    };
    Ok(PreferenceSet {
        types: types.collect(),
        channels: catalogue.types.iter().flat_map(by_channel).collect(),
        actions: load_action_switches(store, tenant, &catalogue, own).await?,
    })
}

async fn load_action_switches(
    store: &Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
    own: &BTreeMap<(PreferenceScope, i64), bool>,
) -> Result<Vec<PreferenceSwitch>> {
    let named = |(scope, id): &(PreferenceScope, i64)| (*scope == PreferenceScope::Action).then_some(*id);
    let ids: BTreeSet<i64> = own.keys().chain(catalogue.defaults.keys()).filter_map(named).collect();
    let mut actions = Vec::with_capacity(ids.len());
    for ids in Vec::from_iter(ids).chunks(LIST) {
        let named = Action::of_tenant(tenant.id).filter(ActionColumn::Id.is_in_list(&store.db.read, ids));
        for action in named.all(&store.db.read).await? {
            let key = (PreferenceScope::Action, action.id.0);
            let enabled = own.get(&key).or(catalogue.defaults.get(&key)).copied().unwrap_or(true);
            actions.push(PreferenceSwitch { code: action.code, enabled, is_own: own.contains_key(&key) });
        }
    }
    actions.sort_by(|a, b| a.code.cmp(&b.code));
    Ok(actions)
}

/// Sets switches of a user. Earlier publications keep the old switches, because the inbox is synced first.
///
/// Switching a mandatory type off is `BAD_USER_INPUT`; more than 1,000 action preferences of a user are a `CONFLICT`.
pub async fn update(store: &Store, tenant: &Tenant, user: UserId, changes: &PreferenceChanges) -> Result<()> {
    let catalogue = load_current(store, tenant).await?;
    let of_types = changes.types.iter().enumerate().map(|(place, change)| (format!("types[{place}]"), change));
    let of_channels = changes.channels.iter().enumerate();
    let of_channels = of_channels.map(|(place, (_, change))| (format!("channels[{place}]"), change));
    for (field, change) in of_types.chain(of_channels) {
        let mandatory = catalogue.message_type(&change.code).is_some_and(|kind| kind.mandatory);
        if mandatory && change.enabled == Some(false) {
            let message = format!("must be true, because the message type {:?} is mandatory", change.code);
            return Err(Error::bad_input(format!("{field}.enabled"), message));
        }
    }
    let changes = resolve_changes(store, tenant, &catalogue, changes).await?;
    sync::sync_if_far(store, tenant, &[user]).await?;
    let columns = [Column::UserId, Column::Scope, Column::SubjectId, Column::Enabled];
    transaction!(store.db, |txn| {
        sync::sync_in_transaction(txn, tenant, &[user], store.now()).await?;
        txn.notify(Notice::inbox_changes(tenant.id, &[user]));
        let before = count_own_actions(txn, user, &changes).await?;
        for (scope, subjects) in subjects_by_scope(&changes) {
            let named = Column::Scope.eq(scope).and(Column::SubjectId.is_in_list(txn, &subjects));
            Own::delete_of_user(user).filter(named).exec(txn).await?;
        }
        let row =
            |(scope, subject, on): (PreferenceScope, i64, bool)| [user.into(), scope.into(), subject.into(), on.into()];
        insert(txn, columns, rows_to_insert(&changes).map(row).collect(), ExistingRows::Kept).await?;
        let after = count_own_actions(txn, user, &changes).await?;
        if after > before && usize::try_from(after).is_ok_and(|many| many > CHANGES) {
            let message = format!("a user has at most {CHANGES} preferences of actions: reset some to the default");
            return Err(Error::Conflict(message));
        }
        Ok(())
    })
}

/// How many action preferences a user has; 0 if `changes` contains none, so that the number stays the same.
async fn count_own_actions(txn: &Transaction, user: UserId, changes: &ResolvedChanges) -> Result<i64> {
    if changes.keys().all(|(scope, _)| *scope != PreferenceScope::Action) {
        return Ok(0);
    }
    Ok(Own::of_user(user).filter(Column::Scope.eq(PreferenceScope::Action)).count_rows(txn).await?)
}

/// Sets the tenant's defaults. They apply to publications that an inbox has not synced yet.
pub async fn save_defaults(store: &Store, tenant: &Tenant, changes: &PreferenceChanges) -> Result<()> {
    let catalogue = load_current(store, tenant).await?;
    let changes = resolve_changes(store, tenant, &catalogue, changes).await?;
    let row = |(scope, subject, on): (PreferenceScope, i64, bool)| {
        [tenant.id.into(), scope.into(), subject.into(), on.into()]
    };
    transaction!(store.db, |txn| {
        use default_preference::Column;
        increment_version(txn, tenant, store.now()).await?;
        for (scope, subjects) in subjects_by_scope(&changes) {
            let named = Column::Scope.eq(scope).and(Column::SubjectId.is_in_list(txn, &subjects));
            DefaultPreference::delete_of_tenant(tenant.id).filter(named).exec(txn).await?;
        }
        let columns = [Column::TenantId, Column::Scope, Column::SubjectId, Column::Enabled];
        insert(txn, columns, rows_to_insert(&changes).map(row).collect(), ExistingRows::Kept).await?;
        Ok(())
    })
}

type ResolvedChanges = BTreeMap<(PreferenceScope, i64), Option<bool>>;

async fn resolve_changes(
    store: &Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
    of: &PreferenceChanges,
) -> Result<ResolvedChanges> {
    validate::at_most("actions", of.actions.len(), CHANGES)?;
    validate::at_most("types", of.types.len(), CHANGES)?;
    validate::at_most("channels", of.channels.len(), CHANGES)?;
    let mut changes = BTreeMap::new();
    let types = of.types.iter().map(|change| (Some(PreferenceScope::Type), change));
    let channels = of.channels.iter().map(|(kind, change)| (PreferenceScope::for_destination(*kind), change));
    for (list, named) in [("types", types.collect::<Vec<_>>()), ("channels", channels.collect())] {
        let set = count_settings(named.iter().map(|(_, change)| *change));
        for (place, (scope, change)) in named.into_iter().enumerate() {
            let kind = catalogue.message_type(&change.code);
            let kind = kind.ok_or_else(|| unknown_type(&field_path(list, set, place), &change.code))?;
            let scope = scope.ok_or_else(|| Error::internal("this channel has no preferences of users"))?;
            changes.insert((scope, kind.id.0), change.enabled);
        }
    }
    let by_action = &of.actions;
    for (place, change) in by_action.iter().enumerate() {
        validate::identifier(&field_path("actions", count_settings(by_action), place), &change.code)?;
    }
    // A reset does not create an action that does not exist yet.
    let codes = |is_set: bool| {
        let named = by_action.iter().filter(move |change| change.enabled.is_some() == is_set);
        named.map(|change| change.code.as_str()).collect::<Vec<_>>()
    };
    let mut known = action::find_or_create_preferred(store, tenant, &codes(true)).await?;
    known.extend(action::find_existing(store, tenant, &codes(false)).await?);
    for change in by_action {
        match known.get(&change.code) {
            Some(action) => drop(changes.insert((PreferenceScope::Action, action.0), change.enabled)),
            None if change.enabled.is_none() => {}
            None => return Err(Error::internal("an action is missing after it was created")),
        }
    }
    Ok(changes)
}

/// How many of the changes are not resets.
fn count_settings<'a>(changes: impl IntoIterator<Item = &'a PreferenceChange>) -> usize {
    changes.into_iter().filter(|change| change.enabled.is_some()).count()
}

/// The input field of a change. After the first `set` changes come the resets, which are separate lists in the API.
fn field_path(list: &str, set: usize, place: usize) -> String {
    match (place.checked_sub(set), list) {
        (None, "channels") => format!("channels[{place}].type"),
        (None, _) => format!("{list}[{place}].code"),
        (Some(place), "channels") => format!("resetChannels[{place}].type"),
        (Some(place), "types") => format!("resetTypes[{place}]"),
        (Some(place), _) => format!("resetActions[{place}]"),
    }
}

/// All subjects by scope. Their old rows are deleted before the new ones are inserted.
fn subjects_by_scope(changes: &ResolvedChanges) -> BTreeMap<PreferenceScope, Vec<i64>> {
    let mut subjects = BTreeMap::<PreferenceScope, Vec<i64>>::new();
    for (scope, subject) in changes.keys() {
        subjects.entry(*scope).or_default().push(*subject);
    }
    subjects
}

/// The rows to insert: all changes that are not resets.
fn rows_to_insert(changes: &ResolvedChanges) -> impl Iterator<Item = (PreferenceScope, i64, bool)> {
    changes.iter().filter_map(|(&(scope, subject), enabled)| enabled.map(|on| (scope, subject, on)))
}
