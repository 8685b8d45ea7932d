//! Tests of what templates can do, and of their limits.

mod attacks;
mod chance;
mod locale;

use std::sync::atomic::AtomicUsize;
use std::thread;

use serde_json::{Value as Json, json};

use super::compiled::ROOM;
use super::lazy::LazyTemplate;
use crate::reader::ReaderLocale;

use super::{TargetVariables, TemplateSource, TemplateVariables, TextKind, check_sources};

/// Half of a worker's stack. Test threads have 2 MiB as well.
const STACK: usize = 1024 * 1024;

/// The result of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// It cannot be saved.
    Refused(String),
    /// It cannot be rendered.
    Failed(String),
    Shown(String),
}

impl std::fmt::Display for Outcome {
    /// Only the beginning, because some are long.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format!("{self:?}").chars().take(200).collect::<String>())
    }
}

/// Saves a source as a body, reads it as a stored one, and renders it, all on a small stack.
fn outcome(source: &str, params: &Json) -> Outcome {
    outcome_for(source, params, ReaderLocale::UNKNOWN)
}

/// The same for a reader.
fn outcome_for(source: &str, params: &Json, reader: &ReaderLocale) -> Outcome {
    let (source, params, reader) = (source.to_owned(), params.clone(), reader.clone());
    let work = move || {
        let source = TemplateSource { text: TextKind::Body, source: &source };
        let saved = check_sources(std::iter::once(source));
        let (stored, kept) = (LazyTemplate::default(), AtomicUsize::new(0));
        let is_sound = stored.first_flaw(source, &kept).is_none();
        let text = stored.render(source, &TemplateVariables { reader: &reader, ..scene(&params) }, &kept);
        assert!(is_sound || saved.is_err() && text.is_err(), "what cannot be read is not saved: {source:?}");
        match (saved, text) {
            (Err(why), _) => Outcome::Refused(why.to_string()),
            (_, Ok(text)) => Outcome::Shown(text),
            (_, Err(flaw)) => Outcome::Failed(flaw.to_string()),
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

fn scene(params: &Json) -> TemplateVariables<'_> {
    let sender = json!({ "id": "ben", "name": "Ben", "avatarUrl": null, "locale": "de" });
    TemplateVariables {
        params,
        data: params,
        sender,
        target: Some(TargetVariables { r#type: "doc", id: "7" }),
        action: Some("like"),
        shown: None,
        reader: ReaderLocale::UNKNOWN,
    }
}

fn shown(source: &str, params: &Json) -> String {
    match outcome(source, params) {
        Outcome::Shown(text) => text,
        other => panic!("{source}: {other}"),
    }
}

#[test]
fn texts_of_notifications_can_be_written() {
    let params = json!({ "text": "nice ONE", "count": 3, "ratio": 2.5, "words": ["a", "b", "c"], "none": null,
                         "people": [{ "name": "Ada" }, { "name": "Ben" }], "map": { "x": 1, "y": "é" } });
    for (source, expected) in [
        ("plain", "plain"),
        ("{{ sender.name or sender.id }} on {{ target.type }} {{ target.id }}", "Ben on doc 7"),
        ("{{ params.text|upper }} {{ params.text|lower }} {{ params.text|title }}", "NICE ONE nice one Nice One"),
        (
            "{{ params.text|capitalize }}, {{ ' x '|trim }}, {{ params.text|replace('n', 'tw') }}",
            "Nice one, x, twice ONE",
        ),
        ("{{ params.text|truncate(5) }} {{ params.text|truncate(99) }}", "nice… nice ONE"),
        ("{{ params.words|join(', ') }} {{ params.people|join(', ', attribute='name') }}", "a, b, c Ada, Ben"),
        ("{{ params.words|length }} {{ params.words|first }} {{ params.words|last }} {{ params.words[1] }}", "3 a c b"),
        ("{{ params.missing|default('nobody') }} {{ params.none is none }}", "nobody True"),
        ("{{ params.count - 1 }} {{ params.count * 2 + 1 }} {{ 7 // 2 }} {{ 7 % 4 }} {{ 1 / 2 }}", "2 7 3 3 0.5"),
        ("{{ params.ratio|round }} {{ params.ratio|int }} {{ '3'|int + 1 }} {{ -2|abs }}", "2.0 2 4 2"),
        ("{{ 'a' ~ params.count ~ params.text }} {{ 'a' + 'b' }}", "a3nice ONE ab"),
        ("{{ 'one' if params.count == 1 else params.count ~ ' files' }}{{ 's' if params.count > 9 }}", "3 files"),
        ("{% if action in ['like', 'love'] %}liked{% elif action == 'x' %}x{% else %}changed{% endif %}", "liked"),
        (
            "{% for word in params.words if word != 'b' %}{{ loop.index }}{{ word }},{% else %}none{% endfor %}",
            "1a,2c,",
        ),
        ("{% for key, value in params.map|items %}{{ key }}={{ value }};{% endfor %}", "x=1;y=é;"),
        ("{% set who = sender.name %}{{ who }}{# nothing #}{%- raw %}{{ who }}{% endraw %}", "Ben{{ who }}"),
        ("{{ {'like': 'liked'}[action] }} {{ params.text is startingwith('nice') and not false }}", "liked True"),
        ("/search?q={{ params.text|urlencode }}", "/search?q=nice%20ONE"),
        ("{{ 9 is divisibleby(3) }} {{ 9 is divisibleby(0) }} {{ params.count is odd }}", "True False True"),
        ("{{ -params.count ~ (1, 2) ~ [params.count, {'a': 1}] ~ true }}", "-3(1, 2)[3, {'a': 1}]True"),
        ("{{ params.words == ['a', 'b', 'c'] and 'b' not in params.words or 1 < 2 < 3 }}", "True"),
    ] {
        assert_eq!(shown(source, &params), expected, "{source}");
    }
}

#[test]
fn what_templates_may_not_do_is_named_with_its_line() {
    for (source, why) in [
        ("{{ oops", "syntax error (line 1): unexpected end of the template"),
        ("a\n{{ 'x'|format }}", "not allowed (line 2): the filter \"format\""),
        ("{{ 1 is sameas(1) }}", "not allowed (line 1): the test \"sameas\""),
        ("\n\n{% macro m() %}{% endmacro %}", "not allowed (line 3): the block \"macro\""),
        ("{{ range(3) }}", "not allowed (line 1): a call"),
        ("{{ params.text.upper() }}", "not allowed (line 1): a call"),
        ("{{ 2 ** 3 }}", "not allowed (line 1): the operator `**`"),
        ("{{ params.words[1:] }}", "syntax error (line 1): unexpected `:`"),
        ("{% set x %}{% endset %}", "syntax error (line 1): unexpected end of block"),
        ("{% set x.y = 1 %}", "syntax error (line 1): unexpected `.`"),
        ("{% for (a, b) in params %}{% endfor %}", "syntax error (line 1): unexpected `(`"),
        ("{% for a in params recursive %}{% endfor %}", "syntax error (line 1): unexpected identifier"),
        ("{{ 1 is odd 2 }}", "not allowed (line 1): an argument of a test without parentheses"),
        ("{{ 1 2 }}", "syntax error (line 1): unexpected integer"),
        ("{% if 1 %}", "syntax error (line 1): unexpected end of input, expected end of block"),
        ("{{ 'a' if }}", "syntax error (line 1): unexpected end of variable block"),
    ] {
        let Outcome::Refused(found) = outcome(source, &Json::Null) else { panic!("{source} is allowed") };
        assert_eq!(found, format!("`body` does not compile: {why}"), "{source}");
    }
}

#[test]
fn what_fails_on_a_notification_is_told_without_what_is_in_it() {
    let params = json!({ "text": "secret", "deep": [[[]]] });
    for (source, why) in [
        ("a\n{{ params.missing }}", "undefined value (line 2)"),
        ("{{ params.missing|upper }}", "undefined value (line 1)"),
        ("{{ params.text - 1 }}", "invalid operation (line 1)"),
        ("{{ params.text * 3 }}", "invalid operation (line 1)"),
        ("{{ params|upper }}", "not a primitive (line 1)"),
    ] {
        assert_eq!(outcome(source, &params), Outcome::Failed(why.into()), "{source}");
    }
}

#[test]
fn a_text_is_as_long_as_one_that_is_sent() {
    let params = json!({ "text": "é".repeat(ROOM / 2) });
    let shown = |text: TextKind, source: &str| {
        let rendered =
            LazyTemplate::default().render(TemplateSource { text, source }, &scene(&params), &AtomicUsize::new(0));
        text.clean_rendered(&rendered.ok()?)
    };
    assert_eq!(shown(TextKind::Title, "{{ params.text }}"), Some("é".repeat(255) + "…"));
    assert_eq!(shown(TextKind::Title, &"é".repeat(256)), Some("é".repeat(256)));
    assert_eq!(shown(TextKind::Body, "{{ params.text }}"), Some("é".repeat(ROOM / 2)));
    assert_eq!(shown(TextKind::Body, "{{ params.text }}."), None);
    assert_eq!(shown(TextKind::Link, "/{{ params.text }}"), None);
}

#[test]
fn what_is_null_is_missing() {
    let null = json!({ "name": null, "list": ["a", null], "map": { "x": null, "y": 1 }, "text": "nice" });
    let missing = json!({ "list": ["a", null], "map": { "y": 1 }, "text": "nice" });
    for source in [
        "{{ params.name }}",
        "{{ params.name|upper }}",
        "{{ params.name|trim }}",
        "{{ params.name|truncate(3) }}",
        "{{ params.name|urlencode }}",
        "{{ params.name|join(', ') }}",
        "{{ params.name|int }}",
        "{{ params.name|float }}",
        "{{ params.name|length }}",
        "{{ params.name|first }}",
        "{{ params.name|default(none) }}",
        "{{ params.text|replace('i', params.name) }}",
        "{{ params.text ~ params.name }}",
        "{{ 'by ' ~ (params.name ~ '!') }}",
        "{{ 'by ' + params.name }}",
        "{{ params.name + 1 }}",
        "{{ [params.name] }}",
        "{{ {'a': params.name} }}",
        "{{ params.text if params.name else none }}",
        "{{ none }}",
        "{{ params.list }}",
        "{{ params.list|last }}",
        "{{ params.list[1] }}",
        "{{ params.list|join }}",
        "{% for entry in params.list %}{{ entry }}{% endfor %}",
        "{% for letter in params.name %}x{% endfor %}",
        "{{ params.name in 'abc' }}",
        "{{ params.name is startingwith('x') }}",
        "{% set name = params.name %}{{ name }}",
    ] {
        for params in [&null, &missing] {
            assert!(matches!(outcome(source, params), Outcome::Failed(_)), "{source}: {}", outcome(source, params));
        }
    }
    for (source, expected) in [
        ("{{ params.name or 'none' }}", "none"),
        ("{{ params.name|default('none') }}", "none"),
        ("{{ params.name|d('none', true)|upper }}", "NONE"),
        ("{{ params.name is defined }} {{ params.name is undefined }} {{ params.name is none }}", "False True True"),
        ("{{ params.name == none }} {{ none != params.name }} {{ params.name == 'None' }}", "True False False"),
        ("{{ params.name == params.other }} {{ 1 if params.name != 'x' }}", "True 1"),
        ("{{ 'x' if params.name }}{{ 'y' if not params.name }}", "y"),
        ("{{ params.list|length }} {{ params.list[0] }} {{ params.list[1]|default('-') }}", "2 a -"),
        ("{{ params.map }} {{ params.map|length }} {{ params.map.x|default('-') }}", "{'y': 1} 1 -"),
        ("{% for name, value in params.map|items %}{{ name }}{{ value }}{% endfor %}", "y1"),
        ("{{ sender.avatarUrl or 'none' }} {{ sender.avatarUrl is defined }}", "none False"),
    ] {
        for params in [&null, &missing] {
            assert_eq!(shown(source, params), expected, "{source}");
        }
    }
    let nobody = TemplateVariables { sender: Json::Null, target: None, action: None, ..scene(&null) };
    let rendered = |source| {
        let source = TemplateSource { text: TextKind::Body, source };
        LazyTemplate::default().render(source, &nobody, &AtomicUsize::new(0)).map_err(|flaw| flaw.kind)
    };
    assert_eq!(rendered("{{ sender.name or target.id or action or 'nobody' }}").as_deref(), Ok("nobody"));
    assert_eq!(rendered("{% if action == 'like' %}liked{% else %}{{ 'new' }}{% endif %}").as_deref(), Ok("new"));
    assert_eq!(rendered("{{ sender is defined }}{{ target is none }}{{ 1 if sender }}").as_deref(), Ok("FalseTrue"));
    for source in ["{{ sender }}", "{{ sender.name }}", "{{ target ~ '' }}", "{{ action }}", "{{ action|upper }}"] {
        assert_eq!(rendered(source), Err("undefined value".into()), "{source}");
    }
}

#[test]
fn a_value_turns_nothing_around_it() {
    let params = json!({
        "ltr": "Ben", "rtl": "בן", "turn": "Mallory\u{202E}", "end": "M\u{2069}\u{202E}", "lines": "בן\u{202E}\nx",
        "url": "https://shop.example/7", "id": "a\u{202E}b", "marks": "a\u{FDD1}\u{202E}\u{FDD0}b", "names": ["Ben", "בן"], "count": 5,
    });
    for (source, expected) in [
        ("{{ params.ltr }} commented", "Ben commented"),
        ("{{ params.rtl }} commented", "\u{2068}בן\u{2069} commented"),
        ("{{ params.turn }} commented", "\u{2068}Mallory\u{202E}\u{202C}\u{2069} commented"),
        ("{{ params.end }} commented", "\u{2068}M\u{202E}\u{202C}\u{2069} commented"),
        ("{{ params.marks }} commented", "\u{2068}a\u{FFFD}\u{202E}\u{FFFD}b\u{202C}\u{2069} commented"),
        ("{{ params.ltr }} and {{ params.rtl }}", "\u{2068}Ben\u{2069} and \u{2068}בן\u{2069}"),
        ("{{ params.ltr }} הגיב", "\u{2068}Ben\u{2069} הגיב"),
        ("{{ params.rtl ~ ' likes ' ~ params.count }}", "\u{2068}בן\u{2069} likes \u{2068}5\u{2069}"),
        ("{{params.rtl~'x'}}{{ {'a': 1}['a'] ~ -1 }}", "\u{2068}בן\u{2069}x\u{2068}1\u{2069}\u{2068}-1\u{2069}"),
        ("{{ params.names|join(', ') }} like it", "\u{2068}Ben\u{2069}, \u{2068}בן\u{2069} like it"),
        ("{{ params.names|join~'!' }}", "\u{2068}Ben\u{2069}\u{2068}בן\u{2069}!"),
        ("{% for n in params.names %}{{ n }};{% endfor %}", "\u{2068}Ben\u{2069};\u{2068}בן\u{2069};"),
        ("{{ 'one' if params.count == 1 else 'רבים' }}", "רבים"),
        (
            "{% set who = params.turn ~ ' commented' %}- {{ who }}",
            "- \u{2068}Mallory\u{202E}\u{202C} commented\u{2069}",
        ),
        ("- {{ '{} commented'|replace('{}', params.turn) }}", "- \u{2068}Mallory\u{202E}\u{202C} commented\u{2069}"),
        ("- {{ params.turn + ' commented' }}", "- \u{2068}Mallory\u{202E}\u{202C} commented\u{2069}"),
        ("by {{ params.lines }}", "by \u{2068}בן\u{202E}\u{202C}\u{2069}\n\u{2068}x\u{2069}"),
        ("{{ params.rtl }}", "בן"),
        (" {{ params.turn }} ", "Mallory\u{202E}\u{202C}"),
        ("a\u{202E}b\nc", "a\u{202E}b\u{202C}\nc"),
        ("\u{202B}{{ params.ltr }}\u{202C} x", "\u{202B}\u{2068}Ben\u{2069}\u{202C} x"),
        ("א: {{ params.url }}, /o/{{ params.count }}", "א: https://shop.example/7, /o/\u{2068}5\u{2069}"),
        (
            "א: https://shop.example/{{ params.count }}/{{ params.ltr|urlencode }} {{ params.ltr }}",
            "א: https://shop.example/5/Ben \u{2068}Ben\u{2069}",
        ),
    ] {
        assert_eq!(shown(source, &params), expected, "{source}");
    }
    let in_form = |text: TextKind, source: &str| {
        let rendered =
            LazyTemplate::default().render(TemplateSource { text, source }, &scene(&params), &AtomicUsize::new(0));
        text.clean_rendered(&rendered.unwrap())
    };
    assert_eq!(in_form(TextKind::Link, "/u/{{ params.id }}").unwrap(), "/u/a\u{202E}b");
    assert_eq!(in_form(TextKind::Link, "{{ '/u/' ~ params.id|urlencode }}").unwrap(), "/u/a%E2%80%AEb");
    assert_eq!(
        in_form(
            TextKind::LetterHtml,
            "<a title='>' href=\"/u/{{ params.rtl }}\"><b>{{ params.ltr }}</b> א</a><!-- ' --> {{ '<' ~ params.count }}"
        ),
        Some("<a title='>' href=\"/u/בן\"><b>\u{2068}Ben\u{2069}</b> א</a><!-- ' --> &lt;\u{2068}5\u{2069}".into())
    );
    assert_eq!(
        in_form(TextKind::Title, "a\n {{ params.lines }}\u{2028}\0b").unwrap(),
        "a  \u{2068}בן\u{202E} x\u{202C}\u{2069} b"
    );
    assert_eq!(in_form(TextKind::Title, "{{ params.turn|replace('Mallory', '\u{200B}') }}"), None);
    assert_eq!(in_form(TextKind::Body, "a\r\nb\u{2028}c\u{1}").unwrap(), "a\r\nb\nc");
}

#[test]
fn texts_are_cut_where_people_see_a_character_end() {
    let family = "👨\u{200D}👩\u{200D}👧";
    let params = json!({ "family": format!("{family}{family}"), "flags": "🇩🇪🇫🇷", "accent": "e\u{301}a\u{301}" });
    for (source, expected) in [
        ("{{ params.family|truncate(6) }}", format!("{family}…")),
        ("{{ params.flags|truncate(3) }}", "🇩🇪…".into()),
        ("{{ params.accent|truncate(3, '') }}", "e\u{301}".into()),
        ("{{ params.family|first }}{{ params.flags|last }}", format!("{family}🇫🇷")),
        ("{{ params.accent[0] }}{{ params.accent[-1] }}{{ params.flags.1 }}", "e\u{301}a\u{301}🇫🇷".into()),
        ("{{ params.accent[9]|default('-') }}", "-".into()),
    ] {
        assert_eq!(shown(source, &params), expected, "{source}");
    }
    let title = |text: &str| TextKind::Title.clean_rendered(text).unwrap();
    assert_eq!(title(&format!("{}{family}", "x".repeat(252))), format!("{}…", "x".repeat(252)));
    assert_eq!(title(&format!("a{}", "\u{301}".repeat(300))), "…");
    let long = title(&format!("x\u{2068}{}\u{2069}", "א".repeat(300)));
    assert!(long.ends_with("\u{2069}…") && long.chars().count() == 256, "{long}");
}
