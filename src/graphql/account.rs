//! A user's private data, as the user sees it and as services and operators do.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result, TypeName};
use entity::ids::UserId;
use futures_util::FutureExt;

use super::channel::{TopicSubscription, TopicSubscriptions};
use super::connection::{Paging, Walked, by_channel, names};
use super::context::{Call, STAFF};
use super::event::NOBODY;
use super::group::Group;
use super::hours::{DigestTime, QuietHours};
use super::inbox::{InboxFilter, InboxItem, Items, inbox_page};
use super::overview::{Overview, etag as overview_etag, wish};
use super::plain::Plain;
use super::poll::Readings;
use super::preference::Preferences;
use super::siblings::Siblings;
use super::user::{User, UserContact};
use super::view::{View, ViewKeyInput};
use crate::auth::Role;
use crate::domain::channel::{self, Listener};
use crate::domain::{overview, user};
use crate::error::Error;
use crate::model::check;
use crate::model::seal::Kind;

names!(FollowedUsers, "FollowedUserConnection", "FollowedUserEdge");

/// Most users per `inboxUsers` query.
pub const USERS: usize = 200;

/// The audience of an account object.
pub trait Side: Send + Sync + 'static {
    /// Name of its GraphQL type.
    const NAME: &'static str;
    /// Kind of its ids.
    const KIND: Kind;
}

/// The user's own view.
#[derive(Clone, Copy, Debug)]
pub struct Theirs;

/// The view of services and operators.
#[derive(Clone, Copy, Debug)]
pub struct Staffs;

impl Side for Theirs {
    const NAME: &'static str = "Viewer";
    const KIND: Kind = Kind::Viewer;
}

impl Side for Staffs {
    const NAME: &'static str = "InboxUser";
    const KIND: Kind = Kind::InboxUser;
}

/// The token's user.
pub type ViewerAccount = Account<Theirs>;

/// A user, for services and operators.
pub type InboxUser = Account<Staffs>;

/// All data of a user. The code that creates one has checked that the caller may see it.
#[derive(Clone)]
pub struct Account<Of> {
    row: UserId,
    siblings: Arc<Siblings>,
    /// The overview to deliver, if this object is the payload of an event.
    told: Option<Arc<overview::Overview>>,
    of: PhantomData<Of>,
}

impl<Of: Side> Account<Of> {
    /// One of several users of a request. Their data is read in one batch.
    pub fn among(siblings: &Arc<Siblings>, row: UserId) -> Self {
        Self { row, siblings: siblings.clone(), told: None, of: PhantomData }
    }

    /// A single user.
    pub fn alone(row: UserId) -> Self {
        Self::among(&Siblings::of(vec![row]), row)
    }

    /// The id of a user's account.
    pub fn id_of(call: Call<'_>, row: UserId) -> ID {
        ID(call.tenant.seal.close(Of::KIND, row.0, 0))
    }

    /// The request, for reading the user's data. Fails for the placeholder user of a shared event: it has no data.
    fn call<'a>(&self, ctx: &'a Context<'_>) -> Result<Call<'a>> {
        if self.row == NOBODY {
            return Err(Error::internal("a shared event was asked for data of a single user").into());
        }
        Ok(Call::of(ctx))
    }
}

impl ViewerAccount {
    /// The account of a user in an event with an overview.
    pub fn told(user: UserId, of: &overview::Overview) -> Self {
        Self { told: Some(Arc::new(of.seen_by(user))), ..Self::alone(user) }
    }
}

impl<Of: Side> TypeName for Account<Of> {
    fn type_name() -> Cow<'static, str> {
        Of::NAME.into()
    }
}

/// All data of one user: of the token's user as `Viewer`, or as services and operators see it as `InboxUser`.
#[Object(name_type)]
impl<Of: Side> Account<Of> {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        Self::id_of(Call::of(ctx), self.row)
    }

    /// The public profile, with your id of the user.
    async fn user(&self) -> User {
        User::among(&self.siblings, self.row)
    }

    /// Addresses outside of the inbox, as your backend set them (`saveUserProfiles`).
    async fn contacts(&self, ctx: &Context<'_>) -> Result<Vec<UserContact>> {
        let call = self.call(ctx)?;
        Ok(user::contacts(call.app, self.row).await?.into_iter().map(Into::into).collect())
    }

    /// IANA time zone, if the user or your backend set it (`updateDeliveryHours`, `saveUserProfiles`).
    async fn time_zone(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let call = self.call(ctx)?;
        Ok(user::hours(call.app, self.row).await?.zone.map(|zone| zone.name().to_owned()))
    }

    /// Quiet hours, if the user or your backend set them (`updateDeliveryHours`, `saveUserProfiles`).
    async fn quiet(&self, ctx: &Context<'_>) -> Result<Option<QuietHours>> {
        let call = self.call(ctx)?;
        Ok(user::hours(call.app, self.row).await?.quiet.map(Into::into))
    }

    /// Time of digests, if the user or your backend set it (`updateDeliveryHours`, `saveUserProfiles`). Null: 08:00
    /// every day.
    async fn digest(&self, ctx: &Context<'_>) -> Result<Option<DigestTime>> {
        let call = self.call(ctx)?;
        Ok(user::hours(call.app, self.row).await?.digest.map(Into::into))
    }

    /// Unread counts and latest items of all types. One batched statement reads them for any number of types and users.
    async fn overview(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Codes of message types. Default: all types.")] types: Option<Vec<String>>,
        #[graphql(desc = "Cap of all counts, at least 1. Default: exact counts.")] cap: Option<i32>,
    ) -> Result<Overview> {
        if let Some(told) = &self.told {
            return Ok(Overview(told.clone()));
        }
        let call = self.call(ctx)?;
        let wish = wish(ctx, types, cap);
        let overview = self.siblings.overview(call, self.row, wish).boxed().await?;
        Readings::note(ctx, &overview);
        Ok(Overview(Arc::new(overview)))
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
    ) -> Option<Result<Overview>> {
        let call = Call::of(ctx);
        match self.overview(ctx, types, cap).await {
            Ok(Overview(of)) if overview_etag(call, &of) == etag => None,
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
    ) -> Result<Walked<Plain<InboxItem>, Items>> {
        let call = self.call(ctx)?;
        inbox_page(ctx, call, self.row, filter, Paging::of(ctx, (first, after), (last, before))).boxed().await
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
    ) -> Result<Walked<TopicSubscription, TopicSubscriptions>> {
        let call = self.call(ctx)?;
        let slice = Paging::of(ctx, (first, after), (last, before)).channels(call)?;
        let (rows, goes_on) = channel::subscriptions(call.app, self.row, slice).boxed().await?;
        let rows = rows.into_iter().map(|row| (row.channel, row)).collect();
        let node = |of| TopicSubscription { of, listener: Listener::User(self.row) };
        Ok(by_channel(call, slice, (rows, goes_on), node))
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
    ) -> Result<Walked<User, FollowedUsers>> {
        let call = self.call(ctx)?;
        let slice = Paging::of(ctx, (first, after), (last, before)).channels(call)?;
        let found = channel::following(call.app, self.row, slice).boxed().await?;
        let siblings = Siblings::of(found.0.iter().map(|(_, user)| *user).collect());
        Ok(by_channel(call, slice, found, |user| User::among(&siblings, user)))
    }

    /// The groups that the user is in, by code.
    async fn groups(&self, ctx: &Context<'_>) -> Result<Vec<Group>> {
        let call = self.call(ctx)?;
        Ok(Group::list(channel::groups_of(call.app, call.tenant, self.row).boxed().await?))
    }

    /// The user's switches.
    async fn preferences(&self, ctx: &Context<'_>) -> Result<Preferences> {
        let call = self.call(ctx)?;
        Preferences::of(call, self.row).boxed().await
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
    ) -> Result<Vec<Plain<View>>> {
        let call = self.call(ctx)?;
        self.siblings.views.of(call, &self.siblings.ids, self.row, keys, first).boxed().await
    }
}

/// The user that a mutation changed; `None` if it changed a group.
#[derive(Clone, Copy, Debug)]
pub struct Subject(pub Option<UserId>);

/// The user that a mutation changed.
#[Object]
impl Subject {
    /// The token's user after the change; null for services and operators.
    async fn viewer(&self, ctx: &Context<'_>) -> Option<ViewerAccount> {
        let is_user = Call::of(ctx).viewer.role == Role::User;
        self.0.filter(|_| is_user).map(Account::alone)
    }

    /// The user that a service or an operator acted for, after the change; null for USER, and for groups.
    async fn inbox_user(&self, ctx: &Context<'_>) -> Option<InboxUser> {
        let is_user = Call::of(ctx).viewer.role == Role::User;
        self.0.filter(|_| !is_user).map(Account::alone)
    }
}

async fn find(ctx: &Context<'_>, id: &ID) -> Result<Option<InboxUser>> {
    let call = Call::by(ctx, STAFF)?;
    Ok(call.known_user("id", id).await?.map(Account::alone))
}

#[derive(Default)]
pub struct AccountQuery;

#[Object]
impl AccountQuery {
    /// The token's user. USER.
    async fn viewer(&self, ctx: &Context<'_>) -> Result<ViewerAccount> {
        let (_, user) = Call::user(ctx).await?;
        Ok(Account::alone(user))
    }

    /// A user with all their data; null if the tenant does not know the user. SERVICE, ADMIN.
    async fn inbox_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Your id of the user.")] id: ID,
    ) -> Option<Result<InboxUser>> {
        find(ctx, &id).await.transpose()
    }

    /// Users in the order of `ids`, at most 200; null for each that the tenant does not know. Overviews of all of them
    /// cost one statement. SERVICE, ADMIN.
    async fn inbox_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Your ids of the users, at most 200.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<InboxUser>>> {
        let call = Call::by(ctx, STAFF)?;
        check::count("ids", ids.len(), USERS)?;
        let ids: Vec<String> = ids.into_iter().map(|id| id.0).collect();
        check::codes("ids", &ids)?;
        let found = user::find(call.app, call.tenant, &ids).await?;
        let mut rows: Vec<UserId> = found.values().copied().collect();
        rows.sort_unstable();
        let siblings = Siblings::of(rows);
        Ok(ids.iter().map(|id| found.get(id).map(|row| Account::among(&siblings, *row))).collect())
    }
}
