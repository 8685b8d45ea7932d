//! Fixed texts of emails and of the pages linked from them, from `ui/locales/letters`. Senders write the rest.

use std::sync::LazyLock;

use serde::Deserialize;

use base::locale::{LocaleFormats, PluralForms, accepted_languages, find_language, is_right_to_left};

/// The texts of one language.
#[derive(Debug)]
pub struct MailTexts {
    /// A BCP 47 tag.
    pub language: &'static str,
    formats: LocaleFormats,
    table: TextTable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextTable {
    link: String,
    ask: String,
    stays: String,
    button: String,
    done: String,
    mandatory: String,
    unknown: String,
    unread: PluralForms,
    more: PluralForms,
}

/// The tables by their languages. The first is the default.
const TABLES: [(&str, &str); 12] = [
    ("en", include_str!("../../../../ui/locales/letters/en.json")),
    ("ar", include_str!("../../../../ui/locales/letters/ar.json")),
    ("de", include_str!("../../../../ui/locales/letters/de.json")),
    ("es", include_str!("../../../../ui/locales/letters/es.json")),
    ("fr", include_str!("../../../../ui/locales/letters/fr.json")),
    ("it", include_str!("../../../../ui/locales/letters/it.json")),
    ("ja", include_str!("../../../../ui/locales/letters/ja.json")),
    ("ko", include_str!("../../../../ui/locales/letters/ko.json")),
    ("pt", include_str!("../../../../ui/locales/letters/pt.json")),
    ("ru", include_str!("../../../../ui/locales/letters/ru.json")),
    ("zh-Hans", include_str!("../../../../ui/locales/letters/zh-Hans.json")),
    ("zh-Hant", include_str!("../../../../ui/locales/letters/zh-Hant.json")),
];

static ALL: LazyLock<Vec<MailTexts>> = LazyLock::new(|| {
    let read = |(language, json): (&'static str, &str)| MailTexts {
        language,
        formats: LocaleFormats::for_tag(language),
        table: serde_json::from_str(json).expect("a test reads all tables"),
    };
    TABLES.into_iter().map(read).collect()
});

impl MailTexts {
    /// The texts for a language tag.
    pub fn for_language(tag: Option<&str>) -> &'static Self {
        Self::for_first_known(tag)
    }

    /// The texts for a browser, by its `Accept-Language`.
    pub fn for_browser(listed: &str) -> &'static Self {
        Self::for_first_known(accepted_languages(listed))
    }

    fn for_first_known<'t>(tags: impl IntoIterator<Item = &'t str>) -> &'static Self {
        let known = TABLES.map(|(language, _)| language);
        let language = tags.into_iter().find_map(|tag| find_language(tag, &known)).unwrap_or(known[0]);
        ALL.iter().find(|texts| texts.language == language).unwrap_or(&ALL[0])
    }

    /// `ltr` or `rtl`.
    pub fn direction(&self) -> &'static str {
        if is_right_to_left(self.language) { "rtl" } else { "ltr" }
    }

    /// Label of the link to unsubscribe.
    pub fn link(&self) -> &str {
        &self.table.link
    }

    /// Question on the page to unsubscribe.
    pub fn ask(&self) -> &str {
        &self.table.ask
    }

    /// Hint that the notifications remain in the application.
    pub fn stays(&self) -> &str {
        &self.table.stays
    }

    /// Label of the button to unsubscribe.
    pub fn button(&self) -> &str {
        &self.table.button
    }

    /// Confirmation.
    pub fn done(&self) -> &str {
        &self.table.done
    }

    /// Emails of this kind cannot be switched off.
    pub fn mandatory(&self) -> &str {
        &self.table.mandatory
    }

    /// The link is invalid.
    pub fn unknown(&self) -> &str {
        &self.table.unknown
    }

    /// The subject of a digest of `many` messages.
    pub fn digest_subject(&self, many: usize) -> String {
        self.table.unread.format(&self.formats, many)
    }

    /// The line about `many` messages that the digest leaves out.
    pub fn omitted_line(&self, many: usize) -> String {
        self.table.more.format(&self.formats, many)
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, MailTexts, TABLES};
    use base::locale::translation_flaws;

    #[test]
    fn every_language_has_every_text() {
        assert_eq!(translation_flaws(&TABLES), Vec::<String>::new());
        assert_eq!(ALL.len(), TABLES.len());
    }

    #[test]
    fn messages_are_counted_in_each_language() {
        for texts in ALL.iter() {
            for many in [1, 2, 3, 5, 11, 21, 100, 1_000_000] {
                for text in [texts.digest_subject(many), texts.omitted_line(many)] {
                    let is_counted = many < 3 || text.contains(['1', '2', '3', '5']);
                    assert!(is_counted && !text.contains(['{', '}']), "{}: {text}", texts.language);
                }
            }
        }
        for (tag, many, subject) in [
            ("en", 1, "1 unread message"),
            ("en", 5000, "5,000 unread messages"),
            ("ru", 2, "2 непрочитанных сообщения"),
            ("ru", 5, "5 непрочитанных сообщений"),
            ("ru", 21, "21 непрочитанное сообщение"),
            ("ar", 2, "رسالتان غير مقروءتين"),
            ("ar", 3, "3 رسائل غير مقروءة"),
            ("ar", 11, "11 رسالة غير مقروءة"),
            ("zh-TW", 1, "1 則未讀訊息"),
        ] {
            assert_eq!(MailTexts::for_language(Some(tag)).digest_subject(many), subject);
        }
    }

    #[test]
    fn the_first_language_that_is_known_is_spoken() {
        for (tag, language) in [
            (None, "en"),
            (Some("de"), "de"),
            (Some("PT-br"), "pt"),
            (Some("zh"), "zh-Hans"),
            (Some("zh-Hant-TW"), "zh-Hant"),
            (Some("zh-HK"), "zh-Hant"),
            (Some("tlh"), "en"),
        ] {
            assert_eq!(MailTexts::for_language(tag).language, language);
        }
        for (listed, language) in [
            ("", "en"),
            ("fi, fr-CH;q=0.9, en;q=0.8", "fr"),
            ("en;q=0.5, zh-TW", "zh-Hant"),
            ("*", "en"),
            ("ja", "ja"),
            (";;,,--", "en"),
        ] {
            assert_eq!(MailTexts::for_browser(listed).language, language, "{listed}");
        }
        let directions = ["ar", "en"].map(|tag| MailTexts::for_language(Some(tag)).direction());
        assert_eq!(directions, ["rtl", "ltr"]);
    }
}
