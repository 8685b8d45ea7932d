//! Subscriptions, follows and groups.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};
use entity::ids::ChannelId;
use futures_util::FutureExt;
use tokio::sync::OnceCell;

use super::connection::names;
use super::context::{Call, STAFF};
use super::scalars::Instant;
use super::user::User;
use crate::auth::Role;
use crate::domain::channel::{self, Listener};
use crate::domain::user;
use crate::error::Error;

names!(Subscriptions, "SubscriptionConnection", "SubscriptionEdge");

/// Something that things happen to: a document, an order, a folder.
#[derive(Clone, SimpleObject)]
pub struct Target {
    pub r#type: String,
    pub id: ID,
}

impl From<channel::Target> for Target {
    fn from(of: channel::Target) -> Self {
        Self { r#type: of.target_type, id: ID(of.id) }
    }
}

/// A target by the partner's own strings, 1 to 128 characters each.
#[derive(InputObject)]
pub struct TargetInput {
    pub r#type: String,
    pub id: ID,
}

impl From<TargetInput> for channel::Target {
    fn from(input: TargetInput) -> Self {
        Self { target_type: input.r#type, id: input.id.0 }
    }
}

/// Somebody hears of an action on a target.
pub struct TopicSubscription(pub channel::TopicSubscription);

/// Somebody hears of an action on a target.
#[Object]
impl TopicSubscription {
    /// What it is about.
    async fn target(&self) -> Target {
        self.0.target.clone().into()
    }

    /// What happens to it.
    async fn action(&self) -> &str {
        &self.0.action
    }

    /// Reminders sent before this are not heard.
    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }
}

/// Groups that were asked for together, whose members are counted together.
#[derive(Default)]
pub struct Groups {
    channels: Vec<ChannelId>,
    counts: OnceCell<HashMap<ChannelId, i64>>,
}

impl Groups {
    /// As a list for clients.
    pub fn list(groups: Vec<channel::Group>) -> Vec<Group> {
        let siblings = Arc::new(Self { channels: groups.iter().map(|of| of.channel).collect(), ..Self::default() });
        groups.into_iter().map(|of| Group { of, siblings: siblings.clone() }).collect()
    }
}

/// A role, user type or segment; announcements address it, and it may subscribe to topics for all its members.
pub struct Group {
    of: channel::Group,
    siblings: Arc<Groups>,
}

impl Group {
    fn alone(of: channel::Group) -> Self {
        let siblings = Arc::new(Groups { channels: vec![of.channel], ..Groups::default() });
        Self { of, siblings }
    }
}

/// A role, user type or segment; announcements address it, and it may subscribe to topics for all its members.
#[Object]
impl Group {
    /// 1 to 128 characters.
    async fn code(&self) -> &str {
        &self.of.code
    }

    /// For people.
    async fn title(&self) -> Option<&str> {
        self.of.title.as_deref()
    }

    /// How many users are in it now.
    async fn member_count(&self, ctx: &Context<'_>) -> Result<i32> {
        let app = Call::of(ctx).app;
        let count = || channel::member_counts(app, &self.siblings.channels);
        let counts = self.siblings.counts.get_or_try_init(count).await?;
        Ok(i32::try_from(counts.get(&self.of.channel).copied().unwrap_or_default()).unwrap_or(i32::MAX))
    }
}

#[derive(Default)]
pub struct GroupQuery;

#[Object]
impl GroupQuery {
    /// The tenant's groups, by code. Any role.
    async fn groups(&self, ctx: &Context<'_>) -> Result<Vec<Group>> {
        let call = Call::of(ctx);
        Ok(Groups::list(channel::groups(call.app, call.tenant).await?))
    }
}

#[derive(Default)]
pub struct GroupMutation;

#[Object]
impl GroupMutation {
    /// Makes a group, or gives it another title (1 to 256 characters). SERVICE, ADMIN.
    async fn save_group(&self, ctx: &Context<'_>, code: String, title: Option<String>) -> Result<Group> {
        let call = Call::by(ctx, STAFF)?;
        Ok(Group::alone(channel::save_group(call.app, call.tenant, &code, title.as_deref()).await?))
    }

    /// Users hear what is sent to the group from now on; at most 10,000 a call. Where it fails, some may be in the group already,
    /// and the same call again adds the rest. SERVICE, ADMIN.
    async fn add_group_members(&self, ctx: &Context<'_>, code: String, users: Vec<ID>) -> Result<Group> {
        let call = Call::by(ctx, STAFF)?;
        Ok(Group::alone(channel::add_members(call.app, call.tenant, &code, &strings(users)).await?))
    }

    /// Users no longer hear what is sent to the group; what was sent before is theirs. SERVICE, ADMIN.
    async fn remove_group_members(&self, ctx: &Context<'_>, code: String, users: Vec<ID>) -> Result<Group> {
        let call = Call::by(ctx, STAFF)?;
        Ok(Group::alone(channel::remove_members(call.app, call.tenant, &code, &strings(users)).await?))
    }

    /// Ends a group with its memberships and subscriptions; what was sent to it before is its members'. False where there
    /// is none. SERVICE, ADMIN.
    async fn delete_group(&self, ctx: &Context<'_>, code: String) -> Result<bool> {
        let call = Call::by(ctx, STAFF)?;
        Ok(channel::delete_group(call.app, call.tenant, &code).await?)
    }
}

fn strings(ids: Vec<ID>) -> Vec<String> {
    ids.into_iter().map(|id| id.0).collect()
}

/// Who hears of what.
#[derive(InputObject)]
pub struct SubscribeInput {
    pub target: TargetInput,
    /// A reason of the catalogue; either this or `actions`.
    pub reason: Option<String>,
    /// The actions themselves, 1 to 100; either these or `reason`.
    pub actions: Option<Vec<String>>,
    /// Default: the token's user. Not with `group`.
    pub user: Option<ID>,
    /// All members of this group, whoever they are when something happens. SERVICE, ADMIN.
    pub group: Option<String>,
}

/// Who no longer hears of what.
#[derive(InputObject)]
pub struct UnsubscribeInput {
    pub target: TargetInput,
    /// Null: all of them.
    pub actions: Option<Vec<String>>,
    /// Default: the token's user. Not with `group`.
    pub user: Option<ID>,
    /// SERVICE, ADMIN.
    pub group: Option<String>,
}

/// What subscribing did.
#[derive(SimpleObject)]
pub struct SubscribePayload {
    /// All that were asked for, by action, new or not.
    pub subscriptions: Vec<TopicSubscription>,
    /// How many did not exist before; subscribing again changes nothing.
    pub created_count: i32,
}

/// What unsubscribing did.
#[derive(SimpleObject)]
pub struct UnsubscribePayload {
    pub removed_count: i32,
}

#[derive(Default)]
pub struct SubscribeMutation;

#[Object]
impl SubscribeMutation {
    /// Subscribes to actions on a target, from now on. USER for themselves; SERVICE and ADMIN for any `user` or `group`.
    /// `CONFLICT` where a user would then have more than 20,000 subscriptions, follows and groups together.
    async fn subscribe(&self, ctx: &Context<'_>, input: SubscribeInput) -> Result<SubscribePayload> {
        let call = Call::of(ctx);
        let target = input.target.into();
        let done = async {
            let listener = listener(call, input.user.as_ref(), input.group.as_deref()).await?;
            let actions =
                channel::resolve_actions(call.app, call.tenant, input.reason.as_deref(), input.actions).await?;
            let many = actions.len();
            call.making(ctx, many, channel::subscribe(call.app, call.tenant, listener, &target, actions).boxed()).await
        }
        .await
        .map_err(|error| error.within("input"))?;
        Ok(SubscribePayload {
            subscriptions: done.subscriptions.into_iter().map(TopicSubscription).collect(),
            created_count: int(done.created_count),
        })
    }

    /// Ends subscriptions. What was published before stays in the inbox. USER for themselves; SERVICE and ADMIN for any
    /// `user` or `group`.
    async fn unsubscribe(&self, ctx: &Context<'_>, input: UnsubscribeInput) -> Result<UnsubscribePayload> {
        let call = Call::of(ctx);
        let target = input.target.into();
        let removed = async {
            let listener = listener(call, input.user.as_ref(), input.group.as_deref()).await?;
            channel::unsubscribe(call.app, call.tenant, listener, &target, input.actions.as_deref()).await
        }
        .await
        .map_err(|error| error.within("input"))?;
        Ok(UnsubscribePayload { removed_count: int(removed) })
    }

    /// The follower (the token's user; SERVICE and ADMIN name one) hears of what `user` does from now on: reminders with
    /// that user as their sender. Returns the followed. `CONFLICT` as with `subscribe`.
    async fn follow(&self, ctx: &Context<'_>, user: ID, follower: Option<ID>) -> Result<User> {
        let call = Call::of(ctx);
        let follower = call.subject("follower", follower.as_ref()).await?;
        let following = async {
            let actor = user::mention_one(call.app, call.tenant, "user", &user).await?;
            channel::follow(call.app, call.tenant, follower, actor).await.map(|()| actor)
        };
        Ok(User::alone(call.making(ctx, 1, following.boxed()).await?))
    }

    /// The reverse. Returns who was followed.
    async fn unfollow(&self, ctx: &Context<'_>, user: ID, follower: Option<ID>) -> Result<User> {
        let call = Call::of(ctx);
        let follower = call.subject("follower", follower.as_ref()).await?;
        let actor = user::mention_one(call.app, call.tenant, "user", &user).await?;
        channel::unfollow(call.app, call.tenant, follower, actor).await?;
        Ok(User::alone(actor))
    }
}

async fn listener(call: Call<'_>, user: Option<&ID>, group: Option<&str>) -> crate::error::Result<Listener> {
    match (user, group) {
        (Some(_), Some(_)) => Err(Error::bad_input("group", "is not taken together with user")),
        (user, None) => Ok(Listener::User(call.subject("user", user).await?)),
        (None, Some(_)) if call.viewer.role == Role::User => {
            Err(Error::Forbidden("users cannot subscribe groups".into()))
        }
        (None, Some(code)) => Ok(Listener::Group(channel::find_group(call.app, call.tenant, code).await?.channel)),
    }
}

/// Counts of the API are 32-bit; ours never come near.
fn int(count: u64) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
