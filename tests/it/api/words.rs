//! The descriptions in the schema, and the error messages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Kind, Socket, everyone, with};

const SCHEMA: &str = "{ __schema { types { name kind description specifiedByURL \
    fields(includeDeprecated: true) { name description args { name description } } inputFields { name description } \
    enumValues { name description } } } }";

fn list(of: &Value) -> &[Value] {
    of.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[tokio::test]
async fn everything_in_the_schema_is_described() {
    with(Kind::Sqlite, async |app| {
        let mut schema = app.admin().ask(SCHEMA, json!({})).await;
        let mut bare = Vec::new();
        let mut look = |path: String, of: &Value| {
            if of["description"].as_str().is_none_or(str::is_empty) {
                bare.push(path);
            }
        };
        let types = schema["__schema"]["types"].take();
        // Types of the GraphQL and Federation specifications are described there.
        let is_ours = |name: &Value| {
            let name = name.as_str().unwrap();
            !name.starts_with('_') && !["ID", "Int", "Float", "String", "Boolean"].contains(&name)
        };
        for of in list(&types).iter().filter(|of| is_ours(&of["name"])) {
            let name = of["name"].as_str().unwrap();
            look(name.to_owned(), of);
            for field in list(&of["fields"]).iter().filter(|field| is_ours(&field["name"])) {
                let path = format!("{name}.{}", field["name"].as_str().unwrap());
                look(path.clone(), field);
                for of in list(&field["args"]) {
                    look(format!("{path}({})", of["name"]), of);
                }
            }
            for of in list(&of["inputFields"]).iter().chain(list(&of["enumValues"])) {
                look(format!("{name}.{}", of["name"].as_str().unwrap()), of);
            }
        }
        assert!(bare.is_empty(), "{bare:#?}");
        let date = list(&types).iter().find(|of| of["name"] == "DateTime").unwrap();
        let url = date["specifiedByURL"].as_str().unwrap();
        assert!(
            include_str!("../../../schema.graphql").contains(&format!("scalar DateTime @specifiedBy(url: \"{url}\")"))
        );
    })
    .await;
}

/// Every error code in the sources is in the schema, and the other way round.
#[tokio::test]
async fn the_codes_of_errors_are_those_of_the_schema() {
    let mut named = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["src/graphql", "src/http", "crates/graphql-guard/src"] {
        for text in texts(&root.join(folder)) {
            let parts: Vec<&str> = text.split('"').collect();
            for (before, word) in parts.iter().step_by(2).zip(parts.iter().copied().skip(1).step_by(2)) {
                let is_code = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
                // A renamed value of another enum.
                let is_name = before.ends_with("name = ");
                if is_code && !is_name && !["OK", "CANCELLED"].contains(&word) {
                    named.insert(word.to_owned());
                }
            }
        }
    }
    let codes = with_codes().await;
    assert_eq!(named, codes);
}

/// The source texts in a folder, without their unit tests.
fn texts(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: PathBuf| {
        if path.is_dir() {
            return texts(&path);
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        vec![text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()]
    };
    entries.flat_map(text).collect()
}

async fn with_codes() -> BTreeSet<String> {
    let codes = std::sync::Mutex::new(BTreeSet::new());
    with(Kind::Sqlite, async |app| {
        let answer = app.service().ask("{ errorCodes }", json!({})).await;
        let names = list(&answer["errorCodes"]).iter().map(|of| of.as_str().unwrap().to_owned());
        codes.lock().unwrap().extend(names);
    })
    .await;
    codes.into_inner().unwrap()
}

#[tokio::test]
async fn messages_name_what_they_are_about() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        app.admin().announce("news", everyone(), "hello").await;
        let ada = app.user("ada");
        let service = app.service();
        let users = |last: &str| json!({ "users": ["ada", last] });
        let add = "mutation($users: [ID!]!) { addUserGroupMembers(code: \"x\", users: $users) { code } }";
        let named = [
            (
                ada.refused("{ viewer { overview(cap: 0) { unread { count } } } }", json!({})).await,
                "cap: must be at least 1",
            ),
            (
                ada.refused("{ viewer { inbox(first: -1) { nodes { id } } } }", json!({})).await,
                "first: must be 0 to 200",
            ),
            (
                ada.refused("{ viewer { inbox(filter: { types: [\"news\", \"x\"] }) { nodes { id } } } }", json!({}))
                    .await,
                "filter.types[1]: names no message type: \"x\"; create it with saveMessageType",
            ),
            (service.refused(add, users(" ")).await, "users[1]: must not begin or end with white space"),
            (
                service.refused("{ inboxUsers(ids: [\"a\", \"\"]) { id } }", json!({})).await,
                "ids[1]: must have 1 to 128 characters, not 0",
            ),
        ];
        for (said, expected) in named {
            assert_eq!(said, format!("BAD_USER_INPUT {expected}"));
        }
    })
    .await;
}

#[tokio::test]
async fn a_live_viewer_tells_of_one_overview_alone() {
    with(Kind::Sqlite, async |app| {
        let ada = app.user("ada");
        let listening = app.listen().await;
        let refused = async |selected: &str| {
            let mut socket = Socket::open(&listening.address, &ada.token).await;
            socket.subscribe("1", &format!("subscription {{ overviewChanged {{ {selected} }} }}"), json!({})).await;
            socket.hear().await.to_string()
        };
        let other = refused("id inbox { nodes { id } }").await;
        assert!(other.contains("returns only `id` and `overview`"), "{other}");
        let two = refused("a: overview(cap: 1) { unread { count } } b: overview(cap: 2) { unread { count } }").await;
        assert!(two.contains("the same arguments"), "{two}");
        let wrong = refused("overview { views(first: 500) { id } }").await;
        assert!(wrong.contains("must be 0 to 200") && !wrong.contains("overviewChanged\":null"), "{wrong}");
    })
    .await;
}
