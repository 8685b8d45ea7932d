//! Objects by their global ids.

use async_graphql::{Context, ID, Interface, Object, Result};
use entity::ids::{ChannelId, Seq, TypeId, UserId, ViewId};

use super::account::{Account, InboxUser, ViewerAccount};
use super::catalogue::MessageType;
use super::channel::{Target, TopicSubscription};
use super::context::Call;
use super::group::Group;
use super::inbox::InboxItem;
use super::notification::Notification;
use super::outbound::{MailRelay, OutboundDelivery, WeChatAccount, WebPush, WebhookEndpoint};
use super::rule::NotificationRule;
use super::view::View;
use crate::auth::Role;
use crate::domain::channel::{self, Listener};
use crate::domain::inbox::item;
use crate::domain::{catalogue, lane, notification, rule, view};
use crate::model::seal::Kind;

/// An object with a globally unique id.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "Opaque and globally unique."))]
pub enum Node {
    InboxItem(InboxItem),
    SentNotification(Notification),
    MessageType(MessageType),
    UserGroup(Group),
    TopicSubscription(TopicSubscription),
    TopicTarget(Target),
    InboxView(View),
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
        Box::pin(find(Call::of(ctx), &id)).await.transpose()
    }
}

/// An id decodes as one kind at most.
async fn find(call: Call<'_>, id: &ID) -> Result<Option<Node>> {
    let (app, tenant) = (call.app, call.tenant);
    if let Some(target) = Target::with(id) {
        return Ok(Some(Node::TopicTarget(target)));
    }
    let Some((kind, first, second)) = tenant.seal.open_any(id) else { return Ok(None) };
    let is_staff = call.viewer.role != Role::User;
    let user = UserId(first);
    let is_private = matches!(kind, Kind::Item | Kind::View | Kind::Viewer | Kind::Subscription);
    let is_seen = is_staff
        || match kind {
            Kind::MessageType | Kind::Group => true,
            _ => is_private && call.subject("id", None).await? == user,
        };
    if !is_seen {
        return Ok(None);
    }
    Ok(match kind {
        Kind::Item => item::find(app, tenant, user, &[Seq(second)]).await?.pop().map(InboxItem).map(Node::InboxItem),
        Kind::Notification => {
            let found = notification::find(app, tenant, second).await?;
            found.map(Notification::alone).map(Node::SentNotification)
        }
        Kind::MessageType => {
            let catalogue = catalogue::current(app, tenant).await?;
            catalogue.type_by_id(TypeId(second)).cloned().map(MessageType).map(Node::MessageType)
        }
        Kind::Group => {
            let found = channel::group_by_channel(app, tenant, ChannelId(second)).await?;
            found.map(Group::alone).map(Node::UserGroup)
        }
        Kind::Subscription => subscription(call, Listener::User(user), second).await?,
        Kind::GroupSubscription => subscription(call, Listener::Group(ChannelId(first)), second).await?,
        Kind::View => {
            let found = view::find_by_row(app, tenant, ViewId(second), Some(user).filter(|user| user.0 != 0)).await?;
            found.map(View).map(Node::InboxView)
        }
        Kind::Viewer if !is_staff => Some(Node::Viewer(Account::alone(user))),
        Kind::InboxUser => {
            let known = crate::domain::user::profiles(app, tenant, &[user]).await?;
            known.contains_key(&user).then(|| Node::InboxUser(Account::alone(user)))
        }
        Kind::Rule if call.viewer.role == Role::Admin => {
            rule::find_by_row(app, tenant, second).await?.map(NotificationRule::from).map(Node::NotificationRule)
        }
        Kind::Lane if call.viewer.role == Role::Admin => {
            lane::find_any(app, tenant, second).await?.map(|of| match of.kind {
                lane::Kind::Webhook => Node::WebhookEndpoint(of.into()),
                lane::Kind::Email => Node::MailRelay(of.into()),
                lane::Kind::WeChat => Node::WeChatAccount(of.into()),
                lane::Kind::WebPush => Node::WebPush(of.into()),
            })
        }
        Kind::Delivery => {
            let found = lane::delivery(app, tenant, second).await?;
            found.map(|(kind, of)| OutboundDelivery::along(kind, of)).map(Node::OutboundDelivery)
        }
        Kind::Rule
        | Kind::Lane
        | Kind::Viewer
        | Kind::Unsubscribe
        | Kind::Cursor
        | Kind::Row
        | Kind::Export
        | Kind::AuditPlace => None,
    })
}

async fn subscription(call: Call<'_>, listener: Listener, channel: i64) -> Result<Option<Node>> {
    let found = channel::subscription(call.app, listener, ChannelId(channel)).await?;
    Ok(found.map(|of| Node::TopicSubscription(TopicSubscription { of, listener })))
}
