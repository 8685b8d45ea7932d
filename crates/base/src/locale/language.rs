//! Language tags, and which of the known languages suits a reader.

/// Languages written from right to left, unless the tag names a script.
const RIGHT_TO_LEFT: [&str; 13] = ["ar", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "ug", "ur", "yi"];
/// Scripts written from right to left.
const RIGHT_TO_LEFT_SCRIPTS: [&str; 7] = ["Adlm", "Arab", "Hebr", "Nkoo", "Rohg", "Syrc", "Thaa"];

/// Regions that write Chinese in traditional characters.
const TRADITIONAL: [&str; 3] = ["TW", "HK", "MO"];

/// Most ranges of an `Accept-Language` that are considered.
const RANGES: usize = 32;

/// Whether the language is written from right to left.
pub fn is_right_to_left(tag: &str) -> bool {
    let language = tag.split('-').next().unwrap_or_default();
    let (all, own): (&[&str], &str) = match script(tag) {
        Some(script) => (&RIGHT_TO_LEFT_SCRIPTS, script),
        None => (&RIGHT_TO_LEFT, language),
    };
    all.iter().any(|of| of.eq_ignore_ascii_case(own))
}

/// The language of `known` for a reader's tag, by the look-up of RFC 4647, section 3.4: the tag is shortened from its
/// end until it is known. A Chinese tag without a script first gets that of its region: `zh-TW` is `zh-Hant`, and `zh`
/// is `zh-Hans`.
pub fn find_language<'k>(tag: &str, known: &[&'k str]) -> Option<&'k str> {
    let tag = with_chinese_script(tag);
    let mut range = tag.as_str();
    loop {
        if let Some(found) = known.iter().find(|of| of.eq_ignore_ascii_case(range)) {
            return Some(found);
        }
        range = &range[..range.rfind('-')?];
    }
}

/// The tags of an `Accept-Language`, most preferred first (RFC 9110, section 12.5.4). Invalid weights count as 1.
pub fn accepted_languages(header: &str) -> Vec<&str> {
    let weighted = header.split(',').take(RANGES).filter_map(|range| {
        let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
        let weight = parameters.trim().strip_prefix("q=").and_then(|weight| weight.trim().parse::<f32>().ok());
        let weight = weight.filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(1.0);
        (!tag.trim().is_empty() && weight > 0.0).then_some((tag.trim(), weight))
    });
    let mut weighted: Vec<(&str, f32)> = weighted.collect();
    // Stable, so equal weights keep their order.
    weighted.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    weighted.into_iter().map(|(tag, _)| tag).collect()
}

fn script(tag: &str) -> Option<&str> {
    language_parts(tag).skip(1).find(|part| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// The parts before extensions and private use, which begin with a single letter.
fn language_parts(tag: &str) -> impl Iterator<Item = &str> {
    tag.split('-').take_while(|part| part.len() > 1)
}

fn with_chinese_script(tag: &str) -> String {
    let is_chinese = language_parts(tag).next().is_some_and(|language| language.eq_ignore_ascii_case("zh"));
    if !is_chinese {
        return tag.to_owned();
    }
    let is_traditional = |part: &str| TRADITIONAL.iter().any(|region| region.eq_ignore_ascii_case(part));
    let of_region = || if language_parts(tag).skip(1).any(is_traditional) { "Hant" } else { "Hans" };
    format!("zh-{}", script(tag).unwrap_or_else(of_region))
}

#[cfg(test)]
mod tests {
    use super::{accepted_languages, find_language, is_right_to_left};

    const KNOWN: [&str; 6] = ["en", "zh-Hans", "zh-Hant", "pt", "de", "ar"];

    #[test]
    fn a_tag_finds_the_nearest_language_and_script() {
        for (tag, language) in [
            ("de", Some("de")),
            ("PT-br", Some("pt")),
            ("de-Latn-CH-1996", Some("de")),
            ("zh", Some("zh-Hans")),
            ("zh-CN", Some("zh-Hans")),
            ("zh-SG", Some("zh-Hans")),
            ("zh-MY", Some("zh-Hans")),
            ("zh-TW", Some("zh-Hant")),
            ("zh-hk", Some("zh-Hant")),
            ("zh-MO", Some("zh-Hant")),
            ("zh-Hant", Some("zh-Hant")),
            ("ZH-HANT-CN", Some("zh-Hant")),
            ("zh-Hans-TW", Some("zh-Hans")),
            ("zh-cmn-Hant-TW", Some("zh-Hant")),
            ("zh-u-co-stroke-TW", Some("zh-Hans")),
            ("zh-Latn", None),
            ("ar-EG", Some("ar")),
            ("tlh", None),
            ("*", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(find_language(tag, &KNOWN), language, "{tag}");
        }
    }

    #[test]
    fn a_browser_names_its_languages_by_weight() {
        for (header, tags) in [
            ("", vec![]),
            ("ja", vec!["ja"]),
            ("fi, fr-CH;q=0.9, en;q=0.8", vec!["fi", "fr-CH", "en"]),
            ("en;q=0.1,de ; q=0.9, fr", vec!["fr", "de", "en"]),
            ("en;q=0, de", vec!["de"]),
            ("en;q=x, de;q=7", vec!["en", "de"]),
            (";;,,--", vec!["--"]),
        ] {
            assert_eq!(accepted_languages(header), tags, "{header}");
        }
        assert_eq!(accepted_languages(&"de,".repeat(1000)).len(), 32);
    }

    #[test]
    fn a_tag_says_the_direction() {
        for (tag, is_it) in [
            ("ar", true),
            ("AR-eg", true),
            ("he", true),
            ("az", false),
            ("az-Arab", true),
            ("ar-Latn", false),
            ("zh-TW", false),
        ] {
            assert_eq!(is_right_to_left(tag), is_it, "{tag}");
        }
    }
}
