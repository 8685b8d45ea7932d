//! Templates meant to exhaust the server. Each of them, or a similar one, once did.

use serde_json::{Value as Json, json};

use super::super::SOURCE_BYTES;
use super::super::compiled::ROOM;
use super::{Outcome, outcome};

fn within(open: &str, many: usize, inner: &str, close: &str) -> String {
    format!("{{{{ {}{inner}{} }}}}", open.repeat(many), close.repeat(many))
}

fn assert_refused(source: &str, kind: &str) {
    let found = outcome(source, &Json::Null);
    let is_it =
        matches!(&found, Outcome::Refused(why) if why.starts_with(&format!("`body` does not compile: {kind} (line ")));
    assert!(is_it, "{source:.200}: {found}");
}

fn assert_fails(source: &str, params: &Json, kind: &str) {
    let found = outcome(source, params);
    let is_it = matches!(&found, Outcome::Failed(why) if why.starts_with(kind));
    assert!(is_it, "{source:.200}: {found}");
}

#[test]
fn nothing_nests_so_deep_that_a_stack_ends() {
    for many in [101, 2000, 6000, 8000] {
        for (open, inner, close) in [
            ("-", "1", ""),
            ("not ", "1", ""),
            ("", "1", "+1"),
            ("", "1", "~1"),
            ("", "1", "*1"),
            ("", "1", "==1"),
            ("", "1", " in 1"),
            ("", "1", " or 1"),
            ("", "a", ".a"),
            ("", "a", "[0]"),
            ("", "a", "|d"),
            ("", "a", " is odd"),
            ("", "1", " if 1 else 1"),
            ("1 if ", "1", ""),
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("{1:", "1", "}"),
            ("{'a':", "1", "}"),
            ("a[", "1", "]"),
            ("a|d(", "1", ")"),
            ("a|d(a=", "1", ")"),
            ("(-", "1", "|d)"),
        ] {
            let source = within(open, many, inner, close);
            if source.len() <= SOURCE_BYTES {
                let Outcome::Refused(why) = outcome(&source, &Json::Null) else { panic!("{source:.200} is allowed") };
                assert!(why.contains("too deep") || why.contains("too long"), "{source:.200}: {why}");
            }
        }
        for (open, close) in [("if a", "endif"), ("for a in a", "endfor")] {
            let source =
                format!("{}{}", format!("{{% {open} %}}").repeat(many), format!("{{% {close} %}}").repeat(many));
            if source.len() <= SOURCE_BYTES {
                assert_refused(&source, if many < 400 { "too deep" } else { "too long" });
            }
        }
    }
    assert_refused(&format!("{{% for {}a in a %}}{{% endfor %}}", "(".repeat(900)), "syntax error");
    assert_refused(&format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(32)), "too deep");
    assert_refused(&"{{a}}".repeat(3000), "too long");
    assert_refused(&format!("{{{{ {} }}}}", "a".repeat(129)), "too long");
}

#[test]
fn what_nests_as_deep_as_it_may_fits_a_small_stack() {
    let brackets = within("(", 6, &format!("params{}", "~1".repeat(60)), ")");
    let indexes = within("-(", 5, &format!("params{}", "[0]".repeat(6)), " ~ 1)");
    let lists = within("[", 6, &format!("{}params", "-".repeat(60)), "]");
    for inner in
        [brackets, indexes, lists, format!("{{{{ params{} }}}}", ".a".repeat(64)), within("a|d(", 6, "params", ")")]
    {
        let (ifs, loops) = ("{% if 1 %}".repeat(28), "{% for a in [1] %}".repeat(4));
        let (endifs, endloops) = ("{% endif %}".repeat(28), "{% endfor %}".repeat(4));
        let found = outcome(&format!("{ifs}{loops}{inner}{endloops}{endifs}"), &json!("x"));
        assert!(!matches!(found, Outcome::Refused(_)), "{inner}: {found}");
    }
    let elifs = format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(31));
    assert_eq!(outcome(&elifs, &Json::Null), Outcome::Shown(String::new()));
}

#[test]
fn what_holds_itself_or_calls_itself_is_not_to_be_had() {
    for source in [
        "{% set n = namespace() %}{% set n.a = n %}{{ n }}",
        "{{ namespace(a=1) }}",
        "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('x') }}",
        "{% for a in [[1]] recursive %}{{ loop(a) }}{% endfor %}",
        "{% for a in [1] %}{{ loop.cycle() }}{% endfor %}",
        "{% call x() %}{% endcall %}",
        "{% do loop() %}",
        "{% block x %}{{ self.x() }}{% endblock %}",
        "{% include 'Body of type' %}",
        "{% extends 'Body of type' %}",
        "{% import 'Body of type' as x %}",
        "{% from 'Body of type' import x %}",
        "{% with a = 1 %}{% endwith %}",
        "{% filter upper %}{% endfilter %}",
        "{% autoescape 'json' %}{% endautoescape %}",
        "{% set x %}{% for a in params %}12345678{% endfor %}{% endset %}",
        "{{ debug() }}{{ dict(a=1) }}{{ range(99999) }}",
        "{{ super() }}",
    ] {
        let found = outcome(source, &Json::Null);
        assert!(matches!(found, Outcome::Refused(_)), "{source}: {found}");
    }
}

#[test]
fn nothing_is_repeated_or_filled_up_at_will() {
    for source in [
        "{{ '%1000000000d'|format(1) }}",
        "{{ 'a\nb'|indent(1000000000) }}",
        "{{ [1]|batch(1000000000, 'x') }}",
        "{{ [1]|slice(1000000000, 'x') }}",
        "{{ params|tojson(indent=1000000000) }}",
        "{{ range(99999)|sort|reverse|list }}",
        "{{ 'x'.rjust(1000000000) }}",
        "{{ 10 ** 30 }}",
        "{{ params[::-1] }}",
        "{{ {params: 1, data: 2} }}",
    ] {
        let found = outcome(source, &json!(["x"]));
        assert!(matches!(found, Outcome::Refused(_)), "{source}: {found}");
    }
    let text = json!({ "text": "x".repeat(16_000), "list": vec![1; 8000] });
    for source in [
        "{{ 'x' * 1000000000 }}",
        "{{ 100000000 * 'x' * 1 }}",
        "{{ [1] * 100000000 }}",
        "{{ ('x' or 1) * 100000000 }}",
        "{{ 1 + 'x' * 100000000 }}",
        "{{ params.list * 1000 }}",
        "{{ -1 * (1, 2) }}",
    ] {
        assert_fails(source, &text, "invalid operation");
    }
    for source in [
        "{{ params.text|replace('x', params.text)|replace('x', params.text) }}",
        "{{ params.text|replace('', params.text) }}",
        "{{ params.list|join(params.text) }}",
        "{{ params.text|join(params.text) }}",
    ] {
        assert_fails(source, &text, "takes too much work");
    }
    assert_fails("{{ params.text }}{{ params.text }}", &text, "becomes too long");
    assert_fails("{{ params.text|urlencode }}", &json!({ "text": "é".repeat(8000) }), "becomes too long");
    assert_fails("{{ params|join }}", &json!(vec![1e300; 2000]), "takes too much work");
}

#[test]
fn nothing_doubles_for_long() {
    let text = json!({ "text": "x".repeat(1000), "list": [1, 2], "many": vec![0; 8000] });
    for step in ["a ~ a", "a + a", "a|replace('x', 'xxxx')", "a|join(a)", "[a, a] ~ a", "{1: a, 'b': a} ~ ''"] {
        let source =
            format!("{{% set a = params.text %}}{}{{{{ a|length }}}}", format!("{{% set a = {step} %}}").repeat(60));
        assert_fails(&source, &text, "takes too much work");
    }
    for step in ["[a, a]", "(a, a)", "{'x': a, 'y': a}", "a + a"] {
        let source = format!("{{% set a = params.list %}}{}", format!("{{% set a = {step} %}}").repeat(60));
        for last in ["{{ a }}", "{{ a ~ '' }}", "{{ a == [a] }}", "{{ 3 in a }}", "{{ a|urlencode }}", "{{ a < a }}"] {
            let found = outcome(&format!("{source}{last}"), &text);
            assert!(matches!(found, Outcome::Failed(_)), "{step} {last}: {found}");
        }
    }
    let loops = "{% for a in params.many %}{% for b in params.many %}x{% endfor %}{% endfor %}";
    assert_fails(loops, &text, "takes too much work");
    assert_fails(
        "{% for a in params.many %}{{ params.text in params.text }}{% endfor %}",
        &text,
        "takes too much work",
    );
    assert_fails(
        "{% for a in params.many %}{% if params == params.many %}{% endif %}{% endfor %}",
        &text,
        "takes too much work",
    );
}

#[test]
fn values_that_nest_deep_are_neither_printed_nor_compared() {
    let deep = (0..120).fold(json!("x"), |inner, _| json!([inner]));
    let objects = (0..120).fold(json!("x"), |inner, _| json!({ "a": inner }));
    for source in
        ["{{ params }}", "{{ params ~ '' }}", "{{ params == data }}", "{{ params in [data] }}", "{{ params < data }}"]
    {
        for params in [&deep, &objects] {
            assert_fails(source, params, "invalid operation");
        }
    }
    assert_eq!(outcome("{{ params[0][0]|length }}", &deep), Outcome::Shown("1".into()));
    let grown = format!("{{% set a = params %}}{}", "{% set a = [a] %}".repeat(110));
    assert_eq!(outcome(&format!("{grown}{{{{ a|length }}}}"), &deep), Outcome::Shown("1".into()));
    assert_fails(&format!("{grown}{{{{ a }}}}"), &deep, "invalid operation");
}

#[test]
fn texts_between_braces_are_written_through_the_cap_too() {
    let source = format!("{{% for a in params %}}{}{{% endfor %}}", "x".repeat(SOURCE_BYTES - 100));
    assert_fails(&source, &json!([1, 2]), "becomes too long");
    assert_eq!(outcome(&"x".repeat(ROOM), &Json::Null), Outcome::Shown("x".repeat(ROOM)));
}
