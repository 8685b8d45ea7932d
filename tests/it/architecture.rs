//! The floors: who may know whom. Checked in the text, so that nothing has to be declared twice.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules of `src/`, lowest first; those of one line may know each other. `app` holds the caches of `domain`, whose
/// operations all take it.
const FLOORS: [&[&str]; 9] = [
    &["error", "clock", "config", "metrics", "operations", "seal", "telemetry"],
    &["hub"],
    &["sql", "database"],
    &["auth"],
    &["app", "domain"],
    &["graphql", "worker"],
    &["http"],
    &["demo"],
    &["main"],
];

fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut waiting = vec![root.join(folder)];
    let mut files = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            files.push((path.strip_prefix(root).unwrap().to_owned(), text));
        }
    }
    files
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// The module of `src/` that a file belongs to.
fn module(path: &Path) -> String {
    let first = path.components().nth(1).expect("it is in src").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

#[test]
fn a_module_knows_only_its_own_floor_and_those_below() {
    for (path, text) in files("src") {
        let own = module(&path);
        if own == "lib" {
            continue;
        }
        let own_floor = floor(&own).unwrap_or_else(|| panic!("{own} has no floor"));
        for reference in text.split("crate::").skip(1) {
            let known: String = reference.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            let Some(known_floor) = floor(&known) else { continue };
            assert!(known_floor <= own_floor, "{} uses crate::{known}, which stands above it", path.display());
        }
    }
}

#[test]
fn every_module_has_a_floor() {
    for (path, _) in files("src") {
        let own = module(&path);
        assert!(own == "lib" || floor(&own).is_some(), "{own} has no floor");
    }
}

#[test]
fn the_domain_knows_neither_graphql_nor_http() {
    for (path, text) in files("src/domain") {
        for foreign in ["async_graphql", "axum", "http::"] {
            assert!(!text.contains(foreign), "{} mentions {foreign}", path.display());
        }
    }
}

#[test]
fn tables_and_migrations_know_nothing_of_the_rest() {
    for folder in ["entity/src", "migration/src"] {
        for (path, text) in files(folder) {
            assert!(!text.contains("tidings::"), "{} mentions tidings", path.display());
        }
    }
}

#[test]
fn statements_by_hand_stand_in_files_of_their_own() {
    for (path, text) in files("src") {
        let is_theirs = path.ends_with("statement.rs") || path == Path::new("src/sql.rs");
        assert!(is_theirs || !text.contains("sql::Sql"), "{} writes statements by hand", path.display());
    }
}
