//! Schedules of scans.

use std::time::Duration;

use chrono::{DateTime, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use crate::zone::IanaZone;
use base::clock::Millis;
use base::error::{Error, Result};

/// Minimum period.
const SHORTEST: Duration = Duration::from_secs(10);
/// Maximum period.
const LONGEST: Duration = Duration::from_hours(24 * 366);

/// The schedule of a rule.
#[derive(Debug)]
pub enum RuleSchedule {
    /// This many milliseconds after the last scan.
    Every(Millis),
    /// By a cron expression in a time zone.
    At(Box<Cron>, IanaZone),
}

impl RuleSchedule {
    /// Parses a cron expression of five fields in an IANA time zone, or `@every` with a number of `s`, `m` or `h`.
    pub fn parse(text: &str, zone: &str) -> Result<Self> {
        let zone = IanaZone::parse(zone)?;
        if let Some(period) = text.strip_prefix("@every") {
            return parse_interval(period.trim()).map(Self::Every);
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let refuse = |why: String| Error::bad_input("schedule", why);
        if text.len() > 256 {
            return Err(refuse("must have at most 256 characters".into()));
        }
        let cron = parser.parse(text).map_err(|cause| {
            let shape = "must be a cron expression of five fields, or \"@every 30s\"";
            refuse(format!("{shape}: {cause}"))
        })?;
        let schedule = Self::At(Box::new(cron), zone);
        match schedule.next_after(0) {
            Some(_) => Ok(schedule),
            None => Err(refuse("never occurs".into())),
        }
    }

    /// The next instant. When clocks are set back, a fixed time of day comes once; when clocks skip it, it comes at the
    /// change.
    pub fn next_after(&self, now: Millis) -> Option<Millis> {
        match self {
            Self::Every(period) => Some(now + period),
            Self::At(cron, zone) => {
                let now = DateTime::<Utc>::from_timestamp_millis(now)?.with_timezone(zone);
                Some(cron.find_next_occurrence(&now, false).ok()?.timestamp_millis())
            }
        }
    }

    /// The next instant after this many failed runs: 2, 4, 8 or 16 times as far away.
    pub fn next_after_failures(&self, now: Millis, failures: i64) -> Option<Millis> {
        let times: Millis = 1 << failures.clamp(0, 4);
        if let Self::Every(period) = self {
            return Some(now + period.saturating_mul(times));
        }
        let next = self.next_after(now)?;
        let apart = self.next_after(next)? - next;
        self.next_after((next - 1).saturating_add(apart.saturating_mul(times - 1)))
    }
}

fn parse_interval(period: &str) -> Result<Millis> {
    let refuse =
        || Error::bad_input("schedule", "must be \"@every\" and 10 s to a year, as in \"@every 30s\", 5m or 1h");
    let (number, unit) = period.split_at(period.len() - period.chars().next_back().map_or(0, char::len_utf8));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(refuse()),
    };
    let number: u64 = number.parse().map_err(|_| refuse())?;
    let period = Duration::from_secs(number.saturating_mul(seconds));
    if !(SHORTEST..=LONGEST).contains(&period) {
        return Err(refuse());
    }
    Millis::try_from(period.as_millis()).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        DateTime::parse_from_rfc3339(text).expect("it is an instant").timestamp_millis()
    }

    /// The next instants, in local time.
    fn next(schedule: &str, zone: &str, from: &str, many: usize) -> Vec<String> {
        let parsed = RuleSchedule::parse(schedule, zone).expect("it is a schedule");
        let place = IanaZone::parse(zone).expect("it is a zone");
        let mut now = at(from);
        let mut all = Vec::new();
        for _ in 0..many {
            now = parsed.next_after(now).expect("it goes on");
            let shown = DateTime::<Utc>::from_timestamp_millis(now).expect("it is an instant").with_timezone(&place);
            all.push(shown.fixed_offset().format("%m-%d %H:%M %z").to_string());
        }
        all
    }

    #[test]
    fn a_daily_time_comes_once_a_day_when_clocks_change() {
        let berlin = "Europe/Berlin";
        // Clocks skip the time: at the change.
        assert_eq!(
            next("30 2 * * *", berlin, "2026-03-28T00:00:00Z", 3),
            ["03-28 02:30 +0100", "03-29 03:00 +0200", "03-30 02:30 +0200"]
        );
        // Clocks go back over the time: the first of the two.
        assert_eq!(
            next("30 2 * * *", berlin, "2026-10-24T00:00:00Z", 3),
            ["10-24 02:30 +0200", "10-25 02:30 +0200", "10-26 02:30 +0100"]
        );
        // A time that no change affects.
        assert_eq!(
            next("0 0 * * *", berlin, "2026-03-28T12:00:00Z", 3),
            ["03-29 00:00 +0100", "03-30 00:00 +0200", "03-31 00:00 +0200"]
        );
        let york = "America/New_York";
        assert_eq!(next("30 2 * * *", york, "2026-03-07T12:00:00Z", 2), ["03-08 03:00 -0400", "03-09 02:30 -0400"]);
        assert_eq!(next("30 1 * * *", york, "2026-10-31T12:00:00Z", 2), ["11-01 01:30 -0400", "11-02 01:30 -0500"]);
    }

    #[test]
    fn an_hourly_one_goes_by_hours_that_pass() {
        let berlin = "Europe/Berlin";
        assert_eq!(
            next("0 * * * *", berlin, "2026-03-28T23:30:00Z", 4),
            ["03-29 01:00 +0100", "03-29 03:00 +0200", "03-29 04:00 +0200", "03-29 05:00 +0200"]
        );
        assert_eq!(
            next("0 * * * *", berlin, "2026-10-24T23:30:00Z", 4),
            ["10-25 02:00 +0200", "10-25 02:00 +0100", "10-25 03:00 +0100", "10-25 04:00 +0100"]
        );
    }

    #[test]
    fn seconds_pass_alike_everywhere() {
        let every = RuleSchedule::parse("@every 30s", "America/New_York").expect("it is a schedule");
        assert_eq!(every.next_after(at("2026-03-08T06:59:50Z")), Some(at("2026-03-08T07:00:20Z")));
    }

    #[test]
    fn failures_put_it_off_up_to_sixteen_times() {
        let every = RuleSchedule::parse("@every 10s", "UTC").expect("it is a schedule");
        let waits: Vec<Option<Millis>> = (0..7).map(|failures| every.next_after_failures(0, failures)).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 160, 160].map(|seconds: Millis| Some(seconds * 1000)).to_vec());
        let hourly = RuleSchedule::parse("0 * * * *", "UTC").expect("it is a schedule");
        let hour = 3_600_000;
        assert_eq!(hourly.next_after_failures(5, 0), Some(hour));
        assert_eq!(hourly.next_after_failures(5, 2), Some(4 * hour));
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_what_one_is() {
        for (schedule, zone, field) in [
            ("@every 5s", "UTC", "schedule"),
            ("@every", "UTC", "schedule"),
            ("@every 30", "UTC", "schedule"),
            ("@every é", "UTC", "schedule"),
            ("@every 99999999999999999999s", "UTC", "schedule"),
            ("* * * *", "UTC", "schedule"),
            ("* * * * * *", "UTC", "schedule"),
            ("61 * * * *", "UTC", "schedule"),
            ("0 0 30 2 *", "UTC", "schedule"),
            ("", "UTC", "schedule"),
            ("0 0 * * *", "Mars/Olympus", "timeZone"),
        ] {
            let refused = RuleSchedule::parse(schedule, zone).expect_err(schedule);
            assert!(matches!(&refused, Error::BadInput { field: of, .. } if of == field), "{schedule}: {refused:?}");
        }
    }
}
