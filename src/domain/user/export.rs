//! Exporting a user: all that is kept about him, as JSON.

use entity::ids::{Seq, UserId};
use serde_json::{Value, json};

use super::{find, profiles};
use crate::app::App;
use crate::clock::{Millis, calendar};
use crate::domain::channel::{self, Target};
use crate::domain::check;
use crate::domain::inbox::Item;
use crate::domain::inbox::page::{self, End, Window};
use crate::domain::inbox::shelf::Side;
use crate::domain::notification::{self, Notification};
use crate::domain::preference::{self, Preference};
use crate::domain::tenant::Tenant;
use crate::domain::view::{self, Listing};
use crate::error::{Error, Result};
use crate::seal::Kind;

/// Rows that are read at once.
const PAGE: usize = 1000;

/// All that is kept about a user: profile, groups, preferences, subscriptions, follows, views, inbox (archived or not), and
/// what he sent. Nothing where the tenant has never heard of him.
pub async fn export(app: &App, tenant: &Tenant, external_id: &str) -> Result<Option<Value>> {
    check::code("id", external_id)?;
    let known = find(app, tenant, &[external_id.to_owned()]).await?;
    let Some(&user) = known.get(external_id) else { return Ok(None) };
    let Some(profile) = profiles(app, tenant, &[user]).await?.remove(&user) else { return Ok(None) };
    let preferences = preference::of(app, tenant, user).await?;
    let groups = channel::groups_of(app, tenant, user).await?;
    Ok(Some(json!({
        "id": profile.external_id,
        "name": profile.name,
        "avatarUrl": profile.avatar_url,
        "locale": profile.locale,
        "groups": groups.iter().map(|group| &group.code).collect::<Vec<_>>(),
        "preferences": {
            "actions": preferences.actions.iter().map(switch).collect::<Vec<_>>(),
            "types": preferences.types.iter().map(switch).collect::<Vec<_>>(),
        },
        "subscriptions": subscriptions(app, user).await?,
        "following": following(app, tenant, user).await?,
        "views": views(app, tenant, user).await?,
        "inbox": items(app, tenant, user).await?,
        "sent": sent(app, tenant, external_id).await?,
    })))
}

fn instant(at: Option<Millis>) -> Value {
    at.map_or(Value::Null, |at| calendar(at).to_rfc3339_opts(chrono::SecondsFormat::Millis, true).into())
}

fn target(of: Option<&Target>) -> Value {
    of.map_or(Value::Null, |of| json!({ "type": of.target_type, "id": of.id }))
}

fn switch(of: &Preference) -> Value {
    json!({ "code": of.code, "enabled": of.enabled, "own": of.is_own })
}

async fn subscriptions(app: &App, user: UserId) -> Result<Vec<Value>> {
    let all = channel::subscriptions(app, user, usize::try_from(i32::MAX).map_err(Error::internal)?, None).await?;
    let one = |of: &channel::TopicSubscription| json!({ "target": target(Some(&of.target)), "action": of.action, "createdAt": instant(Some(of.created_at)) });
    Ok(all.iter().map(one).collect())
}

async fn following(app: &App, tenant: &Tenant, user: UserId) -> Result<Vec<String>> {
    let all = channel::following(app, user, usize::try_from(i32::MAX).map_err(Error::internal)?, None).await?;
    let ids: Vec<UserId> = all.into_iter().map(|(_, user)| user).collect();
    let mut names: Vec<String> =
        profiles(app, tenant, &ids).await?.into_values().map(|profile| profile.external_id).collect();
    names.sort();
    Ok(names)
}

async fn views(app: &App, tenant: &Tenant, user: UserId) -> Result<Vec<Value>> {
    let all = view::of(app, tenant, &[user], &Listing::Newest(usize::MAX)).await?.remove(&user).unwrap_or_default();
    let one = |of: view::View| {
        json!({ "code": of.key.code, "id": of.key.id, "unread": of.unread,
                "lastVisitedAt": instant(of.last_visited_at) })
    };
    Ok(all.into_iter().map(one).collect())
}

async fn items(app: &App, tenant: &Tenant, user: UserId) -> Result<Vec<Value>> {
    let mut items = Vec::new();
    for side in [Side::Inbox, Side::Archive] {
        let filter = page::Filter { side, ..page::Filter::default() };
        let mut older_than: Option<Seq> = None;
        loop {
            let window = Window { many: PAGE, end: End::Newest, older_than, newer_than: None };
            let page = page::read(app, tenant, user, &filter, window).await?;
            items.extend(page.items.iter().map(|of| item(tenant, of)));
            older_than = page.items.last().map(|item| item.seq);
            if !page.has_more {
                break;
            }
        }
    }
    Ok(items)
}

fn item(tenant: &Tenant, of: &Item) -> Value {
    json!({
        "notificationId": tenant.seal.close(Kind::Notification, 0, of.content.notification),
        "type": of.content.message_type.code,
        "title": of.content.title(),
        "body": of.content.body(),
        "link": of.content.link(),
        "data": of.content.data,
        "sender": of.content.sender.as_ref().map(|sender| &sender.external_id),
        "target": target(of.content.target.as_ref()),
        "action": of.content.action,
        "createdAt": instant(Some(of.content.published_at)),
        "readAt": instant(of.read_at),
        "archivedAt": instant(of.archived_at),
        "expiresAt": instant(of.expires_at),
    })
}

async fn sent(app: &App, tenant: &Tenant, external_id: &str) -> Result<Vec<Value>> {
    let filter = notification::Filter { sender: Some(external_id.to_owned()), ..notification::Filter::default() };
    let (mut sent, mut before) = (Vec::new(), None);
    loop {
        let page = notification::page(app, tenant, &filter, PAGE, before).await?;
        before = page.last().map(|of| of.id);
        sent.extend(page.iter().map(|of| letter(tenant, of)));
        if page.len() < PAGE {
            return Ok(sent);
        }
    }
}

fn letter(tenant: &Tenant, of: &Notification) -> Value {
    json!({
        "notificationId": tenant.seal.close(Kind::Notification, 0, of.id),
        "type": of.message_type.code,
        "title": of.content.title,
        "body": of.content.body,
        "link": of.content.link,
        "params": of.content.params,
        "data": of.content.data,
        "target": target(of.target.as_ref()),
        "action": of.action,
        "createdAt": instant(Some(of.created_at)),
        "publishAt": instant(of.publish_at),
        "publishedAt": instant(of.published_at),
        "retractedAt": instant(of.retracted_at),
    })
}
