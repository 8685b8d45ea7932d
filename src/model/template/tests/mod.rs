//! What templates may do, and that none of them costs others anything.

mod attacks;
mod chance;

use std::sync::atomic::AtomicUsize;
use std::thread;

use serde_json::{Value as Json, json};

use super::compiled::ROOM;
use super::known::Known;
use super::{Scene, TargetScene, Template, Text, check};

/// Half of a worker's stack. Threads of the tests have 2 MiB as well.
const STACK: usize = 1024 * 1024;

/// What became of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// It may not be saved.
    Refused(String),
    /// It cannot be shown.
    Failed(String),
    Shown(String),
}

impl std::fmt::Display for Outcome {
    /// Its beginning: some are long.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format!("{self:?}").chars().take(200).collect::<String>())
    }
}

/// Saves a source as a body, reads it as one that was stored before, and renders it: all on a small stack.
fn outcome(source: &str, params: &Json) -> Outcome {
    let (source, params) = (source.to_owned(), params.clone());
    let work = move || {
        let saved = check(&Template { title: "x".into(), body: Some(source.clone()), link: None });
        let (stored, kept) = (Known::default(), AtomicUsize::new(0));
        let is_sound = stored.flaw(&source, &kept).is_none();
        let text = stored.render(&source, &scene(&params), &kept);
        assert!(is_sound || saved.is_err() && text.is_err(), "what cannot be read is not saved: {source}");
        match (saved, text) {
            (Err(why), _) => Outcome::Refused(why.to_string()),
            (_, Ok(text)) => Outcome::Shown(text),
            (_, Err(flaw)) => Outcome::Failed(flaw.to_string()),
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

fn scene(params: &Json) -> Scene<'_> {
    let sender = json!({ "id": "ben", "name": "Ben", "avatarUrl": null, "locale": "de" });
    Scene {
        params,
        data: params,
        sender,
        target: Some(TargetScene { r#type: "doc", id: "7" }),
        action: Some("like"),
        shown: None,
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
        ("{{ -params.count ~ (1, 2) ~ [params.count, {'a': none}] ~ true }}", "-3(1, 2)[3, {'a': None}]True"),
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
        ("{{ 1 is odd 2 }}", "not allowed (line 1): an argument of a test without brackets"),
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
    let shown = |text: Text, source: &str| {
        let rendered = Known::default().render(source, &scene(&params), &AtomicUsize::new(0));
        text.shown(&rendered.ok()?)
    };
    assert_eq!(shown(Text::Title, "{{ params.text }}"), Some("é".repeat(255) + "…"));
    assert_eq!(shown(Text::Title, &"é".repeat(256)), Some("é".repeat(256)));
    assert_eq!(shown(Text::Body, "{{ params.text }}"), Some("é".repeat(ROOM / 2)));
    assert_eq!(shown(Text::Body, "{{ params.text }}."), None);
    assert_eq!(shown(Text::Link, "/{{ params.text }}"), None);
}
