//! The texts of the page after a failed sign-in, from `ui/locales/sign-in`.

use std::sync::LazyLock;

use axum::http::{HeaderMap, header};
use serde::Deserialize;

use base::locale::{accepted_languages, find_language};

/// The texts of one language, which is written from left to right.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SignInTexts {
    /// A BCP 47 tag.
    #[serde(skip)]
    pub language: &'static str,
    pub unknown: String,
    pub unknown_reason: String,
    pub declined: String,
    /// With the provider's own words as `{answer}`.
    pub declined_reason: String,
    pub away: String,
    pub away_advice: String,
    pub unsound: String,
    pub not_let_in: String,
    pub not_let_in_advice: String,
    /// With the id of the request as `{id}`.
    pub log: String,
    pub not_configured: String,
    pub not_configured_reason: String,
    /// With the name of the claim as `{claim}`, as are the next ones.
    pub claim_missing: String,
    pub claim_not_text: String,
    pub claim_several: String,
    pub claim_invalid_name: String,
    pub claim_unverified: String,
    pub claim_no_role: String,
    pub again: String,
    pub back: String,
}

/// The tables by their languages. The first is the default.
const TABLES: [(&str, &str); 3] = [
    ("en", include_str!("../../../ui/locales/sign-in/en.json")),
    ("zh-Hans", include_str!("../../../ui/locales/sign-in/zh-Hans.json")),
    ("zh-Hant", include_str!("../../../ui/locales/sign-in/zh-Hant.json")),
];

static ALL: LazyLock<Vec<SignInTexts>> = LazyLock::new(|| {
    let read = |(language, json): (&'static str, &str)| {
        let texts = serde_json::from_str(json).expect("a test reads all tables");
        SignInTexts { language, ..texts }
    };
    TABLES.into_iter().map(read).collect()
});

impl SignInTexts {
    /// In the browser's language.
    pub fn for_browser(headers: &HeaderMap) -> &'static Self {
        let listed = headers.get(header::ACCEPT_LANGUAGE).and_then(|listed| listed.to_str().ok()).unwrap_or_default();
        let known = TABLES.map(|(language, _)| language);
        let language = accepted_languages(listed).into_iter().find_map(|tag| find_language(tag, &known));
        ALL.iter().find(|texts| Some(texts.language) == language).unwrap_or(&ALL[0])
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, TABLES};
    use base::locale::translation_flaws;

    #[test]
    fn every_language_has_every_text() {
        assert_eq!(translation_flaws(&TABLES), Vec::<String>::new());
        assert_eq!(ALL.len(), TABLES.len());
    }
}
