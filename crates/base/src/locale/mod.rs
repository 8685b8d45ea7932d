//! Languages and locales: which texts a reader gets, and how numbers, dates and lists are written there.
//!
//! The rules are those of the Unicode CLDR, from ICU4X with compiled data.

mod formats;
mod language;
mod texts;

pub use formats::{DateStyle, LocaleFormats, PLURAL_CATEGORIES};
pub use language::{accepted_languages, find_language, is_right_to_left};
pub use texts::{PluralForms, translation_flaws};
