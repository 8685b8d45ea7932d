//! Time zones.

use chrono::offset::{MappedLocalTime, Offset};
use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Timelike, Utc};
use jiff::tz::{self, AmbiguousOffset};
use jiff::{Timestamp, ToSpan, civil};

use base::error::{Error, Result};

/// IANA's zone for machines with an unset clock.
const UNSET: &str = "Factory";

/// An IANA time zone from the compiled-in database; the machine's own zone files are not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IanaZone(tz::TimeZone);

impl IanaZone {
    pub const UTC: Self = Self(tz::TimeZone::UTC);

    /// Finds a zone by its exact IANA name.
    pub fn find_by_name(name: &str) -> Option<Self> {
        tz::TimeZone::get(name).ok().filter(|zone| zone.iana_name() == Some(name) && !zone.is_unknown()).map(Self)
    }

    /// Parses the field `timeZone` of a request.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::find_by_name(name).filter(|_| name != UNSET);
        found.ok_or_else(|| Error::bad_input("timeZone", unknown_zone(name)))
    }

    /// The IANA name.
    pub fn name(&self) -> &str {
        self.0.iana_name().expect("the zone was found by its name")
    }

    /// The instant of the change by which clocks skip this local time.
    pub fn end_of_gap(&self, shown: &NaiveDateTime) -> Option<DateTime<Utc>> {
        let after = self.0.to_ambiguous_timestamp(to_civil(shown)?).compatible().ok()?;
        let set_on = self.0.preceding(after.checked_add(1.second()).ok()?).next()?;
        DateTime::from_timestamp(set_on.timestamp().as_second(), 0)
    }

    fn with_offset(&self, by: tz::Offset) -> ZoneOffset {
        let by = FixedOffset::east_opt(by.seconds()).expect("UTC offsets are less than a day");
        ZoneOffset { zone: self.clone(), by }
    }
}

/// Why a name is not the zone of a place.
fn unknown_zone(name: &str) -> String {
    let example = "name the place, such as Europe/Berlin";
    let is_of_machine = |name: &str| name == "localtime" || name == "posixrules";
    if is_of_machine(name) || name.starts_with("posix/") || name.starts_with("right/") {
        return format!(
            "must be a time zone of IANA's list: {name:?} is a file that differs between machines; {example}"
        );
    }
    if name == UNSET {
        return format!("must be the time zone of a place: {name:?} stands for clocks that were never set; {example}");
    }
    match tz::TimeZone::get(name).ok().and_then(|zone| Some(zone.iana_name()?.to_owned())) {
        Some(known) if known != name && known != "Etc/Unknown" => {
            format!("is not a time zone: {name:?}; use {known:?}")
        }
        _ => format!("is not a time zone: {name:?}; {example}"),
    }
}

/// A zone's offset from UTC.
#[derive(Clone, Debug)]
pub struct ZoneOffset {
    zone: IanaZone,
    by: FixedOffset,
}

impl Offset for ZoneOffset {
    fn fix(&self) -> FixedOffset {
        self.by
    }
}

impl TimeZone for IanaZone {
    type Offset = ZoneOffset;

    fn from_offset(offset: &ZoneOffset) -> Self {
        offset.zone.clone()
    }

    fn offset_from_local_date(&self, day: &NaiveDate) -> MappedLocalTime<ZoneOffset> {
        self.offset_from_local_datetime(&day.and_time(NaiveTime::MIN))
    }

    fn offset_from_local_datetime(&self, shown: &NaiveDateTime) -> MappedLocalTime<ZoneOffset> {
        let Some(shown) = to_civil(shown) else { return MappedLocalTime::None };
        match self.0.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => MappedLocalTime::Single(self.with_offset(offset)),
            AmbiguousOffset::Gap { .. } => MappedLocalTime::None,
            AmbiguousOffset::Fold { before, after } => {
                MappedLocalTime::Ambiguous(self.with_offset(before), self.with_offset(after))
            }
        }
    }

    fn offset_from_utc_date(&self, day: &NaiveDate) -> ZoneOffset {
        self.offset_from_utc_datetime(&day.and_time(NaiveTime::MIN))
    }

    fn offset_from_utc_datetime(&self, at: &NaiveDateTime) -> ZoneOffset {
        let seconds = at.and_utc().timestamp();
        let at = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        self.with_offset(self.0.to_offset(Timestamp::from_second(at).expect("it lies between both")))
    }
}

/// Converts a local time; `None` beyond the year 9999.
fn to_civil(shown: &NaiveDateTime) -> Option<civil::DateTime> {
    let part = |number: u32| i8::try_from(number).ok();
    let date = (i16::try_from(shown.year()).ok()?, part(shown.month())?, part(shown.day())?);
    let time = (part(shown.hour())?, part(shown.minute())?, part(shown.second())?);
    civil::DateTime::new(date.0, date.1, date.2, time.0, time.1, time.2, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_known_by_any_name_that_it_has_ever_had() {
        for name in ["Europe/Berlin", "US/Pacific", "Asia/Calcutta", "America/Argentina/ComodRivadavia", "UTC", "GMT0"]
        {
            assert_eq!(IanaZone::find_by_name(name).as_ref().map(IanaZone::name), Some(name));
        }
        for name in
            ["", "europe/berlin", "Mars/Olympus", "Etc/Unknown", "Europe", " UTC", "+02:00", "CET-1CEST", "../UTC"]
        {
            assert!(IanaZone::parse(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_name_that_is_no_place_is_refused_with_the_reason() {
        for (name, why) in [
            ("localtime", "differs between machines"),
            ("posixrules", "differs between machines"),
            ("right/Europe/Berlin", "differs between machines"),
            ("Factory", "never set"),
            ("europe/berlin", "use \"Europe/Berlin\""),
            ("utc", "use \"UTC\""),
            ("Etc/Unknown", "name the place"),
            ("+02:00", "name the place"),
        ] {
            let Err(Error::BadInput { field, message }) = IanaZone::parse(name) else { panic!("{name}") };
            assert!(field == "timeZone" && message.contains(why), "{name}: {message}");
        }
    }

    /// The local time of an instant.
    fn shown(zone: &str, at: &str) -> String {
        let zone = IanaZone::parse(zone).expect("it is a zone");
        let at = DateTime::parse_from_rfc3339(at).expect("it is an instant");
        at.with_timezone(&zone).fixed_offset().to_rfc3339()
    }

    #[test]
    fn clocks_stay_where_they_do_not_change_any_more() {
        assert_eq!(shown("America/Vancouver", "2026-01-15T20:00:00Z"), "2026-01-15T12:00:00-08:00");
        assert_eq!(shown("America/Vancouver", "2027-01-15T20:00:00Z"), "2027-01-15T13:00:00-07:00");
    }

    #[test]
    fn clocks_change_beyond_what_is_listed() {
        assert_eq!(shown("Europe/Berlin", "2150-01-15T12:00:00Z"), "2150-01-15T13:00:00+01:00");
        assert_eq!(shown("Europe/Berlin", "2150-07-15T12:00:00Z"), "2150-07-15T14:00:00+02:00");
        // A year that no clock shows.
        let berlin = IanaZone::parse("Europe/Berlin").expect("it is a zone");
        assert_eq!(DateTime::<Utc>::MAX_UTC.with_timezone(&berlin).offset().fix().local_minus_utc(), 3600);
        assert!(berlin.from_local_datetime(&NaiveDateTime::MAX).earliest().is_none());
    }
}
