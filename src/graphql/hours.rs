//! When users are reached outside.

use async_graphql::{Context, Enum, ID, InputObject, Object, SimpleObject};
use entity::audit_entry;

use super::account::Subject;
use super::context::Call;
use super::patch::Patching;
use crate::domain::user::{self, ProfileChange};
use crate::error::Result;
use crate::model::hours::{self, Quiet, TimeOfDay};
use crate::model::zone::Zone;

/// Hours of each day in which nothing goes out to somebody.
#[derive(InputObject)]
pub struct QuietHoursInput {
    /// A time of day, from `00:00` to `23:59`.
    pub from: String,
    /// Another time of day, up to which it is so. `22:00` to `07:00` goes over midnight.
    pub to: String,
}

impl QuietHoursInput {
    pub fn read(&self) -> Result<Quiet> {
        let (from, to) = (TimeOfDay::parse("from", &self.from)?, TimeOfDay::parse("to", &self.to)?);
        Quiet::new(from, to)
    }
}

/// Hours of each day in which nothing goes out to somebody.
#[derive(SimpleObject)]
pub struct QuietHours {
    /// A time of day, such as `22:00`.
    pub from: String,
    /// The time of day at which they end.
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
    /// The first day of a week (ISO 8601).
    #[graphql(name = "MONDAY")]
    Mon,
    /// The second.
    #[graphql(name = "TUESDAY")]
    Tue,
    /// The third.
    #[graphql(name = "WEDNESDAY")]
    Wed,
    /// The fourth.
    #[graphql(name = "THURSDAY")]
    Thu,
    /// The fifth.
    #[graphql(name = "FRIDAY")]
    Fri,
    /// The sixth.
    #[graphql(name = "SATURDAY")]
    Sat,
    /// The seventh.
    #[graphql(name = "SUNDAY")]
    Sun,
}

/// When somebody is told in one letter what they have not read.
#[derive(InputObject)]
pub struct DigestTimeInput {
    /// A time of day, from `00:00` to `23:59`.
    pub at: String,
    /// The one day of the week; each where it is left out.
    pub weekday: Option<Weekday>,
}

impl DigestTimeInput {
    pub fn read(&self) -> Result<hours::DigestTime> {
        Ok(hours::DigestTime { at: TimeOfDay::parse("at", &self.at)?, weekday: self.weekday.map(Into::into) })
    }
}

/// When somebody is told in one letter what they have not read.
#[derive(SimpleObject)]
pub struct DigestTime {
    /// A time of day, such as `08:00`.
    pub at: String,
    /// The one day of the week; null where it is each.
    pub weekday: Option<Weekday>,
}

impl From<hours::DigestTime> for DigestTime {
    fn from(of: hours::DigestTime) -> Self {
        Self { at: of.at.to_string(), weekday: of.weekday.map(Into::into) }
    }
}

/// What is said of when somebody is reached, as far as it is.
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

/// A part of when a user is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum DeliveryHoursField {
    /// `timeZone`.
    TimeZone,
    /// `quiet`.
    Quiet,
    /// `digest`.
    Digest,
}

/// What to change of when a user is reached outside; what is left out, or null, stays.
#[derive(InputObject)]
pub struct DeliveryHoursInput {
    /// Where they are, by IANA's name of it, such as `Europe/Berlin`.
    pub time_zone: Option<String>,
    /// When nothing leaves the inbox for them, by the clocks of `timeZone`, or of UTC where they have none.
    pub quiet: Option<QuietHoursInput>,
    /// When they are sent digests, by the same clocks; at 08:00 of each day where nothing is said.
    pub digest: Option<DigestTimeInput>,
    /// What to erase of it; nothing that is given as well.
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

/// What changing them did.
#[derive(SimpleObject)]
pub struct DeliveryHoursPayload {
    #[graphql(flatten)]
    pub subject: Subject,
}

#[derive(Default)]
pub struct HoursMutation;

#[Object]
impl HoursMutation {
    /// Says when the token's user is reached outside; SERVICE and ADMIN name one by `user`. It is the same that `saveUserProfiles` says: what
    /// is said last counts, from the next look at what waits on.
    async fn update_delivery_hours(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to change.")] input: DeliveryHoursInput,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> async_graphql::Result<DeliveryHoursPayload> {
        let call = Call::of(ctx);
        // First, so that bad input makes no user.
        let change = input.change(call.named("user", user.as_ref())?).map_err(|error| error.within("input"))?;
        let row = call.subject("user", user.as_ref()).await?;
        call.audits(ctx, audit_entry::Subject::User, &[row]);
        user::save(call.app, call.tenant, vec![change]).await?;
        Ok(DeliveryHoursPayload { subject: Subject(Some(row)) })
    }
}
