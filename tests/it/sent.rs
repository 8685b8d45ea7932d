//! Operators' queries about sent notifications, and about audiences before a send.

use auth::CallerRole;
use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{Actor, TestApp, everyone, on_every_database};

const SENT: &str = "query($filter: NotificationFilter, $first: Int = 50, $after: String, $last: Int, $before: String) { \
    sentNotifications(filter: $filter, first: $first, after: $after, last: $last, before: $before) { nodes { title } \
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";

async fn titles(actor: &Actor<'_>, variables: Value) -> Vec<String> {
    let data = actor.ask(SENT, variables).await;
    let nodes = data["sentNotifications"]["nodes"].as_array().unwrap().clone();
    nodes.iter().map(|node| node["title"].as_str().unwrap().to_owned()).collect()
}

async fn size(app: &TestApp, audience: Value) -> (i64, bool) {
    let query = "query($audience: NotificationAudienceInput!) { audienceSize(audience: $audience) { count exact } }";
    let size = app.service().ask(query, json!({ "audience": audience })).await["audienceSize"].take();
    (size["count"].as_i64().unwrap(), size["exact"].as_bool().unwrap())
}

on_every_database! {
    async fn what_was_sent_is_found_by_when_it_was_published(app) {
        app.admin().define_type("news").await;
        let later = "mutation($at: DateTime!) { sendAnnouncement(input: { type: \"news\", audience: { everyone: true }, \
            content: { title: \"scheduled\" }, publishAt: $at }) { notification { id } } }";
        app.service().ask(later, json!({ "at": (app.now() + TimeDelta::minutes(25)).to_rfc3339() })).await;
        let begun = app.now();
        for number in 0..5 {
            app.service().announce("news", everyone(), &number.to_string()).await;
            app.advance(TimeDelta::minutes(10));
            domain::notification::publish_due(&app.app).await.unwrap();
        }
        let at = |minutes: i64| (begun + TimeDelta::minutes(minutes)).to_rfc3339();
        let service = app.service();
        assert_eq!(titles(&service, json!({ "filter": { "since": at(20) } })).await, ["4", "3", "scheduled", "2"]);
        assert_eq!(titles(&service, json!({ "filter": { "until": at(20) } })).await, ["1", "0"]);
        let between = json!({ "since": at(10), "until": at(40) });
        assert_eq!(titles(&service, json!({ "filter": between })).await, ["3", "scheduled", "2", "1"]);
        assert_eq!(titles(&service, json!({ "filter": { "since": at(90) } })).await, [""; 0]);
        let (mut forwards, mut after) = (Vec::new(), Value::Null);
        for _ in 0..4 {
            let page = service.ask(SENT, json!({ "filter": between, "first": 1, "after": after })).await["sentNotifications"].take();
            forwards.push(page["nodes"][0]["title"].as_str().unwrap().to_owned());
            after = page["pageInfo"]["endCursor"].clone();
        }
        assert_eq!(forwards, ["3", "scheduled", "2", "1"]);
        let back = json!({ "filter": between, "first": null, "last": 2, "before": after });
        assert_eq!(titles(&service, back).await, ["scheduled", "2"]);
    }

    async fn what_was_sent_is_found_by_what_its_title_has_in_it(app) {
        app.admin().define_type("news").await;
        app.admin().define_type("other").await;
        for title in ["Straße gesperrt", "100% off", "Εκπτώσεις", "wide_open", "plain"] {
            app.service().announce("news", everyone(), title).await;
        }
        app.service().announce("other", everyone(), "PLAIN and other").await;
        let service = app.service();
        let by = async |text: &str| titles(&service, json!({ "filter": { "text": text } })).await;
        assert_eq!(by("STRASSE").await, ["Straße gesperrt"]);
        assert_eq!(by("0% O").await, ["100% off"]);
        assert_eq!(by("εκπτωσ").await, [""; 0], "accents count");
        assert_eq!(by("ΕΚΠΤΏΣ").await, ["Εκπτώσεις"]);
        assert_eq!(by("_").await, ["wide_open"]);
        assert_eq!(by(" plain ").await, ["PLAIN and other", "plain"]);
        assert_eq!(titles(&service, json!({ "filter": { "text": "plain", "types": ["news"] } })).await, ["plain"]);
        assert_eq!(titles(&service, json!({ "filter": { "text": "a", "since": app.now().to_rfc3339() }, "first": 2 })).await, ["PLAIN and other", "plain"]);
        assert!(service.refused(SENT, json!({ "filter": { "text": " " } })).await.starts_with("BAD_USER_INPUT filter.text"));
    }

    async fn titles_are_looked_through_in_steps_that_miss_none(app) {
        app.admin().define_type("news").await;
        let input = |title: String| json!({ "announcement": { "type": "news", "audience": { "everyone": true }, "content": { "title": title } } });
        let send = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
        for batch in 0..3 {
            let inputs: Vec<Value> = (0..900).map(|number| input(format!("n{}", batch * 900 + number))).collect();
            app.service().ask(send, json!({ "inputs": inputs })).await;
        }
        let found = titles(&app.service(), json!({ "filter": { "text": "n1" }, "first": 200 })).await;
        assert_eq!((found.len(), found[0].as_str()), (200, "n1999"));
        assert_eq!(titles(&app.service(), json!({ "filter": { "text": "n7" }, "first": 200, "last": null })).await.last().unwrap(), "n7");
        let last = json!({ "filter": { "text": "n99" }, "first": null, "last": 1 });
        assert_eq!(titles(&app.service(), last).await, ["n99"]);
    }

    async fn searches_of_one_request_look_at_as_many_titles_as_one_search(app) {
        app.admin().define_type("news").await;
        let service = app.service();
        let few: Vec<String> = (0..20).map(|place| format!("s{place}: sentNotifications(filter: {{ text: \"no {place}\" }}) {{ nodes {{ id }} }}")).collect();
        service.announce("news", everyone(), "the only one").await;
        service.ask(&format!("{{ {} }}", few.join(" ")), json!({})).await;

        let send = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
        for batch in 0..6 {
            let input = |number| json!({ "announcement": { "type": "news", "audience": { "everyone": true }, "content": { "title": format!("n{number}") } } });
            let inputs: Vec<Value> = (batch * 800..(batch + 1) * 800).map(input).collect();
            service.ask(send, json!({ "inputs": inputs })).await;
        }
        let page = "pageInfo { hasNextPage endCursor }";
        let many: Vec<String> = (0..20).map(|place| format!("s{place}: sentNotifications(filter: {{ text: \"only\" }}) {{ nodes {{ title }} {page} }}")).collect();
        let (_, answer) = service.send(&format!("{{ {} }}", many.join(" ")), json!({})).await;
        let errors = answer["errors"].as_array().unwrap();
        assert!(errors.iter().all(|error| error["extensions"]["code"] == "BAD_USER_INPUT" && error["extensions"]["field"] == "filter.text"), "{answer}");
        // The budget of 10,000 titles is a little more than all titles twice. At most two searches finish; the others
        // stop or do not start.
        let pages: Vec<&Value> = (0..20).map(|place| &answer["data"][format!("s{place}")]).filter(|page| page.is_object()).collect();
        let is_done = |page: &&&Value| page["nodes"][0]["title"] == "the only one";
        assert!(pages.iter().filter(is_done).count() <= 2, "{answer}");
        for page in pages.iter().filter(|page| page["nodes"] == json!([])) {
            assert_eq!(page["pageInfo"]["hasNextPage"], true, "{answer}");
            let rest = json!({ "filter": { "text": "only" }, "after": page["pageInfo"]["endCursor"] });
            assert_eq!(titles(&service, rest).await, ["the only one"]);
        }
    }

    async fn an_audience_is_counted_before_anything_is_sent_to_it(app) {
        let service = app.service();
        service.ask("mutation { saveUserProfiles(inputs: [{ id: \"ada\" }, { id: \"ben\" }, { id: \"cleo\" }]) { id } }", json!({})).await;
        service.ask("mutation { a: saveUserGroup(code: \"a\") { code } b: saveUserGroup(code: \"b\") { code } c: saveUserGroup(code: \"none\") { code } }", json!({})).await;
        service.ask("mutation { a: addUserGroupMembers(code: \"a\", users: [\"ada\", \"ben\"]) { code } b: addUserGroupMembers(code: \"b\", users: [\"ben\", \"dara\"]) { code } }", json!({})).await;
        assert_eq!(size(app, json!({ "everyone": true })).await, (4, true));
        assert_eq!(size(app, json!({ "groups": ["a"] })).await, (2, true));
        assert_eq!(size(app, json!({ "groups": ["a", "b", "none"] })).await, (3, true));
        assert_eq!(size(app, json!({ "groups": ["none"] })).await, (0, true));
        assert_eq!(size(app, json!({ "users": ["ada", "ada", "nobody yet"] })).await, (2, true));
        assert_eq!(size(app, json!({ "everyone": true })).await, (4, true), "nobody was made");
        let query = "query($audience: NotificationAudienceInput!) { audienceSize(audience: $audience) { count } }";
        let refused = async |audience: Value| service.refused(query, json!({ "audience": audience })).await;
        assert!(refused(json!({ "groups": ["unknown"] })).await.starts_with("NOT_FOUND audience.groups"));
        assert!(refused(json!({ "everyone": false })).await.starts_with("BAD_USER_INPUT audience.everyone"));
        assert!(refused(json!({ "users": [] })).await.starts_with("BAD_USER_INPUT audience.users"));
        let stranger = app.stranger("shop", CallerRole::Service).ask(query, json!({ "audience": { "everyone": true } })).await;
        assert_eq!(stranger["audienceSize"]["count"], 0);
        assert!(app.user("ada").refused(query, json!({ "audience": { "everyone": true } })).await.starts_with("FORBIDDEN"));
    }
}
