//! Times of day in a time zone.

use std::fmt::{Display, Formatter};

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, TimeZone, Utc, Weekday};
use entity::prelude::FromQueryResult;

use crate::zone::IanaZone;
use base::clock::Millis;
use base::error::{Error, Result};

/// A time of day: minutes since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(u32);

impl TimeOfDay {
    /// A whole hour.
    const fn from_hour(hour: u32) -> Self {
        Self(hour * 60)
    }

    /// Parses a time from `00:00` to `23:59`.
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        let number =
            |text: &str| text.parse().ok().filter(|_| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()));
        let parts = text.split_once(':').and_then(|(hour, minute)| number(hour).zip(number(minute)));
        let at = parts.filter(|(hour, minute): &(u32, u32)| *hour < 24 && *minute < 60);
        let at = at.map(|(hour, minute)| Self(hour * 60 + minute));
        at.ok_or_else(|| Error::bad_input(field, "must be a time of day from 00:00 to 23:59, such as 22:30"))
    }

    /// The stored form.
    pub fn minutes(self) -> i64 {
        self.0.into()
    }

    /// Parses the stored form.
    pub fn from_minutes(minutes: i64) -> Option<Self> {
        u32::try_from(minutes).ok().filter(|minutes| *minutes < 24 * 60).map(Self)
    }
}

impl Display for TimeOfDay {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

/// The day of an instant.
fn local_day(zone: &IanaZone, at: Millis) -> Option<NaiveDate> {
    Some(DateTime::<Utc>::from_timestamp_millis(at)?.with_timezone(zone).date_naive())
}

/// The instant when clocks show a time of a day: the first of two when clocks are set back, and the moment of the
/// change when they skip the time.
fn local_instant(zone: &IanaZone, day: NaiveDate, at: TimeOfDay) -> Option<Millis> {
    let shown = day.and_hms_opt(at.0 / 60, at.0 % 60, 0)?;
    let found = zone.from_local_datetime(&shown).earliest().map(|at| at.to_utc());
    Some(found.or_else(|| zone.end_of_gap(&shown))?.timestamp_millis())
}

/// Daily hours in which nothing is sent to a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietPeriod {
    from: TimeOfDay,
    to: TimeOfDay,
}

impl QuietPeriod {
    /// From one time of day until clocks next show the other.
    pub fn new(from: TimeOfDay, to: TimeOfDay) -> Result<Self> {
        if from == to {
            return Err(Error::bad_input("to", "must differ from `from`"));
        }
        Ok(Self { from, to })
    }

    pub fn starts_at(self) -> TimeOfDay {
        self.from
    }

    pub fn ends_at(self) -> TimeOfDay {
        self.to
    }

    /// When the quiet hours end; `None` if they have not begun.
    pub fn current_end(self, zone: &IanaZone, now: Millis) -> Option<Millis> {
        let today = local_day(zone, now)?;
        // If clocks are set back over midnight, the quiet hours of tomorrow may have begun.
        [today.pred_opt()?, today, today.succ_opt()?].into_iter().find_map(|day| {
            let last = if self.from < self.to { day } else { day.succ_opt()? };
            let (begin, end) = (local_instant(zone, day, self.from)?, local_instant(zone, last, self.to)?);
            (begin <= now && now < end).then_some(end)
        })
    }
}

/// When a user gets their digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestTime {
    pub at: TimeOfDay,
    /// The day of the week; `None` for every day.
    pub weekday: Option<Weekday>,
}

impl DigestTime {
    /// The default.
    const USUAL: Self = Self { at: TimeOfDay::from_hour(8), weekday: None };

    /// The next instant after `now`.
    fn next_after(self, zone: &IanaZone, now: Millis) -> Option<Millis> {
        // Start a day earlier: if clocks skip an hour before midnight, the digest of that day comes after midnight.
        let first = local_day(zone, now)?.pred_opt()?;
        let days = (0..=9).filter_map(|days| first.checked_add_signed(TimeDelta::days(days)));
        let mut days = days.filter(|day| self.weekday.is_none_or(|weekday| day.weekday() == weekday));
        days.find_map(|day| local_instant(zone, day, self.at).filter(|at| *at > now))
    }
}

/// When a user can be reached; each part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactHours {
    pub zone: Option<IanaZone>,
    pub quiet: Option<QuietPeriod>,
    pub digest: Option<DigestTime>,
}

/// The stored columns of [`ContactHours`].
#[derive(Clone, Debug, Default, FromQueryResult)]
pub struct StoredHours {
    pub time_zone: Option<String>,
    pub quiet_from: Option<i64>,
    pub quiet_to: Option<i64>,
    pub digest_at: Option<i64>,
    pub digest_weekday: Option<i64>,
}

impl StoredHours {
    /// Parses the columns; invalid values are ignored.
    pub fn parse(&self) -> ContactHours {
        let at = |minutes: Option<i64>| TimeOfDay::from_minutes(minutes?);
        let quiet = at(self.quiet_from).zip(at(self.quiet_to)).and_then(|(from, to)| QuietPeriod::new(from, to).ok());
        let weekday = self.digest_weekday.and_then(|number| Weekday::try_from(u8::try_from(number).ok()?).ok());
        let digest = at(self.digest_at).map(|at| DigestTime { at, weekday });
        ContactHours { zone: self.time_zone.as_deref().and_then(IanaZone::find_by_name), quiet, digest }
    }
}

impl ContactHours {
    /// When the current quiet hours end; `None` outside of them. Uses UTC if the user has no time zone.
    pub fn quiet_until(&self, now: Millis) -> Option<Millis> {
        self.quiet?.current_end(self.zone_or_utc(), now)
    }

    /// When the next digest is due: by default at 08:00 every day, in UTC if the user has no time zone.
    pub fn digest_after(&self, now: Millis) -> Option<Millis> {
        self.digest.unwrap_or(DigestTime::USUAL).next_after(self.zone_or_utc(), now)
    }

    fn zone_or_utc(&self) -> &IanaZone {
        static ELSE: IanaZone = IanaZone::UTC;
        self.zone.as_ref().unwrap_or(&ELSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        DateTime::parse_from_rfc3339(text).expect("it is an instant").timestamp_millis()
    }

    fn time(text: &str) -> TimeOfDay {
        TimeOfDay::parse("at", text).expect("it is a time of day")
    }

    /// The end of the current quiet hours in local time; empty outside of them.
    fn until(zone: &str, from: &str, to: &str, now: &str) -> String {
        let zone = IanaZone::parse(zone).expect("it is a zone");
        let quiet = QuietPeriod::new(time(from), time(to)).expect("they are hours");
        let until = quiet.current_end(&zone, at(now)).map(|until| {
            assert!(until > at(now), "an end that has passed would be looked at for ever");
            let until = DateTime::<Utc>::from_timestamp_millis(until).expect("it is an instant");
            until.with_timezone(&zone).fixed_offset().format("%m-%d %H:%M %z").to_string()
        });
        until.unwrap_or_default()
    }

    #[test]
    fn quiet_hours_go_over_midnight_by_the_clocks_of_the_place() {
        let york = |now| until("America/New_York", "22:00", "07:00", now);
        assert_eq!(york("2026-01-15T02:59:59Z"), "");
        assert_eq!(york("2026-01-15T03:00:00Z"), "01-15 07:00 -0500");
        assert_eq!(york("2026-01-15T11:59:59Z"), "01-15 07:00 -0500");
        assert_eq!(york("2026-01-15T12:00:00Z"), "");
        let noon = |now| until("Asia/Kathmandu", "12:00", "13:30", now);
        assert_eq!(noon("2026-01-15T06:14:59Z"), "");
        assert_eq!(noon("2026-01-15T06:15:00Z"), "01-15 13:30 +0545");
        assert_eq!(noon("2026-01-15T07:45:00Z"), "");
    }

    #[test]
    fn they_end_once_a_day_when_clocks_change() {
        // Clocks go forward within them: an hour shorter, with the same end.
        assert_eq!(until("Europe/Berlin", "22:00", "07:00", "2026-03-28T21:00:00Z"), "03-29 07:00 +0200");
        // Clocks skip the end: they end at the change. Clocks skip the beginning: they begin at the change.
        assert_eq!(until("Europe/Berlin", "22:00", "02:30", "2026-03-29T00:59:00Z"), "03-29 03:00 +0200");
        assert_eq!(until("Europe/Berlin", "02:30", "06:00", "2026-03-29T00:59:00Z"), "");
        assert_eq!(until("Europe/Berlin", "02:30", "06:00", "2026-03-29T01:00:00Z"), "03-29 06:00 +0200");
        assert_eq!(until("Europe/Berlin", "02:10", "02:50", "2026-03-29T01:00:00Z"), "", "all of them are left out");
        // Clocks go back over the end: they end at the first of the two times.
        assert_eq!(until("Europe/Berlin", "22:00", "02:30", "2026-10-25T00:29:00Z"), "10-25 02:30 +0200");
        assert_eq!(until("Europe/Berlin", "22:00", "02:30", "2026-10-25T00:30:00Z"), "");
        assert_eq!(until("Europe/Berlin", "22:00", "02:30", "2026-10-25T01:10:00Z"), "", "and not again");
        // Clocks go back over the beginning: they begin at the first of the two times.
        assert_eq!(until("Europe/Berlin", "02:30", "06:00", "2026-10-25T00:30:00Z"), "10-25 06:00 +0100");
        assert_eq!(until("Europe/Berlin", "02:30", "06:00", "2026-10-25T01:10:00Z"), "10-25 06:00 +0100");
        // Clocks go back over midnight, from 00:01 to 23:01.
        assert_eq!(until("America/St_Johns", "00:00", "06:00", "2010-11-07T02:30:30Z"), "11-07 06:00 -0330");
        assert_eq!(until("America/St_Johns", "00:00", "06:00", "2010-11-07T02:40:00Z"), "11-07 06:00 -0330");
        // The zone skips a whole day.
        assert_eq!(until("Pacific/Apia", "22:00", "07:00", "2011-12-30T09:00:00Z"), "12-31 00:00 +1400");
        assert_eq!(until("Pacific/Apia", "22:00", "07:00", "2011-12-30T10:00:00Z"), "12-31 07:00 +1400");
    }

    /// The next digests after an instant, in local time.
    fn digests<const N: usize>(
        zone: &str,
        (time_of_day, weekday): (&str, Option<Weekday>),
        since: &str,
    ) -> [String; N] {
        let zone = IanaZone::parse(zone).expect("it is a zone");
        let digest = Some(DigestTime { at: time(time_of_day), weekday });
        let hours = ContactHours { zone: Some(zone.clone()), digest, quiet: None };
        let mut now = at(since);
        std::array::from_fn(|_| {
            let next = hours.digest_after(now).expect("there is a next one");
            assert!(next > now, "it would come for ever");
            now = next;
            let next = DateTime::<Utc>::from_timestamp_millis(next).expect("it is an instant");
            next.with_timezone(&zone).fixed_offset().format("%a %m-%d %H:%M %z").to_string()
        })
    }

    #[test]
    fn digests_come_once_a_day_or_week_by_the_clocks_of_the_place() {
        let berlin = |when, since| digests::<3>("Europe/Berlin", when, since);
        let eight = ("08:00", None);
        assert_eq!(berlin(eight, "2026-01-15T06:59:59Z")[0], "Thu 01-15 08:00 +0100");
        assert_eq!(berlin(eight, "2026-01-15T07:00:00Z")[0], "Fri 01-16 08:00 +0100");
        let changed = ["Sat 03-28 08:00 +0100", "Sun 03-29 08:00 +0200", "Mon 03-30 08:00 +0200"];
        assert_eq!(berlin(eight, "2026-03-28T00:00:00Z"), changed);
        // Clocks skip the time: at the change.
        let forward = ["Sat 03-28 02:30 +0100", "Sun 03-29 03:00 +0200", "Mon 03-30 02:30 +0200"];
        assert_eq!(berlin(("02:30", None), "2026-03-28T00:00:00Z"), forward);
        // Clocks go back over the time: only at the first of the two.
        let back = ["Sun 10-25 02:30 +0200", "Mon 10-26 02:30 +0100", "Tue 10-27 02:30 +0100"];
        assert_eq!(berlin(("02:30", None), "2026-10-25T00:00:00Z"), back);
        let weekly = ["Mon 03-23 08:00 +0100", "Mon 03-30 08:00 +0200", "Mon 04-06 08:00 +0200"];
        assert_eq!(berlin(("08:00", Some(Weekday::Mon)), "2026-03-16T07:00:00Z"), weekly);
        // Clocks go back over midnight, from 00:01 to 23:01.
        let newfoundland = digests("America/St_Johns", ("23:30", None), "2010-11-06T12:00:00Z");
        assert_eq!(newfoundland, ["Sat 11-06 23:30 -0230", "Sun 11-07 23:30 -0330"]);
        // The zone skips a whole day: the skipped digest comes at the change, the next one as usual.
        let samoa = digests("Pacific/Apia", ("08:00", None), "2011-12-29T18:00:00Z");
        assert_eq!(samoa, ["Sat 12-31 00:00 +1400", "Sat 12-31 08:00 +1400"]);
        assert_eq!(ContactHours::default().digest_after(at("2026-01-15T09:00:00Z")), Some(at("2026-01-16T08:00:00Z")));
    }

    #[test]
    fn what_is_no_time_of_day_is_refused() {
        for text in ["24:00", "7:00", "07:60", "07:0", "0700", "", "07:00:00", "+7:00", "07:+1", "é:00", " 07:00"] {
            assert!(TimeOfDay::parse("at", text).is_err(), "{text}");
        }
        for text in ["00:00", "07:05", "23:59"] {
            assert_eq!(
                (time(text).to_string(), TimeOfDay::from_minutes(time(text).minutes())),
                (text.into(), Some(time(text)))
            );
        }
        assert!(TimeOfDay::from_minutes(1440).is_none() && QuietPeriod::new(time("07:00"), time("07:00")).is_err());
    }
}
