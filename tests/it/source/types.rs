//! Each type of each kind, as JSON.

use serde_json::{Value, json};
use sources::QueryFailureKind;

use super::{Other, SourceQuery, on_every_source, query, with};
use crate::support::Kind;

/// Checks the JSON of values.
async fn each(other: &Other, cases: &[(&str, Value)]) {
    let values = cases.iter().enumerate().map(|(at, (value, _))| format!("{value} AS c{at}"));
    let row = other.row(&format!("SELECT {}", values.collect::<Vec<_>>().join(", "))).await;
    for (at, (value, expected)) in cases.iter().enumerate() {
        assert_eq!(&row[format!("c{at}")], expected, "{value}");
    }
}

/// Checks that each value fails with the name of its type, which has no JSON form.
async fn none(other: &Other, values: &[&str]) {
    for value in values {
        let failure = other.scan(&format!("SELECT 1 AS id, {value} AS odd")).await.expect_err(value);
        assert_eq!(failure.kind, QueryFailureKind::Failed, "{failure:?}");
        assert!(failure.message.starts_with("the column \"odd\" is of the type "), "{failure:?}");
    }
}

#[tokio::test]
async fn what_postgres_has() {
    with(Kind::Postgres, json!({}), async |other| {
        other.by_hand("CREATE TYPE mood AS ENUM ('sad', 'glad')").await;
        other.by_hand("CREATE DOMAIN grams AS numeric(9, 2)").await;
        let whole = json!({ "a": [1, 2.5, null], "b": { "c": "d" } });
        let text = whole.to_string();
        each(
            other,
            &[
                ("NULL", Value::Null),
                ("NULL::int", Value::Null),
                ("true", json!(true)),
                ("false", json!(false)),
                ("7::smallint", json!(7)),
                ("-7::int", json!(-7)),
                ("9007199254740992::bigint", json!(9_007_199_254_740_992_u64)),
                ("-9007199254740992::bigint", json!(-9_007_199_254_740_992_i64)),
                ("9007199254740993::bigint", json!("9007199254740993")),
                ("(-9223372036854775808)::bigint", json!("-9223372036854775808")),
                ("4294967295::oid", json!(4_294_967_295_u32)),
                ("0.1::real", json!(0.1)),
                ("0.1::float8", json!(0.1)),
                ("'NaN'::float8", json!("NaN")),
                ("'Infinity'::float8", json!("Infinity")),
                ("'-Infinity'::real", json!("-Infinity")),
                ("0::numeric", json!("0")),
                ("1.50::numeric", json!("1.50")),
                ("-12345.678::numeric", json!("-12345.678")),
                ("0.00001::numeric", json!("0.00001")),
                ("0.0::numeric(9,4)", json!("0.0000")),
                ("100000000::numeric", json!("100000000")),
                ("10000.0001::numeric", json!("10000.0001")),
                ("12345678901234567890.123456789::numeric", json!("12345678901234567890.123456789")),
                ("1e-130::numeric * 1e130::numeric", json!(format!("1.{}", "0".repeat(130)))),
                ("'NaN'::numeric", json!("NaN")),
                ("'Infinity'::numeric", json!("Infinity")),
                ("'-Infinity'::numeric", json!("-Infinity")),
                ("12.5::grams", json!("12.50")),
                ("'naïve ✓'::text", json!("naïve ✓")),
                ("'a'::varchar(9)", json!("a")),
                ("'a'::char(3)", json!("a  ")),
                ("'a'::\"char\"", json!("a")),
                ("'a'::name", json!("a")),
                ("'unknown'", json!("unknown")),
                ("'glad'::mood", json!("glad")),
                (&format!("'{text}'::json"), whole.clone()),
                (&format!("'{text}'::jsonb"), whole),
                ("'null'::jsonb", Value::Null),
                ("'0E37DF36-F698-11E6-8DD4-CB9CED3DF976'::uuid", json!("0e37df36-f698-11e6-8dd4-cb9ced3df976")),
                ("'2026-02-28'::date", json!("2026-02-28")),
                ("'1969-12-31'::date", json!("1969-12-31")),
                ("'infinity'::date", json!("infinity")),
                ("'08:00'::time", json!("08:00:00")),
                ("'23:59:59.5'::time", json!("23:59:59.500")),
                ("'24:00'::time", json!("24:00:00")),
                ("'08:00+05:30'::timetz", json!("08:00:00+05:30")),
                ("'08:00-08'::timetz", json!("08:00:00-08:00")),
                ("'2026-03-29 02:30:00'::timestamp", json!("2026-03-29T02:30:00")),
                ("'1999-12-31 23:59:59.000001'::timestamp", json!("1999-12-31T23:59:59.000001")),
                ("'-infinity'::timestamp", json!("-infinity")),
                ("'2026-03-29 02:30:00+02'::timestamptz", json!("2026-03-29T00:30:00Z")),
                ("'2026-10-25 02:30:00.25 Europe/Berlin'::timestamptz", json!("2026-10-25T01:30:00.250Z")),
                ("'infinity'::timestamptz", json!("infinity")),
            ],
        )
        .await;
        let odd = [
            "'\\x00'::bytea",
            "ARRAY[1]",
            "'1 day'::interval",
            "ROW(1, 2)",
            "'1.2.3.4'::inet",
            "'[1,2]'::int4range",
            "1::money",
        ];
        none(other, &odd).await;
    })
    .await;
}

/// The driver reports such columns as blobs, including MariaDB's JSON.
#[tokio::test]
async fn texts_of_mysql_that_are_compared_byte_by_byte_are_texts() {
    with(Kind::Mysql, json!({}), async |other| {
        let of = |name: &str, kind: &str| format!("{name} {kind} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
        let columns = [of("t", "TEXT"), of("v", "VARCHAR(20)"), of("c", "CHAR(5)"), of("l", "LONGTEXT")].join(", ");
        other.by_hand(&format!("CREATE TABLE exact (j JSON, {columns}, b BLOB)")).await;
        other.by_hand("INSERT INTO exact VALUES ('[1]', 'a', 'b', 'c', 'd', 'e')").await;
        let row = other.row("SELECT j, t, v, c, l FROM exact").await;
        let (json, rest) = (row["j"].clone(), [&row["t"], &row["v"], &row["c"], &row["l"]]);
        assert!(json == json!([1]) || json == json!("[1]"), "{json}");
        assert_eq!(rest, ["a", "b", "c", "d"]);
        let failure = other.scan("SELECT b FROM exact").await.unwrap_err();
        assert!(failure.message.contains("blob"), "{failure}");
    })
    .await;
}

#[tokio::test]
async fn what_mysql_has() {
    with(Kind::Mysql, json!({}), async |other| {
        other
            .by_hand(
                "CREATE TABLE t (b BOOLEAN, c BOOLEAN, i1 TINYINT, u1 TINYINT UNSIGNED, i2 SMALLINT, u2 SMALLINT UNSIGNED, \
                 i3 MEDIUMINT, u3 MEDIUMINT UNSIGNED, i4 INT, u4 INT UNSIGNED, i8 BIGINT, u8 BIGINT UNSIGNED, y YEAR, \
                 bits BIT(9), f FLOAT, d DOUBLE, n DECIMAL(30, 4), ch CHAR(5), v VARCHAR(9), t TEXT, m MEDIUMTEXT, \
                 e ENUM('sad', 'glad'), s SET('a', 'b'), date DATE, time TIME(1), long_time TIME, at DATETIME(6), \
                 at0 DATETIME, ts TIMESTAMP(3) NULL, zero DATETIME)",
            )
            .await;
        other
            .by_hand(
                "INSERT IGNORE INTO t VALUES (TRUE, FALSE, -128, 255, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, \
                 -9223372036854775808, 18446744073709551615, 2026, b'100000001', 0.1, 0.1, 12345678901234567890.5, 'a', \
                 'naïve ✓', 'x', 'y', 'glad', 'a,b', '2026-02-28', '08:00:00.5', '-838:59:59', '2026-03-29 02:30:00.000001', \
                 '2026-03-29 00:00:00', '2026-03-29 02:30:00', '0000-00-00')",
            )
            .await;
        let row = other.row("SELECT * FROM t").await;
        let expected = json!({
            "b": true, "c": false, "i1": -128, "u1": 255, "i2": -32768, "u2": 65535, "i3": -8_388_608, "u3": 16_777_215,
            "i4": -2_147_483_648_i64, "u4": 4_294_967_295_u32, "i8": "-9223372036854775808", "u8": "18446744073709551615",
            "y": 2026, "bits": 257, "f": 0.1, "d": 0.1, "n": "12345678901234567890.5000", "ch": "a", "v": "naïve ✓",
            "t": "x", "m": "y", "e": "glad", "s": "a,b", "date": "2026-02-28", "time": "08:00:00.500000",
            "long_time": "-838:59:59", "at": "2026-03-29T02:30:00.000001", "at0": "2026-03-29T00:00:00",
            "ts": "2026-03-29T02:30:00Z", "zero": null,
        });
        for (name, expected) in expected.as_object().unwrap() {
            assert_eq!(&row[name], expected, "{name}");
        }
        each(other, &[
            ("NULL", Value::Null),
            ("9007199254740992", json!(9_007_199_254_740_992_u64)),
            ("9007199254740993", json!("9007199254740993")),
            ("1.50", json!("1.50")),
            ("1 = 1", json!(1)),
            ("'text'", json!("text")),
        ])
        .await;
        other.by_hand("CREATE TABLE odd (bytes VARBINARY(9), blobs BLOB, place POINT)").await;
        other.by_hand("INSERT INTO odd VALUES ('a', 'b', POINT(1, 2))").await;
        for column in ["bytes", "blobs", "place"] {
            let failure = other.scan(&format!("SELECT {column} FROM odd")).await.unwrap_err();
            assert!(failure.message.starts_with(&format!("the column {column:?} is of the type ")), "{failure:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_sqlite_has() {
    with(Kind::Sqlite, json!({}), async |other| {
        other
            .by_hand("CREATE TABLE t (yes BOOLEAN, no BOOLEAN, two BOOLEAN, at DATETIME, n DECIMAL(9, 2), j JSON)")
            .await;
        other.by_hand("INSERT INTO t VALUES (1, 0, 2, '2026-03-29 02:30:00', 1.5, '[1]')").await;
        let row = other.row("SELECT * FROM t").await;
        let expected = json!({ "yes": true, "no": false, "two": 2, "at": "2026-03-29 02:30:00", "n": 1.5, "j": "[1]" });
        assert_eq!(row, expected);
        each(
            other,
            &[
                ("NULL", Value::Null),
                ("7", json!(7)),
                ("9007199254740992", json!(9_007_199_254_740_992_u64)),
                ("9007199254740993", json!("9007199254740993")),
                ("0.1", json!(0.1)),
                ("1e999", json!("Infinity")),
                ("-1e999", json!("-Infinity")),
                ("'naïve ✓'", json!("naïve ✓")),
                ("''", json!("")),
            ],
        )
        .await;
        let found =
            other.scan("SELECT e.value AS a, t.fullkey AS b FROM json_each('[7]') AS e, json_tree('[7]') AS t").await;
        assert_eq!(found.unwrap().rows.len(), 2, "what JSON holds can be rows");
        none(other, &["x'00'", "zeroblob(9)"]).await;
        let failure = other.scan("SELECT CAST(x'ff' AS TEXT) AS odd").await.unwrap_err();
        assert_eq!(failure.message, "the column \"odd\" has a value that cannot be read");
    })
    .await;
}

on_every_source! {
    async fn columns_have_names_of_their_own(other) {
        let failure = other.scan("SELECT 1 AS id, 2 AS id").await.unwrap_err();
        assert_eq!(failure.message, "two columns are called \"id\": rename one of them with AS");
        if other.kind != Kind::Postgres {
            let name = if other.kind == Kind::Mysql { "``" } else { "\"\"" };
            let failure = other.scan(&format!("SELECT 1 AS id, 2 AS {name}")).await.unwrap_err();
            assert_eq!(failure.message, "column 2 has no name: give it one with AS");
        }
    }

    async fn a_value_and_a_result_have_bounds(other) {
        let long = |many: usize| match other.kind {
            Kind::Sqlite => format!("printf('%.*c', {many}, 'x')"),
            _ => format!("repeat('x', {many})"),
        };
        let row = other.row(&format!("SELECT {} AS value", long(65_536))).await;
        assert_eq!(row["value"].as_str().unwrap().len(), 65_536);
        let failure = other.scan(&format!("SELECT {} AS value", long(65_537))).await.unwrap_err();
        assert_eq!(failure.message, "the column \"value\" has a value of more than 64 KiB");

        other.by_hand("CREATE TABLE pallet (id INTEGER NOT NULL)").await;
        let ids: Vec<_> = (0..400).map(|id| format!("({id})")).collect();
        other.by_hand(&format!("INSERT INTO pallet VALUES {}", ids.join(", "))).await;
        let found = other.scan(&format!("SELECT id, {} AS value FROM pallet", long(60_000))).await.unwrap();
        assert!(found.is_truncated);
        assert_eq!(found.rows.len(), 16 * 1024 * 1024 / 60_080, "16 MiB of them");
        let found = other.source().scan(SourceQuery { limit: 200, ..query("SELECT id FROM pallet") }).await.unwrap();
        assert_eq!((found.rows.len(), found.is_truncated), (200, true), "the next one goes as ever");
    }
}
