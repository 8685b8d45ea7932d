//! Groups and their members.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};
use entity::audit_entry;
use entity::ids::{ChannelId, UserId};
use futures_util::FutureExt;

use super::catalogue::DeletePayload;
use super::connection::{PageArguments, ScannedConnection, names, row_connection};
use super::context::{CallContext, STAFF, distinct_count};
use super::loaders::{BatchLoader, UserLoader};
use super::scalars::to_int;
use super::user::User;
use domain::channel;
use model::id_cipher;

names!(GroupMembers, "UserGroupMemberConnection", "UserGroupMemberEdge");

/// A role, user type or segment. Announcements can address it, and it can subscribe to topics for all its members.
pub struct UserGroup {
    of: channel::GroupChannel,
    counts: Arc<BatchLoader<ChannelId, i64>>,
}

impl UserGroup {
    /// Groups of a request. Their members are counted in one statement.
    pub fn from_groups(groups: Vec<channel::GroupChannel>) -> Vec<Self> {
        let counts = BatchLoader::for_keys(groups.iter().map(|of| of.channel).collect());
        groups.into_iter().map(|of| Self { of, counts: counts.clone() }).collect()
    }

    /// A single group.
    pub fn from_group(of: channel::GroupChannel) -> Self {
        let counts = BatchLoader::for_keys(vec![of.channel]);
        Self { of, counts }
    }
}

/// A role, user type or segment. Announcements can address it, and it can subscribe to topics for all its members.
#[Object(name = "UserGroup")]
impl UserGroup {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(CallContext::from_context(ctx).tenant.id_cipher.encode(id_cipher::IdKind::Group, 0, self.of.channel.0))
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
        let app = CallContext::from_context(ctx).app;
        let count = self.counts.load(self.of.channel, |groups| channel::count_members(app, groups)).await?;
        Ok(to_int(count.copied().unwrap_or_default()))
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
    ) -> Result<ScannedConnection<User, GroupMembers>> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let open =
            |cursor: &str| call.tenant.id_cipher.decode(id_cipher::IdKind::Row, cursor).map(|(_, user)| UserId(user));
        let slice = PageArguments::from_field(ctx, (first, after), (last, before)).into_slice(call, open)?;
        let (users, goes_on) = channel::list_group_members(call.app, self.of.channel, slice).boxed().await?;
        let siblings = UserLoader::for_users(users.clone());
        let members = users.into_iter().map(|user| (user.0, User::in_batch(&siblings, user)));
        Ok(row_connection(call, &slice, members, (goes_on, None)))
    }
}

#[derive(Default)]
pub struct GroupQuery;

#[Object]
impl GroupQuery {
    /// The tenant's groups, by code. Any role.
    async fn user_groups(&self, ctx: &Context<'_>) -> Result<Vec<UserGroup>> {
        let call = CallContext::from_context(ctx);
        Ok(UserGroup::from_groups(channel::load_groups(call.app, call.tenant).await?))
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
    ) -> Result<UserGroup> {
        let call = CallContext::with_role(ctx, STAFF)?;
        call.start_audit(ctx, audit_entry::SubjectKind::Group, &[&code]);
        Ok(UserGroup::from_group(channel::save_group(call.app, call.tenant, &code, title.as_deref()).await?))
    }

    /// Adds members. They receive notifications sent to the group from now on. If the call fails, some may have been
    /// added; repeat it to add the rest. SERVICE, ADMIN.
    async fn add_user_group_members(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the group.")] code: String,
        #[graphql(desc = "Your ids of the users, at most 10,000.")] users: Vec<ID>,
    ) -> Result<UserGroup> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let users = into_strings(users);
        call.start_audit_many(ctx, (audit_entry::SubjectKind::Group, &[&code]), distinct_count(&users));
        Ok(UserGroup::from_group(channel::add_members(call.app, call.tenant, &code, &users).await?))
    }

    /// Removes members. They keep earlier notifications. SERVICE, ADMIN.
    async fn remove_user_group_members(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the group.")] code: String,
        #[graphql(desc = "Your ids of the users, at most 10,000.")] users: Vec<ID>,
    ) -> Result<UserGroup> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let users = into_strings(users);
        call.start_audit_many(ctx, (audit_entry::SubjectKind::Group, &[&code]), distinct_count(&users));
        Ok(UserGroup::from_group(channel::remove_members(call.app, call.tenant, &code, &users).await?))
    }

    /// Deletes a group with its memberships and subscriptions. Its members keep earlier notifications. SERVICE, ADMIN.
    async fn delete_user_group(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the group.")] code: String,
    ) -> Result<DeletePayload> {
        let call = CallContext::with_role(ctx, STAFF)?;
        call.start_audit(ctx, audit_entry::SubjectKind::Group, &[&code]);
        let deleted = channel::delete_group(call.app, call.tenant, &code).await?;
        let id = |of: ChannelId| ID(call.tenant.id_cipher.encode(id_cipher::IdKind::Group, 0, of.0));
        Ok(DeletePayload { deleted_id: deleted.map(id) })
    }
}

fn into_strings(ids: Vec<ID>) -> Vec<String> {
    ids.into_iter().map(|id| id.0).collect()
}
