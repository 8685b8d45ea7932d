//! When users are reached outside of the inbox.

use async_graphql::{Context, Enum, ID, InputObject, Object, SimpleObject};
use entity::audit_entry;

use super::account::Subject;
use super::context::Call;
use super::patch::Patching;
use crate::domain::user::{self, ProfileChange};
use crate::error::Result;
use crate::model::hours::{self, Quiet, TimeOfDay};
use crate::model::zone::Zone;

/// Daily hours without delivery outside of the inbox.
#[derive(InputObject)]
pub struct QuietHoursInput {
    /// Start, from `00:00` to `23:59`.
    pub from: String,
    /// End, another time of day. `22:00` to `07:00` spans midnight.
    pub to: String,
}

impl QuietHoursInput {
    pub fn read(&self) -> Result<Quiet> {
        let (from, to) = (TimeOfDay::parse("from", &self.from)?, TimeOfDay::parse("to", &self.to)?);
        Quiet::new(from, to)
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

impl From<Quiet> for QuietHours {
    fn from(of: Quiet) -> Self {
        Self { from: of.from().to_string(), to: of.to().to_string() }
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
    pub fn read(&self) -> Result<hours::DigestTime> {
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
pub struct Said {
    pub time_zone: Option<Zone>,
    pub quiet: Option<Quiet>,
    pub digest: Option<hours::DigestTime>,
}

impl Said {
    pub fn read(
        time_zone: Option<&str>,
        quiet: Option<&QuietHoursInput>,
        digest: Option<&DigestTimeInput>,
    ) -> Result<Self> {
        Ok(Self {
            time_zone: time_zone.map(Zone::parse).transpose()?,
            digest: digest.map(|of| of.read().map_err(|error| error.within("digest"))).transpose()?,
            quiet: quiet.map(|of| of.read().map_err(|error| error.within("quiet"))).transpose()?,
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
    fn change(self, external_id: &str) -> Result<ProfileChange> {
        let said = Said::read(self.time_zone.as_deref(), self.quiet.as_ref(), self.digest.as_ref())?;
        let patching = Patching::of(self.clear);
        Ok(ProfileChange {
            external_id: external_id.to_owned(),
            time_zone: patching.change(DeliveryHoursField::TimeZone, said.time_zone)?,
            quiet: patching.change(DeliveryHoursField::Quiet, said.quiet)?,
            digest: patching.change(DeliveryHoursField::Digest, said.digest)?,
            ..ProfileChange::default()
        })
    }
}

/// The result of changing delivery hours.
#[derive(SimpleObject)]
pub struct DeliveryHoursPayload {
    #[graphql(flatten)]
    pub subject: Subject,
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
        let call = Call::of(ctx);
        // First, so that bad input creates no user.
        let change = input.change(call.named("user", user.as_ref())?).map_err(|error| error.within("input"))?;
        let row = call.subject("user", user.as_ref()).await?;
        call.audits(ctx, audit_entry::Subject::User, &[row]);
        user::save(call.app, call.tenant, vec![change]).await?;
        Ok(DeliveryHoursPayload { subject: Subject(Some(row)) })
    }
}
