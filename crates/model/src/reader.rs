//! Readers: the language and the time zone that a text is rendered for.

use entity::columns;

use crate::validate;
use crate::zone::IanaZone;
use base::error::Result;

columns! {
    /// A reader's locale and time zone, as in the row of a position `h`.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ReaderLocale {
        /// BCP 47. `None`: English.
        pub locale: Option<String> = "h_locale",
        /// An IANA time zone. `None`: UTC.
        pub time_zone: Option<String> = "h_time_zone",
    }
}

/// What a rendered text depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderDependence {
    pub is_on_locale: bool,
    pub is_on_time_zone: bool,
}

impl ReaderLocale {
    /// A reader without a locale and a time zone: English and UTC.
    pub const UNKNOWN: &'static Self = &Self { locale: None, time_zone: None };

    /// Refuses values that no reader can have.
    pub fn check(&self) -> Result<()> {
        if let Some(locale) = &self.locale {
            validate::language_tag("locale", locale)?;
        }
        self.time_zone.as_deref().map_or(Ok(()), |zone| IanaZone::parse(zone).map(drop))
    }

    /// The part that texts with this dependence use: all readers with the same part read the same. `None` if that is
    /// what readers without a locale and a time zone read.
    pub fn relevant_part(&self, on: ReaderDependence) -> Option<Self> {
        let locale = self.locale.as_ref().filter(|_| on.is_on_locale).cloned();
        let time_zone = self.time_zone.as_ref().filter(|_| on.is_on_time_zone).cloned();
        (locale.is_some() || time_zone.is_some()).then_some(Self { locale, time_zone })
    }

    /// The locale, or English.
    pub fn locale(&self) -> &str {
        self.locale.as_deref().unwrap_or("en")
    }

    /// The time zone, or UTC.
    pub fn time_zone(&self) -> &str {
        self.time_zone.as_deref().unwrap_or("UTC")
    }
}

impl ReaderDependence {
    /// Whether some readers may read something else than others.
    pub fn is_any(self) -> bool {
        self.is_on_locale || self.is_on_time_zone
    }

    /// The dependence of two texts together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            is_on_locale: self.is_on_locale || other.is_on_locale,
            is_on_time_zone: self.is_on_time_zone || other.is_on_time_zone,
        }
    }
}
