//! The measured figures of each contender and round, and the results made from them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::{Place, Result, machine, place};

/// The results of a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Results {
    pub what: String,
    pub database: String,
    /// The date.
    pub taken: String,
    /// The commit that was measured.
    pub commit: String,
    pub machine: String,
    pub cases: Vec<Case>,
}

/// Contenders that took turns with the same work.
#[derive(Debug, Serialize, Deserialize)]
pub struct Case {
    pub name: String,
    pub contenders: Vec<Measured>,
}

/// One contender: the values of each figure, by round.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub name: String,
    pub figures: BTreeMap<String, Vec<f64>>,
}

/// Names of figures, with their units.
pub mod named {
    pub const RATE: &str = "requests/s";
    pub const HALF: &str = "p50 ms";
    pub const MOST: &str = "p99 ms";
    pub const SERVER: &str = "CPU µs, server";
    pub const DATABASE: &str = "CPU µs, database";
    pub const REDIS: &str = "CPU µs, Redis";
    pub const CPU: &str = "CPU µs";
    pub const STATEMENTS: &str = "statements";
    pub const ERRORS: &str = "errors";
    pub const MEMORY: &str = "memory MiB";
    pub const TIME: &str = "ms";
    pub const PEAK: &str = "MB more at the peak";
    pub const CORE: &str = "CPU, % of a core";
}

pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

impl Measured {
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    pub fn add(&mut self, figure: &str, value: f64) {
        self.figures.entry(figure.into()).or_default().push(value);
    }

    pub fn median(&self, figure: &str) -> Option<f64> {
        Some(median(self.figures.get(figure)?))
    }
}

impl Case {
    pub fn contender(&self, name: &str) -> Option<&Measured> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// The median over all rounds of one contender's figure divided by another's in the same round.
    pub fn ratio(&self, figure: &str, of: &str, to: &str) -> Option<f64> {
        self.compared(figure, of, to, |of, to| of / to)
    }

    fn compared(&self, figure: &str, of: &str, to: &str, by: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let (of, to) = (self.contender(of)?.figures.get(figure)?, self.contender(to)?.figures.get(figure)?);
        let all: Vec<f64> = of.iter().zip(to).map(|(of, to)| by(*of, *to)).collect();
        Some(median(&all))
    }

    /// A Markdown table with medians and the range of all rounds.
    pub fn table(&self) -> String {
        use named::{CPU, DATABASE, ERRORS, HALF, MEMORY, MOST, RATE, REDIS, SERVER, STATEMENTS};
        let order = [RATE, HALF, MOST, CPU, SERVER, DATABASE, REDIS, STATEMENTS, MEMORY, ERRORS];
        let place = |name: &String| order.iter().position(|known| known == name).unwrap_or(order.len());
        let mut columns: Vec<&String> = Vec::new();
        for column in self.contenders.iter().flat_map(|contender| contender.figures.keys()) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns.retain(|column| *column != ERRORS || self.contenders.iter().any(|of| of.median(ERRORS) > Some(0.0)));
        columns.sort_by_key(|name| place(name));
        let mut text = String::from("| |");
        for column in &columns {
            let _ = write!(text, " {column} |");
        }
        text.push_str("\n| --- |");
        text.push_str(&" ---: |".repeat(columns.len()));
        for contender in &self.contenders {
            let _ = write!(text, "\n| {} |", contender.name);
            for column in &columns {
                let cell = contender.figures.get(*column).map(|rounds| spread(rounds)).unwrap_or_default();
                let _ = write!(text, " {cell} |");
            }
        }
        text.push('\n');
        text
    }
}

fn spread(rounds: &[f64]) -> String {
    let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (least, middle, most) = (number(least), number(median(rounds)), number(most));
    if least == most { middle } else { format!("**{middle}** {least}–{most}") }
}

/// Formats a number with three significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn file(what: &str, database: &str) -> PathBuf {
    place::root().join(format!("bench/results/{what}-{database}.json"))
}

/// Prints the tables of cases.
pub fn print(what: &str, place: &Place, cases: &[Case]) {
    for case in cases {
        println!("\n### {what}, {}: {}\n\n{}", place.database(), case.name, case.table());
    }
}

/// Stores the figures that later gates are compared with.
pub fn accept(what: &str, place: &Place, cases: Vec<Case>) -> Result<()> {
    let said = |program: &str, arguments: &[&str]| -> Result<String> {
        let output = Command::new(program).args(arguments).current_dir(place::root()).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let results = Results {
        what: what.into(),
        database: place.database().into(),
        taken: said("date", &["-u", "+%Y-%m-%d"])?,
        commit: said("git", &["rev-parse", "--short", "HEAD"])?,
        machine: machine::describe(),
        cases,
    };
    let path = file(what, place.database());
    fs::create_dir_all(path.parent().expect("it has a folder"))?;
    fs::write(path, format!("{}\n", serde_json::to_string_pretty(&rounded(serde_json::to_value(&results)?))?))?;
    Ok(())
}

/// Rounds figures to four digits, more than measurements can reproduce.
fn rounded(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) => {
            let value = number.as_f64().unwrap_or_default();
            let digits = if value.abs() < 1.0 { 4 } else { 2 };
            format!("{value:.digits$}").parse().map_or(Value::Null, |value: f64| serde_json::json!(value))
        }
        Value::Array(values) => Value::Array(values.into_iter().map(rounded).collect()),
        Value::Object(fields) => Value::Object(fields.into_iter().map(|(name, of)| (name, rounded(of))).collect()),
        other => other,
    }
}

/// Reads the stored results for a database; `None` if there are none.
pub fn read(what: &str, database: &str) -> Result<Option<Results>> {
    match fs::read(file(what, database)) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Measured, median, number};

    #[test]
    fn a_ratio_is_the_median_of_the_ratios_of_the_rounds() {
        let measured = |name: &str, rounds: [f64; 3]| {
            let mut measured = Measured::new(name);
            for round in rounds {
                measured.add("figure", round);
            }
            measured
        };
        // The machine was slow in the second round, for both.
        let contenders = vec![measured("ours", [90.0, 9.0, 80.0]), measured("theirs", [100.0, 10.0, 100.0])];
        let case = Case { name: "case".into(), contenders };
        assert!((case.ratio("figure", "ours", "theirs").unwrap() - 0.9).abs() < 1e-9);
        assert_eq!(case.ratio("figure", "ours", "nobody"), None);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
    }

    #[test]
    fn a_figure_has_three_digits() {
        assert_eq!([0.0, 0.123, 1.234, 12.34, 1234.0].map(number), ["0", "0.12", "1.23", "12.3", "1234"]);
    }
}
