//! A user's private data, as the user sees it and as services and operators do.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result, TypeName};
use entity::ids::UserId;
use futures_util::FutureExt;

use super::cacheable::ReadSet;
use super::channel::{TopicSubscription, TopicSubscriptions};
use super::connection::{PageArguments, ScannedConnection, channel_connection, names};
use super::context::{CallContext, STAFF};
use super::event::NOBODY;
use super::group::UserGroup;
use super::hours::{DigestTime, QuietHours};
use super::inbox::{InboxFilter, InboxItem, Items, inbox_page};
use super::inline::InlineObject;
use super::loaders::UserLoader;
use super::overview::{InboxOverview, overview_etag, selected_parts};
use super::preference::NotificationPreferences;
use super::user::{User, UserContact};
use super::view::{InboxView, ViewKeyInput};
use auth::CallerRole;
use base::error::Error;
use domain::channel::{self, ListenerId};
use domain::{overview, user};
use model::id_cipher::IdKind;
use model::validate;

names!(FollowedUsers, "FollowedUserConnection", "FollowedUserEdge");

/// Most users per `inboxUsers` query.
pub const USERS: usize = 200;

/// The audience of an account object.
pub trait AccountView: Send + Sync + 'static {
    /// Name of its GraphQL type.
    const NAME: &'static str;
    /// Kind of its ids.
    const KIND: IdKind;
}

/// The user's own view.
#[derive(Clone, Copy, Debug)]
pub struct SelfView;

/// The view of services and operators.
#[derive(Clone, Copy, Debug)]
pub struct StaffView;

impl AccountView for SelfView {
    const NAME: &'static str = "Viewer";
    const KIND: IdKind = IdKind::Viewer;
}

impl AccountView for StaffView {
    const NAME: &'static str = "InboxUser";
    const KIND: IdKind = IdKind::InboxUser;
}

/// The token's user.
pub type ViewerAccount = UserAccount<SelfView>;

/// A user, for services and operators.
pub type InboxUser = UserAccount<StaffView>;

/// All data of a user. The code that creates one has checked that the caller may see it.
#[derive(Clone)]
pub struct UserAccount<Of> {
    row: UserId,
    siblings: Arc<UserLoader>,
    /// The overview to deliver, if this object is the payload of an event.
    told: Option<Arc<overview::UserOverview>>,
    of: PhantomData<Of>,
}

impl<Of: AccountView> UserAccount<Of> {
    /// One of several users of a request. Their data is read in one batch.
    pub fn in_batch(siblings: &Arc<UserLoader>, row: UserId) -> Self {
        Self { row, siblings: siblings.clone(), told: None, of: PhantomData }
    }

    /// A single user.
    pub fn for_user(row: UserId) -> Self {
        Self::in_batch(&UserLoader::for_users(vec![row]), row)
    }

    /// The id of a user's account.
    pub fn global_id(call: CallContext<'_>, row: UserId) -> ID {
        ID(call.tenant.id_cipher.encode(Of::KIND, row.0, 0))
    }

    /// The request, for reading the user's data. Fails for the placeholder user of a shared event: it has no data.
    fn private_call<'a>(&self, ctx: &'a Context<'_>) -> Result<CallContext<'a>> {
        if self.row == NOBODY {
            return Err(Error::internal("a shared event was asked for data of a single user").into());
        }
        Ok(CallContext::from_context(ctx))
    }
}

impl ViewerAccount {
    /// The account of a user in an event with an overview.
    pub fn from_event(user: UserId, of: &overview::UserOverview) -> Self {
        Self { told: Some(Arc::new(of.clone_for_user(user))), ..Self::for_user(user) }
    }
}

impl<Of: AccountView> TypeName for UserAccount<Of> {
    fn type_name() -> Cow<'static, str> {
        Of::NAME.into()
    }
}

/// All data of one user: of the token's user as `Viewer`, or as services and operators see it as `InboxUser`.
#[Object(name_type)]
impl<Of: AccountView> UserAccount<Of> {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        Self::global_id(CallContext::from_context(ctx), self.row)
    }

    /// The public profile, with your id of the user.
    async fn user(&self) -> User {
        User::in_batch(&self.siblings, self.row)
    }

    /// Addresses outside of the inbox, as your backend set them (`saveUserProfiles`).
    async fn contacts(&self, ctx: &Context<'_>) -> Result<Vec<UserContact>> {
        let call = self.private_call(ctx)?;
        Ok(user::load_contacts(call.app, self.row).await?.into_iter().map(Into::into).collect())
    }

    /// IANA time zone, if the user or your backend set it (`updateDeliveryHours`, `saveUserProfiles`).
    async fn time_zone(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let call = self.private_call(ctx)?;
        Ok(user::load_hours(call.app, self.row).await?.zone.map(|zone| zone.name().to_owned()))
    }

    /// Quiet hours, if the user or your backend set them (`updateDeliveryHours`, `saveUserProfiles`).
    async fn quiet(&self, ctx: &Context<'_>) -> Result<Option<QuietHours>> {
        let call = self.private_call(ctx)?;
        Ok(user::load_hours(call.app, self.row).await?.quiet.map(Into::into))
    }

    /// Time of digests, if the user or your backend set it (`updateDeliveryHours`, `saveUserProfiles`). Null: 08:00
    /// every day.
    async fn digest(&self, ctx: &Context<'_>) -> Result<Option<DigestTime>> {
        let call = self.private_call(ctx)?;
        Ok(user::load_hours(call.app, self.row).await?.digest.map(Into::into))
    }

    /// Unread counts and latest items of all types. One batched statement reads them for any number of types and users.
    async fn overview(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Codes of message types. Default: all types.")] types: Option<Vec<String>>,
        #[graphql(desc = "Cap of all counts, at least 1. Default: exact counts.")] cap: Option<i32>,
    ) -> Result<InboxOverview> {
        if let Some(told) = &self.told {
            return Ok(InboxOverview(told.clone()));
        }
        let call = self.private_call(ctx)?;
        let wish = selected_parts(ctx, types, cap);
        let overview = self.siblings.load_overview(call, self.row, wish).boxed().await?;
        ReadSet::record_overview(ctx, &overview);
        Ok(InboxOverview(Arc::new(overview)))
    }

    /// The overview, or null if `etag` still matches: clients that poll receive nothing while nothing changed. Select
    /// the same as in the query that returned the `etag`: the same `types` and `cap`, and `unseen`, `total` and `views`
    /// either again or again not.
    async fn overview_unless(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `etag` of the overview that the client has.")] etag: String,
        #[graphql(desc = "Codes of message types. Default: all types.")] types: Option<Vec<String>>,
        #[graphql(desc = "Cap of all counts, at least 1. Default: exact counts.")] cap: Option<i32>,
    ) -> Option<Result<InboxOverview>> {
        let call = CallContext::from_context(ctx);
        match self.overview(ctx, types, cap).await {
            Ok(InboxOverview(of)) if overview_etag(call, &of) == etag => None,
            found => Some(found),
        }
    }

    /// Newest first; 20 items without `first` and `last`, at most 200. `first` with `after` walks towards older items,
    /// `last` with `before` towards newer ones. A page that is filtered by kind, target, action or sender scans 1,000
    /// items: it may have fewer than requested, or none, and continues at its `endCursor` (`startCursor`).
    async fn inbox(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items to list. Default: all that are not archived.")] filter: Option<InboxFilter>,
        #[graphql(desc = "Page size from the newest on, at most 200.")] first: Option<i32>,
        #[graphql(desc = "Only items older than the one at this cursor.")] after: Option<String>,
        #[graphql(
            desc = "Page size from the oldest on, at most 200. Not with `first`, unless exactly one cursor is given: `before` selects `last`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only items newer than the one at this cursor.")] before: Option<String>,
    ) -> Result<ScannedConnection<InlineObject<InboxItem>, Items>> {
        let call = self.private_call(ctx)?;
        inbox_page(ctx, call, self.row, filter, PageArguments::from_field(ctx, (first, after), (last, before)))
            .boxed()
            .await
    }

    /// The user's own subscriptions to actions on targets, without those of their groups. Oldest topic first; 20
    /// without `first` and `last`.
    async fn subscriptions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size from the beginning, at most 200.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor.")] after: Option<String>,
        #[graphql(
            desc = "Page size from the end, at most 200. Not with `first`, unless exactly one cursor is given: `before` selects `last`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor.")] before: Option<String>,
    ) -> Result<ScannedConnection<TopicSubscription, TopicSubscriptions>> {
        let call = self.private_call(ctx)?;
        let slice = PageArguments::from_field(ctx, (first, after), (last, before)).into_channel_slice(call)?;
        let (rows, goes_on) = channel::list_subscriptions(call.app, self.row, slice).boxed().await?;
        let rows = rows.into_iter().map(|row| (row.channel, row)).collect();
        let node = |of| TopicSubscription { of, listener: ListenerId::User(self.row) };
        Ok(channel_connection(call, slice, (rows, goes_on), node))
    }

    /// Users that this user follows; 20 without `first` and `last`.
    async fn following(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size from the beginning, at most 200.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor.")] after: Option<String>,
        #[graphql(
            desc = "Page size from the end, at most 200. Not with `first`, unless exactly one cursor is given: `before` selects `last`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor.")] before: Option<String>,
    ) -> Result<ScannedConnection<User, FollowedUsers>> {
        let call = self.private_call(ctx)?;
        let slice = PageArguments::from_field(ctx, (first, after), (last, before)).into_channel_slice(call)?;
        let found = channel::list_following(call.app, self.row, slice).boxed().await?;
        let siblings = UserLoader::for_users(found.0.iter().map(|(_, user)| *user).collect());
        Ok(channel_connection(call, slice, found, |user| User::in_batch(&siblings, user)))
    }

    /// The groups that the user is in, by code.
    async fn groups(&self, ctx: &Context<'_>) -> Result<Vec<UserGroup>> {
        let call = self.private_call(ctx)?;
        Ok(UserGroup::from_groups(channel::load_groups_of_user(call.app, call.tenant, self.row).boxed().await?))
    }

    /// The user's switches.
    async fn preferences(&self, ctx: &Context<'_>) -> Result<NotificationPreferences> {
        let call = self.private_call(ctx)?;
        NotificationPreferences::load_for_user(call, self.row).boxed().await
    }

    /// Auto-read views (chats, feeds) that the user is in, most recently active first.
    async fn views(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only these views, in this order; at most 200. Views that the user is not in are left out.")]
        keys: Option<Vec<ViewKeyInput>>,
        #[graphql(desc = "Maximum number, up to 200. Default: all of `keys`, or 20 without `keys`.")] first: Option<
            i32,
        >,
    ) -> Result<Vec<InlineObject<InboxView>>> {
        let call = self.private_call(ctx)?;
        self.siblings.views.load_views(call, &self.siblings.ids, self.row, keys, first).boxed().await
    }
}

/// The user that a mutation changed; `None` if it changed a group.
#[derive(Clone, Copy, Debug)]
pub struct MutationSubject(pub Option<UserId>);

/// The user that a mutation changed.
#[Object]
impl MutationSubject {
    /// The token's user after the change; null for services and operators.
    async fn viewer(&self, ctx: &Context<'_>) -> Option<ViewerAccount> {
        let is_user = CallContext::from_context(ctx).viewer.role == CallerRole::User;
        self.0.filter(|_| is_user).map(UserAccount::for_user)
    }

    /// The user that a service or an operator acted for, after the change; null for USER, and for groups.
    async fn inbox_user(&self, ctx: &Context<'_>) -> Option<InboxUser> {
        let is_user = CallContext::from_context(ctx).viewer.role == CallerRole::User;
        self.0.filter(|_| !is_user).map(UserAccount::for_user)
    }
}

async fn find_inbox_user(ctx: &Context<'_>, id: &ID) -> Result<Option<InboxUser>> {
    let call = CallContext::with_role(ctx, STAFF)?;
    Ok(call.find_user("id", id).await?.map(UserAccount::for_user))
}

#[derive(Default)]
pub struct AccountQuery;

#[Object]
impl AccountQuery {
    /// The token's user. USER.
    async fn viewer(&self, ctx: &Context<'_>) -> Result<ViewerAccount> {
        let (_, user) = CallContext::for_calling_user(ctx).await?;
        Ok(UserAccount::for_user(user))
    }

    /// A user with all their data; null if the tenant does not know the user. SERVICE, ADMIN.
    async fn inbox_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Your id of the user.")] id: ID,
    ) -> Option<Result<InboxUser>> {
        find_inbox_user(ctx, &id).await.transpose()
    }

    /// Users in the order of `ids`, at most 200; null for each that the tenant does not know. Overviews of all of them
    /// cost one statement. SERVICE, ADMIN.
    async fn inbox_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Your ids of the users, at most 200.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<InboxUser>>> {
        let call = CallContext::with_role(ctx, STAFF)?;
        validate::at_most("ids", ids.len(), USERS)?;
        let ids: Vec<String> = ids.into_iter().map(|id| id.0).collect();
        validate::identifiers("ids", &ids)?;
        let found = user::find_existing(call.app, call.tenant, &ids).await?;
        let mut rows: Vec<UserId> = found.values().copied().collect();
        rows.sort_unstable();
        let siblings = UserLoader::for_users(rows);
        Ok(ids.iter().map(|id| found.get(id).map(|row| UserAccount::in_batch(&siblings, *row))).collect())
    }
}
