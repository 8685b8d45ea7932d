//! Objects by their global ids.

use async_graphql::{Context, ID, Interface, Object, Result};
use entity::ids::{ChannelId, Seq, TypeId, UserId, ViewId};

use super::account::{InboxUser, UserAccount, ViewerAccount};
use super::catalogue::MessageType;
use super::channel::{TopicSubscription, TopicTarget};
use super::context::CallContext;
use super::group::UserGroup;
use super::inbox::InboxItem;
use super::notification::SentNotification;
use super::outbound::{MailRelay, OutboundDelivery, WeChatAccount, WebPush, WebhookEndpoint};
use super::rule::NotificationRule;
use super::view::InboxView;
use auth::CallerRole;
use delivery::destination;
use domain::channel::{self, ListenerId};
use domain::inbox::item;
use domain::{catalogue, notification, view};
use model::id_cipher::IdKind;

/// An object with a globally unique id.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "Opaque and globally unique."))]
pub enum Node {
    InboxItem(InboxItem),
    SentNotification(SentNotification),
    MessageType(MessageType),
    UserGroup(UserGroup),
    TopicSubscription(TopicSubscription),
    TopicTarget(TopicTarget),
    InboxView(InboxView),
    Viewer(ViewerAccount),
    InboxUser(InboxUser),
    NotificationRule(NotificationRule),
    WebhookEndpoint(WebhookEndpoint),
    MailRelay(MailRelay),
    WeChatAccount(WeChatAccount),
    WebPush(WebPush),
    OutboundDelivery(OutboundDelivery),
}

#[derive(Default)]
pub struct NodeQuery;

#[Object]
impl NodeQuery {
    /// The object with this id; null if it does not exist or the caller may not see it. USER: their own objects, and
    /// message types, groups and targets. SERVICE and ADMIN: all objects, but users only as `InboxUser`. Rules, webhook
    /// endpoints and other destinations: ADMIN only.
    async fn node(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of any `Node`.")] id: ID,
    ) -> Option<Result<Node>> {
        Box::pin(find_node(CallContext::from_context(ctx), &id)).await.transpose()
    }
}

/// An id decodes as one kind at most.
async fn find_node(call: CallContext<'_>, id: &ID) -> Result<Option<Node>> {
    let (app, tenant) = (call.app, call.tenant);
    if let Some(target) = TopicTarget::from_global_id(id) {
        return Ok(Some(Node::TopicTarget(target)));
    }
    let Some((kind, first, second)) = tenant.id_cipher.decode_any(id) else { return Ok(None) };
    let is_staff = call.viewer.role != CallerRole::User;
    let user = UserId(first);
    let is_private = matches!(kind, IdKind::Item | IdKind::View | IdKind::Viewer | IdKind::Subscription);
    let is_seen = is_staff
        || match kind {
            IdKind::MessageType | IdKind::Group => true,
            _ => is_private && call.mention_subject("id", None).await? == user,
        };
    if !is_seen {
        return Ok(None);
    }
    Ok(match kind {
        IdKind::Item => {
            item::find_items(app, tenant, user, &[Seq(second)]).await?.pop().map(InboxItem).map(Node::InboxItem)
        }
        IdKind::Notification => {
            let found = notification::find_by_id(app, tenant, second).await?;
            found.map(SentNotification::from_notification).map(Node::SentNotification)
        }
        IdKind::MessageType => {
            let catalogue = catalogue::load_current(app, tenant).await?;
            catalogue.type_by_id(TypeId(second)).cloned().map(MessageType).map(Node::MessageType)
        }
        IdKind::Group => {
            let found = channel::find_group_by_channel(app, tenant, ChannelId(second)).await?;
            found.map(UserGroup::from_group).map(Node::UserGroup)
        }
        IdKind::Subscription => find_subscription(call, ListenerId::User(user), second).await?,
        IdKind::GroupSubscription => find_subscription(call, ListenerId::Group(ChannelId(first)), second).await?,
        IdKind::View => {
            let found = view::find_by_row(app, tenant, ViewId(second), Some(user).filter(|user| user.0 != 0)).await?;
            found.map(InboxView).map(Node::InboxView)
        }
        IdKind::Viewer if !is_staff => Some(Node::Viewer(UserAccount::for_user(user))),
        IdKind::InboxUser => {
            let known = domain::user::load_profiles(app, tenant, &[user]).await?;
            known.contains_key(&user).then(|| Node::InboxUser(UserAccount::for_user(user)))
        }
        IdKind::Rule if call.viewer.role == CallerRole::Admin => {
            rules::find_by_id(app, tenant, second).await?.map(NotificationRule::from).map(Node::NotificationRule)
        }
        IdKind::Destination if call.viewer.role == CallerRole::Admin => {
            destination::find_of_any_kind(app, tenant, second).await?.map(|of| match of.kind {
                destination::DestinationKind::Webhook => Node::WebhookEndpoint(of.into()),
                destination::DestinationKind::Email => Node::MailRelay(of.into()),
                destination::DestinationKind::WeChat => Node::WeChatAccount(of.into()),
                destination::DestinationKind::WebPush => Node::WebPush(of.into()),
            })
        }
        IdKind::Delivery => {
            let found = destination::find_delivery(app, tenant, second).await?;
            found.map(|(kind, of)| OutboundDelivery::of_kind(kind, of)).map(Node::OutboundDelivery)
        }
        IdKind::Rule
        | IdKind::Destination
        | IdKind::Viewer
        | IdKind::Unsubscribe
        | IdKind::Cursor
        | IdKind::Row
        | IdKind::Export
        | IdKind::AuditPlace => None,
    })
}

async fn find_subscription(call: CallContext<'_>, listener: ListenerId, channel: i64) -> Result<Option<Node>> {
    let found = channel::find_subscription(call.app, listener, ChannelId(channel)).await?;
    Ok(found.map(|of| Node::TopicSubscription(TopicSubscription { of, listener })))
}
