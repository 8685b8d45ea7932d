//! What cargo cannot check about the structure. The floors are crates, so cargo checks those.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the server, without comments and unit tests.
fn product_sources() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut waiting = vec![root.join("src")];
    waiting.extend(fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src")));
    let mut sources = BTreeMap::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("mod tests {").next().unwrap_or_default();
            let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            sources.insert(path.strip_prefix(root).unwrap().to_owned(), lines.collect::<Vec<_>>().join("\n"));
        }
    }
    assert!(sources.len() > 400, "the sources are not seen");
    sources
}

#[test]
fn statements_by_hand_stand_in_files_of_their_own() {
    for (path, text) in product_sources() {
        let is_theirs = path.ends_with("queries.rs") || path.starts_with("crates/store");
        assert!(is_theirs || !text.contains("SqlBuilder"), "{} writes statements by hand", path.display());
    }
}

#[test]
fn the_time_and_the_environment_are_read_in_one_place() {
    for (path, text) in product_sources() {
        // The command line hands the environment to the settings.
        if path.starts_with("crates/base")
            || path.ends_with("src/main.rs")
            || path.components().any(|c| c.as_os_str() == "tests")
        {
            continue;
        }
        for foreign in ["SystemTime::now", "Utc::now", "Local::now", "env::var(", "env::vars("] {
            assert!(!text.contains(foreign), "{} uses {foreign}", path.display());
        }
    }
}

#[test]
fn a_folder_shows_each_noun_once() {
    let sources = product_sources();
    for path in sources.keys() {
        let folder = path.with_extension("");
        let is_doubled = sources.keys().any(|other| other.starts_with(&folder));
        assert!(!is_doubled, "{} stands beside its folder", path.display());
    }
}
