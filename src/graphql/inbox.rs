//! Inbox items: the list, and single ones.

use async_graphql::connection::Edge;
use async_graphql::{Context, Enum, ID, InputObject, Object, Result};
use entity::ids::{Seq, UserId};

use super::cacheable::ReadSet;
use super::catalogue::MessageType;
use super::channel::{TargetInput, TopicTarget};
use super::connection::{PageArguments, ScannedConnection, names};
use super::context::CallContext;
use super::inline::InlineObject;
use super::json::JsonScalar;
use super::scalars::DateTimeScalar;
use super::user::User;
use domain::inbox::UserItem;
use domain::inbox::list::{self, ItemFilter, PageEnd, PageWindow};
use domain::inbox::ranges::InboxSide;
use domain::notification;
use model::id_cipher::IdKind;
use model::list_page::{self, PageRange};

names!(Items, "InboxItemConnection", "InboxItemEdge");

/// Kind of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "notification::NotificationKind")]
pub enum NotificationKind {
    /// Sent to an audience: everyone, groups or named users.
    Announcement,
    /// Sent about an action on a target, to its subscribers.
    Reminder,
    /// Sent to one user.
    Message,
}

/// A notification in a user's inbox, with the user's state of it.
#[derive(Clone)]
pub struct InboxItem(pub UserItem);

/// A notification in a user's inbox, with the user's state of it.
#[Object]
impl InboxItem {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(CallContext::from_context(ctx).tenant.id_cipher.encode(IdKind::Item, self.0.user.0, self.0.seq.0))
    }

    /// Its kind.
    async fn kind(&self) -> NotificationKind {
        self.0.content.kind.into()
    }

    /// Its message type.
    async fn r#type(&self) -> InlineObject<MessageType> {
        InlineObject(MessageType(self.0.content.message_type.clone()))
    }

    /// Rendered by the type's template, or as sent if the type has none.
    async fn title(&self) -> String {
        self.0.content.title()
    }

    /// Rendered by the type's template, or as sent if the type has none.
    async fn body(&self) -> Option<String> {
        self.0.content.body()
    }

    /// Where a click leads: an absolute http(s) URL or a path.
    async fn link(&self) -> Option<String> {
        self.0.content.link()
    }

    /// The sender's `data`, unchanged.
    async fn data(&self) -> Option<JsonScalar> {
        self.0.content.data.clone().map(JsonScalar)
    }

    /// The user who sent it or, for a reminder, who did the action.
    async fn sender(&self) -> Option<InlineObject<User>> {
        self.0.content.sender.clone().map(User::from_profile).map(InlineObject)
    }

    /// The target of a reminder.
    async fn target(&self) -> Option<TopicTarget> {
        self.0.content.target.clone().map(Into::into)
    }

    /// The action on the target.
    async fn action(&self) -> Option<&str> {
        self.0.content.action.as_deref()
    }

    /// When the notification was published.
    async fn created_at(&self) -> DateTimeScalar {
        self.0.content.published_at.into()
    }

    /// When its text was last amended.
    async fn updated_at(&self) -> Option<DateTimeScalar> {
        self.0.content.updated_at.map(Into::into)
    }

    /// From then on it is in no list and no count.
    async fn expires_at(&self) -> Option<DateTimeScalar> {
        self.0.expires_at.map(Into::into)
    }

    /// Whether the user has read it.
    async fn is_read(&self) -> bool {
        self.0.is_read()
    }

    /// When the user read it.
    async fn read_at(&self) -> Option<DateTimeScalar> {
        self.0.read_at.map(Into::into)
    }

    /// Whether it is archived.
    async fn is_archived(&self) -> bool {
        self.0.state.is_archived()
    }

    /// When it was archived.
    async fn archived_at(&self) -> Option<DateTimeScalar> {
        self.0.archived_at.map(Into::into)
    }

    /// The `id` of its `SentNotification`, the same for all recipients.
    async fn notification_id(&self, ctx: &Context<'_>) -> ID {
        ID(CallContext::from_context(ctx).tenant.id_cipher.encode(IdKind::Notification, 0, self.0.content.notification))
    }
}

/// Which part of an inbox to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Enum)]
pub enum InboxState {
    /// Items that are not archived.
    #[default]
    Inbox,
    /// Archived items.
    Archived,
    /// Both.
    All,
}

/// Filter of an inbox. Items must match all given conditions.
#[derive(InputObject)]
pub struct InboxFilter {
    /// Codes of message types.
    pub types: Option<Vec<String>>,
    /// Kinds of notifications.
    pub kinds: Option<Vec<NotificationKind>>,
    /// True: only read, false: only unread, null: both.
    pub read: Option<bool>,
    /// Which part of the inbox.
    #[graphql(default_with = "Some(InboxState::Inbox)")]
    pub state: Option<InboxState>,
    /// About this target.
    pub target: Option<TargetInput>,
    /// The action on the target.
    pub action: Option<String>,
    /// Your id of the sender.
    pub sender: Option<ID>,
    /// Published at or after this instant.
    pub since: Option<DateTimeScalar>,
    /// Published before this instant.
    pub until: Option<DateTimeScalar>,
}

impl From<InboxFilter> for ItemFilter {
    fn from(input: InboxFilter) -> Self {
        Self {
            types: input.types,
            kinds: input.kinds.map(|kinds| kinds.into_iter().map(Into::into).collect()),
            read: input.read,
            side: match input.state.unwrap_or_default() {
                InboxState::Inbox => InboxSide::Inbox,
                InboxState::Archived => InboxSide::Archive,
                InboxState::All => InboxSide::Both,
            },
            target: input.target.map(Into::into),
            action: input.action,
            sender: input.sender.map(|id| id.0),
            since: input.since.map(|at| at.0),
            until: input.until.map(|at| at.0),
        }
    }
}

/// A page of a user's inbox.
pub async fn inbox_page(
    ctx: &Context<'_>,
    call: CallContext<'_>,
    user: UserId,
    filter: Option<InboxFilter>,
    paging: PageArguments,
) -> Result<ScannedConnection<InlineObject<InboxItem>, Items>> {
    let filter: ItemFilter = filter.map(Into::into).unwrap_or_default();
    let PageRange { many, from, after: older_than, before: newer_than } =
        paging.into_slice(call, |cursor| open_cursor(call, user, cursor))?;
    let end = if from == list_page::ListEnd::Last { PageEnd::Oldest } else { PageEnd::Newest };
    let window = PageWindow { many, end, older_than, newer_than };
    let page = list::load_page(call.app, call.tenant, user, &filter, window).await?;
    ReadSet::record_validator(ctx, page.proof.as_ref());

    let asked = |field| ctx.look_ahead().field("pageInfo").field(field).exists();
    let ends = (page.items.first().map(|item| item.seq), page.items.last().map(|item| item.seq));
    let has_more = page.goes_on_at.is_some();
    let (mut has_previous, mut has_next) = (end == PageEnd::Oldest && has_more, end == PageEnd::Newest && has_more);
    // An empty page after a cursor is preceded at least by the item at that cursor, if it still exists.
    if end == PageEnd::Newest
        && asked("hasPreviousPage")
        && let Some(newer_than) = ends.0.or(older_than.map(|seq| Seq(seq.0 - 1)))
    {
        // Bounded by the page's position in the log: items that came since are not in front of the page.
        let part = (Some(Seq(page.upto.0 + 1)), Some(newer_than));
        has_previous = has_more_items(ctx, user, &filter, part).await?;
    }
    if end == PageEnd::Oldest
        && asked("hasNextPage")
        && let Some(older_than) = ends.1.or(newer_than.map(|seq| Seq(seq.0 + 1)))
    {
        has_next = has_more_items(ctx, user, &filter, (Some(older_than), None)).await?;
    }
    let cursor = |seq: Seq| call.tenant.id_cipher.encode(IdKind::Cursor, user.0, seq.0);
    // A page of size 0 continues where it began, but there is no cursor for that position.
    let goes_on = page.goes_on_at.filter(|_| many > 0).map(cursor);
    Ok(ScannedConnection {
        has_previous_page: has_previous,
        has_next_page: has_next,
        ends: if end == PageEnd::Newest { (None, goes_on) } else { (goes_on, None) },
        edges: page.items.into_iter().map(|item| Edge::new(cursor(item.seq), InlineObject(InboxItem(item)))).collect(),
    })
}

/// Whether the list has items older than the first position and newer than the second.
async fn has_more_items(
    ctx: &Context<'_>,
    user: UserId,
    filter: &ItemFilter,
    (older_than, newer_than): (Option<Seq>, Option<Seq>),
) -> Result<bool> {
    let window = PageWindow { many: 0, end: PageEnd::Newest, older_than, newer_than };
    let call = CallContext::from_context(ctx);
    let page = list::load_page(call.app, call.tenant, user, filter, window).await?;
    ReadSet::record_validator(ctx, page.proof.as_ref());
    Ok(page.goes_on_at.is_some())
}

/// The position of a cursor; `None` if it is not a cursor of this user's inbox.
pub fn open_cursor(call: CallContext<'_>, user: UserId, cursor: &str) -> Option<Seq> {
    let (owner, seq) = call.tenant.id_cipher.decode(IdKind::Cursor, cursor)?;
    (owner == user.0).then_some(Seq(seq))
}
