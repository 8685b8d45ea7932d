//! Drafts: validated sends, with everything that they name resolved to ids. The routing is the part of a draft that
//! publishing needs: all but the content.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use entity::ids::{ActionId, UserId};
use entity::prelude::*;
use entity::recipient::{Column, Entity as Recipient};

use super::idempotency::{ContentFingerprint, EarlierSend, IdempotencyKey};
use super::input::{Addressees, ImportedState, NotificationInput};
use super::{DirectAudience, NotificationKind, NotificationRow, find_by_keys, strict};
use crate::catalogue::{self, Catalogue, MessageType, action};
use crate::channel::{self, ActionTarget};
use crate::tenant::Tenant;
use crate::user::{self, PerformedBy};
use base::clock::Millis;
use base::error::{Error, Result};
use model::actor::StaffActor;
use model::catalogue::unknown_type;
use model::content::NotificationContent;
use model::notification::RuleOrigin;
use model::validate;
use store::Store;

/// The most users that one notification names.
const NAMED_USERS: usize = 10_000;
/// The most groups of one announcement.
const NAMED_GROUPS: usize = 100;

/// How far ahead a notification may be scheduled, in milliseconds: ten years.
const FARTHEST: Millis = 10 * 366 * 24 * 60 * 60 * 1000;

/// A notification that is ready to be committed.
#[derive(Clone, Debug)]
pub(super) struct NotificationDraft {
    pub envelope: NotificationRouting,
    pub content: NotificationContent,
    /// `None` if it is published at once.
    pub publish_at: Option<Millis>,
    pub past: Option<ImportedState>,
    pub raised: Option<RuleOrigin>,
    pub sent_by: Option<StaffActor>,
    pub idempotency_key: Option<IdempotencyKey>,
    /// The content, to compare with earlier sends under the same key.
    pub said: ContentFingerprint,
    /// The users that it names, with the backend's ids.
    pub names: Vec<(UserId, String)>,
}

/// The result of [`prepare_drafts`]: drafts in the order of the inputs, without those that were sent before.
pub(super) struct PreparedDrafts {
    pub drafts: Vec<NotificationDraft>,
    /// Numbers of notifications that were sent before under the same keys, by the positions of their inputs. A retry
    /// counts even if a new send is impossible because it expires too soon by now or its group is gone.
    pub sent: HashMap<usize, i64>,
}

/// Validates inputs, then resolves everything that they name. Creates new users and actions.
///
/// The catalogue may come from the cache: drafts of an outdated version are not sent. Before it refuses an input or
/// creates a user, the function loads the current catalogue and looks up the keys, so that refused and conflicting
/// inputs create no users.
pub(super) async fn prepare_drafts(
    store: &Store,
    tenant: &Tenant,
    by: PerformedBy<'_>,
    (inputs, mut catalogue): (&[NotificationInput], Arc<Catalogue>),
    path: impl Fn(usize) -> String,
) -> Result<PreparedDrafts> {
    let mut refused = check_inputs_and_templates(store, tenant, by, &catalogue, inputs).await?;
    let known = if refused.is_empty() { find_named(store, tenant, inputs).await? } else { None };
    if known.is_none() {
        catalogue = catalogue::load_current(store, tenant).await?;
        refused = check_inputs_and_templates(store, tenant, by, &catalogue, inputs).await?;
    }
    refused = refused.into_iter().map(|(place, error)| (place, error.with_field_prefix(&path(place)))).collect();
    refused.extend(check_groups(store, tenant, inputs, &refused, &path).await?);
    let refused = BTreeMap::from_iter(refused);
    let asked = if known.is_some() { refused.keys().copied().collect() } else { (0..inputs.len()).collect() };
    let sent = find_sent_before(store, tenant, by, inputs, (asked, refused)).await?;
    let inputs = inputs.iter().enumerate().filter(|(place, _)| !sent.contains_key(place)).map(|(_, input)| input);
    let inputs: Vec<&NotificationInput> = inputs.collect();
    let named = match known {
        Some(named) => named,
        None => find_or_create_named(store, tenant, &inputs).await?,
    };
    let drafts = inputs.iter().map(|input| build_draft(by, input, &catalogue, &named, store.now()));
    Ok(PreparedDrafts { drafts: drafts.collect::<Result<_>>()?, sent })
}

/// The errors of inputs themselves, and the template errors of strict ones, each with the input's position.
async fn check_inputs_and_templates(
    store: &Store,
    tenant: &Tenant,
    by: PerformedBy<'_>,
    catalogue: &Catalogue,
    inputs: &[NotificationInput],
) -> Result<Vec<(usize, Error)>> {
    let mut refused = check_inputs(store, by, catalogue, inputs);
    refused.extend(strict::check_templates(store, tenant, catalogue, inputs, &refused).await?);
    Ok(refused)
}

/// The errors of inputs themselves, each with the input's position.
pub(super) fn check_inputs(
    store: &Store,
    by: PerformedBy<'_>,
    catalogue: &Catalogue,
    inputs: &[NotificationInput],
) -> Vec<(usize, Error)> {
    let checked = inputs.iter().map(|input| check_input(by, input, catalogue, store.now())).enumerate();
    checked.filter_map(|(place, checked)| Some((place, checked.err()?))).collect()
}

/// The numbers of notifications sent before, by the positions of the `asked` inputs. A retry is recognised even if the
/// catalogue has changed since. Fails with the first input that is refused and is no retry, or has a key that stands
/// for other content, in this call or before.
async fn find_sent_before(
    store: &Store,
    tenant: &Tenant,
    by: PerformedBy<'_>,
    inputs: &[NotificationInput],
    (asked, mut refused): (Vec<usize>, BTreeMap<usize, Error>),
) -> Result<HashMap<usize, i64>> {
    // An invalid key was never used, and a database may not even accept it.
    let key = |place: &usize| IdempotencyKey::from_input(by, &inputs[*place]).ok().flatten();
    let keys: Vec<Option<IdempotencyKey>> = asked.iter().map(key).collect();
    let kept: Vec<&str> = keys.iter().flatten().map(|key| key.kept.as_str()).collect();
    let found = find_by_keys(&store.db.read, tenant, &kept).await?;
    let found: HashMap<&str, EarlierSend> = found.iter().map(|(key, kept)| (key.as_str(), *kept)).collect();
    let mut said: HashMap<&str, i64> = HashMap::new();
    let mut sent = HashMap::new();
    for (place, key) in asked.into_iter().zip(&keys) {
        let (mut before, mut wrong) = (None, refused.remove(&place));
        if let Some(key) = key {
            let now_said = ContentFingerprint::from_input(&inputs[place], store.now())?;
            let kept = found.get(key.kept.as_str());
            let is_same = if let Some(kept) = kept {
                now_said.is_same_as(*kept, store.now())
            } else {
                let fingerprint = now_said.fingerprint;
                *said.entry(&key.kept).or_insert(fingerprint) == fingerprint
            };
            if is_same {
                before = kept.map(|kept| kept.id);
            } else {
                wrong = wrong.or_else(|| Some(key.conflict_error()));
            }
        }
        match (before, wrong) {
            (Some(id), _) => drop(sent.insert(place, id)),
            (None, Some(error)) => return Err(error),
            (None, None) => {}
        }
    }
    Ok(sent)
}

impl NotificationDraft {
    /// The start of its lifetime: its original time if it is imported, else `now`.
    pub fn begins_at(&self, now: Millis) -> Millis {
        self.past.as_ref().map_or(now, |past| past.created_at)
    }

    /// The draft with erased users replaced by the users that have their ids now.
    pub fn with_users_replaced(&self, heirs: &HashMap<UserId, UserId>) -> Self {
        let mut draft = self.clone();
        let heir = |user: &mut UserId| *user = heirs.get(user).copied().unwrap_or(*user);
        draft.envelope.sender.as_mut().map(heir);
        if let RecipientIds::Users(users) = &mut draft.envelope.recipients {
            users.iter_mut().for_each(heir);
        }
        draft
    }
}

fn check_input(by: PerformedBy<'_>, input: &NotificationInput, catalogue: &Catalogue, now: Millis) -> Result<()> {
    let kind = find_message_type(catalogue, &input.message_type)?;
    if matches!(by, PerformedBy::User(_)) {
        check_user_input(input, &kind)?;
    }
    input.content.check(&kind).map_err(|error| error.with_field_prefix("content"))?;
    if let Some(sender) = &input.sender {
        validate::identifier("sender", sender)?;
    }
    if let Some(key) = &input.idempotency_key {
        validate::identifier("idempotencyKey", key)?;
    }
    check_instants(input.publish_at.filter(|at| *at > now), input.expires_at, now)?;
    if let Some(past) = &input.past {
        past.check(now)?;
    }
    check_addressees(&input.addressees)
}

/// Users may send only types that other users can switch off, and only links that are paths on the tenant's own site.
fn check_user_input(input: &NotificationInput, kind: &MessageType) -> Result<()> {
    if !kind.users_may_send || kind.mandatory {
        let message = format!(
            "users cannot send messages of the type {:?}: have your backend send it, or an operator save the type with usersMaySend",
            kind.code
        );
        return Err(Error::Forbidden(message));
    }
    match &input.content.link {
        Some(link) if !link.starts_with('/') => {
            Err(Error::bad_input("content.link", "must be a path if a user sends, because a URL leads to another site"))
        }
        _ => Ok(()),
    }
}

/// Checks that it is published within ten years and expires after now and after publication.
pub(super) fn check_instants(publish_at: Option<Millis>, expires_at: Option<Millis>, now: Millis) -> Result<()> {
    if publish_at.is_some_and(|at| at > now.saturating_add(FARTHEST)) {
        return Err(Error::bad_input("publishAt", "must be within ten years"));
    }
    match (publish_at, expires_at) {
        (_, Some(expires_at)) if expires_at <= now => Err(Error::bad_input("expiresAt", "must be in the future")),
        (Some(publish_at), Some(expires_at)) if expires_at <= publish_at => {
            Err(Error::bad_input("expiresAt", "must be after publishAt"))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_addressees(addressees: &Addressees) -> Result<()> {
    match addressees {
        Addressees::Everyone => Ok(()),
        Addressees::Groups(codes) => {
            validate::at_most("audience.groups", codes.len(), NAMED_GROUPS)?;
            if codes.is_empty() {
                return Err(Error::bad_input("audience.groups", "must name at least one group"));
            }
            validate::identifiers("audience.groups", codes)
        }
        Addressees::Users(ids) => {
            validate::at_most("audience.users", ids.len(), NAMED_USERS)?;
            if ids.is_empty() {
                return Err(Error::bad_input("audience.users", "must name at least one user"));
            }
            validate::identifiers("audience.users", ids)
        }
        Addressees::Receiver(id) => validate::identifier("receiver", id),
        Addressees::Subscribers { target_type, target_id, action } => {
            validate::identifier("target.type", target_type)?;
            validate::identifier("target.externalId", target_id)?;
            validate::identifier("action", action)
        }
    }
}

/// The users and actions that inputs name, with their ids.
struct NamedIds {
    users: HashMap<String, UserId>,
    actions: HashMap<String, ActionId>,
    /// Read before the users are looked up, so that a later erasure is noticed.
    erased_count: i64,
}

/// The users and actions that valid inputs name. `None` if one of them does not exist yet.
async fn find_named(store: &Store, tenant: &Tenant, inputs: &[NotificationInput]) -> Result<Option<NamedIds>> {
    let erased_count = tenant.erased_count();
    let names: Vec<String> = inputs.iter().flat_map(named_users).cloned().collect();
    let users = user::find_existing(store, tenant, &names).await?;
    let codes: Vec<&str> = inputs.iter().filter_map(named_action).map(String::as_str).collect();
    let actions = action::find_existing(store, tenant, &codes).await?;
    let is_known = |id: &String| users.contains_key(id);
    let all_are = names.iter().all(is_known) && codes.iter().all(|code| actions.contains_key(*code));
    Ok(all_are.then_some(NamedIds { users, actions, erased_count }))
}

/// Like `find_named`, but creates missing users and actions.
async fn find_or_create_named(store: &Store, tenant: &Tenant, inputs: &[&NotificationInput]) -> Result<NamedIds> {
    let erased_count = tenant.erased_count();
    let names: Vec<String> = inputs.iter().copied().flat_map(named_users).cloned().collect();
    let users = user::find_or_create(store, tenant, "users", &names).await?;
    let codes: Vec<String> = inputs.iter().copied().filter_map(named_action).cloned().collect();
    let actions = action::find_or_create_sent(store, tenant, &codes).await?;
    Ok(NamedIds { users: names.into_iter().zip(users).collect(), actions, erased_count })
}

fn named_users(input: &NotificationInput) -> impl Iterator<Item = &String> {
    let addressed: &[String] = match &input.addressees {
        Addressees::Users(ids) => ids,
        Addressees::Receiver(id) => std::slice::from_ref(id),
        _ => &[],
    };
    addressed.iter().chain(&input.sender)
}

fn named_action(input: &NotificationInput) -> Option<&String> {
    match &input.addressees {
        Addressees::Subscribers { action, .. } => Some(action),
        _ => input.past.as_ref()?.action.as_ref(),
    }
}

fn build_draft(
    by: PerformedBy<'_>,
    input: &NotificationInput,
    catalogue: &Catalogue,
    named: &NamedIds,
    now: Millis,
) -> Result<NotificationDraft> {
    let user = |id: &String| {
        named.users.get(id).copied().ok_or_else(|| Error::internal("a user is missing after it was created"))
    };
    let mut audience = DirectAudience::default();
    let (kind, recipients) = match &input.addressees {
        Addressees::Everyone => {
            audience.everyone = true;
            (NotificationKind::Announcement, RecipientIds::Everyone)
        }
        Addressees::Groups(codes) => {
            audience.groups.clone_from(codes);
            audience.groups.sort();
            audience.groups.dedup();
            (NotificationKind::Announcement, RecipientIds::Groups)
        }
        Addressees::Users(ids) => {
            let mut rows = ids.iter().map(user).collect::<Result<Vec<_>>>()?;
            rows.sort_unstable();
            rows.dedup();
            audience.users = rows.len();
            (NotificationKind::Announcement, RecipientIds::Users(rows))
        }
        Addressees::Receiver(id) => {
            audience.users = 1;
            (NotificationKind::Message, RecipientIds::Users(vec![user(id)?]))
        }
        Addressees::Subscribers { .. } => (NotificationKind::Reminder, RecipientIds::Subscribers),
    };
    let target = match &input.addressees {
        Addressees::Subscribers { target_type, target_id, .. } => {
            Some(ActionTarget { target_type: target_type.clone(), id: target_id.clone() })
        }
        _ => input.past.as_ref().and_then(|past| past.target.clone()),
    };
    let envelope = NotificationRouting {
        kind,
        message_type: find_message_type(catalogue, &input.message_type)?,
        recipients,
        sender: input.sender.as_ref().map(user).transpose()?,
        target,
        action: named_action(input).and_then(|code| Some((code.clone(), *named.actions.get(code)?))),
        audience,
        expires_at: input.expires_at,
        catalogue_version: catalogue.version,
        erased_count: named.erased_count,
    };
    Ok(NotificationDraft {
        envelope,
        content: input.content.clone(),
        publish_at: input.publish_at.filter(|at| *at > now),
        past: input.past.clone().map(|past| ImportedState { created_at: past.created_at.min(now), ..past }),
        raised: input.raised.clone(),
        sent_by: input.sent_by.clone(),
        idempotency_key: IdempotencyKey::from_input(by, input)?,
        said: ContentFingerprint::from_input(input, now)?,
        names: named_users(input).map(|id| Ok((user(id)?, id.clone()))).collect::<Result<_>>()?,
    })
}

/// Routing data of a notification.
#[derive(Clone, Debug)]
pub(super) struct NotificationRouting {
    pub kind: NotificationKind,
    pub message_type: Arc<MessageType>,
    pub recipients: RecipientIds,
    pub sender: Option<UserId>,
    pub target: Option<ActionTarget>,
    pub action: Option<(String, ActionId)>,
    pub audience: DirectAudience,
    /// As the caller gave it; `None` means the ttl of the type.
    pub expires_at: Option<Millis>,
    /// The version of the catalogue that its type was looked up in.
    pub catalogue_version: i64,
    /// The tenant's number of erased users, read before the named users were looked up.
    pub erased_count: i64,
}

/// The recipients, as ids.
#[derive(Clone, Debug)]
pub(super) enum RecipientIds {
    Everyone,
    /// The members of the audience's groups that exist at publication.
    Groups,
    Users(Vec<UserId>),
    /// Subscribers of the target's channel, and followers of the sender.
    Subscribers,
}

impl NotificationRouting {
    /// When it expires if it is published at `now`.
    pub fn expires_at(&self, now: Millis) -> Option<Millis> {
        expiry_time(self.expires_at, &self.message_type, now)
    }

    /// The users named one by one, including the receiver of a message.
    pub fn named_users(&self) -> &[UserId] {
        if let RecipientIds::Users(users) = &self.recipients { users } else { &[] }
    }

    /// The receiver of a message.
    pub fn receiver(&self) -> Option<UserId> {
        if self.kind == NotificationKind::Message { self.named_users().first().copied() } else { None }
    }

    /// The routing data of a scheduled notification, by the current catalogue.
    pub async fn load_scheduled(
        db: &impl ConnectionTrait,
        tenant: &Tenant,
        catalogue: &Catalogue,
        row: NotificationRow,
    ) -> Result<Self> {
        let (receiver, action) = (row.of.receiver_id, row.of.action_id);
        let of = row.into_notification(catalogue)?;
        let recipients = match of.kind {
            NotificationKind::Message => RecipientIds::Users(receiver.into_iter().collect()),
            NotificationKind::Reminder => RecipientIds::Subscribers,
            NotificationKind::Announcement if of.audience.everyone => RecipientIds::Everyone,
            NotificationKind::Announcement if of.audience.users > 0 => {
                let named = Recipient::of_tenant(tenant.id).filter(Column::NotificationId.eq(of.id));
                RecipientIds::Users(named.select_only().column(Column::UserId).into_tuple().all(db).await?)
            }
            NotificationKind::Announcement => RecipientIds::Groups,
        };
        Ok(Self {
            kind: of.kind,
            message_type: of.message_type,
            recipients,
            sender: of.sender,
            target: of.target,
            action: of.action.zip(action),
            audience: of.audience,
            expires_at: of.expires_at,
            catalogue_version: catalogue.version,
            erased_count: tenant.erased_count(),
        })
    }
}

/// When a notification expires: at the time its sender gave, or by the ttl of its type.
pub(super) fn expiry_time(expires_at: Option<Millis>, kind: &MessageType, published_at: Millis) -> Option<Millis> {
    expires_at.or(kind.ttl_seconds.map(|ttl| published_at.saturating_add(ttl.saturating_mul(1000))))
}

pub(super) fn find_message_type(catalogue: &Catalogue, code: &str) -> Result<Arc<MessageType>> {
    let kind = catalogue.message_type(code).cloned();
    kind.ok_or_else(|| unknown_type("type", code))
}

/// The errors of inputs that name an unknown group and are not in `refused`, each with the input's position: one
/// statement if any input names a group.
pub(super) async fn check_groups(
    store: &Store,
    tenant: &Tenant,
    inputs: &[NotificationInput],
    refused: &[(usize, Error)],
    path: impl Fn(usize) -> String,
) -> Result<Vec<(usize, Error)>> {
    let groups = |(place, input): (usize, &NotificationInput)| match &input.addressees {
        Addressees::Groups(codes) => Some((place, codes.clone())),
        _ => None,
    };
    let mut named: Vec<(usize, Vec<String>)> = inputs.iter().enumerate().filter_map(groups).collect();
    named.retain(|(place, _)| !refused.iter().any(|(of, _)| of == place));
    let codes: BTreeSet<String> = named.iter().flat_map(|(_, codes)| codes.clone()).collect();
    let known = channel::find_groups(&store.db.read, tenant, &Vec::from_iter(codes)).await?;
    let missing = |(place, codes): &(usize, Vec<String>)| {
        let (at, code) = codes.iter().enumerate().find(|(_, code)| !known.contains_key(*code))?;
        let error = Error::bad_input(
            format!("audience.groups[{at}]"),
            format!("names no group: {code:?}; create it with saveUserGroup"),
        );
        Some((*place, error.with_field_prefix(&path(*place))))
    };
    Ok(named.iter().filter_map(missing).collect())
}
