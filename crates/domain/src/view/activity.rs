//! Activities: events in views.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use entity::activity_key;
use entity::ids::{UserId, ViewId};
use entity::prelude::{ExistingRows, Value, insert};
use entity::view::Column;

use super::{TOUCH, UserView, ViewKey, ViewRow, VisitState, lock_views, queries};
use crate::tenant::Tenant;
use crate::user;
use base::clock::Millis;
use base::error::{Error, Result};
use cluster::hub::Notice;
use model::fingerprint::fingerprint;
use model::json::canonicalize;
use model::validate;
use store::{Store, Transaction, transaction};

/// The most activities of one call.
const ACTIVITIES: usize = 1000;

/// The most bytes of a preview, written as JSON.
const PREVIEW_BYTES: usize = 4096;

/// Pairs per lookup; see `queries::push_pairs`.
const PAIRS: usize = 128;

/// An event in a view.
#[derive(Clone, Debug)]
pub struct ViewActivity {
    pub view: ViewKey,
    /// The acting user, by the backend's id. For them it counts as a visit, too.
    pub actor: Option<String>,
    /// Becomes the view's `latest`; at most 4 KiB of JSON.
    pub preview: Option<serde_json::Value>,
    /// Unique within its view.
    pub idempotency_key: Option<String>,
}

/// A validated activity.
struct ActivityDraft {
    view: ViewKey,
    actor: Option<UserId>,
    preview: Option<String>,
    key: Option<String>,
    /// Of the whole input except view and key.
    fingerprint: i64,
}

/// Records up to 1,000 activities in one transaction, all or none. Returns the view of each as its actor sees it then.
///
/// Each activity takes the next position of its view. A missing view is created. The actor has seen everything up to
/// the activity, and is a member from then on. A key that was used in the view before changes nothing; with another
/// actor or preview it is a `CONFLICT`. Costs about six statements for any number of activities, views and members (and
/// one more for each further view code and each 128 keys), and locks the rows of the views until it commits.
pub async fn record_activities(store: &Store, tenant: &Tenant, activities: &[ViewActivity]) -> Result<Vec<UserView>> {
    user::retry_if_erased(|| async {
        let drafts = prepare_drafts(store, tenant, activities).await?;
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        transaction!(store.db, |txn| write_drafts(txn, tenant, &drafts, store.now()).await)
    })
    .await
}

async fn prepare_drafts(store: &Store, tenant: &Tenant, activities: &[ViewActivity]) -> Result<Vec<ActivityDraft>> {
    validate::at_most("inputs", activities.len(), ACTIVITIES)?;
    for (place, activity) in activities.iter().enumerate() {
        check_activity(activity).map_err(|error| error.with_field_prefix(&format!("inputs[{place}]")))?;
    }
    let named: Vec<String> = activities.iter().filter_map(|activity| activity.actor.clone()).collect();
    let mut actors = user::find_or_create(store, tenant, "inputs", &named).await?.into_iter();
    let draft = |activity: &ViewActivity| {
        let said = serde_json::to_vec(&(&activity.actor, activity.preview.as_ref().map(canonicalize)))
            .map_err(Error::internal)?;
        Ok(ActivityDraft {
            view: activity.view.clone(),
            actor: activity.actor.as_ref().and_then(|_| actors.next()),
            preview: activity.preview.as_ref().map(ToString::to_string),
            key: activity.idempotency_key.clone(),
            fingerprint: fingerprint(&said),
        })
    };
    activities.iter().map(draft).collect()
}

fn check_activity(activity: &ViewActivity) -> Result<()> {
    activity.view.check().map_err(|error| error.with_field_prefix("view"))?;
    if let Some(actor) = &activity.actor {
        validate::identifier("actor", actor)?;
    }
    if let Some(preview) = &activity.preview {
        validate::body("preview", &preview.to_string(), PREVIEW_BYTES)?;
    }
    activity.idempotency_key.as_ref().map_or(Ok(()), |key| validate::identifier("idempotencyKey", key))
}

async fn write_drafts(
    txn: &Transaction,
    tenant: &Tenant,
    drafts: &[ActivityDraft],
    now: Millis,
) -> Result<Vec<UserView>> {
    let keys: Vec<ViewKey> = drafts.iter().map(|draft| draft.view.clone()).collect();
    let mut rows = lock_views(txn, tenant, &keys, now).await?;
    let actors: Vec<UserId> = drafts.iter().filter_map(|draft| draft.actor).collect();
    user::lock_users(txn, tenant, &actors).await?;
    let mut used = load_used_keys(txn, &rows, drafts).await?;
    let mut new_keys: Vec<[Value; 4]> = Vec::new();
    let mut changed: BTreeSet<&ViewKey> = BTreeSet::new();
    let mut visits: BTreeMap<(UserId, ViewId), VisitState> = BTreeMap::new();
    for draft in drafts {
        let row = rows.get_mut(&draft.view).ok_or_else(|| Error::internal("a view is missing after it was locked"))?;
        if let Some(key) = &draft.key {
            match used.insert((row.id, key.clone()), draft.fingerprint) {
                Some(fingerprint) if fingerprint == draft.fingerprint => continue,
                Some(_) => {
                    let message = format!("the idempotency key {key:?} was used for another activity of the view");
                    return Err(Error::Conflict(message));
                }
                None => new_keys.push([row.id.into(), key.clone().into(), draft.fingerprint.into(), now.into()]),
            }
        }
        row.position += 1;
        row.latest.clone_from(&draft.preview);
        row.last_activity_at = row.last_activity_at.max(Some(now));
        changed.insert(&draft.view);
        if let Some(actor) = draft.actor {
            visits.insert((actor, row.id), VisitState { position: row.position, visited_at: Some(now) });
        }
    }
    let changed: Vec<&ViewRow> = changed.into_iter().filter_map(|key| rows.get(key)).collect();
    txn.notify(Notice {
        views: changed.iter().map(|row| row.id).collect(),
        joins: visits.keys().copied().collect(),
        ..Notice::for_tenant(tenant.id)
    });
    advance_positions(txn, tenant, &changed, now).await?;
    let columns = [
        activity_key::Column::ViewId,
        activity_key::Column::IdempotencyKey,
        activity_key::Column::Fingerprint,
        activity_key::Column::CreatedAt,
    ];
    insert(txn, columns, new_keys, ExistingRows::Refused).await?;
    record_visits(txn, &visits, now).await?;
    load_views(txn, &rows, drafts, visits).await
}

/// The drafts' idempotency keys that were used before, with the fingerprints of their activities.
async fn load_used_keys(
    txn: &Transaction,
    rows: &HashMap<ViewKey, ViewRow>,
    drafts: &[ActivityDraft],
) -> Result<HashMap<(ViewId, String), i64>> {
    let pair = |draft: &ActivityDraft| Some((rows.get(&draft.view)?.id.into(), draft.key.clone()?.into()));
    let pairs: Vec<(Value, Value)> = drafts.iter().filter_map(pair).collect();
    let mut used = HashMap::new();
    for pairs in pairs.chunks(PAIRS) {
        let found = queries::find_used_keys(txn, pairs).await?;
        used.extend(found.into_iter().map(|of| ((of.view_id, of.idempotency_key), of.fingerprint)));
    }
    Ok(used)
}

/// Writes the new positions of locked views. All rows exist, so this INSERT only updates: it is the one statement that
/// updates many rows with different values on all three databases.
async fn advance_positions(txn: &Transaction, tenant: &Tenant, rows: &[&ViewRow], now: Millis) -> Result<()> {
    let values = |row: &&ViewRow| {
        let touched_at = if now - row.touched_at >= TOUCH { now } else { row.touched_at };
        [
            tenant.id.into(),
            row.key.code.clone().into(),
            row.key.id.clone().into(),
            row.position.into(),
            row.last_activity_at.into(),
            touched_at.into(),
            row.latest.clone().into(),
        ]
    };
    let columns = [
        Column::TenantId,
        Column::Code,
        Column::ExternalId,
        Column::Position,
        Column::LastActivityAt,
        Column::TouchedAt,
        Column::Latest,
    ];
    let key = &[Column::TenantId, Column::Code, Column::ExternalId];
    let raised = &[Column::Position, Column::LastActivityAt, Column::TouchedAt];
    let merged = ExistingRows::Merged { key, raised, replaced: &[Column::Latest] };
    insert(txn, columns, rows.iter().map(values).collect(), merged).await?;
    Ok(())
}

/// Records that the actors have seen their activities, and everything before.
async fn record_visits(txn: &Transaction, visits: &BTreeMap<(UserId, ViewId), VisitState>, now: Millis) -> Result<()> {
    let row = |(&(user, view), visit): (&(UserId, ViewId), &VisitState)| {
        [user.into(), view.into(), visit.position.into(), visit.visited_at.into(), now.into()]
    };
    super::member::upsert_visits(txn, visits.iter().map(row).collect()).await
}

/// The view of each draft, as its actor sees it now. Only actors without a new activity are looked up.
async fn load_views(
    txn: &Transaction,
    rows: &HashMap<ViewKey, ViewRow>,
    drafts: &[ActivityDraft],
    mut visits: BTreeMap<(UserId, ViewId), VisitState>,
) -> Result<Vec<UserView>> {
    let of = |draft: &ActivityDraft| Some((draft.actor?, rows.get(&draft.view)?.id));
    let unknown: BTreeSet<(UserId, ViewId)> =
        drafts.iter().filter_map(of).filter(|pair| !visits.contains_key(pair)).collect();
    let pairs: Vec<(Value, Value)> = unknown.into_iter().map(|(user, view)| (user.into(), view.into())).collect();
    for pairs in pairs.chunks(PAIRS) {
        let found = queries::find_visits(txn, pairs).await?;
        visits.extend(found.into_iter().map(|of| ((of.user_id, of.view_id), of.visit)));
    }
    let view = |draft: &ActivityDraft| {
        let row = rows.get(&draft.view).ok_or_else(|| Error::internal("a view is missing after it was written"))?;
        row.to_view(draft.actor, of(draft).and_then(|pair| visits.get(&pair)).copied())
    };
    drafts.iter().map(view).collect()
}
