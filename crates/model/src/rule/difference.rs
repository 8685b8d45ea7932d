//! Compares the rows of a run with the known rows.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use super::row::ResultRow;
use base::clock::Millis;

/// A known row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRow {
    pub content_hash: i64,
    /// The notification sent for it; `None` if it was there at the first run.
    pub notification: Option<i64>,
    pub raised_at: Millis,
    /// Number of the first complete run without the row.
    pub missing_from: Option<i64>,
}

/// How rows are compared.
#[derive(Clone, Copy, Debug)]
pub struct DiffOptions {
    /// Number of this complete run; `None` for a partial report, by which no row can be missing.
    pub complete_no: Option<i64>,
    /// Consecutive complete runs without a row until it counts as gone.
    pub resolve_after: i64,
    pub amends: bool,
    /// Rows last notified at this instant or before are notified again.
    pub repeats_before: Option<Millis>,
}

/// The necessary actions. Numbers are indexes of found rows, strings are key hashes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RowDiff {
    pub new: Vec<usize>,
    pub repeated: Vec<usize>,
    pub changed: Vec<usize>,
    /// Rows that were missing, but had not counted as gone.
    pub back: Vec<String>,
    /// Rows that are missing for the first time and do not count as gone yet.
    pub missing: Vec<String>,
    pub gone: Vec<String>,
}

/// Compares found rows with known rows.
///
/// It may be interrupted at any point: doing part of the result and comparing again returns the rest. Missing rows are
/// counted by the numbers of complete runs, and an interrupted run is repeated under its number.
pub fn diff_rows<S: BuildHasher>(
    known: &HashMap<String, StoredRow, S>,
    found: &[ResultRow],
    how: DiffOptions,
) -> RowDiff {
    let mut all = RowDiff::default();
    let mut seen: HashSet<&str> = HashSet::with_capacity(found.len());
    for (place, row) in found.iter().enumerate() {
        seen.insert(&row.key_hash);
        let Some(of) = known.get(&row.key_hash) else {
            all.new.push(place);
            continue;
        };
        if of.missing_from.is_some() {
            all.back.push(row.key_hash.clone());
        }
        if of.notification.is_none() {
            continue;
        }
        if how.repeats_before.is_some_and(|before| of.raised_at <= before) {
            all.repeated.push(place);
        } else if how.amends && of.content_hash != row.content_hash {
            all.changed.push(place);
        }
    }
    let Some(now) = how.complete_no else { return all };
    for (key, of) in known.iter().filter(|(key, _)| !seen.contains(key.as_str())) {
        if now - of.missing_from.unwrap_or(now) + 1 >= how.resolve_after {
            all.gone.push(key.clone());
        } else if of.missing_from.is_none() {
            all.missing.push(key.clone());
        }
    }
    all.missing.sort_unstable();
    all.gone.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::columns::ColumnValues;

    const HOW: DiffOptions = DiffOptions { complete_no: Some(7), resolve_after: 1, amends: true, repeats_before: None };

    fn known(notification: Option<i64>) -> StoredRow {
        StoredRow { content_hash: 1, notification, raised_at: 1000, missing_from: None }
    }

    fn found(rows: &[(&str, i64)]) -> Vec<ResultRow> {
        let row = |(key, content_hash): &(&str, i64)| ResultRow {
            columns: ColumnValues::new(),
            key_hash: (*key).to_owned(),
            content_hash: *content_hash,
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn what_is_new_changed_or_gone_is_told() {
        let before = HashMap::from([("a", 1), ("b", 2), ("c", 3)].map(|(key, of)| (key.to_owned(), known(Some(of)))));
        let rows = found(&[("b", 1), ("c", 2), ("d", 1)]);
        let all = diff_rows(&before, &rows, HOW);
        assert_eq!((all.new, all.changed, all.gone), (vec![2], vec![1], vec!["a".to_owned()]));
        let all = diff_rows(&before, &rows, DiffOptions { amends: false, ..HOW });
        assert_eq!((all.new, all.changed), (vec![2], vec![]));
        let all = diff_rows(&before, &rows, DiffOptions { complete_no: None, ..HOW });
        assert_eq!((all.new, all.changed, all.gone), (vec![2], vec![1], vec![]));
        assert_eq!(diff_rows(&before, &found(&[("a", 1), ("b", 1), ("c", 1)]), HOW), RowDiff::default());
    }

    #[test]
    fn a_row_is_gone_after_as_many_complete_runs_as_was_said() {
        let how = |complete_no| DiffOptions { complete_no: Some(complete_no), resolve_after: 3, ..HOW };
        let mut before = HashMap::from([("a".to_owned(), known(Some(1)))]);
        assert_eq!(diff_rows(&before, &[], how(7)).missing, ["a"]);
        before.get_mut("a").expect("it is there").missing_from = Some(7);
        // Interrupted, and run again under the same number.
        assert_eq!(diff_rows(&before, &[], how(7)), RowDiff::default());
        assert_eq!(diff_rows(&before, &[], how(8)), RowDiff::default());
        assert_eq!(diff_rows(&before, &[], how(9)).gone, ["a"]);
        assert_eq!(diff_rows(&before, &found(&[("a", 1)]), how(9)).back, ["a"]);
    }

    #[test]
    fn what_stays_is_repeated_but_for_what_was_there_at_first() {
        let before = HashMap::from([("a".to_owned(), known(Some(1))), ("b".to_owned(), known(None))]);
        let rows = found(&[("a", 2), ("b", 2)]);
        let all = diff_rows(&before, &rows, DiffOptions { repeats_before: Some(1000), ..HOW });
        assert_eq!((all.repeated, all.changed), (vec![0], vec![]));
        let all = diff_rows(&before, &rows, DiffOptions { repeats_before: Some(999), ..HOW });
        assert_eq!((all.repeated, all.changed), (vec![], vec![0]));
    }
}
