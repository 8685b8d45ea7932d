//! Groups and their members.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};
use entity::audit_entry;
use entity::ids::{ChannelId, UserId};
use futures_util::FutureExt;

use super::at_once::AtOnce;
use super::catalogue::DeletePayload;
use super::connection::{Paging, Walked, by_row, names};
use super::context::{Call, STAFF, different};
use super::scalars::int;
use super::siblings::Siblings;
use super::user::User;
use crate::domain::channel;
use crate::model::seal;

names!(GroupMembers, "UserGroupMemberConnection", "UserGroupMemberEdge");

/// A role, user type or segment. Announcements can address it, and it can subscribe to topics for all its members.
pub struct Group {
    of: channel::Group,
    counts: Arc<AtOnce<ChannelId, i64>>,
}

impl Group {
    /// Groups of a request. Their members are counted in one statement.
    pub fn list(groups: Vec<channel::Group>) -> Vec<Self> {
        let counts = AtOnce::of(groups.iter().map(|of| of.channel).collect());
        groups.into_iter().map(|of| Self { of, counts: counts.clone() }).collect()
    }

    /// A single group.
    pub fn alone(of: channel::Group) -> Self {
        let counts = AtOnce::of(vec![of.channel]);
        Self { of, counts }
    }
}

/// A role, user type or segment. Announcements can address it, and it can subscribe to topics for all its members.
#[Object(name = "UserGroup")]
impl Group {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(Call::of(ctx).tenant.seal.close(seal::Kind::Group, 0, self.of.channel.0))
    }

    /// Your code for the group, 1 to 128 characters.
    async fn code(&self) -> &str {
        &self.of.code
    }

    /// Name for people.
    async fn title(&self) -> Option<&str> {
        self.of.title.as_deref()
    }

    /// Current number of members.
    async fn member_count(&self, ctx: &Context<'_>) -> Result<i32> {
        let app = Call::of(ctx).app;
        let count = self.counts.get(self.of.channel, |groups| channel::member_counts(app, groups)).await?;
        Ok(int(count.copied().unwrap_or_default()))
    }

    /// Current members, in the order of their first mention; 20 without `first` and `last`. SERVICE, ADMIN.
    async fn members(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size from the beginning, at most 200.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor.")] after: Option<String>,
        #[graphql(
            desc = "Page size from the end, at most 200. Not with `first`, unless exactly one cursor is given: `before` selects `last`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor.")] before: Option<String>,
    ) -> Result<Walked<User, GroupMembers>> {
        let call = Call::by(ctx, STAFF)?;
        let open = |cursor: &str| call.tenant.seal.open(seal::Kind::Row, cursor).map(|(_, user)| UserId(user));
        let slice = Paging::of(ctx, (first, after), (last, before)).slice(call, open)?;
        let (users, goes_on) = channel::group_members(call.app, self.of.channel, slice).boxed().await?;
        let siblings = Siblings::of(users.clone());
        let members = users.into_iter().map(|user| (user.0, User::among(&siblings, user)));
        Ok(by_row(call, &slice, members, (goes_on, None)))
    }
}

#[derive(Default)]
pub struct GroupQuery;

#[Object]
impl GroupQuery {
    /// The tenant's groups, by code. Any role.
    async fn user_groups(&self, ctx: &Context<'_>) -> Result<Vec<Group>> {
        let call = Call::of(ctx);
        Ok(Group::list(channel::groups(call.app, call.tenant).await?))
    }
}

#[derive(Default)]
pub struct GroupMutation;

#[Object]
impl GroupMutation {
    /// Creates a group, or changes its title. SERVICE, ADMIN.
    async fn save_user_group(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the group to create or change, 1 to 128 characters.")] code: String,
        #[graphql(desc = "Name for people, 1 to 256 characters. Default: no title.")] title: Option<String>,
    ) -> Result<Group> {
        let call = Call::by(ctx, STAFF)?;
        call.audits(ctx, audit_entry::Subject::Group, &[&code]);
        Ok(Group::alone(channel::save_group(call.app, call.tenant, &code, title.as_deref()).await?))
    }

    /// Adds members. They receive notifications sent to the group from now on. If the call fails, some may have been
    /// added; repeat it to add the rest. SERVICE, ADMIN.
    async fn add_user_group_members(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the group.")] code: String,
        #[graphql(desc = "Your ids of the users, at most 10,000.")] users: Vec<ID>,
    ) -> Result<Group> {
        let call = Call::by(ctx, STAFF)?;
        let users = strings(users);
        call.audits_many(ctx, (audit_entry::Subject::Group, &[&code]), different(&users));
        Ok(Group::alone(channel::add_members(call.app, call.tenant, &code, &users).await?))
    }

    /// Removes members. They keep earlier notifications. SERVICE, ADMIN.
    async fn remove_user_group_members(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the group.")] code: String,
        #[graphql(desc = "Your ids of the users, at most 10,000.")] users: Vec<ID>,
    ) -> Result<Group> {
        let call = Call::by(ctx, STAFF)?;
        let users = strings(users);
        call.audits_many(ctx, (audit_entry::Subject::Group, &[&code]), different(&users));
        Ok(Group::alone(channel::remove_members(call.app, call.tenant, &code, &users).await?))
    }

    /// Deletes a group with its memberships and subscriptions. Its members keep earlier notifications. SERVICE, ADMIN.
    async fn delete_user_group(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the group.")] code: String,
    ) -> Result<DeletePayload> {
        let call = Call::by(ctx, STAFF)?;
        call.audits(ctx, audit_entry::Subject::Group, &[&code]);
        let deleted = channel::delete_group(call.app, call.tenant, &code).await?;
        let id = |of: ChannelId| ID(call.tenant.seal.close(seal::Kind::Group, 0, of.0));
        Ok(DeletePayload { deleted_id: deleted.map(id) })
    }
}

fn strings(ids: Vec<ID>) -> Vec<String> {
    ids.into_iter().map(|id| id.0).collect()
}
