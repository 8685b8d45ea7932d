//! Rules: rows become notifications, once for as long as they exist.

mod api;
mod crash;
mod flood;
mod replay;
mod report;
mod scan;
mod warehouse;

use serde_json::{Value, json};

use crate::support::{Actor, TestApp};

/// The fields requested of a run.
const RUN: &str = "rows raised amended resolved outcome error";

/// Creates a type with a template that shows the fields of a row, and the group of operators with one member.
async fn catalogue(app: &TestApp) {
    let template = json!({ "title": "{{ params.id }}: {{ params.state }}" });
    app.admin().define(json!({ "code": "stock", "title": "Stock", "template": template })).await;
    app.admin().define_type("alarm").await;
    let members = "mutation { saveUserGroup(code: \"operators\") { code } \
        addUserGroupMembers(code: \"operators\", users: [\"olga\"]) { code } }";
    app.admin().ask(members, json!({})).await;
}

/// The input of a rule with reported rows, with changes.
fn input(changes: &Value) -> Value {
    let mut input = json!({ "code": "low", "type": "stock", "key": ["id"], "audience": { "userColumn": "who" }, "firstRun": "RAISE" });
    for (name, value) in changes.as_object().expect("changes are an object") {
        input[name] = value.clone();
    }
    input
}

const SAVE: &str = "mutation($input: NotificationRuleInput!) { saveNotificationRule(input: $input) { code state } }";

async fn save(app: &TestApp, changes: Value) {
    app.admin().ask(SAVE, json!({ "input": input(&changes) })).await;
}

/// Rows with an id, a state and a user.
fn rows(all: &[(i64, &str, &str)]) -> Value {
    all.iter().map(|(id, state, who)| json!({ "id": id, "state": state, "who": who })).collect()
}

fn reporting() -> String {
    format!("mutation($input: ReportRuleRowsInput!) {{ reportRuleRows(input: $input) {{ {RUN} }} }}")
}

/// Reports rows, with changes to the input, and returns the raised, amended and resolved counts and the outcome.
async fn report_as(app: &TestApp, all: Value, how: Value) -> (i64, i64, i64, String) {
    let mut input = json!({ "rule": "low", "rows": all });
    for (name, value) in how.as_object().expect("it is an object") {
        input[name] = value.clone();
    }
    figures(&app.service().ask(&reporting(), json!({ "input": input })).await["reportRuleRows"])
}

async fn report(app: &TestApp, all: &[(i64, &str, &str)]) -> (i64, i64, i64, String) {
    report_as(app, rows(all), json!({})).await
}

fn figures(run: &Value) -> (i64, i64, i64, String) {
    let number = |name: &str| run[name].as_i64().expect("it is a number");
    (number("raised"), number("amended"), number("resolved"), run["outcome"].as_str().expect("it is a word").to_owned())
}

fn complete(raised: i64, amended: i64, resolved: i64) -> (i64, i64, i64, String) {
    (raised, amended, resolved, "COMPLETE".to_owned())
}

/// The titles in a user's inbox, newest first.
async fn titles(user: Actor<'_>) -> Vec<String> {
    user.titles(json!({})).await
}

/// A field of the rule.
async fn field(app: &TestApp, selection: &str) -> Value {
    let query = format!("{{ notificationRule(code: \"low\") {{ {selection} }} }}");
    app.admin().ask(&query, json!({})).await["notificationRule"].clone()
}

/// The number of rows of a table.
async fn many(app: &TestApp, table: &str) -> i64 {
    use sea_orm::{ConnectionTrait, Statement};
    let db = &app.app.db.read;
    let count = Statement::from_string(db.get_database_backend(), format!("SELECT COUNT(*) AS many FROM {table}"));
    db.query_one_raw(count).await.unwrap().unwrap().try_get("", "many").unwrap()
}
