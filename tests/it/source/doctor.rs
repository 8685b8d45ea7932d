//! The findings of `tidings doctor` about sources.

use serde_json::{Value, json};

use super::with;
use crate::support::{Kind, Process, SECRET};

/// Returns the findings for this sources file, by subject.
fn said(file: &str) -> Vec<(String, bool, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sources.json");
    std::fs::write(&path, file).unwrap();
    let settings = [
        ("DATABASE_URL", "sqlite::memory:"),
        ("TIDINGS_SECRET", SECRET),
        ("TIDINGS_LISTEN", "127.0.0.1:0"),
        ("TIDINGS_SOURCES", path.to_str().unwrap()),
        ("WMS_PASSWORD", "hunter2"),
    ];
    let (is_content, said, log) = Process::command(&["doctor", "--json"], &settings);
    assert!(!said.contains("hunter2") && !log.contains("hunter2"), "{said}{log}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let findings = said["findings"].as_array().unwrap().iter().map(|found| {
        let text = |of: &str| found[of].as_str().unwrap().to_owned();
        (text("what"), found["ok"].as_bool().unwrap(), text("found"))
    });
    let findings: Vec<_> = findings.filter(|(what, ..)| what.starts_with("source")).collect();
    assert_eq!(is_content, findings.iter().all(|(_, is_well, _)| *is_well), "{findings:?}");
    findings
}

#[tokio::test]
async fn doctor_says_of_each_source_how_it_is() {
    with(Kind::Sqlite, json!({}), async |other| {
        let file = json!([
            { "name": "shop", "url": other.database.url, "tenants": "*" },
            { "name": "wms", "url": "postgres://scan:${WMS_PASSWORD}@127.0.0.1:1/wms", "tenants": ["acme"] },
        ]);
        let [(shop, is_well, found), (wms, is_wms_well, why)] = said(&file.to_string()).try_into().unwrap();
        assert_eq!((shop.as_str(), is_well), ("source shop", true), "{found}");
        assert!(found.starts_with("SQLite 3.") && found.ends_with(" answers, and its user can only read"), "{found}");
        assert_eq!((wms.as_str(), is_wms_well), ("source wms", false));
        assert!(why.contains("Connection refused"), "{why}");
    })
    .await;
    with(Kind::Postgres, json!({}), async |other| {
        let file = json!([{ "name": "wms", "url": other.database.url, "tenants": "*" }]);
        let [(_, is_well, found)] = said(&file.to_string()).try_into().unwrap();
        assert!(
            !is_well && found.contains(": its user can do more than read: do anything: it is a superuser"),
            "{found}"
        );
    })
    .await;
}

#[test]
fn doctor_says_what_is_wrong_with_the_file() {
    let [(what, is_well, why)] = said(r#"[{"name": "wms", "url": "postgres://a:hunter2@b/c"}]"#).try_into().unwrap();
    assert_eq!((what.as_str(), is_well), ("sources", false));
    assert!(why.contains("sources.json entry 1: `tenants` must be a list"), "{why}");
    let [(_, _, why)] =
        said(r#"[{"name": "wms", "url": "mysql://a:hunter2@b:port/c", "tenants": "*"}]"#).try_into().unwrap();
    assert!(why.contains("\"wms\": `url` cannot be used"), "{why}");
}
