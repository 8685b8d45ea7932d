//! Checks which modules may import which. It reads the source text, so that dependencies are declared only once.

mod imports;

use std::path::Path;

use imports::{Imports, imports, rings, sources};

/// The modules of `src/`, lowest first. Modules of one line may import each other, but not in a cycle.
const FLOORS: [&[&str]; 14] = [
    &["error", "clock", "config", "fair_semaphore", "json", "telemetry", "text"],
    &["egress", "mail", "push", "source", "vault", "wechat"],
    &["model"],
    &["hub"],
    &["board"],
    &["database"],
    &["auth"],
    &["app"],
    &["domain"],
    &["graphql", "worker"],
    &["http"],
    &["demo"],
    &["command"],
    &["main"],
];

/// The modules of `src/domain`, lowest first. Each imports only those before it.
const NOUNS: [&str; 26] = [
    "ended_session",
    "tenant",
    "catalogue",
    "probe",
    "wants",
    "tally",
    "user",
    "audit",
    "inbox",
    "job",
    "channel",
    "preference",
    "view",
    "overview",
    "notification",
    "rule",
    "lane",
    "webhook",
    "dispatch",
    "mail",
    "wechat",
    "push",
    "outbound",
    "privacy",
    "live",
    "chore",
];

#[test]
fn a_module_knows_only_its_own_floor_and_those_below() {
    let floor = |module: &str| FLOORS.iter().position(|floor| floor.contains(&module));
    for (path, text) in sources("src") {
        let own = path.components().nth(1).expect("it is in src").as_os_str().to_string_lossy().into_owned();
        let own = own.trim_end_matches(".rs");
        if own == "lib" {
            continue;
        }
        let own_floor = floor(own).unwrap_or_else(|| panic!("{own} has no floor"));
        for reference in text.split("crate::").skip(1) {
            let known: String = reference.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            let Some(known_floor) = floor(&known) else { continue };
            assert!(known_floor <= own_floor, "{} uses crate::{known}, which stands above it", path.display());
        }
    }
}

#[test]
fn a_noun_of_the_domain_knows_only_those_below() {
    let place = |noun: &str| NOUNS.iter().position(|of| *of == noun).unwrap_or_else(|| panic!("{noun} has no place"));
    for (of, needed) in imports() {
        let [domain, noun, ..] = of.as_slice() else { continue };
        for needed in needed.iter().filter(|_| domain == "domain") {
            if let [domain, other, ..] = needed.as_slice()
                && domain == "domain"
            {
                assert!(place(other) <= place(noun), "{} knows {}", of.join("/"), needed.join("/"));
            }
        }
    }
}

/// GraphQL objects refer to each other as the API requires, so their files may form cycles.
#[test]
fn no_files_know_each_other_in_a_ring_but_the_objects_of_graphql() {
    let imports = imports();
    assert!(imports.values().map(std::collections::BTreeSet::len).sum::<usize>() > 500, "the imports are not seen");
    for ring in rings(&imports) {
        assert!(ring.iter().all(|of| of[0] == "graphql"), "a ring: {ring:?}");
    }
}

#[test]
fn a_ring_is_seen() {
    let file = |name: &str| vec![name.to_owned()];
    let imports: Imports =
        [("a", "b"), ("b", "c"), ("c", "b")].map(|(of, needed)| (file(of), [file(needed)].into())).into();
    assert_eq!(rings(&imports), [[file("b"), file("c")].into()]);
}

#[test]
fn the_domain_knows_neither_graphql_nor_http() {
    for (path, text) in sources("src/domain") {
        for foreign in ["async_graphql", "axum", "http::"] {
            assert!(!text.contains(foreign), "{} mentions {foreign}", path.display());
        }
    }
}

#[test]
fn values_know_neither_the_application_nor_statements() {
    for (path, text) in sources("src/model") {
        for foreign in ["::App;", "::App}", "crate::app", "Sql", "ConnectionTrait"] {
            assert!(!text.contains(foreign), "{} mentions {foreign}", path.display());
        }
    }
}

#[test]
fn the_crates_beside_know_nothing_of_the_rest() {
    for folder in ["entity/src", "guard/src", "migration/src"] {
        for (path, text) in sources(folder) {
            assert!(!text.contains("tidings::"), "{} mentions tidings", path.display());
        }
    }
}

#[test]
fn statements_by_hand_stand_in_files_of_their_own() {
    for (path, text) in sources("src") {
        let is_theirs = path.ends_with("statement.rs") || path.starts_with(Path::new("src/database"));
        assert!(is_theirs || !text.contains("database::Sql"), "{} writes statements by hand", path.display());
    }
}

#[test]
fn a_folder_shows_each_noun_once() {
    let sources = sources("src");
    for path in sources.keys() {
        let folder = path.with_extension("");
        let is_doubled = sources.keys().any(|other| other.starts_with(&folder));
        assert!(!is_doubled, "{} stands beside its folder", path.display());
    }
}
