//! Tests of the filters that write in the reader's language.

use serde_json::{Value as Json, json};

use super::super::{CompiledTemplate, TextFormat};
use super::{Outcome, outcome, outcome_for};
use crate::reader::{ReaderDependence, ReaderLocale};

fn reader(locale: &str, time_zone: &str) -> ReaderLocale {
    ReaderLocale { locale: Some(locale.to_owned()), time_zone: Some(time_zone.to_owned()) }
}

fn shown_for(source: &str, params: &Json, (locale, time_zone): (&str, &str)) -> String {
    match outcome_for(source, params, &reader(locale, time_zone)) {
        Outcome::Shown(text) => text,
        other => panic!("{source}: {other}"),
    }
}

#[test]
fn numbers_dates_and_lists_are_written_for_the_reader() {
    let at = "2024-05-01T22:30:00+02:00";
    let params = json!({ "n": 1_234_567.5, "at": at, "millis": 1_714_595_400_000_i64, "names": ["Ada", "Ben", "Cyd"],
                         "people": [{ "name": "Ada" }, { "name": "Ben" }] });
    for (tag, zone, expected) in [
        ("en", "America/New_York", "1,234,567.5; May 1, 2024; 4:30\u{202f}PM; Ada, Ben, and Cyd; Ada and Ben"),
        ("de", "Europe/Berlin", "1.234.567,5; 01.05.2024; 22:30; Ada, Ben und Cyd; Ada und Ben"),
        ("zh-Hans-CN", "Asia/Shanghai", "1,234,567.5; 2024年5月2日; 04:30; Ada、Ben和Cyd; Ada和Ben"),
        ("zh-TW", "Asia/Taipei", "1,234,567.5; 2024年5月2日; 凌晨4:30; Ada、Ben和Cyd; Ada和Ben"),
    ] {
        let source = "{{ params.n|number }}; {{ params.at|date }}; {{ params.millis|date('time') }}; {{ params.names|list }}; \
                      {{ params.people|list(attribute='name') }}";
        assert_eq!(shown_for(source, &params, (tag, zone)), expected, "{tag}");
    }
    for (style, expected) in [
        ("short", "01.05.24"),
        ("medium", "01.05.2024"),
        ("long", "1. Mai 2024"),
        ("full", "Mittwoch, 1. Mai 2024"),
        ("time", "20:30"),
    ] {
        let source = format!("{{{{ params.at|date(\"{style}\") }}}}");
        assert_eq!(shown_for(&source, &params, ("de", "UTC")), expected);
    }
    // Isolated, because the line has right-to-left characters.
    assert_eq!(
        shown_for("{{ params.n|number }} {{ params.at|date('full') }}", &params, ("ar-EG", "Africa/Cairo")),
        "\u{2068}١٬٢٣٤٬٥٦٧٫٥\u{2069} \u{2068}الأربعاء، ١ مايو ٢٠٢٤\u{2069}"
    );
    let hebrew = json!({ "names": ["Ben", "בן"] });
    assert_eq!(
        shown_for("{{ params.names|list }} like it", &hebrew, ("en", "UTC")),
        "\u{2068}Ben\u{2069} and \u{2068}בן\u{2069} like it"
    );
    assert_eq!(shown_for("{{ locale }} {{ time_zone }}", &params, ("de-CH", "Europe/Zurich")), "de-CH Europe/Zurich");
    assert_eq!(shown_for("{{ 'Hallo' if locale is startingwith('de') else 'Hi' }}", &params, ("de", "UTC")), "Hallo");
    let unknown = Outcome::Shown("en UTC 1,234,567.5 8:30\u{202f}PM".into());
    assert_eq!(
        outcome("{{ locale }} {{ time_zone }} {{ params.n|number }} {{ params.at|date('time') }}", &params),
        unknown
    );
}

#[test]
fn a_count_picks_the_form_of_its_category() {
    let russian =
        "{{ params.n|plural(one='# комментарий', few='# комментария', many='# комментариев', other='# комментария') }}";
    let arabic = "{{ params.n|plural(zero='لا تعليقات', one='تعليق', two='تعليقان', few='# تعليقات', many='# تعليقًا', other='# تعليق') }}";
    let polish = "{{ params.n|plural(one='# plik', few='# pliki', many='# plików', other='# pliku') }}";
    let english = "{{ params.n|plural(one=\"# comment\", other=\"# comments\") }}";
    for (source, tag, samples) in [
        (
            russian,
            "ru",
            &[
                (json!(1), "1 комментарий"),
                (json!(22), "22 комментария"),
                (json!(11), "11 комментариев"),
                (json!(1.5), "1,5 комментария"),
            ][..],
        ),
        (
            arabic,
            "ar",
            &[
                (json!(0), "لا تعليقات"),
                (json!(2), "تعليقان"),
                (json!(3), "3 تعليقات"),
                (json!(99), "99 تعليقًا"),
                (json!(100), "100 تعليق"),
            ],
        ),
        (
            polish,
            "pl",
            &[
                (json!(1), "1 plik"),
                (json!(4), "4 pliki"),
                (json!(12), "12 plików"),
                (json!(22), "22 pliki"),
                (json!(0.5), "0,5 pliku"),
            ],
        ),
        (
            english,
            "en",
            &[
                (json!(1), "1 comment"),
                (json!(0), "0 comments"),
                (json!(1000), "1,000 comments"),
                (json!(-1), "-1 comment"),
            ],
        ),
        (english, "zh-Hans", &[(json!(1), "1 comments")]),
    ] {
        for (number, expected) in samples {
            assert_eq!(shown_for(source, &json!({ "n": number }), (tag, "UTC")), *expected, "{tag} {number}");
        }
    }
    let forms = json!({ "n": 2, "one": "# Datei", "other": "# Dateien" });
    assert_eq!(
        shown_for("{{ params.n|plural(one=params.one, other=params.other)|upper }}", &forms, ("de", "UTC")),
        "2 DATEIEN"
    );
}

#[test]
fn what_cannot_be_written_is_refused_or_fails() {
    for (source, why) in [
        ("{{ 1|plural(one='x') }}", "not allowed (line 1): the filter \"plural\" without the category \"other\""),
        ("{{ 1|plural }}", "not allowed (line 1): the filter \"plural\" without the category \"other\""),
        (
            "\n{{ 1|plural(ones='x', other='y') }}",
            "not allowed (line 2): the plural category \"ones\": use zero, one, two, few, many or other",
        ),
        (
            "{{ 1|plural('x', other='y') }}",
            "not allowed (line 1): the filter \"plural\" with a form that has no category: write `other=…`",
        ),
        (
            "{{ 1|date('iso') }}",
            "not allowed (line 1): the style of dates \"iso\": use one of short, medium, long, full, time",
        ),
        (
            "{{ 1|date(params.style) }}",
            "not allowed (line 1): the filter \"date\" with an argument that is not the name of a style in quotes",
        ),
        (
            "{{ 1|date('short', 'long') }}",
            "not allowed (line 1): the filter \"date\" with an argument that is not the name of a style in quotes",
        ),
        ("{{ 1|number(2) }}", "not allowed (line 1): an argument of the filter \"number\""),
    ] {
        assert_eq!(
            outcome(source, &Json::Null),
            Outcome::Refused(format!("`body` does not compile: {why}")),
            "{source}"
        );
    }
    let params =
        json!({ "text": "x", "null": null, "long": 1e300, "late": 1e15, "list": ["a", null], "day": "2024-05-01" });
    for (source, why) in [
        ("{{ params.text|number }}", "invalid operation (line 1)"),
        ("{{ params.long|number }}", "invalid operation (line 1)"),
        ("{{ params.null|number }}", "undefined value (line 1)"),
        ("{{ params.text|plural(other='#') }}", "invalid operation (line 1)"),
        ("{{ params.null|plural(other='#') }}", "undefined value (line 1)"),
        ("{{ 1|plural(one=params.null, other='#') }}", "undefined value (line 1)"),
        ("{{ params.text|date }}", "invalid operation (line 1)"),
        ("{{ params.day|date }}", "invalid operation (line 1)"),
        ("{{ params.late|date }}", "invalid operation (line 1)"),
        ("{{ params.null|date }}", "undefined value (line 1)"),
        ("{{ params.null|list }}", "undefined value (line 1)"),
        ("{{ params.list|list }}", "undefined value (line 1)"),
        ("{{ params.text|list(3) }}", "too many arguments (line 1)"),
        // Their work is limited.
        ("{% for a in 'x'|replace('x', 'y' * 1)|list %}{% endfor %}", "invalid operation (line 1)"),
    ] {
        assert_eq!(outcome(source, &params), Outcome::Failed(why.into()), "{source}");
    }
    let many = json!({ "all": vec![0; 300], "texts": vec!["x".repeat(400); 300] });
    for source in [
        "{% for at in params.all %}{{ at|date('full') }}{% endfor %}",
        "{% for n in params.all %}{{ n|number }}{% endfor %}",
        "{{ params.texts|list }}",
        "{{ params.all|list ~ params.all|list ~ params.all|list ~ params.all|list ~ params.all|list ~ params.all|list }}",
    ] {
        assert_eq!(outcome(source, &many), Outcome::Failed("takes too much work (line 1)".into()), "{source}");
    }
    let sharps = json!({ "form": "#".repeat(10_000) });
    assert_eq!(
        outcome("{{ 1234567890|plural(other=params.form) }}", &sharps),
        Outcome::Failed("takes too much work (line 1)".into())
    );
}

#[test]
fn a_template_knows_what_it_depends_on() {
    for (source, is_on_locale, is_on_time_zone) in [
        ("{{ params.number|upper }} date plural locale", false, false),
        ("{{ sender.locale }} {{ params['locale'] }}", false, false),
        ("{{ params.n|number }}", true, false),
        ("{{ params.n|plural(other='#') }}", true, false),
        ("{{ params.names|list }}", true, false),
        ("{{ locale }}", true, false),
        ("{{ time_zone }}", false, true),
        ("{% if params.at %}{{ params.at|date }}{% endif %}", true, true),
    ] {
        let compiled = CompiledTemplate::compile_as(TextFormat::Line, source).unwrap();
        assert_eq!(compiled.dependence(), ReaderDependence { is_on_locale, is_on_time_zone }, "{source}");
    }
    let of = reader("de", "Europe/Berlin");
    let part = |is_on_locale, is_on_time_zone| of.relevant_part(ReaderDependence { is_on_locale, is_on_time_zone });
    assert_eq!(part(false, false), None);
    assert_eq!(part(true, false), Some(ReaderLocale { time_zone: None, ..of.clone() }));
    assert_eq!(part(true, true), Some(of.clone()));
    assert_eq!(
        ReaderLocale::UNKNOWN.relevant_part(ReaderDependence { is_on_locale: true, is_on_time_zone: true }),
        None
    );
}
