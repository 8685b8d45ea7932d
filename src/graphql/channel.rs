//! Subscriptions and follows.

use async_graphql::{Context, ID, InputObject, Object, OneofObject, Result, SimpleObject};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::audit_entry;
use entity::ids::{ChannelId, UserId};
use futures_util::FutureExt;

use super::account::MutationSubject;
use super::connection::names;
use super::context::CallContext;
use super::scalars::{DateTimeScalar, to_int};
use super::user::User;
use auth::CallerRole;
use base::error::Error;
use domain::channel::{self, ListenerId};
use model::{id_cipher, validate};

names!(TopicSubscriptions, "TopicSubscriptionConnection", "TopicSubscriptionEdge");

/// An object of yours that actions happen to: a document, an order, a folder.
#[derive(Clone)]
pub struct TopicTarget(pub channel::ActionTarget);

/// Prefix of target ids, which are not encrypted: they contain only the target's name.
const TARGET: &str = "target.";

impl TopicTarget {
    fn global_id(&self) -> String {
        let name = [self.0.target_type.as_str(), self.0.id.as_str()].join("\u{1f}");
        format!("{TARGET}{}", URL_SAFE_NO_PAD.encode(name))
    }

    /// The target with this id; `None` for any other text.
    pub fn from_global_id(id: &str) -> Option<Self> {
        let name = String::from_utf8(URL_SAFE_NO_PAD.decode(id.strip_prefix(TARGET)?).ok()?).ok()?;
        let (target_type, id) = name.split_once('\u{1f}')?;
        let target = channel::ActionTarget { target_type: target_type.into(), id: id.into() };
        target.check().ok().map(|()| Self(target))
    }
}

/// An object of yours that actions happen to: a document, an order, a folder.
#[Object(name = "TopicTarget")]
impl TopicTarget {
    /// Opaque.
    pub async fn id(&self, _ctx: &Context<'_>) -> ID {
        ID(self.global_id())
    }

    /// Kind of the target, such as `order`.
    async fn r#type(&self) -> &str {
        &self.0.target_type
    }

    /// Your id among the targets of that kind.
    async fn external_id(&self) -> ID {
        ID(self.0.id.clone())
    }
}

impl From<channel::ActionTarget> for TopicTarget {
    fn from(of: channel::ActionTarget) -> Self {
        Self(of)
    }
}

/// A target, by your own strings of 1 to 128 characters each.
#[derive(InputObject)]
#[graphql(name = "TopicTargetInput")]
pub struct TargetInput {
    /// Kind of the target, such as `order`.
    pub r#type: String,
    /// Your id among the targets of that kind.
    pub external_id: ID,
}

impl From<TargetInput> for channel::ActionTarget {
    fn from(input: TargetInput) -> Self {
        Self { target_type: input.r#type, id: input.external_id.0 }
    }
}

/// A subscription of a user or a group to an action on a target.
pub struct TopicSubscription {
    pub of: channel::TopicSubscription,
    pub listener: ListenerId,
}

impl TopicSubscription {
    /// The id of a listener's subscription.
    fn global_id(call: CallContext<'_>, listener: ListenerId, channel: ChannelId) -> ID {
        let (kind, listener) = match listener {
            ListenerId::User(user) => (id_cipher::IdKind::Subscription, user.0),
            ListenerId::Group(group) => (id_cipher::IdKind::GroupSubscription, group.0),
        };
        ID(call.tenant.id_cipher.encode(kind, listener, channel.0))
    }
}

/// A subscription of a user or a group to an action on a target.
#[Object]
impl TopicSubscription {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        Self::global_id(CallContext::from_context(ctx), self.listener, self.of.channel)
    }

    /// The target.
    async fn target(&self) -> TopicTarget {
        self.of.target.clone().into()
    }

    /// The action.
    async fn action(&self) -> &str {
        &self.of.action
    }

    /// Start of the subscription. Reminders sent before it are not received.
    async fn created_at(&self) -> DateTimeScalar {
        self.of.created_at.into()
    }
}

/// The actions to subscribe to.
#[derive(OneofObject)]
pub enum TopicChoice {
    /// These actions, 1 to 100.
    Actions(Vec<String>),
    /// The actions of a reason of the catalogue, by its code.
    Reason(String),
}

impl From<TopicChoice> for channel::ActionChoice {
    fn from(of: TopicChoice) -> Self {
        match of {
            TopicChoice::Actions(actions) => Self::Actions(actions),
            TopicChoice::Reason(reason) => Self::Reason(reason),
        }
    }
}

/// The actions to unsubscribe from.
#[derive(OneofObject)]
pub enum UnsubscribeChoice {
    /// These actions, 1 to 100.
    Actions(Vec<String>),
    /// True: all subscribed actions.
    Everything(bool),
}

/// A subscriber.
#[derive(OneofObject)]
pub enum ListenerChoice {
    /// A user, by your id. USER can name only themselves.
    User(ID),
    /// All who are members of the group with this code when a reminder is published. SERVICE, ADMIN.
    Group(String),
}

/// A subscriber, a target and actions on it.
#[derive(InputObject)]
pub struct SubscribeTopicInput {
    /// The target.
    pub target: TargetInput,
    /// The actions.
    pub what: TopicChoice,
    /// The subscriber. Default: the token's user.
    pub who: Option<ListenerChoice>,
}

/// A subscriber, a target and actions on it.
#[derive(InputObject)]
pub struct UnsubscribeTopicInput {
    /// The target.
    pub target: TargetInput,
    /// The actions.
    pub what: UnsubscribeChoice,
    /// The subscriber. Default: the token's user.
    pub who: Option<ListenerChoice>,
}

/// The result of subscribing.
#[derive(SimpleObject)]
pub struct SubscribeTopicPayload {
    /// All requested subscriptions, by action, new or not.
    pub subscriptions: Vec<TopicSubscription>,
    /// How many of them are new. Subscribing again changes nothing.
    pub created_count: i32,
    #[graphql(flatten)]
    pub subject: MutationSubject,
}

/// The result of unsubscribing.
#[derive(SimpleObject)]
pub struct UnsubscribeTopicPayload {
    /// How many subscriptions ended.
    pub removed_count: i32,
    /// Their ids.
    pub deleted_ids: Vec<ID>,
    #[graphql(flatten)]
    pub subject: MutationSubject,
}

/// The result of following or unfollowing.
#[derive(SimpleObject)]
pub struct FollowUserPayload {
    /// The user of the argument `user`.
    pub user: User,
    #[graphql(flatten)]
    pub subject: MutationSubject,
}

#[derive(Default)]
pub struct SubscribeMutation;

#[Object]
impl SubscribeMutation {
    /// Subscribes to actions on a target, from now on. SERVICE and ADMIN for any user or group; USER for themselves if
    /// the target's type is `OPEN` (`saveTargetType`), else `FORBIDDEN`.
    /// `CONFLICT` if a user would have more than 20,000 subscriptions, follows and groups together.
    async fn subscribe_topic(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The subscriber, the target and the actions.")] input: SubscribeTopicInput,
    ) -> Result<SubscribeTopicPayload> {
        let call = CallContext::from_context(ctx);
        let target = input.target.into();
        let done = async {
            let listener = audited_listener(ctx, call, input.who).await?;
            let actions = channel::resolve_actions(call.app, call.tenant, input.what.into()).await;
            let actions = actions.map_err(|error| error.with_field_prefix("what"))?;
            let many = actions.len();
            let subscribing =
                channel::subscribe(call.app, call.tenant, call.acting_party(), listener, &target, actions).boxed();
            call.charge_creation(ctx, many, subscribing).await.map(|done| (listener, done))
        };
        let (listener, done) = done.await.map_err(|error| error.with_field_prefix("input"))?;
        Ok(SubscribeTopicPayload {
            subscriptions: done.subscriptions.into_iter().map(|of| TopicSubscription { of, listener }).collect(),
            created_count: to_int(done.created_count),
            subject: MutationSubject(subscribed_user(listener)),
        })
    }

    /// Ends subscriptions. Notifications published before stay in the inbox. USER for themselves; SERVICE and ADMIN for
    /// any user or group. Does nothing for a user that the tenant does not know.
    async fn unsubscribe_topic(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The subscriber, the target and the actions.")] input: UnsubscribeTopicInput,
    ) -> Result<UnsubscribeTopicPayload> {
        let call = CallContext::from_context(ctx);
        let target: channel::ActionTarget = input.target.into();
        let done = async {
            let actions = match input.what {
                UnsubscribeChoice::Actions(actions) if actions.is_empty() => {
                    return Err(Error::bad_input("what.actions", "must name at least one action"));
                }
                UnsubscribeChoice::Actions(actions) => {
                    validate::at_most("what.actions", actions.len(), ACTIONS)?;
                    validate::identifiers("what.actions", &actions)?;
                    Some(actions)
                }
                UnsubscribeChoice::Everything(true) => None,
                UnsubscribeChoice::Everything(false) => {
                    return Err(Error::bad_input("what.everything", "must be true, or name `actions` instead"));
                }
            };
            target.check()?;
            let Some(listener) = find_listener(ctx, call, input.who).await? else { return Ok(None) };
            let removed = channel::unsubscribe(call.app, call.tenant, listener, &target, actions.as_deref()).await;
            removed.map(|removed| Some((listener, removed)))
        };
        let Some((listener, (removed, channels))) = done.await.map_err(|error| error.with_field_prefix("input"))?
        else {
            return Ok(UnsubscribeTopicPayload {
                removed_count: 0,
                deleted_ids: Vec::new(),
                subject: MutationSubject(None),
            });
        };
        Ok(UnsubscribeTopicPayload {
            removed_count: to_int(removed),
            deleted_ids: channels
                .into_iter()
                .map(|channel| TopicSubscription::global_id(call, listener, channel))
                .collect(),
            subject: MutationSubject(subscribed_user(listener)),
        })
    }

    /// Follows `user` from now on: the follower receives reminders with that user as their sender. SERVICE and ADMIN
    /// for any user; USER for themselves if follows are `OPEN` (`saveFollowPolicy`), else `FORBIDDEN`. `CONFLICT` as
    /// with `subscribeTopic`.
    async fn follow_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Your id of the user to follow.")] user: ID,
        #[graphql(
            desc = "Your id of the follower. Default for USER: the token's user. All other roles must name one."
        )]
        follower: Option<ID>,
    ) -> Result<FollowUserPayload> {
        let call = CallContext::from_context(ctx);
        let follower = call.mention_subject("follower", follower.as_ref()).await?;
        call.start_audit(ctx, audit_entry::SubjectKind::User, &[follower]);
        let is_known = call.find_user("user", &user).await?.is_some();
        let following = async {
            match channel::follow(call.app, call.tenant, call.acting_party(), follower, &user).await {
                Err(error) if is_known || call.find_user("user", &user).await?.is_none() => Err(error),
                // A new user counts towards the caller's quota of created objects, and stays even if the follow fails.
                result => Ok(result),
            }
        };
        let actor = call.charge_creation(ctx, 1, following.boxed()).await??;
        Ok(FollowUserPayload { user: User::for_user(actor), subject: MutationSubject(Some(follower)) })
    }

    /// Ends a follow: the follower no longer receives reminders with `user` as their sender. Does nothing if there was
    /// no follow, or if the tenant does not know one of the two users; the call does not create them.
    async fn unfollow_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Your id of the followed user.")] user: ID,
        #[graphql(
            desc = "Your id of the follower. Default for USER: the token's user. All other roles must name one."
        )]
        follower: Option<ID>,
    ) -> Result<FollowUserPayload> {
        let call = CallContext::from_context(ctx);
        let follower = call.find_subject("follower", follower.as_ref()).await?;
        let actor = call.find_user("user", &user).await?;
        if let (Some(follower), Some(actor)) = (follower, actor) {
            call.start_audit(ctx, audit_entry::SubjectKind::User, &[follower]);
            channel::unfollow(call.app, call.tenant, follower, actor).await?;
        }
        let user = actor.map_or_else(|| User::with_id_only(&user), User::for_user);
        Ok(FollowUserPayload { user, subject: MutationSubject(follower) })
    }
}

/// `None` for a group.
fn subscribed_user(listener: ListenerId) -> Option<UserId> {
    match listener {
        ListenerId::User(user) => Some(user),
        ListenerId::Group(_) => None,
    }
}

async fn audited_listener(
    ctx: &Context<'_>,
    call: CallContext<'_>,
    who: Option<ListenerChoice>,
) -> base::error::Result<ListenerId> {
    use audit_entry::SubjectKind;
    if let Some(ListenerChoice::Group(code)) = &who {
        call.start_audit(ctx, SubjectKind::Group, &[code]);
    }
    let listener = mention_listener(call, who).await?;
    if let ListenerId::User(user) = listener {
        call.start_audit(ctx, SubjectKind::User, &[user]);
    }
    Ok(listener)
}

/// Like `audited_listener`, but creates no user: `None` if the tenant does not know the user.
async fn find_listener(
    ctx: &Context<'_>,
    call: CallContext<'_>,
    who: Option<ListenerChoice>,
) -> base::error::Result<Option<ListenerId>> {
    let (field, named) = match &who {
        Some(ListenerChoice::Group(_)) => return audited_listener(ctx, call, who).await.map(Some),
        Some(ListenerChoice::User(user)) => ("who.user", Some(user)),
        None => ("who", None),
    };
    let user = call.find_subject(field, named).await?;
    if let Some(user) = user {
        call.start_audit(ctx, audit_entry::SubjectKind::User, &[user]);
    }
    Ok(user.map(ListenerId::User))
}

async fn mention_listener(call: CallContext<'_>, who: Option<ListenerChoice>) -> base::error::Result<ListenerId> {
    match who {
        None => Ok(ListenerId::User(call.mention_subject("who", None).await?)),
        Some(ListenerChoice::User(user)) => Ok(ListenerId::User(call.mention_subject("who.user", Some(&user)).await?)),
        Some(ListenerChoice::Group(_)) if call.viewer.role == CallerRole::User => {
            Err(Error::Forbidden("users cannot subscribe groups".into()))
        }
        Some(ListenerChoice::Group(code)) => {
            Ok(ListenerId::Group(channel::find_group(call.app, call.tenant, &code).await?.channel))
        }
    }
}

/// Most actions per call.
const ACTIONS: usize = 100;
