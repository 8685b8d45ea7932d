//! When users are reached outside of the inbox.

use async_graphql::{Context, Enum, ID, InputObject, Object, SimpleObject};
use entity::audit_entry;

use super::account::MutationSubject;
use super::context::CallContext;
use super::patch::FieldPatch;
use base::error::Result;
use domain::user::{self, ProfileChange};
use model::hours::{self, QuietPeriod, TimeOfDay};
use model::zone::IanaZone;

/// Daily hours without delivery outside of the inbox.
#[derive(InputObject)]
pub struct QuietHoursInput {
    /// Start, from `00:00` to `23:59`.
    pub from: String,
    /// End, another time of day. `22:00` to `07:00` spans midnight.
    pub to: String,
}

impl QuietHoursInput {
    pub fn to_quiet_hours(&self) -> Result<QuietPeriod> {
        let (from, to) = (TimeOfDay::parse("from", &self.from)?, TimeOfDay::parse("to", &self.to)?);
        QuietPeriod::new(from, to)
    }
}

/// Daily hours without delivery outside of the inbox.
#[derive(SimpleObject)]
pub struct QuietHours {
    /// Start, such as `22:00`.
    pub from: String,
    /// End.
    pub to: String,
}

impl From<QuietPeriod> for QuietHours {
    fn from(of: QuietPeriod) -> Self {
        Self { from: of.starts_at().to_string(), to: of.ends_at().to_string() }
    }
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "chrono::Weekday")]
pub enum Weekday {
    /// Monday.
    #[graphql(name = "MONDAY")]
    Mon,
    /// Tuesday.
    #[graphql(name = "TUESDAY")]
    Tue,
    /// Wednesday.
    #[graphql(name = "WEDNESDAY")]
    Wed,
    /// Thursday.
    #[graphql(name = "THURSDAY")]
    Thu,
    /// Friday.
    #[graphql(name = "FRIDAY")]
    Fri,
    /// Saturday.
    #[graphql(name = "SATURDAY")]
    Sat,
    /// Sunday.
    #[graphql(name = "SUNDAY")]
    Sun,
}

/// The time of a user's digest: one email with all unread items.
#[derive(InputObject)]
pub struct DigestTimeInput {
    /// A time of day, from `00:00` to `23:59`.
    pub at: String,
    /// The day of the week. Default: every day.
    pub weekday: Option<Weekday>,
}

impl DigestTimeInput {
    pub fn to_digest_time(&self) -> Result<hours::DigestTime> {
        Ok(hours::DigestTime { at: TimeOfDay::parse("at", &self.at)?, weekday: self.weekday.map(Into::into) })
    }
}

/// The time of a user's digest: one email with all unread items.
#[derive(SimpleObject)]
pub struct DigestTime {
    /// A time of day, such as `08:00`.
    pub at: String,
    /// The day of the week; null for every day.
    pub weekday: Option<Weekday>,
}

impl From<hours::DigestTime> for DigestTime {
    fn from(of: hours::DigestTime) -> Self {
        Self { at: of.at.to_string(), weekday: of.weekday.map(Into::into) }
    }
}

/// The given part of a user's delivery hours.
pub struct ParsedHours {
    pub time_zone: Option<IanaZone>,
    pub quiet: Option<QuietPeriod>,
    pub digest: Option<hours::DigestTime>,
}

impl ParsedHours {
    pub fn parse(
        time_zone: Option<&str>,
        quiet: Option<&QuietHoursInput>,
        digest: Option<&DigestTimeInput>,
    ) -> Result<Self> {
        Ok(Self {
            time_zone: time_zone.map(IanaZone::parse).transpose()?,
            digest: digest
                .map(|of| of.to_digest_time().map_err(|error| error.with_field_prefix("digest")))
                .transpose()?,
            quiet: quiet.map(|of| of.to_quiet_hours().map_err(|error| error.with_field_prefix("quiet"))).transpose()?,
        })
    }
}

/// Fields of delivery hours that can be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum DeliveryHoursField {
    /// `timeZone`.
    TimeZone,
    /// `quiet`.
    Quiet,
    /// `digest`.
    Digest,
}

/// Changes to a user's delivery hours. Absent and null fields stay.
#[derive(InputObject)]
pub struct DeliveryHoursInput {
    /// IANA time zone, such as `Europe/Berlin`.
    pub time_zone: Option<String>,
    /// Quiet hours in `timeZone`, or UTC without one.
    pub quiet: Option<QuietHoursInput>,
    /// Time of digests in the same zone. Default: 08:00 every day.
    pub digest: Option<DigestTimeInput>,
    /// Fields to erase. `BAD_USER_INPUT` if one is also given.
    pub clear: Option<Vec<DeliveryHoursField>>,
}

impl DeliveryHoursInput {
    fn into_profile_change(self, external_id: &str) -> Result<ProfileChange> {
        let said = ParsedHours::parse(self.time_zone.as_deref(), self.quiet.as_ref(), self.digest.as_ref())?;
        let patching = FieldPatch::from_cleared(self.clear);
        Ok(ProfileChange {
            external_id: external_id.to_owned(),
            time_zone: patching.field_change(DeliveryHoursField::TimeZone, said.time_zone)?,
            quiet: patching.field_change(DeliveryHoursField::Quiet, said.quiet)?,
            digest: patching.field_change(DeliveryHoursField::Digest, said.digest)?,
            ..ProfileChange::default()
        })
    }
}

/// The result of changing delivery hours.
#[derive(SimpleObject)]
pub struct DeliveryHoursPayload {
    #[graphql(flatten)]
    pub subject: MutationSubject,
}

#[derive(Default)]
pub struct HoursMutation;

#[Object]
impl HoursMutation {
    /// Sets when the token's user is reached outside of the inbox; SERVICE and ADMIN name a `user`. `saveUserProfiles`
    /// sets the same fields: the last call wins.
    async fn update_delivery_hours(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to change.")] input: DeliveryHoursInput,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> async_graphql::Result<DeliveryHoursPayload> {
        let call = CallContext::from_context(ctx);
        // First, so that bad input creates no user.
        let change = input
            .into_profile_change(call.subject_name("user", user.as_ref())?)
            .map_err(|error| error.with_field_prefix("input"))?;
        let row = call.mention_subject("user", user.as_ref()).await?;
        call.start_audit(ctx, audit_entry::SubjectKind::User, &[row]);
        user::save_profiles(call.app, call.tenant, vec![change]).await?;
        Ok(DeliveryHoursPayload { subject: MutationSubject(Some(row)) })
    }
}
