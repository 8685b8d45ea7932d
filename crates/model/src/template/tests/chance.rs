//! Random templates.
//!
//! `TIDINGS_TEST_TEMPLATES` sets how many there are, and `TIDINGS_TEST_SEED` (a number) sets the seed.

use proptest::prelude::RngExt;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value as Json, json};

use super::super::SOURCE_BYTES;
use super::super::compiled::ROOM;
use super::super::filters::{FILTERS, TESTS};
use super::super::texts::BODY_BYTES;
use super::{Outcome, outcome};

const NAMES: [&str; 15] = [
    "params",
    "params.text",
    "params.text",
    "params.list",
    "params.list",
    "params.map",
    "params.deep",
    "sender.name",
    "target",
    "action",
    "a",
    "a",
    "b",
    "loop",
    "loop.index",
];
const VALUES: [&str; 12] = [
    "'x'",
    "\"é \"",
    "''",
    "0",
    "1",
    "2",
    "1000000000",
    "170141183460469231731687303715884105727",
    "1e308",
    "0.1",
    "true",
    "none",
];
const OPERATORS: [&str; 24] = [
    "+",
    "+",
    "~",
    "~",
    "~",
    "~",
    "-",
    "*",
    "/",
    "//",
    "%",
    "==",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    " and ",
    " or ",
    " or ",
    " in ",
    " in ",
    " not in ",
    " if true else ",
];
/// Fragments of templates; many combinations are invalid.
const PIECES: [&str; 56] = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{{-",
    "-}}",
    "{%-",
    "+%}",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "|",
    ".",
    ",",
    ":",
    "=",
    "~",
    "+",
    "-",
    "*",
    "**",
    "\n",
    "\0",
    "é",
    "x",
    "1",
    "_",
    "is",
    "not",
    "in",
    "if",
    "else",
    "elif",
    "endif",
    "for",
    "endfor",
    "set",
    "raw",
    "endraw",
    "macro m()",
    "recursive",
    "|format",
    "|counted",
    "range(9)",
    "namespace()",
    "include",
    "block",
    " is odd 1",
];

#[test]
fn whatever_a_template_is_it_is_refused_or_fails_or_is_shown() {
    let cases = setting("TIDINGS_TEST_TEMPLATES").unwrap_or(400);
    let mut chance = Chance(rng());
    let mut became = [0; 3];
    for _ in 0..cases {
        let (source, params) = (chance.source(), chance.params());
        let place = match outcome(&source, &params) {
            Outcome::Refused(_) => 0,
            Outcome::Failed(_) => 1,
            Outcome::Shown(text) if text.len() <= ROOM => 2,
            Outcome::Shown(_) => panic!("{source} becomes too long"),
        };
        became[place] += 1;
    }
    assert!(became.iter().all(|many| *many > cases / 20), "refused, failed and shown: {became:?}");
}

/// A random generator.
struct Chance(TestRng);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }

    /// A number of repetitions; large numbers are rare.
    fn amount(&mut self) -> usize {
        let most = [1, 2, 3, 4, 8, 40, 200, 3000][self.below(8)];
        self.below(most + 1)
    }

    fn repeated(&mut self, text: &str) -> String {
        text.repeat(self.amount().min(SOURCE_BYTES / (text.len() + 1)))
    }

    fn source(&mut self) -> String {
        let mut source = match self.below(12) {
            0 => (0..self.below(200)).map(|_| char::from(self.0.random::<u8>())).collect(),
            1 => (0..self.below(60)).map(|_| self.one(&PIECES)).collect(),
            _ => self.statements(4),
        };
        for _ in 0..self.below(8).saturating_sub(5) {
            let at = source.floor_char_boundary(self.below(source.len() + 1));
            source.insert_str(at, self.one(&PIECES));
        }
        source.truncate(source.floor_char_boundary(SOURCE_BYTES));
        source
    }

    fn statements(&mut self, depth: usize) -> String {
        (0..=self.below(4)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: usize) -> String {
        let value = self.expression(4);
        match self.below(if depth == 0 { 8 } else { 14 }) {
            0 => "text \n{# text #}{% raw %}{{ {% endraw %}".into(),
            1..4 => format!("{{% set {} = {value} %}}", self.one(&["a", "a", "b", "params"])),
            4..8 => format!("{{{{ {value} }}}}"),
            8 => {
                let inner = self.statements(depth - 1);
                self.repeated(&inner)
            }
            9 | 10 => {
                let (yes, no) = (self.statements(depth - 1), self.statements(depth - 1));
                format!("{{% if {value} %}}{yes}{{% elif not {value} %}}{no}{{% else %}}{no}{{% endif %}}")
            }
            _ => {
                let entries = self.one(&["params.list", "params.text", "params.map|items", "params.list if a"]);
                let names = self.one(&["a", "b", "b", "a, b"]);
                format!("{{% for {names} in {entries} %}}{}{{% else %}}0{{% endfor %}}", self.statements(depth - 1))
            }
        }
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(4) == 0 {
            return if self.below(3) == 0 { self.one(&VALUES) } else { self.one(&NAMES) }.into();
        }
        let inner = self.expression(depth - 1);
        match self.below(16) {
            0..5 => format!("{inner}{}{}", self.one(&OPERATORS), self.expression(depth - 1)),
            5 => format!("({inner})"),
            6 => format!("{}{inner}", self.one(&["-", "not ", "not not "])),
            7..11 => format!("{inner}|{}", self.one(&FILTERS)),
            11 => format!("{inner}|{}({})", self.one(&FILTERS), self.expression(depth - 1)),
            12 => {
                let (one, other) = (self.expression(depth - 1), self.expression(depth - 1));
                match self.below(4) {
                    0 => format!("{inner}|plural(one={one}, other={other})"),
                    1 => format!("{inner}|date('full')|list|number"),
                    _ => format!("{inner}|replace({one}, {other})"),
                }
            }
            13 => format!("{inner} is {}", self.one(&TESTS)),
            14 => match self.below(3) {
                0 => format!("{inner}[{}]", self.expression(depth - 1)),
                1 => format!("[{inner}, {}]", self.expression(depth - 1)),
                _ => format!("{{'x': {inner}, 1: {}}}", self.expression(depth - 1)),
            },
            _ => {
                let link = format!("{inner}{}", self.one(&OPERATORS));
                self.repeated(&link) + "1"
            }
        }
    }

    /// Random parameters of a notification.
    fn params(&mut self) -> Json {
        loop {
            let params = self.anything();
            if params.to_string().len() <= BODY_BYTES {
                return params;
            }
        }
    }

    fn anything(&mut self) -> Json {
        let text = self.one(&["x", "é", "ab ", "\u{200b}", "12"]);
        let entry = [json!(0), json!("secret"), json!([]), json!(1e300), json!({ "name": "x" })][self.below(5)].clone();
        let map: Json = (0..self.amount().min(1000)).map(|place| (format!("k{place}"), entry.clone())).collect();
        let deep = (0..self.amount().min(120)).fold(json!("secret"), |inner, _| json!([inner]));
        json!({ "text": self.repeated(text), "list": vec![entry; self.amount()], "map": map, "deep": deep })
    }
}

fn rng() -> TestRng {
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&setting("TIDINGS_TEST_SEED").unwrap_or(0).to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &seed)
}

#[expect(clippy::disallowed_methods, reason = "the tests' own settings, which the server does not have")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("the setting is a number"))
}
