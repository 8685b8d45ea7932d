//! Texts of the server for people, which translators write in `ui/locales`.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::formats::{LocaleFormats, PLURAL_CATEGORIES};

/// A text with a number: one form for each plural category of its language. `{n}` is the number.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluralForms {
    zero: Option<String>,
    one: Option<String>,
    two: Option<String>,
    few: Option<String>,
    many: Option<String>,
    other: String,
}

impl PluralForms {
    /// The text for a number. `language` is the language of the forms, and `formats` may be of one of its regions.
    pub fn format(&self, formats: &LocaleFormats, number: usize) -> String {
        let digits = number.to_string();
        let form = match formats.plural_category(&digits) {
            Some("zero") => &self.zero,
            Some("one") => &self.one,
            Some("two") => &self.two,
            Some("few") => &self.few,
            Some("many") => &self.many,
            _ => &None,
        };
        let number = formats.format_number(&digits).unwrap_or(digits);
        form.as_ref().unwrap_or(&self.other).replace("{n}", &number)
    }
}

/// What is wrong with translations: keys, placeholders or plural categories that are missing or too many. Each table is
/// a language with its JSON; the first is the original.
pub fn translation_flaws(tables: &[(&str, &str)]) -> Vec<String> {
    let read = |(language, json): &(&str, &str)| {
        let table: Value = serde_json::from_str(json).unwrap_or_default();
        (language.to_string(), table)
    };
    let tables: Vec<(String, Value)> = tables.iter().map(read).collect();
    let mut flaws = Vec::new();
    let Some((_, original)) = tables.first() else { return flaws };
    for (language, table) in &tables {
        let keys = |table: &Value| table.as_object().map(|texts| texts.keys().cloned().collect::<Vec<_>>());
        if keys(table).is_none() || keys(table) != keys(original) {
            flaws.push(format!("{language}: other keys than the original, or another order"));
            continue;
        }
        for (key, text) in table.as_object().into_iter().flatten() {
            let of_text = text_flaws(language, text, &original[key]);
            flaws.extend(of_text.into_iter().map(|flaw| format!("{language}: {key}: {flaw}")));
        }
    }
    flaws
}

fn text_flaws(language: &str, text: &Value, original: &Value) -> Vec<String> {
    match (text, original) {
        (Value::String(text), Value::String(original)) => {
            let is_sound = !text.trim().is_empty() && placeholders(text) == placeholders(original);
            if is_sound { Vec::new() } else { vec!["is empty, or has other placeholders".to_owned()] }
        }
        (Value::Object(forms), Value::Object(original)) => {
            let formats = LocaleFormats::for_tag(language);
            let needed: BTreeSet<&str> = formats.plural_categories().collect();
            let written: BTreeSet<&str> = forms.keys().map(String::as_str).collect();
            let mut flaws = Vec::new();
            if needed != written {
                flaws.push(format!("needs the plural categories {needed:?}, but has {written:?}"));
            }
            let expected = original.get("other").and_then(Value::as_str).map(placeholders).unwrap_or_default();
            for category in PLURAL_CATEGORIES {
                let Some(form) = forms.get(category) else { continue };
                let found = form.as_str().map(placeholders).unwrap_or_default();
                // A form for a single number may say it in words.
                let is_of = |number: &usize| formats.plural_category(&number.to_string()) == Some(category);
                let may_omit = (0..200).filter(is_of).count() == 1;
                let without: BTreeSet<&str> = expected.iter().copied().filter(|name| *name != "{n}").collect();
                if found != expected && !(may_omit && found == without) {
                    flaws.push(format!("{category}: has other placeholders"));
                }
            }
            flaws
        }
        _ => vec!["has one form, or several, unlike the original".to_owned()],
    }
}

fn placeholders(text: &str) -> BTreeSet<&str> {
    let parts = text.split_inclusive('}').filter_map(|part| Some(&part[part.rfind('{')?..]));
    parts.filter(|part| part.ends_with('}')).collect()
}

#[cfg(test)]
mod tests {
    use super::super::formats::LocaleFormats;
    use super::{PluralForms, translation_flaws};

    #[test]
    fn a_number_picks_its_form() {
        let forms = r#"{ "one": "{n} день", "few": "{n} дня", "many": "{n} дней", "other": "{n} дня" }"#;
        let forms: PluralForms = serde_json::from_str(forms).unwrap();
        let formats = LocaleFormats::for_tag("ru");
        for (number, expected) in [(0, "0 дней"), (1, "1 день"), (22, "22 дня"), (11111, "11\u{a0}111 дней")]
        {
            assert_eq!(forms.format(&formats, number), expected);
        }
    }

    #[test]
    fn what_a_translation_lacks_is_named() {
        let english = r#"{ "a": "A {name}", "b": { "one": "one", "other": "{n} more" } }"#;
        let flaws = |language, json| translation_flaws(&[("en", english), (language, json)]).join("; ");
        assert_eq!(flaws("de", r#"{ "a": "Ä {name}", "b": { "one": "eins", "other": "{n} mehr" } }"#), "");
        assert_eq!(flaws("zh-Hant", r#"{ "a": "{name}", "b": { "other": "{n}" } }"#), "");
        for (language, json, why) in [
            ("de", r#"{ "a": "{name}" }"#, "other keys"),
            ("de", r#"{ "b": { "one": "x", "other": "{n}" }, "a": "{name}" }"#, "another order"),
            ("de", "", "other keys"),
            ("de", r#"{ "a": " ", "b": { "one": "x", "other": "{n}" } }"#, "a: is empty"),
            ("de", r#"{ "a": "{n}", "b": { "one": "x", "other": "{n}" } }"#, "a: is empty, or has other placeholders"),
            ("de", r#"{ "a": "{name}", "b": { "one": "x", "other": "mehr" } }"#, "b: other: has other placeholders"),
            ("ru", r#"{ "a": "{name}", "b": { "one": "x", "other": "{n}" } }"#, "\"few\", \"many\""),
            ("pt", r#"{ "a": "{name}", "b": { "one": "x", "many": "{n}", "other": "{n}" } }"#, "b: one: has other"),
            (
                "ko",
                r#"{ "a": "{name}", "b": { "one": "x", "other": "{n}" } }"#,
                "needs the plural categories {\"other\"}",
            ),
            ("de", r#"{ "a": "{name}", "b": "{n}" }"#, "b: has one form"),
        ] {
            assert!(flaws(language, json).contains(why), "{json}: {}", flaws(language, json));
        }
    }
}
