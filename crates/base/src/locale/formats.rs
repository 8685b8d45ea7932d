//! Numbers, dates, lists and plural categories of a locale.

use std::fmt::{Result as Written, Write};
use std::sync::OnceLock;

use chrono::{Datelike, NaiveDateTime, Timelike};
use icu_calendar::{Date, Gregorian};
use icu_datetime::fieldsets::{T, YMD, YMDE};
use icu_datetime::input::Time;
use icu_datetime::{FixedCalendarDateTimeFormatter, NoCalendarFormatter};
use icu_decimal::DecimalFormatter;
use icu_decimal::input::Decimal;
use icu_list::options::{ListFormatterOptions, ListLength};
use icu_list::{ListFormatter, parts};
use icu_locale_core::{Locale, locale};
use icu_plurals::{PluralCategory, PluralRules, PluralRulesOptions};
use writeable::{Part, PartsWrite, Writeable};

/// The plural categories of CLDR. Every language has `other`.
pub const PLURAL_CATEGORIES: [&str; 6] = ["zero", "one", "two", "few", "many", "other"];

/// Why a constructor of ICU4X cannot fail.
const COMPILED: &str = "the compiled data has the root locale, to which every locale falls back";

/// How a date is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateStyle {
    /// `5/1/24`.
    Short,
    /// `May 1, 2024`.
    Medium,
    /// `May 1, 2024`, or with the month's full name where it has a shorter one.
    Long,
    /// `Wednesday, May 1, 2024`.
    Full,
    /// `4:09 PM`.
    Time,
}

/// The formats of a locale. Each is made on first use.
pub struct LocaleFormats {
    locale: Locale,
    plurals: OnceLock<PluralRules>,
    numbers: OnceLock<DecimalFormatter>,
    lists: OnceLock<ListFormatter>,
    /// Short, medium and long.
    dates: [OnceLock<FixedCalendarDateTimeFormatter<Gregorian, YMD>>; 3],
    full: OnceLock<FixedCalendarDateTimeFormatter<Gregorian, YMDE>>,
    times: OnceLock<NoCalendarFormatter<T>>,
}

impl std::fmt::Debug for LocaleFormats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LocaleFormats({})", self.locale)
    }
}

impl DateStyle {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Short, Self::Medium, Self::Long, Self::Full, Self::Time];

    /// The name in templates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Medium => "medium",
            Self::Long => "long",
            Self::Full => "full",
            Self::Time => "time",
        }
    }

    /// The style with this name.
    pub fn find_by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }
}

impl LocaleFormats {
    /// The formats for a BCP 47 tag. A language that CLDR does not know gets the root's; what is no tag, English ones.
    pub fn for_tag(tag: &str) -> Self {
        Self {
            locale: Locale::try_from_str(tag).unwrap_or(locale!("en")),
            plurals: OnceLock::new(),
            numbers: OnceLock::new(),
            lists: OnceLock::new(),
            dates: [const { OnceLock::new() }; 3],
            full: OnceLock::new(),
            times: OnceLock::new(),
        }
    }

    /// The plural category of a decimal number, such as `-1234.5`. `None` if the text is not one.
    pub fn plural_category(&self, digits: &str) -> Option<&'static str> {
        let number = parse_decimal(digits)?;
        Some(category_name(self.rules().category_for(&number)))
    }

    /// The categories that whole or broken numbers can have in the locale.
    pub fn plural_categories(&self) -> impl Iterator<Item = &'static str> {
        self.rules().categories().map(category_name)
    }

    fn rules(&self) -> &PluralRules {
        self.plurals
            .get_or_init(|| PluralRules::try_new((&self.locale).into(), PluralRulesOptions::default()).expect(COMPILED))
    }

    /// A decimal number with the locale's digits and separators. `None` if the text is not one.
    pub fn format_number(&self, digits: &str) -> Option<String> {
        let number = parse_decimal(digits)?;
        let format = self.numbers.get_or_init(|| {
            DecimalFormatter::try_new((&self.locale).into(), icu_decimal::options::DecimalFormatterOptions::default())
                .expect(COMPILED)
        });
        Some(format.format_to_string(&number))
    }

    /// A date or a time of the Gregorian calendar. `None` for a year outside 1 to 9999.
    pub fn format_date(&self, at: NaiveDateTime, style: DateStyle) -> Option<String> {
        let part = |part: u32| u8::try_from(part).ok();
        if !(1..=9999).contains(&at.year()) {
            return None;
        }
        let date = Date::try_new_gregorian(at.year(), part(at.month())?, part(at.day())?).ok()?;
        let time = Time::try_new(part(at.hour())?, part(at.minute())?, 0, 0).ok()?;
        let of_day = |place: usize, fields: YMD| {
            let format = self.dates[place].get_or_init(|| {
                FixedCalendarDateTimeFormatter::try_new((&self.locale).into(), fields).expect(COMPILED)
            });
            format.format(&date).to_string()
        };
        Some(match style {
            DateStyle::Short => of_day(0, YMD::short()),
            DateStyle::Medium => of_day(1, YMD::medium()),
            DateStyle::Long => of_day(2, YMD::long()),
            DateStyle::Full => {
                let format = self.full.get_or_init(|| {
                    FixedCalendarDateTimeFormatter::try_new((&self.locale).into(), YMDE::long()).expect(COMPILED)
                });
                format.format(&date).to_string()
            }
            DateStyle::Time => {
                let format = self
                    .times
                    .get_or_init(|| NoCalendarFormatter::try_new((&self.locale).into(), T::hm()).expect(COMPILED));
                format.format(&time).to_string()
            }
        })
    }

    /// A list such as `Ada, Ben, and Cyd`, with `mark` around each entry.
    pub fn format_list(&self, entries: &[String], mark: [&str; 2]) -> String {
        let format = self.lists.get_or_init(|| {
            let options = ListFormatterOptions::default().with_length(ListLength::Wide);
            ListFormatter::try_new_and((&self.locale).into(), options).expect(COMPILED)
        });
        let mut text = MarkedText { text: String::new(), mark };
        // Writing to a string does not fail.
        let _ = format.format(entries.iter()).write_to_parts(&mut text);
        text.text
    }
}

/// Without exponents, which would make long numbers of short texts.
fn parse_decimal(digits: &str) -> Option<Decimal> {
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || b"-.".contains(&byte));
    Decimal::try_from_str(digits).ok().filter(|_| is_decimal)
}

fn category_name(of: PluralCategory) -> &'static str {
    match of {
        PluralCategory::Zero => "zero",
        PluralCategory::One => "one",
        PluralCategory::Two => "two",
        PluralCategory::Few => "few",
        PluralCategory::Many => "many",
        PluralCategory::Other => "other",
    }
}

/// A list in which the entries are marked. The marks are written around entries, not into them, because the word
/// between two entries may depend on how the next one begins (Spanish `y` and `e`).
struct MarkedText<'m> {
    text: String,
    mark: [&'m str; 2],
}

impl Write for MarkedText<'_> {
    fn write_str(&mut self, text: &str) -> Written {
        self.text.push_str(text);
        Ok(())
    }
}

impl PartsWrite for MarkedText<'_> {
    type SubPartsWrite = Self;

    fn with_part(&mut self, part: Part, mut write: impl FnMut(&mut Self) -> Written) -> Written {
        let [begin, end] = if part == parts::ELEMENT { self.mark } else { [""; 2] };
        self.text.push_str(begin);
        write(self)?;
        self.text.push_str(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::{DateStyle, LocaleFormats, PLURAL_CATEGORIES};

    /// A plural category with numbers of it.
    type CategorySamples = (&'static str, &'static [&'static str]);

    /// Samples of CLDR's `plurals.xml`.
    const SAMPLES: [(&str, &[CategorySamples]); 6] = [
        (
            "ru",
            &[
                ("one", &["1", "21", "31", "101", "1001"]),
                ("few", &["2", "3", "4", "22", "24", "102", "1002"]),
                ("many", &["0", "5", "11", "12", "14", "19", "100", "111", "1000000"]),
                ("other", &["0.0", "0.5", "1.0", "1.5", "10.1"]),
            ],
        ),
        (
            "ar",
            &[
                ("zero", &["0", "0.0"]),
                ("one", &["1", "1.0"]),
                ("two", &["2", "2.0"]),
                ("few", &["3", "10", "103", "110", "1003"]),
                ("many", &["11", "26", "99", "111", "1011"]),
                ("other", &["100", "102", "200", "202", "1000", "1000000", "0.1", "10.1"]),
            ],
        ),
        (
            "pl",
            &[
                ("one", &["1"]),
                ("few", &["2", "4", "22", "24", "102", "1002"]),
                ("many", &["0", "5", "11", "12", "14", "21", "25", "100", "112", "1000000"]),
                ("other", &["0.0", "0.5", "1.5", "10.1"]),
            ],
        ),
        ("en", &[("one", &["1", "-1"]), ("other", &["0", "2", "1.0", "1.5", "21"])]),
        ("fr", &[("one", &["0", "1", "1.5"]), ("many", &["1000000"]), ("other", &["2", "17", "2.5"])]),
        ("zh-Hant-TW", &[("other", &["0", "1", "2", "1.5"])]),
    ];

    #[test]
    fn numbers_have_the_plural_categories_of_cldr() {
        for (tag, samples) in SAMPLES {
            let formats = LocaleFormats::for_tag(tag);
            for (category, numbers) in samples {
                for number in *numbers {
                    assert_eq!(formats.plural_category(number), Some(*category), "{tag} {number}");
                }
            }
            let mut all: Vec<&str> = formats.plural_categories().collect();
            all.sort_by_key(|name| PLURAL_CATEGORIES.iter().position(|of| of == name));
            assert_eq!(all, samples.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{tag}");
        }
        for text in ["", "x", "1e3", "1,5", "NaN", "inf", "١"] {
            assert_eq!(LocaleFormats::for_tag("en").plural_category(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_as_the_locale_does() {
        for (tag, number, expected) in [
            ("en", "1234567.5", "1,234,567.5"),
            ("de", "1234567.5", "1.234.567,5"),
            ("de-CH", "1234567.5", "1'234'567.5"),
            ("fr", "-1234.5", "-1\u{202f}234,5"),
            ("zh-Hans", "1234567.5", "1,234,567.5"),
            ("en-IN", "1234567", "12,34,567"),
            ("ar-EG", "1234.5", "١٬٢٣٤٫٥"),
            ("ar-MA", "1234567.5", "1.234.567,5"),
            ("tlh", "1234", "1,234"),
            ("no tag", "1234", "1,234"),
        ] {
            assert_eq!(LocaleFormats::for_tag(tag).format_number(number).as_deref(), Some(expected), "{tag}");
        }
    }

    #[test]
    fn dates_are_written_as_the_locale_does() {
        let at = NaiveDate::from_ymd_opt(2024, 5, 1).unwrap().and_hms_opt(16, 9, 35).unwrap();
        for (tag, expected) in [
            ("en", ["5/1/24", "May 1, 2024", "May 1, 2024", "Wednesday, May 1, 2024", "4:09\u{202f}PM"]),
            ("en-GB", ["01/05/2024", "1 May 2024", "1 May 2024", "Wednesday, 1 May 2024", "16:09"]),
            ("de", ["01.05.24", "01.05.2024", "1. Mai 2024", "Mittwoch, 1. Mai 2024", "16:09"]),
            ("zh-Hans", ["2024/5/1", "2024年5月1日", "2024年5月1日", "2024年5月1日星期三", "16:09"]),
            ("zh-TW", ["2024/5/1", "2024年5月1日", "2024年5月1日", "2024年5月1日星期三", "下午4:09"]),
            (
                "ar",
                [
                    "1\u{200f}/5\u{200f}/2024",
                    "01\u{200f}/05\u{200f}/2024",
                    "1 مايو 2024",
                    "الأربعاء، 1 مايو 2024",
                    "4:09 م",
                ],
            ),
        ] {
            let formats = LocaleFormats::for_tag(tag);
            let written = DateStyle::ALL.map(|style| formats.format_date(at, style).unwrap());
            assert_eq!(written, expected.map(ToOwned::to_owned), "{tag}");
        }
        let early = NaiveDate::from_ymd_opt(0, 12, 31).unwrap().and_hms_opt(0, 0, 0).unwrap();
        assert_eq!(LocaleFormats::for_tag("en").format_date(early, DateStyle::Short), None);
    }

    #[test]
    fn lists_are_written_as_the_locale_does() {
        for (tag, entries, expected) in [
            ("en", &["Ada", "Ben", "Cyd"][..], "<Ada>, <Ben>, and <Cyd>"),
            ("en", &["Ada", "Ben"], "<Ada> and <Ben>"),
            ("en", &["Ada"], "<Ada>"),
            ("en", &[], ""),
            ("de", &["Ada", "Ben", "Cyd"], "<Ada>, <Ben> und <Cyd>"),
            ("es", &["Ada", "Isabel"], "<Ada> e <Isabel>"),
            ("zh-Hans", &["甲", "乙", "丙"], "<甲>、<乙>和<丙>"),
            ("ar", &["أ", "ب"], "<أ> و<ب>"),
        ] {
            let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
            assert_eq!(LocaleFormats::for_tag(tag).format_list(&entries, ["<", ">"]), expected, "{tag}");
        }
    }
}
