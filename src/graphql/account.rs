//! What is private to a user: as they see it themselves, and as services and operators do.

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

/// The most users of one `inboxUsers` query, and of whom things are read at once.
pub const USERS: usize = 200;

/// Whom an account is shown to.
pub trait Side: Send + Sync + 'static {
    /// The name of its type.
    const NAME: &'static str;
    /// What its ids are.
    const KIND: Kind;
}

/// Its user.
#[derive(Clone, Copy, Debug)]
pub struct Theirs;

/// Services and operators.
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

/// All that a user has in Tidings. Whoever makes one has made sure that it may be seen.
#[derive(Clone)]
pub struct Account<Of> {
    row: UserId,
    siblings: Arc<Siblings>,
    /// The overview that is told of, where this is an event.
    told: Option<Arc<overview::Overview>>,
    of: PhantomData<Of>,
}

impl<Of: Side> Account<Of> {
    /// One of several who were asked for together.
    pub fn among(siblings: &Arc<Siblings>, row: UserId) -> Self {
        Self { row, siblings: siblings.clone(), told: None, of: PhantomData }
    }

    /// One alone.
    pub fn alone(row: UserId) -> Self {
        Self::among(&Siblings::of(vec![row]), row)
    }

    /// The id of a user's account.
    pub fn id_of(call: Call<'_>, row: UserId) -> ID {
        ID(call.tenant.seal.close(Of::KIND, row.0, 0))
    }

    /// What is to be read of it. An event that is the same for many belongs to nobody, of whom nothing can be read.
    fn call<'a>(&self, ctx: &'a Context<'_>) -> Result<Call<'a>> {
        if self.row == NOBODY {
            return Err(Error::internal("an event that is shared was asked for what is each user's own").into());
        }
        Ok(Call::of(ctx))
    }
}

impl ViewerAccount {
    /// That of a user of whose overview is told.
    pub fn told(user: UserId, of: &overview::Overview) -> Self {
        Self { told: Some(Arc::new(of.seen_by(user))), ..Self::alone(user) }
    }
}

impl<Of: Side> TypeName for Account<Of> {
    fn type_name() -> Cow<'static, str> {
        Of::NAME.into()
    }
}

/// A user with all that is theirs: as `Viewer` the token's own user, as `InboxUser` one whom a service or an operator looks at.
#[Object(name_type)]
impl<Of: Side> Account<Of> {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        Self::id_of(Call::of(ctx), self.row)
    }

    /// Their public profile, with the partner's own id.
    async fn user(&self) -> User {
        User::among(&self.siblings, self.row)
    }

    /// Where they are reached outside, as far as the partner has told it (`saveUserProfiles`).
    async fn contacts(&self, ctx: &Context<'_>) -> Result<Vec<UserContact>> {
        let call = self.call(ctx)?;
        Ok(user::contacts(call.app, self.row).await?.into_iter().map(Into::into).collect())
    }

    /// Where they are, by IANA's name of it, as far as they or the partner have said it (`updateDeliveryHours`, `saveUserProfiles`).
    async fn time_zone(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let call = self.call(ctx)?;
        Ok(user::hours(call.app, self.row).await?.zone.map(|zone| zone.name().to_owned()))
    }

    /// When nothing leaves the inbox for them, as far as they or the partner have said it (`updateDeliveryHours`, `saveUserProfiles`).
    async fn quiet(&self, ctx: &Context<'_>) -> Result<Option<QuietHours>> {
        let call = self.call(ctx)?;
        Ok(user::hours(call.app, self.row).await?.quiet.map(Into::into))
    }

    /// When they are sent digests, as far as they or the partner have said it (`updateDeliveryHours`, `saveUserProfiles`); null: at 08:00 of each
    /// day.
    async fn digest(&self, ctx: &Context<'_>) -> Result<Option<DigestTime>> {
        let call = self.call(ctx)?;
        Ok(user::hours(call.app, self.row).await?.digest.map(Into::into))
    }

    /// All types at once: unread counts and latest items, in one batched statement however many types or users are asked for.
    async fn overview(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Codes of message types: only these; all where it is left out.")] types: Option<Vec<String>>,
        #[graphql(desc = "Where counts stop, at least 1; they are exact where it is left out.")] cap: Option<i32>,
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

    /// The overview, or null where it still is the one of this `etag`: for clients that ask again and again, who are sent nothing where nothing has
    /// changed. What is asked for has to be the same as when the `etag` was given: the same `types` and `cap`, and with `unseen`, `total` and
    /// `views` or without.
    async fn overview_unless(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Of the overview that is known, as its `etag` says.")] etag: String,
        #[graphql(desc = "Codes of message types: only these; all where it is left out.")] types: Option<Vec<String>>,
        #[graphql(desc = "Where counts stop, at least 1; they are exact where it is left out.")] cap: Option<i32>,
    ) -> Option<Result<Overview>> {
        let call = Call::of(ctx);
        match self.overview(ctx, types, cap).await {
            Ok(Overview(of)) if overview_etag(call, &of) == etag => None,
            found => Some(found),
        }
    }

    /// Newest first; 20 items where neither `first` nor `last` is given, 200 at the most. `first` with `after` walks
    /// towards older items, `last` with `before` towards newer ones. A page that is filtered by kind, target, action or sender
    /// looks at 1,000 items: it may have fewer than were asked for, or none, and go on at its `endCursor` (`startCursor`).
    async fn inbox(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which items; all of the inbox proper where it is left out.")] filter: Option<InboxFilter>,
        #[graphql(desc = "So many from the newest on, 200 at the most.")] first: Option<i32>,
        #[graphql(desc = "Only older ones than the item at this cursor.")] after: Option<String>,
        #[graphql(
            desc = "So many from the oldest on, 200 at the most; not with `first`, unless `before` alone is given."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only newer ones than the item at this cursor.")] before: Option<String>,
    ) -> Result<Walked<Plain<InboxItem>, Items>> {
        let call = self.call(ctx)?;
        inbox_page(ctx, call, self.row, filter, Paging::of(ctx, (first, after), (last, before))).boxed().await
    }

    /// Targets and actions that the user hears of directly; not those of their groups. Oldest topic first; 20 where neither
    /// `first` nor `last` is given.
    async fn subscriptions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "So many from the beginning, 200 at the most.")] first: Option<i32>,
        #[graphql(desc = "Only what stands after this cursor.")] after: Option<String>,
        #[graphql(desc = "So many from the end, 200 at the most; not with `first`, unless `before` alone is given.")]
        last: Option<i32>,
        #[graphql(desc = "Only what stands before this cursor.")] before: Option<String>,
    ) -> Result<Walked<TopicSubscription, TopicSubscriptions>> {
        let call = self.call(ctx)?;
        let slice = Paging::of(ctx, (first, after), (last, before)).channels(call)?;
        let (rows, goes_on) = channel::subscriptions(call.app, self.row, slice).boxed().await?;
        let rows = rows.into_iter().map(|row| (row.channel, row)).collect();
        let node = |of| TopicSubscription { of, listener: Listener::User(self.row) };
        Ok(by_channel(call, slice, (rows, goes_on), node))
    }

    /// Users whose doings they hear of, 20 where neither `first` nor `last` is given.
    async fn following(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "So many from the beginning, 200 at the most.")] first: Option<i32>,
        #[graphql(desc = "Only what stands after this cursor.")] after: Option<String>,
        #[graphql(desc = "So many from the end, 200 at the most; not with `first`, unless `before` alone is given.")]
        last: Option<i32>,
        #[graphql(desc = "Only what stands before this cursor.")] before: Option<String>,
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

    /// What the user wants to hear.
    async fn preferences(&self, ctx: &Context<'_>) -> Result<Preferences> {
        let call = self.call(ctx)?;
        Preferences::of(call, self.row).boxed().await
    }

    /// Auto-read views (chats, feeds) that the user is in, most recently active first.
    async fn views(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Those of these that they are in, in this order; at most 200.")] keys: Option<
            Vec<ViewKeyInput>,
        >,
        #[graphql(desc = "At most so many, up to 200; else 20, or all of `keys`.")] first: Option<i32>,
    ) -> Result<Vec<Plain<View>>> {
        let call = self.call(ctx)?;
        self.siblings.views.of(call, &self.siblings.ids, self.row, keys, first).boxed().await
    }
}

/// Whose account a mutation has changed; nobody's where it was a group's.
#[derive(Clone, Copy, Debug)]
pub struct Subject(pub Option<UserId>);

/// Whose account a mutation has changed.
#[Object]
impl Subject {
    /// The token's user, as they stand after the change; null for services and operators.
    async fn viewer(&self, ctx: &Context<'_>) -> Option<ViewerAccount> {
        let is_user = Call::of(ctx).viewer.role == Role::User;
        self.0.filter(|_| is_user).map(Account::alone)
    }

    /// Whom a service or an operator has acted for, as they stand after the change; null for users, and for groups.
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

    /// A user with all that is theirs; null where the tenant has never heard of them. SERVICE, ADMIN.
    async fn inbox_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The partner's own id of the user.")] id: ID,
    ) -> Option<Result<InboxUser>> {
        find(ctx, &id).await.transpose()
    }

    /// In the order asked for, null where the tenant has never heard of one; at most 200. Overviews of all of them cost
    /// one statement. SERVICE, ADMIN.
    async fn inbox_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The partner's own ids of the users.")] ids: Vec<ID>,
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
