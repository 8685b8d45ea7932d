//! Drafts: what is about to be sent, checked and with everything that it names looked up.

use std::collections::HashMap;

use entity::ids::{ActionId, UserId};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::content::Content;
use super::envelope::{Envelope, Recipients, groups, message_type};
use super::{Audience, Kind};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::channel::Target;
use crate::domain::tenant::Tenant;
use crate::domain::{check, preference, user};
use crate::error::{Error, Result};

/// The most users named one by one.
const NAMED_USERS: usize = 10_000;
/// The most groups of one announcement.
const NAMED_GROUPS: usize = 100;

/// How far ahead something may be scheduled, in milliseconds: ten years.
const FARTHEST: Millis = 10 * 366 * 24 * 60 * 60 * 1000;

/// What a caller wants to send.
#[derive(Clone, Debug)]
pub struct Input {
    /// Code of the message type.
    pub message_type: String,
    pub addressees: Addressees,
    pub content: Content,
    /// The partner's id.
    pub sender: Option<String>,
    /// When to publish it, where that is in the future; at once otherwise.
    pub publish_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    pub idempotency_key: Option<String>,
}

/// Whom it is for, as the caller names them; this decides the kind.
#[derive(Clone, Debug, Serialize)]
pub enum Addressees {
    Everyone,
    Groups(Vec<String>),
    Users(Vec<String>),
    Receiver(String),
    Subscribers { target_type: String, target_id: String, action: String },
}

/// Ready to be committed.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub envelope: Envelope,
    pub content: Content,
    /// Nothing where it is published at once.
    pub publish_at: Option<Millis>,
    pub idempotency_key: Option<String>,
    /// Of all that the caller said.
    pub fingerprint: i64,
}

/// Checks what callers want to send, then looks up all that it names, making users and actions that are new.
pub(super) async fn prepare(
    app: &App,
    tenant: &Tenant,
    inputs: &[Input],
    path: impl Fn(usize) -> String,
) -> Result<Vec<Draft>> {
    let catalogue = catalogue::current(app, tenant).await?;
    for (place, input) in inputs.iter().enumerate() {
        check_input(input, &catalogue, app.now()).map_err(|error| error.within(&path(place)))?;
    }
    let names: Vec<String> = inputs.iter().flat_map(named_users).cloned().collect();
    let users = user::mention(app, tenant, "users", &names).await?;
    let users: HashMap<&String, UserId> = names.iter().zip(users).collect();
    let actions: Vec<String> = inputs.iter().filter_map(action).cloned().collect();
    let actions = preference::actions(app, tenant, &actions).await?;
    inputs.iter().map(|input| draft(input, &catalogue, &users, &actions, app.now())).collect()
}

impl Draft {
    /// The draft by a newer catalogue; fails where its type or a group of it is gone.
    pub fn renewed(&self, catalogue: &Catalogue) -> Result<Self> {
        let mut draft = self.clone();
        let envelope = &mut draft.envelope;
        envelope.message_type = message_type(catalogue, &envelope.message_type.code)?;
        if let Recipients::Groups(_) = envelope.recipients {
            envelope.recipients = Recipients::Groups(groups(catalogue, &envelope.audience.groups)?);
        }
        envelope.catalogue_version = catalogue.version;
        Ok(draft)
    }
}

fn check_input(input: &Input, catalogue: &Catalogue, now: Millis) -> Result<()> {
    let kind = message_type(catalogue, &input.message_type)?;
    input.content.check(&kind)?;
    if let Some(sender) = &input.sender {
        check::code("sender", sender)?;
    }
    if let Some(key) = &input.idempotency_key {
        check::code("idempotencyKey", key)?;
    }
    check_instants(input.publish_at.filter(|at| *at > now), input.expires_at, now)?;
    check_addressees(&input.addressees, catalogue)
}

/// What expires must be published before.
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

fn check_addressees(addressees: &Addressees, catalogue: &Catalogue) -> Result<()> {
    match addressees {
        Addressees::Everyone => Ok(()),
        Addressees::Groups(codes) => {
            check::count("audience.groups", codes.len(), NAMED_GROUPS)?;
            if codes.is_empty() {
                return Err(Error::bad_input("audience.groups", "must name at least one group"));
            }
            groups(catalogue, codes).map(drop)
        }
        Addressees::Users(ids) => {
            check::count("audience.users", ids.len(), NAMED_USERS)?;
            if ids.is_empty() {
                return Err(Error::bad_input("audience.users", "must name at least one user"));
            }
            ids.iter().try_for_each(|id| check::code("audience.users", id))
        }
        Addressees::Receiver(id) => check::code("receiver", id),
        Addressees::Subscribers { target_type, target_id, action } => {
            check::code("target.type", target_type)?;
            check::code("target.id", target_id)?;
            check::code("action", action)
        }
    }
}

fn named_users(input: &Input) -> impl Iterator<Item = &String> {
    let addressed: &[String] = match &input.addressees {
        Addressees::Users(ids) => ids,
        Addressees::Receiver(id) => std::slice::from_ref(id),
        _ => &[],
    };
    addressed.iter().chain(&input.sender)
}

fn action(input: &Input) -> Option<&String> {
    match &input.addressees {
        Addressees::Subscribers { action, .. } => Some(action),
        _ => None,
    }
}

fn draft(
    input: &Input,
    catalogue: &Catalogue,
    users: &HashMap<&String, UserId>,
    actions: &HashMap<String, ActionId>,
    now: Millis,
) -> Result<Draft> {
    let user = |id: &String| users.get(id).copied().ok_or_else(|| Error::internal("a user vanished while being made"));
    let mut audience = Audience::default();
    let (kind, recipients) = match &input.addressees {
        Addressees::Everyone => {
            audience.everyone = true;
            (Kind::Announcement, Recipients::Everyone)
        }
        Addressees::Groups(codes) => {
            audience.groups.clone_from(codes);
            audience.groups.sort();
            audience.groups.dedup();
            (Kind::Announcement, Recipients::Groups(groups(catalogue, &audience.groups)?))
        }
        Addressees::Users(ids) => {
            let mut rows = ids.iter().map(user).collect::<Result<Vec<_>>>()?;
            rows.sort_unstable();
            rows.dedup();
            audience.users = rows.len();
            (Kind::Announcement, Recipients::Users(rows))
        }
        Addressees::Receiver(id) => {
            audience.users = 1;
            (Kind::Message, Recipients::Users(vec![user(id)?]))
        }
        Addressees::Subscribers { .. } => (Kind::Reminder, Recipients::Subscribers),
    };
    let target = match &input.addressees {
        Addressees::Subscribers { target_type, target_id, .. } => {
            Some(Target { target_type: target_type.clone(), id: target_id.clone() })
        }
        _ => None,
    };
    let envelope = Envelope {
        kind,
        message_type: message_type(catalogue, &input.message_type)?,
        recipients,
        sender: input.sender.as_ref().map(user).transpose()?,
        target,
        action: action(input).and_then(|code| Some((code.clone(), *actions.get(code)?))),
        audience,
        expires_at: input.expires_at,
        catalogue_version: catalogue.version,
    };
    Ok(Draft {
        envelope,
        content: input.content.clone(),
        publish_at: input.publish_at.filter(|at| *at > now),
        idempotency_key: input.idempotency_key.clone(),
        fingerprint: fingerprint(input)?,
    })
}

/// 64 bits of a SHA-256 over everything that the caller said, but for the key itself.
fn fingerprint(input: &Input) -> Result<i64> {
    let said = (&input.message_type, &input.addressees, &input.content, &input.sender, input.expires_at);
    // What is not scheduled has the fingerprint that it always had.
    let said = match input.publish_at {
        None => serde_json::to_vec(&said),
        Some(publish_at) => serde_json::to_vec(&(said, publish_at)),
    };
    let digest = Sha256::digest(said.map_err(Error::internal)?);
    Ok(digest.iter().take(8).fold(0, |sum: i64, byte| sum << 8 | i64::from(*byte)))
}
