//! String literals in documents mean what the specification says, in every place.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tidings::graphql::sha256_hex;

use super::{code, post, raw};
use crate::support::{Kind, Socket, TestApp, on_every_database, with};

/// Literals of the same text, which has a line break, quotes and a character beyond 16 bits.
const SMILES: [&str; 3] = [
    r#""\ud83d\ude00 \"\"\"\nbye""#,
    r#""\u{1F600} \u{22}\u{0022}\"\u{A}bye""#,
    "\"\"\"\n      \u{1F600} \\\"\"\"\n      bye\n    \"\"\"",
];
const SMILE: &str = "\u{1F600} \"\"\"\nbye";

async fn said(app: &TestApp, body: Value) -> Value {
    let (_, _, body) = raw(app, post(&app.admin().token, body.to_string())).await;
    serde_json::from_str(&body).unwrap()
}

on_every_database! {
    async fn a_literal_is_kept_as_it_reads(app) {
        app.admin().define_type("news").await;
        for literal in SMILES {
            let send = format!(
                r#"mutation {{ sendMessage(input: {{ type: "news", receiver: "ada", content: {{
                    title: "t", body: {literal}, data: {{ all: [{literal}, {{ one: {literal} }}] }} }} }}) {{
                    notification {{ body data }} }} }}"#
            );
            let answer = app.admin().ask(&send, json!({})).await;
            let said = &answer["sendMessage"]["notification"];
            assert_eq!(said["body"], SMILE, "{literal}");
            assert_eq!(said["data"], json!({ "all": [SMILE, { "one": SMILE }] }), "{literal}");
        }
        let items = app.user("ada").items(json!({})).await;
        assert_eq!(items.len(), SMILES.len());
    }
}

#[tokio::test]
async fn a_literal_is_read_as_an_argument_and_as_a_default() {
    with(Kind::Sqlite, async |app| {
        let admin = app.admin();
        let save = "mutation($code: String! = \"\\u{1F600}\") { saveMessageType(input: { code: $code, title: $code }) { code } }";
        assert_eq!(admin.ask(save, json!({})).await["saveMessageType"]["code"], "\u{1F600}");
        let paired = "mutation { a: saveMessageType(input: { code: \"\\uD83D\\uDE00\", title: \"x\" }) { code title } }";
        assert_eq!(admin.ask(paired, json!({})).await["a"], json!({ "code": "\u{1F600}", "title": "x" }));
    })
    .await;
}

#[tokio::test]
async fn half_a_character_in_a_literal_is_refused_with_its_place() {
    with(Kind::Sqlite, async |app| {
        for (literal, column) in
            [(r#""\ud83d""#, 19), (r#""ab\udc00""#, 21), (r#""\u{110000}""#, 19), (r#""é\u{d800}""#, 20)]
        {
            let query = format!("{{\n  exportUser(id: {literal})\n}}");
            let answer = said(app, json!({ "query": query })).await;
            assert_eq!(code(&answer), "GRAPHQL_PARSE_FAILED", "{answer}");
            let place = json!([{ "line": 2, "column": column }]);
            assert_eq!(answer["errors"][0]["locations"], place, "{literal}: {answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_behind_a_literal_is_found_at_its_own_place() {
    with(Kind::Sqlite, async |app| {
        for literal in ["\"\\u{1F600}\"", "\"\\ud83d\\ude00\"", "\"\"\"\n é \\\"\"\" \"\"\"", "\"\"\"\"\"\""] {
            let query = format!("{{ exportUser(id: {literal}) nonsense }}");
            let before = &query[..query.find("nonsense").unwrap()];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            let answer = said(app, json!({ "query": query })).await;
            assert_eq!(code(&answer), "GRAPHQL_VALIDATION_FAILED", "{answer}");
            assert_eq!(answer["errors"][0]["locations"], json!([{ "line": line, "column": column }]), "{literal}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_literal_is_read_by_every_door() {
    with(Kind::Sqlite, async |app| {
        let query = r#"{ exportUser(id: "\u{1F600}\ud83d\ude00") }"#;
        let nobody = json!({ "exportUser": null });
        let token = app.admin().token;
        assert_eq!(said(app, json!({ "query": query })).await["data"], nobody);
        let persisted = json!({ "persistedQuery": { "version": 1, "sha256Hash": sha256_hex(query) } });
        assert_eq!(said(app, json!({ "query": query, "extensions": persisted })).await["data"], nobody);
        assert_eq!(said(app, json!({ "extensions": persisted })).await["data"], nobody);
        let escaped = query.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
        let get = Request::get(format!("/graphql?query={escaped}"));
        let get = get.header("authorization", format!("Bearer {token}")).body(Body::empty()).unwrap();
        let (status, _, body) = raw(app, get).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, r#"{"data":{"exportUser":null}}"#));
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &token).await;
        socket.subscribe("1", query, json!({})).await;
        assert_eq!(socket.data().await, nobody);
        drop(socket);
        node.stop().await;
    })
    .await;
}
