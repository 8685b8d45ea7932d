//! Canonical JSON for comparisons.

use serde_json::{Number, Value};

/// Significant digits that a 64-bit float always preserves.
const EXACT: usize = 15;

/// Sorts keys, and converts each number to 64 bits if that keeps its value: `1.50` and `1.5` become equal, and
/// fingerprints stay as they were when all numbers had 64 bits.
pub fn canonicalize(value: &Value) -> Value {
    match value {
        Value::Number(of) => Value::Number(narrow_number(of)),
        Value::Array(entries) => entries.iter().map(canonicalize).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(name, field)| (name.clone(), canonicalize(field))).collect();
            fields.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            fields.into_iter().collect()
        }
        plain => plain.clone(),
    }
}

/// The number in 64 bits, or unchanged if that would change its value.
pub fn narrow_number(of: &Number) -> Number {
    if of.is_i64() || of.is_u64() {
        return of.as_i64().map(Number::from).or_else(|| of.as_u64().map(Number::from)).unwrap_or_else(|| of.clone());
    }
    let float = of.as_f64().and_then(Number::from_f64);
    let is_same = |float: &Number| {
        let digits = DecimalDigits::parse(of.as_str());
        digits.significant.len() <= EXACT || digits == DecimalDigits::parse(float.as_str())
    };
    float.filter(is_same).unwrap_or_else(|| of.clone())
}

/// The value of a number, independent of its notation.
#[derive(PartialEq, Eq)]
struct DecimalDigits {
    is_negative: bool,
    /// Without leading and trailing zeros.
    significant: String,
    /// The power of ten of the last digit; 0 if there are no digits.
    exponent: i64,
}

impl DecimalDigits {
    fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (is_negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |mantissa| (true, mantissa));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_end_matches('0');
        let cut = i64::try_from(all.len() - significant.len()).unwrap_or(i64::MAX);
        let decimals = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        let significant = significant.trim_start_matches('0').to_owned();
        let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX).saturating_add(cut).saturating_sub(decimals);
        Self { is_negative, exponent: if significant.is_empty() { 0 } else { exponent }, significant }
    }
}

#[cfg(test)]
mod tests {

    fn canonical(text: &str) -> String {
        super::canonicalize(&serde_json::from_str(text).unwrap()).to_string()
    }

    #[test]
    fn what_says_the_same_is_the_same() {
        for (text, is) in [
            ("1.50", "1.5"),
            ("1e2", "100.0"),
            ("15E-1", "1.5"),
            ("-0", "0"),
            ("0.1", "0.1"),
            ("0.30000000000000004", "0.30000000000000004"),
            ("0.300000000000000040", "0.30000000000000004"),
            ("18446744073709551615", "18446744073709551615"),
            (
                r#"{"b":1,"a":{"d":[2.0,{"z":null,"y":true}],"c":"x"}}"#,
                r#"{"a":{"c":"x","d":[2.0,{"y":true,"z":null}]},"b":1}"#,
            ),
        ] {
            assert_eq!(canonical(text), is, "{text}");
        }
    }

    #[test]
    fn what_has_more_digits_than_a_float_stays_as_it_is() {
        for text in ["18446744073709551616", "0.1234567890123456789", "-100000000000000000001e+5", "1e+400"] {
            assert_eq!(canonical(text), text);
        }
    }
}
