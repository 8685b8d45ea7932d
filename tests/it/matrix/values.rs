//! Invalid and hostile input values.

use serde_json::{Value, json};

/// Represents half a surrogate pair, which no Rust string can hold. It is put into the text of the request at the end.
pub const SURROGATE: &str = "@@surrogate@@";

/// Hostile values for a place of any type.
pub fn hostile(of: &str, foreign: &Value) -> Vec<Value> {
    let mut values = vec![json!(null), json!([]), json!({}), json!([[[]]]), json!({ "a": { "b": [] } }), json!(true)];
    let texts = [
        "",
        " ",
        "'; DROP TABLE notification; --",
        "\" OR 1=1; --",
        "` UNION ALL -- \\",
        "a\0b",
        "a\r\nSet-Cookie: a=b\r\n\r\n",
        "{{ 7 * 7 }}{% for a in range(1000000000) %}{% endfor %}",
        "%s%n%x ${jndi:ldap://x} $(id)",
        "../../../../etc/passwd",
        "\u{202e}\u{feff}\u{fffd}\u{10ffff}",
        "-1",
        "9223372036854775808",
        SURROGATE,
    ];
    let numbers = [
        json!(0),
        json!(-1),
        json!(i32::MIN),
        json!(i64::from(i32::MAX) + 1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1.5),
        json!(1e300),
        json!(-1e300),
    ];
    if matches!(of, "Int" | "Boolean") {
        values.extend(texts.iter().take(3).map(|text| json!(text)));
        values.extend(numbers);
    } else {
        values.extend(texts.iter().map(|text| json!(text)));
        values.extend(numbers.into_iter().take(5));
        values.push(foreign.clone());
        values.push(json!("x".repeat(1_000_000)));
        values.push(json!("\u{1f600}".repeat(300)));
    }
    values.push(json!(vec!["x"; 10_001]));
    values
}
