//! Rows of a query result and their hashes.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::columns::{ColumnValues, id_text};
use crate::fingerprint::fingerprint;
use crate::json::canonicalize;
use crate::validate;
use base::error::{Error, Result};

/// A row of a result.
#[derive(Clone, Debug)]
pub struct ResultRow {
    pub columns: ColumnValues,
    /// 128 bits of the SHA-256 of its key, as text.
    pub key_hash: String,
    /// 64 bits of the SHA-256 of all its columns, in canonical order.
    pub content_hash: i64,
}

impl ResultRow {
    /// The key columns with their values.
    pub fn key_values(&self, columns: &[String]) -> ColumnValues {
        columns.iter().filter_map(|column| Some((column.clone(), self.columns.get(column)?.clone()))).collect()
    }
}

/// Prepares the rows of a result. Fails if two rows have the same key, a key column is missing, or a row is too large
/// for a notification.
pub fn prepare_rows(all: Vec<ColumnValues>, key: &[String]) -> Result<Vec<ResultRow>> {
    let mut places: HashMap<String, usize> = HashMap::with_capacity(all.len());
    let mut rows = Vec::with_capacity(all.len());
    for (place, columns) in all.into_iter().enumerate() {
        let row = prepare_row(columns, key).map_err(|error| error.with_field_prefix(&row_name(place)))?;
        if let Some(other) = places.insert(row.key_hash.clone(), place) {
            return Err(Error::bad_input(row_name(place), format!("has the same key as the row at {other}")));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The name of a row in errors.
pub fn row_name(place: usize) -> String {
    format!("rows[{place}]")
}

fn prepare_row(columns: ColumnValues, key: &[String]) -> Result<ResultRow> {
    let mut said = Sha256::new();
    for column in key {
        let text = id_text(&columns, column)?;
        validate::body(column, &text, validate::BODY_BYTES / 8)?;
        said.update(u64::try_from(text.len()).map_err(Error::internal)?.to_be_bytes());
        said.update(text);
    }
    let key_hash = URL_SAFE_NO_PAD.encode(&said.finalize()[..16]);
    let written = serde_json::to_string(&columns).map_err(Error::internal)?;
    validate::body("", &written, validate::BODY_BYTES)?;
    let mut sorted: Vec<(&String, Value)> =
        columns.iter().map(|(column, value)| (column, canonicalize(value))).collect();
    sorted.sort_by_key(|(column, _)| *column);
    let content_hash = fingerprint(&serde_json::to_vec(&sorted).map_err(Error::internal)?);
    Ok(ResultRow { columns, key_hash, content_hash })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(all: &[Value], key: &[&str]) -> Result<Vec<ResultRow>> {
        let all = all.iter().map(|row| row.as_object().expect("a row is an object").clone()).collect();
        prepare_rows(all, &key.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn rows_are_told_apart_by_their_keys_and_changes_by_the_rest() {
        let all = [json!({ "a": "1", "b": "23", "c": 1 }), json!({ "a": "12", "b": "3", "c": 1 })];
        let first = read(&all, &["a", "b"]).expect("they have keys");
        assert_ne!(first[0].key_hash, first[1].key_hash);
        let other = read(&[json!({ "c": 2, "b": "23", "a": "1" })], &["a", "b"]).expect("it has a key");
        assert_eq!(other[0].key_hash, first[0].key_hash);
        assert_ne!(other[0].content_hash, first[0].content_hash);
        let same = read(&[json!({ "c": 1, "b": "23", "a": "1" })], &["a", "b"]).expect("it has a key");
        assert_eq!(same[0].content_hash, first[0].content_hash);
        // The same key from any driver: as a number or as text.
        assert_eq!(
            read(&[json!({ "a": 1 })], &["a"]).expect("a key")[0].key_hash,
            read(&[json!({ "a": "1" })], &["a"]).expect("a key")[0].key_hash
        );
    }

    #[test]
    fn rows_that_are_none_are_named() {
        let large = "x".repeat(20_000);
        for (all, field) in [
            (vec![json!({ "a": 1 }), json!({ "a": null })], "rows[1].a"),
            (vec![json!({ "b": 1 })], "rows[0].a"),
            (vec![json!({ "a": [1] })], "rows[0].a"),
            (vec![json!({ "a": 1 }), json!({ "a": 2 }), json!({ "a": 1 })], "rows[2]"),
            (vec![json!({ "a": 1, "b": large })], "rows[0]"),
        ] {
            let refused = read(&all, &["a"]).expect_err(field);
            assert!(matches!(&refused, Error::BadInput { field: of, .. } if of == field), "{field}: {refused:?}");
        }
    }
}
