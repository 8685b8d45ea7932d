//! Users as everybody sees them.

use entity::audit_entry::Subject;
use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Context, Enum, ID, InputObject, Object, OneofObject, Result, SimpleObject};
use entity::ids::UserId;

use super::catalogue::DeliveryChannel;
use super::connection;
use super::context::{Call, STAFF};
use super::entities::Entities;
use super::hours::{DigestTimeInput, QuietHoursInput, Said};
use super::patch::Patching;
use super::scalars::Instant;
use super::siblings::Siblings;
use crate::domain::lane::Kind;
use crate::domain::user::{self, Contact, Profile, ProfileChange};
use crate::mail;
use crate::model::wechat;

/// The public profile of a user.
#[derive(Clone)]
pub struct User(Source);

/// Where the profile comes from.
#[derive(Clone)]
enum Source {
    Known(Arc<Profile>),
    /// Read with those of others.
    Among(Arc<Siblings>, UserId),
}

impl User {
    /// One of several who were asked for together.
    pub fn among(siblings: &Arc<Siblings>, row: UserId) -> Self {
        Self(Source::Among(siblings.clone(), row))
    }

    /// One alone.
    pub fn alone(row: UserId) -> Self {
        Self::among(&Siblings::of(vec![row]), row)
    }

    /// One whose profile was read along with something else.
    pub fn known(profile: Profile) -> Self {
        Self(Source::Known(Arc::new(profile)))
    }

    /// One that the tenant does not know, and that is not made: a profile with nothing in it but the id.
    pub fn unheard(id: &ID) -> Self {
        Self::known(Profile { external_id: id.0.clone(), ..Profile::default() })
    }

    /// The profile, which is read with those of the others.
    pub async fn read(&self, call: Call<'_>) -> Result<Arc<Profile>> {
        match &self.0 {
            Source::Known(profile) => Ok(profile.clone()),
            // Boxed: all fields share the room of the largest, and every sender of an item is a user.
            Source::Among(siblings, row) => Ok(Arc::new(Box::pin(siblings.profile(call, *row)).await?)),
        }
    }
}

/// The public profile of a user, which everybody in the tenant may see. In a supergraph it is an entity, whose fields other
/// subgraphs may have too; what is private is in `Viewer`.
#[Object]
impl User {
    /// The partner's own id of the user.
    #[graphql(shareable)]
    async fn id(&self, ctx: &Context<'_>) -> Result<ID> {
        Ok(ID(self.read(Call::of(ctx)).await?.external_id.clone()))
    }

    /// As far as the partner has told it (`saveUserProfiles`).
    #[graphql(shareable)]
    async fn name(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.read(Call::of(ctx)).await.map(|profile| profile.name.clone()).transpose()
    }

    /// As far as the partner has told it (`saveUserProfiles`): an absolute http(s) URL or a path.
    #[graphql(shareable)]
    async fn avatar_url(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.read(Call::of(ctx)).await.map(|profile| profile.avatar_url.clone()).transpose()
    }

    /// BCP 47, as far as the partner has told it (`saveUserProfiles`).
    #[graphql(shareable)]
    async fn locale(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.read(Call::of(ctx)).await.map(|profile| profile.locale.clone()).transpose()
    }
}

#[derive(Default)]
pub struct UserQuery;

#[Object]
impl UserQuery {
    /// The user of a supergraph (Apollo Federation 2). Any role. One of whom the tenant has never heard has a profile without
    /// anything in it, and is not made.
    #[graphql(entity)]
    async fn find_user_by_id(&self, ctx: &Context<'_>, id: ID) -> Option<Result<User>> {
        Some(ctx.data_unchecked::<Entities>().user(ctx, &id).await)
    }

    /// Users of whom the tenant has heard, by the beginning of their id, as it is written, or of their name, without regard to case: first the one
    /// whose id it is, then other ids in their order, then names in theirs. White space at either end does not count, and no character is a
    /// wildcard. SERVICE, ADMIN.
    async fn search_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What it begins with; 1 to 128 characters.")] text: String,
        #[graphql(desc = "So many at the most, as many as a page holds; 20 where it is left out.")] first: Option<i32>,
    ) -> Result<Vec<User>> {
        let call = Call::by(ctx, STAFF)?;
        let many = connection::size(call, "first", first)?;
        let found = user::search(call.app, call.tenant, &text, many).await?;
        Ok(found.into_iter().map(User::known).collect())
    }
}

/// A field of a user's profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum ProfileField {
    /// `name`.
    Name,
    /// `avatarUrl`.
    AvatarUrl,
    /// `locale`.
    Locale,
    /// `contacts`.
    Contacts,
    /// `timeZone`.
    TimeZone,
    /// `quiet`.
    Quiet,
    /// `digest`.
    Digest,
}

/// What to change of a user's profile; what is left out, or null, stays.
#[derive(InputObject)]
pub struct UserProfileInput {
    /// The partner's own id of the user; 1 to 128 characters.
    pub id: ID,
    /// 1 to 256 characters.
    pub name: Option<String>,
    /// An absolute http(s) URL or a path.
    pub avatar_url: Option<String>,
    /// BCP 47.
    pub locale: Option<String>,
    /// Where they are reached outside: all of their addresses, five at the most. Nobody is shown them but the user, services and operators.
    pub contacts: Option<Vec<UserContactInput>>,
    /// Where they are, by IANA's name of it, such as `Europe/Berlin`.
    pub time_zone: Option<String>,
    /// When nothing leaves the inbox for them, by the clocks of `timeZone`, or of UTC where they have none. What falls due then goes out when
    /// it is over, as far as it is still wanted; what is of mandatory types goes out at once.
    pub quiet: Option<QuietHoursInput>,
    /// When they are sent digests (`MessageDeliveryRuleInput.digest`), by the same clocks; at 08:00 of each day where nothing is said. One that
    /// is waited for already comes no later than it was due.
    pub digest: Option<DigestTimeInput>,
    /// What to erase of it; nothing that is given as well.
    pub clear: Option<Vec<ProfileField>>,
}

/// An address of a user.
#[derive(OneofObject)]
pub enum UserContactInput {
    /// For mail: `ada@example.com`, 254 bytes at the most.
    Email(String),
    /// For WeChat: the `openid` by which the tenant's official account knows them; 1 to 128 letters, digits, `-` and `_`.
    WechatOpenId(String),
}

impl UserContactInput {
    fn read(self) -> crate::error::Result<Contact> {
        match self {
            Self::Email(address) => {
                let address = mail::address(&address).map_err(|error| error.within("email"))?;
                Ok(Contact { kind: Kind::Email, address })
            }
            Self::WechatOpenId(address) => {
                wechat::name("wechatOpenId", &address)?;
                Ok(Contact { kind: Kind::WeChat, address })
            }
        }
    }
}

/// Where a user is reached outside.
#[derive(SimpleObject)]
pub struct UserContact {
    /// By what it is reached.
    pub channel: DeliveryChannel,
    /// Their address there: of mail, or the `openid` by which the tenant's official account of WeChat knows them.
    pub address: String,
    /// Since when nothing is sent there, for it was refused three times in a row; null where it is not so. Saving it again has it tried
    /// again.
    pub refused_since: Option<Instant>,
}

impl From<entity::contact::Model> for UserContact {
    fn from(of: entity::contact::Model) -> Self {
        Self { channel: of.kind.into(), address: of.address, refused_since: of.bad_since.map(Into::into) }
    }
}

impl UserProfileInput {
    fn change(self) -> crate::error::Result<ProfileChange> {
        let patching = Patching::of(self.clear);
        let read = |(place, of): (usize, UserContactInput)| {
            of.read().map_err(|error| error.within(&format!("contacts[{place}]")))
        };
        let contacts = self.contacts.map(|all| all.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>());
        let said = Said::read(self.time_zone.as_deref(), self.quiet.as_ref(), self.digest.as_ref())?;
        Ok(ProfileChange {
            external_id: self.id.0,
            name: patching.change(ProfileField::Name, self.name)?,
            avatar_url: patching.change(ProfileField::AvatarUrl, self.avatar_url)?,
            locale: patching.change(ProfileField::Locale, self.locale)?,
            time_zone: patching.change(ProfileField::TimeZone, said.time_zone)?,
            quiet: patching.change(ProfileField::Quiet, said.quiet)?,
            digest: patching.change(ProfileField::Digest, said.digest)?,
            contacts: patching.change(ProfileField::Contacts, contacts.transpose()?)?.map(Option::unwrap_or_default),
        })
    }
}

#[derive(Default)]
pub struct UserMutation;

#[Object]
impl UserMutation {
    /// Up to 1,000 profiles, all or none; who was never mentioned is made. Answers with them in the order given. SERVICE, ADMIN.
    async fn save_user_profiles(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "One a user, 1,000 at the most.")] inputs: Vec<UserProfileInput>,
    ) -> Result<Vec<User>> {
        let call = Call::by(ctx, STAFF)?;
        call.audits::<&str>(ctx, Subject::User, &[]);
        let changes = inputs.into_iter().enumerate();
        let changes = changes.map(|(place, of)| of.change().map_err(|error| error.within(&format!("inputs[{place}]"))));
        let changes = changes.collect::<Result<Vec<_>, _>>()?;
        let rows = user::save(call.app, call.tenant, changes).await?;
        let siblings = Siblings::of(rows.clone());
        Ok(rows.into_iter().map(|row| User::among(&siblings, row)).collect())
    }
}

/// Profiles by the partner's ids, of those who are known.
pub async fn profiles(call: Call<'_>, ids: &[String]) -> crate::error::Result<HashMap<String, Profile>> {
    let rows: Vec<UserId> = user::find(call.app, call.tenant, ids).await?.into_values().collect();
    let profiles = user::profiles(call.app, call.tenant, &rows).await?;
    Ok(profiles.into_values().map(|of| (of.external_id.clone(), of)).collect())
}
