//! Public profiles of users.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{Context, Enum, ID, InputObject, Object, OneofObject, Result, SimpleObject};
use entity::audit_entry::SubjectKind;
use entity::ids::UserId;

use super::catalogue::DeliveryChannel;
use super::connection;
use super::context::{CallContext, STAFF};
use super::entities::EntityLoader;
use super::hours::{DigestTimeInput, ParsedHours, QuietHoursInput};
use super::loaders::UserLoader;
use super::patch::FieldPatch;
use super::scalars::DateTimeScalar;
use delivery::destination::DestinationKind;
use domain::user::{self, ContactAddress, ProfileChange, UserProfile};
use model::wechat;
use outside::mail;

/// The public profile of a user.
#[derive(Clone)]
pub struct User(ProfileSource);

/// Where the profile comes from.
#[derive(Clone)]
enum ProfileSource {
    Known(Arc<UserProfile>),
    /// Read in one batch with others.
    Among(Arc<UserLoader>, UserId),
}

impl User {
    /// One of several users of a request. Their profiles are read in one batch.
    pub fn in_batch(siblings: &Arc<UserLoader>, row: UserId) -> Self {
        Self(ProfileSource::Among(siblings.clone(), row))
    }

    /// A single user.
    pub fn for_user(row: UserId) -> Self {
        Self::in_batch(&UserLoader::for_users(vec![row]), row)
    }

    /// A user with a profile that was already read.
    pub fn from_profile(profile: UserProfile) -> Self {
        Self(ProfileSource::Known(Arc::new(profile)))
    }

    /// A user that the tenant does not know and the call does not create: a profile with only the id.
    pub fn with_id_only(id: &ID) -> Self {
        Self::from_profile(UserProfile { external_id: id.0.clone(), ..UserProfile::default() })
    }

    /// The profile. The first read also loads those of the other users of the request.
    pub async fn load_profile(&self, call: CallContext<'_>) -> Result<Arc<UserProfile>> {
        match &self.0 {
            ProfileSource::Known(profile) => Ok(profile.clone()),
            // Boxed: the future of an object is as large as that of its largest field, and each item has a user as its
            // sender.
            ProfileSource::Among(siblings, row) => Ok(Arc::new(Box::pin(siblings.load_profile(call, *row)).await?)),
        }
    }
}

/// The public profile of a user, visible to all users of the tenant. In a supergraph it is an entity, and other
/// subgraphs may add fields. Private data is in `Viewer`.
#[Object]
impl User {
    /// Your id of the user.
    #[graphql(shareable)]
    async fn id(&self, ctx: &Context<'_>) -> Result<ID> {
        Ok(ID(self.load_profile(CallContext::from_context(ctx)).await?.external_id.clone()))
    }

    /// Set by your backend (`saveUserProfiles`).
    #[graphql(shareable)]
    async fn name(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.load_profile(CallContext::from_context(ctx)).await.map(|profile| profile.name.clone()).transpose()
    }

    /// An absolute http(s) URL or a path, set by your backend (`saveUserProfiles`).
    #[graphql(shareable)]
    async fn avatar_url(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.load_profile(CallContext::from_context(ctx)).await.map(|profile| profile.avatar_url.clone()).transpose()
    }

    /// BCP 47 language tag, set by your backend (`saveUserProfiles`).
    #[graphql(shareable)]
    async fn locale(&self, ctx: &Context<'_>) -> Option<Result<String>> {
        self.load_profile(CallContext::from_context(ctx)).await.map(|profile| profile.locale.clone()).transpose()
    }
}

#[derive(Default)]
pub struct UserQuery;

#[Object]
impl UserQuery {
    /// The user of a supergraph (Apollo Federation 2). Any role. For an unknown id it returns a profile with only the
    /// id, and creates no user.
    #[graphql(entity)]
    async fn find_user_by_id(&self, ctx: &Context<'_>, id: ID) -> Option<Result<User>> {
        Some(ctx.data_unchecked::<EntityLoader>().load_user(ctx, &id).await)
    }

    /// Known users by a prefix of their id (case-sensitive) or of their name (ignoring case). The user with exactly
    /// this id comes first, then other ids in order, then names in order. White space around `text` is ignored; no
    /// character is a wildcard. SERVICE, ADMIN.
    async fn search_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Prefix of the id or the name, 1 to 128 characters.")] text: String,
        #[graphql(desc = "Maximum number of users, up to 200. Default: 20.")] first: Option<i32>,
    ) -> Result<Vec<User>> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let many = connection::page_size(call, "first", first)?;
        let found = user::search(call.app, call.tenant, &text, many).await?;
        Ok(found.into_iter().map(User::from_profile).collect())
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

/// Changes to a user's profile. Absent and null fields stay.
#[derive(InputObject)]
pub struct UserProfileInput {
    /// Your id of the user, 1 to 128 characters.
    pub id: ID,
    /// 1 to 256 characters.
    pub name: Option<String>,
    /// An absolute http(s) URL or a path.
    pub avatar_url: Option<String>,
    /// BCP 47 language tag. Letters are written in this language, as are numbers, dates and lists in templates.
    pub locale: Option<String>,
    /// All of the user's addresses outside of the inbox, at most five. Visible only to the user, services and
    /// operators.
    pub contacts: Option<Vec<UserContactInput>>,
    /// IANA time zone, such as `Europe/Berlin`.
    pub time_zone: Option<String>,
    /// Quiet hours in `timeZone`, or in UTC without one. A delivery that falls due in them goes out at their end, if it
    /// still applies; mandatory types go out at once.
    pub quiet: Option<QuietHoursInput>,
    /// Time of digests (`MessageDeliveryRuleInput.digest`) in the same zone. Default: 08:00 every day. A digest that is
    /// already scheduled is not postponed.
    pub digest: Option<DigestTimeInput>,
    /// Fields to erase. `BAD_USER_INPUT` if one is also given.
    pub clear: Option<Vec<ProfileField>>,
}

/// An address of a user.
#[derive(OneofObject)]
pub enum UserContactInput {
    /// Email address such as `ada@example.com`, at most 254 bytes.
    Email(String),
    /// The user's `openid` at the tenant's WeChat official account: 1 to 128 letters, digits, `-` and `_`.
    WechatOpenId(String),
}

impl UserContactInput {
    fn into_contact(self) -> base::error::Result<ContactAddress> {
        match self {
            Self::Email(address) => {
                let address = mail::normalize_address(&address).map_err(|error| error.with_field_prefix("email"))?;
                Ok(ContactAddress { kind: DestinationKind::Email, address })
            }
            Self::WechatOpenId(address) => {
                wechat::check_name("wechatOpenId", &address)?;
                Ok(ContactAddress { kind: DestinationKind::WeChat, address })
            }
        }
    }
}

/// An address of a user outside of the inbox.
#[derive(SimpleObject)]
pub struct UserContact {
    /// The channel.
    pub channel: DeliveryChannel,
    /// The email address, or the user's `openid` at the tenant's WeChat official account.
    pub address: String,
    /// When the server stopped sending there, after three refusals in a row; null if it sends. Saving the address again
    /// resumes delivery.
    pub refused_since: Option<DateTimeScalar>,
}

impl From<entity::contact::Model> for UserContact {
    fn from(of: entity::contact::Model) -> Self {
        Self { channel: of.kind.into(), address: of.address, refused_since: of.bad_since.map(Into::into) }
    }
}

impl UserProfileInput {
    fn into_change(self) -> base::error::Result<ProfileChange> {
        let patching = FieldPatch::from_cleared(self.clear);
        let read = |(place, of): (usize, UserContactInput)| {
            of.into_contact().map_err(|error| error.with_field_prefix(&format!("contacts[{place}]")))
        };
        let contacts = self.contacts.map(|all| all.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>());
        let said = ParsedHours::parse(self.time_zone.as_deref(), self.quiet.as_ref(), self.digest.as_ref())?;
        Ok(ProfileChange {
            external_id: self.id.0,
            name: patching.field_change(ProfileField::Name, self.name)?,
            avatar_url: patching.field_change(ProfileField::AvatarUrl, self.avatar_url)?,
            locale: patching.field_change(ProfileField::Locale, self.locale)?,
            time_zone: patching.field_change(ProfileField::TimeZone, said.time_zone)?,
            quiet: patching.field_change(ProfileField::Quiet, said.quiet)?,
            digest: patching.field_change(ProfileField::Digest, said.digest)?,
            contacts: patching
                .field_change(ProfileField::Contacts, contacts.transpose()?)?
                .map(Option::unwrap_or_default),
        })
    }
}

#[derive(Default)]
pub struct UserMutation;

#[Object]
impl UserMutation {
    /// Saves up to 1,000 profiles, all or none, and creates unknown users. Returns them in the order given. SERVICE,
    /// ADMIN.
    async fn save_user_profiles(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "One per user, at most 1,000.")] inputs: Vec<UserProfileInput>,
    ) -> Result<Vec<User>> {
        let call = CallContext::with_role(ctx, STAFF)?;
        call.start_audit::<&str>(ctx, SubjectKind::User, &[]);
        let changes = inputs.into_iter().enumerate();
        let changes = changes
            .map(|(place, of)| of.into_change().map_err(|error| error.with_field_prefix(&format!("inputs[{place}]"))));
        let changes = changes.collect::<Result<Vec<_>, _>>()?;
        let rows = user::save_profiles(call.app, call.tenant, changes).await?;
        let siblings = UserLoader::for_users(rows.clone());
        Ok(rows.into_iter().map(|row| User::in_batch(&siblings, row)).collect())
    }
}

/// Profiles of those users that the tenant knows, by external id.
pub async fn find_profiles(call: CallContext<'_>, ids: &[String]) -> base::error::Result<HashMap<String, UserProfile>> {
    let rows: Vec<UserId> = user::find_existing(call.app, call.tenant, ids).await?.into_values().collect();
    let profiles = user::load_profiles(call.app, call.tenant, &rows).await?;
    Ok(profiles.into_values().map(|of| (of.external_id.clone(), of)).collect())
}
