//! What a server is asked in training, and by whom.

use std::sync::Arc;

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tidings::auth::Role;
use tokio::task::JoinHandle;

use crate::Result;
use crate::load::{Ask, Load, once, press};
use crate::server::{Server, token};
use crate::work::live::board::Board;
use crate::work::live::listener;
use crate::work::live::session::{Session, Want};
use crate::work::{list, overview, poll};

pub const TENANT: &str = "training";

const USERS: usize = 300;
const TYPES: usize = 8;
const GROUPS: usize = 4;
const TARGETS: usize = 50;
const VIEWS: usize = 30;

/// What is sent before anybody reads: to each user, and to many.
const MESSAGES: usize = 15;
const ANNOUNCEMENTS: usize = 40;

/// Messages of one call.
const TOGETHER: usize = 100;

/// Users with a socket, and what all of them hear over it.
const SOCKETS: usize = 100;
const HEARD: usize = 20;

const CLIENTS: usize = 32;

const TYPE: &str = "mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }";
const PROFILES: &str = "mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }";
const GROUP: &str = "mutation($c: String!) { saveUserGroup(code: $c) { code } }";
const MEMBERS: &str = "mutation($c: String!, $u: [ID!]!) { addUserGroupMembers(code: $c, users: $u) { code } }";

const SEND: &str = "mutation($i: [SendNotificationInput!]!) { sendNotifications(inputs: $i) { notification { id } } }";
const MESSAGE: &str = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { notification { id } } }";
const ANNOUNCE: &str = "mutation($i: SendAnnouncementInput!) { sendAnnouncement(input: $i) { notification { id } } }";
const REMIND: &str = "mutation($i: SendReminderInput!) { sendReminder(input: $i) { notification { id } } }";
const OPEN: &str = "mutation { saveTargetType(code: \"document\", subscriptionPolicy: OPEN) { code } }";
const SUBSCRIBE: &str = "mutation($i: SubscribeTopicInput!) { subscribeTopic(input: $i) { __typename } }";

const UNREAD: &str = "{ viewer { inbox(first: 40, filter: { read: false }) { edges { cursor node { id title isRead } } \
    pageInfo { endCursor } } } }";
const OF_TYPES: &str = "{ viewer { inbox(first: 10, filter: { types: [\"type-1\", \"type-2\"] }) { \
    nodes { id title body isRead } } } }";

const READ: &str = "mutation($s: InboxItemSelector!) { markRead(select: $s) { changedCount viewer { \
    overview(cap: 99) { unread { count exact } types { type { code } unread { count exact } } } } } }";
const PUT_BACK: &str = "mutation($s: InboxItemSelector!) { markUnread(select: $s) { changedCount } }";
const SEEN: &str = "mutation { markSeen { affectedTypes { code } } }";
const READ_ALL: &str = "mutation { markRead(select: { matching: {} }) { affectedTypes { code } } }";
const PUT_BACK_ALL: &str = "mutation { markUnread(select: { matching: { types: [\"type-1\"] } }) { changedCount } }";

const CHAT: &str = "mutation { saveViewCode(code: \"chat\", open: false) { code } }";
const JOIN: &str = "mutation($k: ViewKeyInput!, $u: [ID!]) { joinView(key: $k, users: $u) { view { id } } }";
const RECORD: &str = "mutation($i: [ViewActivityInput!]!) { recordActivity(inputs: $i) { views { id } } }";
const VISIT: &str = "mutation($k: ViewKeyInput!) { visitView(key: $k) { view { id } } }";
const TOTAL: &str = "{ viewer { overview(cap: 99) { views { id unread { count } } total { count } cursor } } }";

/// A server, and for how many seconds it does each kind of work.
pub struct Work {
    pub server: Server,
    pub seconds: f64,
}

impl Work {
    /// Types, people, groups, and what they have to read.
    pub async fn fill(&self) -> Result<()> {
        for place in 0..TYPES {
            let input = json!({ "code": kind(place), "title": format!("Type {place}"), "position": place });
            self.once(&by_admin(TYPE, &json!({ "i": input }))).await?;
        }
        let people = |of| json!({ "id": user(of), "name": format!("User {of}") });
        self.once(&by_admin(PROFILES, &json!({ "i": (0..USERS).map(people).collect::<Vec<_>>() }))).await?;
        for group in 0..GROUPS {
            let users: Vec<_> = (group..USERS).step_by(2).map(user).collect();
            self.once(&by_admin(GROUP, &json!({ "c": code(group) }))).await?;
            self.once(&by_admin(MEMBERS, &json!({ "c": code(group), "u": users }))).await?;
        }
        for place in 0..ANNOUNCEMENTS {
            self.once(&by_service(ANNOUNCE, &json!({ "i": announcement(place) }))).await?;
        }
        for first in (0..USERS * MESSAGES).step_by(TOGETHER) {
            self.once(&batch(first)).await?;
        }
        Ok(())
    }

    pub async fn sends(&self) -> Result<()> {
        let message = |place| by_service(MESSAGE, &json!({ "i": message(place * 7) }));
        self.press("messages", 1.0, (0..5 * USERS).map(message)).await?;
        self.once(&by_admin(OPEN, &Value::Null)).await?;
        let subscribe = |place| {
            let input = json!({ "target": target(place / 7), "what": { "actions": ["comment"] } });
            ask(&user(place), Role::User, SUBSCRIBE, &json!({ "i": input }))
        };
        self.press("subscriptions", 1.0, (0..5 * USERS).map(subscribe)).await?;
        let remind = |place| {
            let input = json!({ "type": kind(place), "action": "comment", "target": target(place),
                "sender": user(place), "content": content(place) });
            by_service(REMIND, &json!({ "i": input }))
        };
        self.press("reminders", 0.25, (0..USERS).map(remind)).await?;
        self.press("batches", 0.25, (0..20).map(batch)).await
    }

    pub async fn reads(&self) -> Result<()> {
        self.press("overviews", 1.0, by_all(overview::OVERVIEW)).await?;
        self.press("lists", 1.0, by_all(list::LIST)).await?;
        self.press("lists of what is unread", 0.5, by_all(UNREAD)).await?;
        self.press("lists of types", 0.5, by_all(OF_TYPES)).await?;
        self.press("polls", 1.0, poll::unchanged(&self.server, TENANT, (0..USERS).map(user)).await?).await
    }

    pub async fn marks(&self) -> Result<()> {
        let (mut read, mut put_back) = (Vec::new(), Vec::new());
        for name in (0..USERS).map(user) {
            let found = self.server.data(&token(TENANT, &name, Role::User), UNREAD, Value::Null).await?;
            for edge in found["viewer"]["inbox"]["edges"].as_array().into_iter().flatten() {
                let select = json!({ "s": { "ids": [edge["node"]["id"]] } });
                read.push(ask(&name, Role::User, READ, &select));
                put_back.push(ask(&name, Role::User, PUT_BACK, &select));
            }
        }
        self.press("marks", 1.0, read).await?;
        self.press("marks that are put back", 0.5, put_back).await?;
        for query in [SEEN, READ_ALL, PUT_BACK_ALL] {
            self.press("marks of all", 0.25, by_all(query)).await?;
        }
        Ok(())
    }

    /// Chats: what is said in them, and who looks at them.
    pub async fn views(&self) -> Result<()> {
        self.once(&by_admin(CHAT, &Value::Null)).await?;
        for place in 0..VIEWS {
            let users: Vec<_> = (place..USERS).step_by(3).map(user).collect();
            self.once(&by_service(JOIN, &json!({ "k": view(place), "u": users }))).await?;
        }
        let record = |place| {
            let input = json!({ "view": view(place), "actor": user(place), "preview": "What was said" });
            by_service(RECORD, &json!({ "i": [input] }))
        };
        self.press("activities", 0.25, (0..USERS).map(record)).await?;
        let visit = |place| ask(&user(place), Role::User, VISIT, &json!({ "k": view(place) }));
        self.press("visits", 0.25, (0..USERS).map(visit)).await?;
        self.press("totals", 0.25, by_all(TOTAL)).await
    }

    /// Users who hear what is sent, to all and to each.
    pub async fn sockets(&self) -> Result<()> {
        let board = Arc::new(Board::new(SOCKETS));
        let open = async |place| {
            let session = Session::open(self.server.address, TENANT, place, board.clone()).await?;
            session.follow(Want::Both).await
        };
        let tasks: Vec<JoinHandle<()>> = try_join_all((0..SOCKETS).map(open)).await?;
        for place in 0..HEARD {
            let title = format!("heard as the {place}th");
            board.expect(&title, SOCKETS, Want::Both);
            let input = json!({ "type": kind(place), "audience": { "everyone": true }, "content": { "title": title } });
            self.once(&by_service(ANNOUNCE, &json!({ "i": input }))).await?;
            board.arrivals().await?;
        }
        let message = |place| by_service(MESSAGE, &json!({ "i": message(place) }));
        self.press("messages that are heard", 1.0, (0..USERS).map(message)).await?;
        tasks.iter().for_each(JoinHandle::abort);
        Ok(())
    }

    async fn once(&self, ask: &Ask) -> Result<()> {
        once(self.server.address, ask).await.map(drop)
    }

    /// Asked by many clients for a share of the time; fails where one of them fails.
    async fn press(&self, what: &str, share: f64, asks: impl IntoIterator<Item = Ask>) -> Result<()> {
        let asks: Arc<[Ask]> = asks.into_iter().collect();
        // Which says why, where all of them fail.
        self.once(&asks[0]).await?;
        let load = Load::Sustained { clients: CLIENTS, seconds: self.seconds * share };
        let taken = press(self.server.address, &asks, load).await?;
        if taken.errors > 0 { Err(format!("{what}: {} failed", taken.errors).into()) } else { Ok(()) }
    }
}

fn ask(sub: &str, role: Role, query: &str, variables: &Value) -> Ask {
    Ask::graphql(&token(TENANT, sub, role), &json!({ "query": query, "variables": variables }))
}

fn by_service(query: &str, variables: &Value) -> Ask {
    ask("shop", Role::Service, query, variables)
}

fn by_admin(query: &str, variables: &Value) -> Ask {
    ask("root", Role::Admin, query, variables)
}

fn by_all(query: &str) -> impl Iterator<Item = Ask> {
    (0..USERS).map(move |place| ask(&user(place * 7), Role::User, query, &Value::Null))
}

fn user(place: usize) -> String {
    listener(place % USERS)
}

fn kind(place: usize) -> String {
    format!("type-{}", place % TYPES)
}

fn code(group: usize) -> String {
    format!("group-{}", group % GROUPS)
}

fn target(place: usize) -> Value {
    json!({ "type": "document", "externalId": format!("d{}", place % TARGETS) })
}

fn view(place: usize) -> Value {
    json!({ "code": "chat", "externalId": format!("c{}", place % VIEWS) })
}

fn content(place: usize) -> Value {
    let title = format!("What is new, for the {place}th time");
    json!({ "title": title, "body": "What has changed, and why it matters to you.", "link": "/news" })
}

/// Every third is from somebody.
fn message(place: usize) -> Value {
    let sender = place.is_multiple_of(3).then(|| user(place / 3));
    json!({ "type": kind(place / USERS), "receiver": user(place), "sender": sender, "content": content(place) })
}

fn batch(first: usize) -> Ask {
    let inputs: Vec<_> = (first..first + TOGETHER).map(|place| json!({ "message": message(place) })).collect();
    by_service(SEND, &json!({ "i": inputs }))
}

/// Every second is to a group.
fn announcement(place: usize) -> Value {
    let to_group = json!({ "groups": [code(place)] });
    let audience = if place.is_multiple_of(2) { json!({ "everyone": true }) } else { to_group };
    json!({ "type": kind(place), "audience": audience, "content": content(place) })
}
