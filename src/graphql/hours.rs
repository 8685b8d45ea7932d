//! When users are reached outside.

use async_graphql::{Enum, InputObject, SimpleObject};

use crate::error::Result;
use crate::model::hours::{self, Quiet, TimeOfDay};

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
