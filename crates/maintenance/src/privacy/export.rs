//! Exports everything that is stored about a user, as JSON, in parts of bounded size.
//!
//! A part is a read without side effects. The caller asks again for a part that was interrupted, and continues with
//! `next` on any node, at any time.

use chrono::Weekday;
use entity::ids::{ChannelId, Seq, UserId, ViewId};
use serde_json::{Map, Value, json};

use super::erase::end_of_sent;
use super::queries::NOTIFICATIONS;
use base::clock::{Millis, to_date_time};
use base::error::{Error, Result};
use delivery::destination::DestinationKind;
use delivery::web_push;
use domain::channel::{self, ActionTarget, TopicSubscription};
use domain::inbox::UserItem;
use domain::inbox::list::{self, PageEnd, PageWindow};
use domain::inbox::ranges::InboxSide;
use domain::notification::{self, Notification};
use domain::preference::{self, ChannelPreference, PreferenceSwitch};
use domain::tenant::Tenant;
use domain::user::{self, UserProfile, find_existing, load_profiles};
use domain::view::{self, UserView};
use model::hours::{DigestTime, QuietPeriod};
use model::zone::IanaZone;
use model::{id_cipher, list_page, validate};
use store::Store;

/// The most rows of one part, over all lists.
const ROWS: usize = 500;

/// Rows read at once.
const READ: usize = 50;

/// A part reads no further rows once it has more bytes of JSON than this.
const BYTES: usize = 4 * 1024 * 1024;

/// Notifications scanned for one part, of all senders.
const LOOKED_THROUGH: i64 = 20 * NOTIFICATIONS;

/// Higher than every number of a log, and the most that a cursor can hold.
const NEWEST: i64 = (1 << 48) - 1;

/// A list of the export, in this order. Archived items are shown with the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExportList {
    Subscriptions,
    Following,
    Views,
    Inbox,
    Archive,
    Sent,
}

/// Some rows of a list, and the place from which it continues. `None` at its end.
struct ExportSlice {
    rows: Vec<Value>,
    next: Option<i64>,
}

/// A part of everything that is stored about a user; `None` if the tenant does not know the user. The first part begins
/// with profile, groups and preferences. Then come subscriptions, follows, views, the inbox (with archived items) and
/// sent notifications, at most 500 rows per part, and fewer if they are long. The caller passes `next` as
/// `after` to get the following part; it is null in the last one.
pub async fn export_user(
    store: &Store,
    tenant: &Tenant,
    external_id: &str,
    after: Option<&str>,
) -> Result<Option<Value>> {
    validate::identifier("id", external_id)?;
    let mut at = after.map_or(Ok(ExportList::Subscriptions.first_place()), |cursor| parse_cursor(tenant, cursor))?;
    let known = find_existing(store, tenant, &[external_id.to_owned()]).await?;
    let Some(&user) = known.get(external_id) else { return Ok(None) };
    let Some(profile) = load_profiles(store, tenant, &[user]).await?.remove(&user) else { return Ok(None) };
    let mut part = if after.is_none() { export_profile(store, tenant, &profile).await? } else { Map::new() };
    let (mut room, mut bytes) = (ROWS, 0);
    let next = loop {
        if room == 0 || bytes > BYTES {
            break Some(at);
        }
        let ((list, place), many) = (at, room.min(READ));
        let slice = list.read_slice(store, tenant, user, (place, many)).await?;
        let is_full = slice.rows.len() >= many;
        room -= slice.rows.len();
        bytes += slice.rows.iter().map(|row| row.to_string().len()).sum::<usize>();
        if let Value::Array(rows) = part.entry(list.name()).or_insert_with(|| json!([])) {
            rows.extend(slice.rows);
        }
        at = match (slice.next, list.next_list()) {
            (Some(place), _) if is_full => (list, place),
            // It scanned as much as a part may.
            (Some(place), _) => break Some((list, place)),
            (None, Some(list)) => list.first_place(),
            (None, None) => break None,
        };
    };
    let next = next.map(|(list, place)| tenant.id_cipher.encode(id_cipher::IdKind::Export, list as i64, place));
    part.insert("next".into(), next.into());
    Ok(Some(part.into()))
}

/// Where a part begins.
fn parse_cursor(tenant: &Tenant, cursor: &str) -> Result<(ExportList, i64)> {
    let opened = tenant.id_cipher.decode(id_cipher::IdKind::Export, cursor);
    let at = opened.and_then(|(list, place)| Some((*ExportList::ALL.get(usize::try_from(list).ok()?)?, place)));
    at.ok_or_else(|| Error::bad_input("after", "is not the `next` of an export"))
}

/// The data of bounded size.
async fn export_profile(store: &Store, tenant: &Tenant, profile: &UserProfile) -> Result<Map<String, Value>> {
    let preferences = preference::load_for_user(store, tenant, profile.id).await?;
    let groups = channel::load_groups_of_user(store, tenant, profile.id).await?;
    let contacts = user::load_contacts(store, profile.id).await?;
    let browsers = web_push::list_browsers(store, profile.id).await?;
    let hours = user::load_hours(store, profile.id).await?;
    let quiet = |of: QuietPeriod| json!({ "from": of.starts_at().to_string(), "to": of.ends_at().to_string() });
    let digest = |of: DigestTime| json!({ "at": of.at.to_string(), "weekday": of.weekday.map(weekday_name) });
    let switches = |of: &[PreferenceSwitch]| of.iter().map(switch_json).collect::<Vec<_>>();
    Ok(Map::from_iter([
        ("id".into(), json!(profile.external_id)),
        ("name".into(), json!(profile.name)),
        ("avatarUrl".into(), json!(profile.avatar_url)),
        ("locale".into(), json!(profile.locale)),
        ("timeZone".into(), json!(hours.zone.as_ref().map(IanaZone::name))),
        ("quiet".into(), json!(hours.quiet.map(quiet))),
        ("digest".into(), json!(hours.digest.map(digest))),
        ("contacts".into(), contacts.iter().map(contact_json).collect()),
        ("pushSubscriptions".into(), browsers.iter().map(browser_json).collect()),
        ("groups".into(), groups.iter().map(|group| group.code.as_str()).collect()),
        (
            "preferences".into(),
            json!({
                "actions": switches(&preferences.actions),
                "types": switches(&preferences.types),
                "channels": preferences.channels.iter().map(channel_preference_json).collect::<Vec<_>>(),
            }),
        ),
    ]))
}

/// A day of the week, as `saveUserProfiles` takes it.
fn weekday_name(of: Weekday) -> &'static str {
    match of {
        Weekday::Mon => "MONDAY",
        Weekday::Tue => "TUESDAY",
        Weekday::Wed => "WEDNESDAY",
        Weekday::Thu => "THURSDAY",
        Weekday::Fri => "FRIDAY",
        Weekday::Sat => "SATURDAY",
        Weekday::Sun => "SUNDAY",
    }
}

/// An address, as `saveUserProfiles` takes it.
fn contact_json(of: &entity::contact::Model) -> Value {
    let name = if of.kind == DestinationKind::WeChat { "wechatOpenId" } else { "email" };
    json!({ name: of.address })
}

impl ExportList {
    const ALL: [Self; 6] = [Self::Subscriptions, Self::Following, Self::Views, Self::Inbox, Self::Archive, Self::Sent];

    fn name(self) -> &'static str {
        match self {
            Self::Subscriptions => "subscriptions",
            Self::Following => "following",
            Self::Views => "views",
            Self::Inbox | Self::Archive => "inbox",
            Self::Sent => "sent",
        }
    }

    fn next_list(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }

    /// Items and sent notifications are read from their newest end, other lists in the order of their rows.
    fn first_place(self) -> (Self, i64) {
        (self, if matches!(self, Self::Inbox | Self::Archive | Self::Sent) { NEWEST } else { 0 })
    }

    /// At most `room` rows beyond a place.
    async fn read_slice(
        self,
        store: &Store,
        tenant: &Tenant,
        user: UserId,
        (place, room): (i64, usize),
    ) -> Result<ExportSlice> {
        match self {
            Self::Subscriptions => export_subscriptions(store, user, (place, room)).await,
            Self::Following => export_following(store, tenant, user, (place, room)).await,
            Self::Views => export_views(store, user, (place, room)).await,
            Self::Inbox => export_items(store, tenant, user, InboxSide::Inbox, (place, room)).await,
            Self::Archive => export_items(store, tenant, user, InboxSide::Archive, (place, room)).await,
            Self::Sent => export_sent(store, tenant, user, (place, room)).await,
        }
    }
}

impl ExportSlice {
    /// There may be more rows if these fill the room.
    fn from_rows<Row>(rows: &[Row], room: usize, place: impl Fn(&Row) -> i64, one: impl Fn(&Row) -> Value) -> Self {
        let next = rows.last().filter(|_| rows.len() >= room).map(place);
        Self { rows: rows.iter().map(one).collect(), next }
    }
}

async fn export_subscriptions(store: &Store, user: UserId, (place, room): (i64, usize)) -> Result<ExportSlice> {
    let (rows, _) =
        channel::list_subscriptions(store, user, list_page::PageRange::first_page(room, Some(ChannelId(place))))
            .await?;
    let one = |of: &TopicSubscription| json!({ "target": target_json(Some(&of.target)), "action": of.action, "createdAt": instant_json(Some(of.created_at)) });
    Ok(ExportSlice::from_rows(&rows, room, |of| of.channel.0, one))
}

async fn export_following(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    (place, room): (i64, usize),
) -> Result<ExportSlice> {
    let (rows, _) =
        channel::list_following(store, user, list_page::PageRange::first_page(room, Some(ChannelId(place)))).await?;
    let ids: Vec<UserId> = rows.iter().map(|(_, user)| *user).collect();
    let profiles = load_profiles(store, tenant, &ids).await?;
    let one = |(_, user): &(ChannelId, UserId)| json!(profiles.get(user).map(|profile| &profile.external_id));
    let mut slice = ExportSlice::from_rows(&rows, room, |(channel, _)| channel.0, one);
    // Leaves out users that were erased meanwhile.
    slice.rows.retain(|of| !of.is_null());
    Ok(slice)
}

async fn export_views(store: &Store, user: UserId, (place, room): (i64, usize)) -> Result<ExportSlice> {
    let rows = view::list_after(store, user, ViewId(place), room).await?;
    let one = |(_, of): &(ViewId, UserView)| json!({ "code": of.key.code, "externalId": of.key.id, "unread": of.unread, "lastVisitedAt": instant_json(of.last_visited_at) });
    Ok(ExportSlice::from_rows(&rows, room, |(id, _)| id.0, one))
}

async fn export_items(
    store: &Store,
    tenant: &Tenant,
    user: UserId,
    side: InboxSide,
    (place, room): (i64, usize),
) -> Result<ExportSlice> {
    let filter = list::ItemFilter { side, ..list::ItemFilter::default() };
    let window = PageWindow { many: room, end: PageEnd::Newest, older_than: Some(Seq(place)), newer_than: None };
    let page = list::load_page(store, tenant, user, &filter, window).await?;
    let next = page.goes_on_at.map(|seq| seq.0);
    Ok(ExportSlice { rows: page.items.iter().map(|of| item_json(tenant, of)).collect(), next })
}

/// Notifications that the user sent, among at most 100,000 of all senders.
async fn export_sent(store: &Store, tenant: &Tenant, user: UserId, (place, room): (i64, usize)) -> Result<ExportSlice> {
    let end = place.min(end_of_sent(&store.db.read, tenant).await? + 1);
    let (mut rows, mut before) = (Vec::new(), end);
    while before > 1 && end - before < LOOKED_THROUGH {
        let from = before - NOTIFICATIONS;
        let some = notification::list_by_sender(store, tenant, user, from..before, room - rows.len()).await?;
        let last = some.last().map(|of| of.id);
        rows.extend(some.iter().map(|of| notification_json(tenant, of)));
        if rows.len() == room {
            return Ok(ExportSlice { rows, next: last });
        }
        before = from;
    }
    Ok(ExportSlice { rows, next: (before > 1).then_some(before) })
}

fn instant_json(at: Option<Millis>) -> Value {
    at.map_or(Value::Null, |at| to_date_time(at).to_rfc3339_opts(chrono::SecondsFormat::Millis, true).into())
}

fn target_json(of: Option<&ActionTarget>) -> Value {
    of.map_or(Value::Null, |of| json!({ "type": of.target_type, "externalId": of.id }))
}

fn switch_json(of: &PreferenceSwitch) -> Value {
    json!({ "code": of.code, "enabled": of.enabled, "own": of.is_own })
}

fn browser_json(of: &entity::contact::Model) -> Value {
    json!({ "endpoint": of.endpoint, "createdAt": instant_json(Some(of.created_at)) })
}

fn channel_preference_json(of: &ChannelPreference) -> Value {
    let ChannelPreference { kind, of } = of;
    json!({ "type": of.code, "channel": kind.name().to_uppercase(), "enabled": of.enabled, "own": of.is_own })
}

fn item_json(tenant: &Tenant, of: &UserItem) -> Value {
    json!({
        "notificationId": tenant.id_cipher.encode(id_cipher::IdKind::Notification, 0, of.content.notification),
        "type": of.content.message_type.code,
        "title": of.content.title(),
        "body": of.content.body(),
        "link": of.content.link(),
        "data": of.content.data,
        "sender": of.content.sender.as_ref().map(|sender| &sender.external_id),
        "target": target_json(of.content.target.as_ref()),
        "action": of.content.action,
        "createdAt": instant_json(Some(of.content.published_at)),
        "readAt": instant_json(of.read_at),
        "archivedAt": instant_json(of.archived_at),
        "expiresAt": instant_json(of.expires_at),
    })
}

fn notification_json(tenant: &Tenant, of: &Notification) -> Value {
    json!({
        "notificationId": tenant.id_cipher.encode(id_cipher::IdKind::Notification, 0, of.id),
        "type": of.message_type.code,
        "title": of.content.title,
        "body": of.content.body,
        "link": of.content.link,
        "params": of.content.params,
        "data": of.content.data,
        "target": target_json(of.target.as_ref()),
        "action": of.action,
        "createdAt": instant_json(Some(of.created_at)),
        "publishAt": instant_json(of.publish_at),
        "publishedAt": instant_json(of.published_at),
        "retractedAt": instant_json(of.retracted_at),
    })
}
