//! The users' view, by the server and by the model, in the same notation.

use auth::CallerRole;
use serde_json::{Value, json};

use super::drive::Driver;
use super::expected::{Filter, Item};
use super::log::number;
use super::op::{ACTIONS, TARGETS, TYPES, USERS};
use super::views;

const ITEM: &str = "fragment Item on InboxItem { id title isRead isArchived type { code } }";

/// The fields of a user that are compared after a step.
const SEEN: &str = "fragment Counts on InboxOverview { unread { count exact } unseen { count exact } \
      types { type { code } unread { count exact } latest { ...Item } } \
      total { count exact } views { ...Room } } \
    fragment Room on InboxView { externalId unread { count exact } latest } \
    fragment Seen on InboxUser { \
      views { ...Room } cut: views { externalId unread(cap: 2) { count exact } latest } overview { ...Counts } capped: overview(cap: 2) { ...Counts } \
      inbox(first: 200) { edges { cursor node { ...Item } } } \
      archive: inbox(first: 200, filter: { state: ARCHIVED }) { edges { cursor node { ...Item } } } \
      read: inbox(first: 200, filter: { read: true }) { edges { cursor node { ...Item } } } \
      unread: inbox(first: 200, filter: { read: false }) { edges { cursor node { ...Item } } } }";

/// The lists of a user, with their filters.
const LISTS: [(&str, Filter); 4] = {
    let all = Filter { is_archived: false, is_read: None, of_type: None, target: None, action: None, sender: None };
    [
        ("inbox", all),
        ("archive", Filter { is_archived: true, ..all }),
        ("read", Filter { is_read: Some(true), ..all }),
        ("unread", Filter { is_read: Some(false), ..all }),
    ]
};

impl Driver<'_> {
    /// Compares the views of all users, queried in one batch.
    pub async fn compare_all(&mut self) -> Result<(), String> {
        let query = format!("query($ids: [ID!]!) {{ inboxUsers(ids: $ids) {{ ...Seen }} }} {SEEN} {ITEM}");
        let (_, answer) = self.looking(CallerRole::Service, "shop").send(&query, json!({ "ids": USERS })).await;
        for user in 0..USERS.len() {
            self.compare(user, &answer["data"]["inboxUsers"][user])
                .map_err(|difference| format!("{difference}; errors: {}", answer["errors"]))?;
        }
        Ok(())
    }

    /// Compares the view of a user, queried by themselves.
    pub async fn compare_one(&mut self, user: usize) -> Result<(), String> {
        self.model.introduce(user);
        let seen = SEEN.replace("Seen on InboxUser", "Seen on Viewer");
        let query = format!("{{ viewer {{ ...Seen }} }} {seen} {ITEM}");
        let (_, answer) = self.looking(CallerRole::User, USERS[user]).send(&query, json!({})).await;
        self.compare(user, &answer["data"]["viewer"])
            .map_err(|difference| format!("{difference}; errors: {}", answer["errors"]))
    }

    fn compare(&mut self, user: usize, answer: &Value) -> Result<(), String> {
        let alike = |what: &str, observed: Vec<String>, expected: Vec<String>| {
            let message = format!("{}'s {what} is {observed:#?} instead of {expected:#?}", USERS[user]);
            if observed == expected { Ok(()) } else { Err(message) }
        };
        for (name, filter) in LISTS {
            let edges = answer[name]["edges"].as_array().cloned().unwrap_or_default();
            alike(name, edges.iter().map(|edge| line(&edge["node"])).collect(), self.lines(user, filter))?;
            for edge in &edges {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let sent = &self.model.sent[number(&text(&edge["node"]["title"]))];
                let (place, _) = sent.published.expect("the model listed it, too");
                self.shown[user].insert(place, (text(&edge["node"]["id"]), text(&edge["cursor"])));
            }
        }
        self.model.show(user);
        for (name, cap) in [("views", usize::MAX), ("cut", 2)] {
            alike(name, views::lines(&answer[name]), self.model.views.lines(user, false, cap))?;
        }
        for (name, cap) in [("overview", usize::MAX), ("capped", 2)] {
            alike(name, views::lines(&answer[name]["views"]), self.model.views.lines(user, true, usize::MAX))?;
            alike(name, overview(&answer[name]), self.overview(user, cap))?;
        }
        Ok(())
    }

    /// Compares lists filtered by notification fields, and the inbox read in small pages.
    pub async fn compare_lists(&self, user: usize) -> Result<(), String> {
        let all = Filter::default();
        let mut lists = vec![(json!({ "types": ["news"] }), Filter { of_type: Some(2), ..all })];
        for (place, target) in TARGETS.iter().enumerate() {
            let filter = json!({ "target": { "type": "doc", "externalId": target }, "state": "ARCHIVED" });
            lists.push((filter, Filter { target: Some(place), is_archived: true, ..all }));
        }
        for (place, action) in ACTIONS.iter().enumerate() {
            lists.push((json!({ "action": action }), Filter { action: Some(place), ..all }));
        }
        for (place, sender) in USERS.iter().enumerate() {
            let filter = json!({ "sender": sender, "read": false });
            lists.push((filter, Filter { sender: Some(place), is_read: Some(false), ..all }));
        }
        for (filter, expected) in lists {
            let observed = self.pages(user, &filter).await;
            let expected = self.lines(user, expected);
            if observed != expected {
                return Err(format!("{}'s {filter} is {observed:#?} instead of {expected:#?}", USERS[user]));
            }
        }
        self.compare_cursor(user).await
    }

    /// The cursor of an overview is its position in the log: nothing in the list is newer, and everything else is
    /// older.
    async fn compare_cursor(&self, user: usize) -> Result<(), String> {
        let user = self.looking(CallerRole::User, USERS[user]);
        let overview =
            user.ask("{ viewer { overview { cursor } inbox(first: 200) { nodes { id } } } }", json!({})).await;
        let query = "query($cursor: String) { viewer { newer: inbox(last: 200, before: $cursor) { nodes { id } } \
            older: inbox(first: 200, after: $cursor) { nodes { id } } } }";
        let cursor = &overview["viewer"]["overview"]["cursor"];
        let sides = user.ask(query, json!({ "cursor": cursor })).await["viewer"].take();
        let many = |list: &Value| list["nodes"].as_array().map_or(0, Vec::len);
        let (all, older) = (many(&overview["viewer"]["inbox"]), many(&sides["older"]));
        // An item at the cursor itself is on neither side.
        if many(&sides["newer"]) > 0 || all > older + 1 {
            return Err(format!("a cursor of an inbox of {all} items has these on its sides: {sides:#}"));
        }
        Ok(())
    }

    async fn pages(&self, user: usize, filter: &Value) -> Vec<String> {
        let query = format!(
            "query($filter: InboxFilter, $after: String) {{ viewer {{ inbox(filter: $filter, first: 3, after: $after) {{ \
            nodes {{ ...Item }} pageInfo {{ hasNextPage endCursor }} }} }} }} {ITEM}"
        );
        let (mut lines, mut after) = (Vec::new(), Value::Null);
        loop {
            let data = self.user(user).ask(&query, json!({ "filter": filter, "after": after })).await;
            let page = &data["viewer"]["inbox"];
            lines.extend(page["nodes"].as_array().expect("it is a list").iter().map(line));
            if page["pageInfo"]["hasNextPage"] != json!(true) {
                return lines;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
    }

    /// A list by the model.
    fn lines(&self, user: usize, filter: Filter) -> Vec<String> {
        let line = |(place, item): (usize, Item)| self.line(place, item);
        self.model.list(user, filter).into_iter().map(line).collect()
    }

    fn line(&self, place: usize, item: Item) -> String {
        let number = self.model.log[place];
        let sent = &self.model.sent[number];
        written(&sent.title(number), TYPES[sent.draft.of_type], item.is_read, item.is_archived)
    }

    /// An overview by the model.
    fn overview(&self, user: usize, cap: usize) -> Vec<String> {
        let counted = |count: usize| format!("{} {}", count.min(cap), count <= cap);
        let all = Filter::default();
        let unread = Filter { is_read: Some(false), ..all };
        let mut lines = Vec::new();
        for (place, code) in TYPES.iter().enumerate() {
            let of_type = Some(place);
            let count = counted(self.model.list(user, Filter { of_type, ..unread }).len());
            let newest = self.model.list(user, Filter { of_type, ..all }).first().copied();
            let newest = newest.map_or("-".to_owned(), |(place, item)| self.line(place, item));
            lines.push(format!("{code}: {count} ({newest})"));
        }
        lines.push(format!("unread {}", counted(self.model.list(user, unread).len())));
        lines.push(format!("unseen {}", counted(self.model.unseen(user))));
        let total = self.model.list(user, unread).len() + self.model.views.unread(user);
        lines.push(format!("total {}", counted(total)));
        lines
    }
}

/// An overview by the server.
fn overview(answer: &Value) -> Vec<String> {
    let counted = |count: &Value| format!("{} {}", count["count"], count["exact"]);
    let of_type = |of: &Value| {
        let code = of["type"]["code"].as_str().unwrap_or_default();
        let newest = if of["latest"].is_null() { "-".to_owned() } else { line(&of["latest"]) };
        format!("{code}: {} ({newest})", counted(&of["unread"]))
    };
    let mut lines: Vec<String> = answer["types"].as_array().into_iter().flatten().map(of_type).collect();
    lines.push(format!("unread {}", counted(&answer["unread"])));
    lines.push(format!("unseen {}", counted(&answer["unseen"])));
    lines.push(format!("total {}", counted(&answer["total"])));
    lines
}

/// An item by the server.
fn line(item: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is = |value: &Value| value.as_bool().unwrap_or_default();
    written(&text(&item["title"]), &text(&item["type"]["code"]), is(&item["isRead"]), is(&item["isArchived"]))
}

fn written(title: &str, of_type: &str, is_read: bool, is_archived: bool) -> String {
    let read = if is_read { "read" } else { "unread" };
    let archived = if is_archived { " archived" } else { "" };
    format!("{title} {of_type} {read}{archived}")
}
