//! A constant load: senders that retry until they succeed, and users who read, mark and subscribe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::CallerRole;
use base::clock::{Clock, to_date_time};
use futures_util::StreamExt;
use futures_util::future::{join, join_all};
use futures_util::stream::iter;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::client::{Client, Deed, Pulse, draw, roll, token};
use crate::ledger::{Ledger, Person, Sent, To};
use crate::listener::{Line, Listener, Orders};
use crate::support::PATIENCE;

/// The maximum number of parallel requests where there are many.
pub const ABREAST: usize = 16;

/// The topic of the users with an even number. Their subscriptions to it never change.
const SHARED_TOPIC: &str = "plan";

const SUBSCRIBE: &str = "mutation($target: TopicTargetInput!) { subscribeTopic(input: { target: $target, \
    what: { actions: [\"comment\"] } }) { createdCount } }";
const UNSUBSCRIBE: &str = "mutation($target: TopicTargetInput!) { unsubscribeTopic(input: { target: $target, \
    what: { everything: true } }) { removedCount } }";

/// The number of announcements in a flood, and in one of its requests, which may have 2 MiB.
const FLOOD: usize = 800;
const FLOOD_AT_ONCE: usize = 100;

/// The size and kind of the load.
#[derive(Clone, Debug)]
pub struct Plan {
    pub senders: usize,
    /// The number of active users. Each has one session of items and one of overviews.
    pub people: usize,
    /// The number of users who only listen for items.
    pub listeners: usize,
    /// The longest pause between two requests of a caller.
    pub rest: Duration,
    /// The size of announcement bodies in bytes.
    pub body: usize,
    /// How long notifications are valid.
    pub expiry: Option<Duration>,
    /// If set, some notifications are scheduled this far in the future.
    pub far: Option<Duration>,
    /// The nodes for requests.
    pub ask_at: Arc<[String]>,
    /// The nodes for sessions.
    pub listen_at: Arc<[String]>,
}

/// A running load.
pub struct Load {
    pub plan: Plan,
    pub pulse: Arc<Pulse>,
    pub ledger: Arc<Ledger>,
    pub listeners: Vec<Listener>,
    /// The orders to all sessions.
    pub orders: watch::Sender<Orders>,
    http: reqwest::Client,
    stop: watch::Sender<bool>,
    actors: JoinSet<()>,
}

/// The data of an active caller.
struct Actor {
    plan: Plan,
    client: Client,
    ledger: Arc<Ledger>,
    stop: watch::Receiver<bool>,
}

/// A notification to send.
struct Draft {
    title: String,
    input: Value,
    to: To,
}

impl Load {
    /// Creates the users, opens their sessions and starts the load.
    pub async fn start(plan: Plan) -> Self {
        let mut load = Self {
            plan,
            pulse: Arc::default(),
            ledger: Arc::default(),
            listeners: Vec::new(),
            orders: watch::Sender::default(),
            http: Client::http(),
            stop: watch::Sender::new(false),
            actors: JoinSet::new(),
        };
        load.prepare().await;
        load.listen().await;
        for sender in 0..load.plan.senders {
            load.actors.spawn(load.actor("shop", CallerRole::Service).send_all(sender));
        }
        for person in 0..load.plan.people {
            load.actors.spawn(load.actor(&name(person), CallerRole::User).live(person));
        }
        load
    }

    /// Creates a client for this caller.
    pub fn client(&self, sub: &str, role: CallerRole) -> Client {
        Client::new(token(sub, role), &self.http, &self.plan.ask_at, &self.pulse)
    }

    /// All users who have an inbox.
    pub fn everybody(&self) -> std::ops::Range<Person> {
        0..self.plan.people + self.plan.listeners
    }

    /// Starts no more requests and waits until the running ones are done. Sessions stay open.
    pub async fn stop(&mut self) {
        self.stop.send_replace(true);
        while let Some(ended) = self.actors.join_next().await {
            ended.expect("nobody panics");
        }
        self.pulse.rough_percent.store(0, std::sync::atomic::Ordering::Relaxed);
    }

    /// All active users mark everything as read. The ledger records the result as unknown. `meanwhile` disturbs the
    /// nodes at the same time.
    pub async fn read_in_vain(&self, meanwhile: impl Future) {
        let asking = (0..self.plan.people).map(async |person| {
            self.ledger.book().forget_reads(person);
            let query = "mutation { markRead(select: { matching: {} }) { changedCount } }";
            self.client(&name(person), CallerRole::User).ask(Deed::Write, query, &json!({})).await;
        });
        join(join_all(asking), meanwhile).await;
    }

    /// Users who only listen (every `of`th from `place` on) subscribe to their own topics, also with an unknown result.
    pub async fn subscribe_in_vain(&self, (place, of): (usize, usize), meanwhile: impl Future) {
        let asking = self.listening().skip(place).step_by(of).map(async |person| {
            self.ledger.book().change_begins(&in_vain(person), person, true);
            self.client(&name(person), CallerRole::User).ask(Deed::Write, SUBSCRIBE, &topic_of(&in_vain(person))).await;
        });
        join(join_all(asking), meanwhile).await;
    }

    /// Sends an announcement to all users, which is unread in every inbox.
    pub async fn announce(&self) {
        let input = json!({ "type": "news", "audience": { "everyone": true }, "content": { "title": "to all" } });
        let draft = Draft { title: "to all".into(), input: json!({ "announcement": input }), to: To::Everyone };
        self.actor("shop", CallerRole::Service).send(vec![draft]).await;
    }

    /// Sends more to the users who only listen than the buffers between the server and them can hold.
    pub async fn flood(&self) {
        let people: Vec<Person> = self.listening().collect();
        let users: Vec<String> = people.iter().copied().map(name).collect();
        for batch in 0..FLOOD / FLOOD_AT_ONCE {
            let drafts = (0..FLOOD_AT_ONCE).map(|number| {
                let title = format!("flood {batch}/{number}");
                let content = json!({ "title": title, "body": "x".repeat(self.plan.body) });
                let input = json!({ "type": "news", "audience": { "users": users }, "content": content, "idempotencyKey": title });
                Draft { title, input: json!({ "announcement": input }), to: To::People(people.clone()) }
            });
            self.actor("shop", CallerRole::Service).send(drafts.collect()).await;
        }
    }

    /// Sends a reminder to each topic of [`Self::subscribe_in_vain`].
    pub async fn remind(&self) {
        let drafts = self.listening().map(|person| {
            let topic = in_vain(person);
            let input = json!({ "type": "note", "target": { "type": "doc", "externalId": topic }, "action": "comment",
                "content": { "title": topic } });
            Draft { title: topic.clone(), input: json!({ "reminder": input }), to: To::Topic(topic) }
        });
        self.actor("shop", CallerRole::Service).send(drafts.collect()).await;
    }

    /// The users who only listen.
    fn listening(&self) -> std::ops::Range<Person> {
        self.plan.people..self.plan.people + self.plan.listeners
    }

    /// Waits until each kind of action has succeeded after the fault, or until [`PATIENCE`] is over.
    pub async fn recovers(&self) {
        let until = Instant::now() + PATIENCE;
        while self.pulse.recovered().iter().any(Option::is_none) && Instant::now() < until {
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn actor(&self, sub: &str, role: CallerRole) -> Actor {
        let (client, stop) = (self.client(sub, role), self.stop.subscribe());
        Actor { plan: self.plan.clone(), client, ledger: self.ledger.clone(), stop }
    }

    async fn prepare(&self) {
        let admin = self.client("operator", CallerRole::Admin);
        for (code, policy) in [("news", "MANUAL"), ("note", "MANUAL"), ("feed", "AUTO")] {
            let input = json!({ "code": code, "title": code, "readPolicy": policy });
            let query = "mutation($input: MessageTypeInput!) { saveMessageType(input: $input) { code } }";
            must(&admin, query, json!({ "input": input })).await;
        }
        let query = "mutation { saveTargetType(code: \"doc\", subscriptionPolicy: OPEN) { code } }";
        must(&admin, query, json!({})).await;
        let everybody: Vec<Person> = self.everybody().collect();
        for some in everybody.chunks(500) {
            let inputs: Vec<Value> = some.iter().map(|person| json!({ "id": name(*person) })).collect();
            let query = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";
            must(&admin, query, json!({ "inputs": inputs })).await;
        }
        let crew: Vec<String> = (0..self.plan.people).filter(|person| person % 2 == 1).map(name).collect();
        let query = "mutation($users: [ID!]!) { saveUserGroup(code: \"crew\") { code } \
            addUserGroupMembers(code: \"crew\", users: $users) { code } }";
        must(&admin, query, json!({ "users": crew })).await;
        for person in (0..self.plan.people).step_by(2) {
            let place = self.ledger.book().change_begins(SHARED_TOPIC, person, true);
            let query = "mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }";
            let target = json!({ "type": "doc", "externalId": SHARED_TOPIC });
            let input =
                json!({ "target": target, "what": { "actions": ["comment"] }, "who": { "user": name(person) } });
            must(&admin, query, json!({ "input": input })).await;
            self.ledger.book().change_is_done(SHARED_TOPIC, place);
        }
    }

    /// Opens all sessions and waits until they are open.
    async fn listen(&mut self) {
        let opening = self.everybody().map(async |person| {
            let client = self.client(&name(person), CallerRole::User);
            let data = must(&client, "{ viewer { overview { cursor } } }", json!({})).await;
            let cursor = data["viewer"]["overview"]["cursor"].as_str().expect("it is a cursor").to_owned();
            let open = |cursor| {
                let line = Line {
                    person,
                    token: client.token.clone(),
                    nodes: self.plan.listen_at.clone(),
                    pulse: self.pulse.clone(),
                    orders: self.orders.subscribe(),
                    only_listens: person >= self.plan.people,
                    heard: Arc::default(),
                };
                Listener::open(line, cursor)
            };
            let bell = (person < self.plan.people).then(|| open(None));
            [Some(open(Some(cursor))), bell]
        });
        let opened: Vec<_> = iter(opening).buffer_unordered(ABREAST).collect().await;
        self.listeners = opened.into_iter().flatten().flatten().collect();
        for listener in &self.listeners {
            listener.opened().await;
        }
    }
}

/// A topic that its user may or may not be subscribed to.
fn in_vain(person: Person) -> String {
    format!("vain-{person}")
}

fn topic_of(topic: &str) -> Value {
    json!({ "target": { "type": "doc", "externalId": topic } })
}

/// The name of the user with this number.
pub fn name(person: Person) -> String {
    format!("user-{person}")
}

/// Runs a request that must succeed, since no fault has happened yet.
async fn must(client: &Client, query: &str, variables: Value) -> Value {
    let data = client.insist(Deed::Write, query, &variables, Instant::now() + PATIENCE).await;
    data.expect("it succeeds before anything is hurt")
}

impl Actor {
    fn is_over(&self) -> bool {
        *self.stop.borrow()
    }

    async fn rest(&self) {
        let most = u64::try_from(self.plan.rest.as_millis()).expect("it is short");
        sleep(Duration::from_millis(roll(most + 1))).await;
    }

    /// Repeatedly sends one to three notifications in one request, each with its own idempotency key, until they are
    /// acknowledged.
    async fn send_all(self, sender: usize) {
        let (mut count, mut own) = (0, Vec::<String>::new());
        while !self.is_over() {
            let numbers = count..count + 1 + roll(3);
            count = numbers.end;
            let drafts: Vec<Draft> = numbers.map(|number| self.write(format!("{sender}/{number}"))).collect();
            own.extend(self.send(drafts).await);
            if roll(4) == 0 && !own.is_empty() {
                self.amend(draw::<String>(&own)).await;
            }
            self.rest().await;
        }
    }

    /// Sends until the server acknowledges, and records that. Returns the ids of the notifications that are published
    /// soon.
    async fn send(&self, drafts: Vec<Draft>) -> Vec<String> {
        let inputs: Vec<&Value> = drafts.iter().map(|draft| &draft.input).collect();
        let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id } } }";
        let begun = Instant::now();
        let sent = self.client.insist(Deed::Send, query, &json!({ "inputs": inputs }), begun + 2 * PATIENCE).await;
        if let Some(sent) = sent {
            return self.enter(drafts, &sent["sendNotifications"], begun);
        }
        self.ledger.book().unsent += drafts.len();
        Vec::new()
    }

    /// Records acknowledged notifications. Returns the ids of those that are published soon.
    fn enter(&self, drafts: Vec<Draft>, sent: &Value, begun: Instant) -> Vec<String> {
        let (mut book, acknowledged) = (self.ledger.book(), Instant::now());
        let mut soon = Vec::new();
        for (place, Draft { title, to, .. }) in drafts.into_iter().enumerate() {
            let id = sent[place]["notification"]["id"].as_str().expect("it has an id").to_owned();
            if !matches!(to, To::NobodyYet) {
                soon.push(id.clone());
            }
            book.titles.insert(id.clone(), Some(title));
            book.sent.push(Sent { id, to, begun, acknowledged });
        }
        soon
    }

    /// Writes a notification with a random type and audience.
    fn write(&self, title: String) -> Draft {
        let kind = *draw(&["news", "note", "feed"]);
        let content = json!({ "title": title, "body": "x".repeat(self.plan.body) });
        let mut input = json!({ "type": kind, "content": content, "idempotencyKey": title });
        if let Some(far) = self.plan.far.filter(|_| roll(8) == 0) {
            (input["publishAt"], input["receiver"]) = (instant(far), json!(name(0)));
            return Draft { title, input: json!({ "message": input }), to: To::NobodyYet };
        }
        input["expiresAt"] = self.plan.expiry.map_or(Value::Null, instant);
        let audience = roll(6);
        if audience < 4 && roll(12) == 0 {
            // Reminders are not scheduled: their audience at that time would be unknown now.
            input["publishAt"] = instant(Duration::from_millis(roll(1500)));
        }
        let (key, to) = self.address(audience, &mut input);
        Draft { title, input: json!({ key: input }), to }
    }

    fn address(&self, audience: u64, input: &mut Value) -> (&'static str, To) {
        let person = || usize::try_from(roll(self.plan.people as u64)).expect("it is a number");
        match audience {
            0 => {
                input["audience"] = json!({ "everyone": true });
                ("announcement", To::Everyone)
            }
            1 => {
                input["audience"] = json!({ "groups": ["crew"] });
                ("announcement", To::Crew)
            }
            2 => {
                let people = vec![person(), person(), person()];
                input["audience"] = json!({ "users": people.iter().copied().map(name).collect::<Vec<_>>() });
                ("announcement", To::People(people))
            }
            3 => {
                let person = person();
                input["receiver"] = json!(name(person));
                ("message", To::People(vec![person]))
            }
            of => {
                let own = self.ledger.book().topic_of(person()).filter(|_| of == 4);
                let topic = own.unwrap_or_else(|| SHARED_TOPIC.into());
                (input["target"], input["action"]) = (json!({ "type": "doc", "externalId": topic }), json!("comment"));
                ("reminder", To::Topic(topic))
            }
        }
    }

    /// Changes the title of one of the caller's own notifications.
    async fn amend(&self, id: &str) {
        let title = format!("amended {}", roll(1_000_000));
        // An amendment that failed may still take effect, even after a later one. The title then stays unknown.
        let was_known = self.ledger.book().titles.insert(id.to_owned(), None).flatten().is_some();
        let query =
            "mutation($id: ID!, $title: String!) { updateSentNotification(id: $id, input: { title: $title }) { id } }";
        let amended = self.client.ask(Deed::Write, query, &json!({ "id": id, "title": title })).await;
        if was_known && amended.is_some() {
            self.ledger.book().titles.insert(id.to_owned(), Some(title));
        }
    }

    /// Reads, marks and subscribes as users do.
    async fn live(self, person: Person) {
        let (mut generation, mut hears) = (0, false);
        while !self.is_over() {
            match roll(10) {
                0..4 => drop(self.client.ask(Deed::Read, OVERVIEW, &json!({})).await),
                4..7 => self.look(person).await,
                7 => {
                    let query = "mutation { markSeen { changedCount viewer { overview { unread { count } } } } }";
                    self.client.ask(Deed::Write, query, &json!({})).await;
                }
                _ => {
                    let topic = format!("{person}-{generation}");
                    if self.listen_to(person, &topic, !hears).await {
                        hears = !hears;
                    } else {
                        // The user's subscription is unknown now: use a new topic.
                        (generation, hears) = (generation + 1, false);
                    }
                }
            }
            self.rest().await;
        }
    }

    /// Subscribes to a topic or unsubscribes from it. Returns whether the server acknowledged that.
    async fn listen_to(&self, person: Person, topic: &str, hears: bool) -> bool {
        let place = {
            let mut book = self.ledger.book();
            book.turn_to(person, topic);
            book.change_begins(topic, person, hears)
        };
        let query = if hears { SUBSCRIBE } else { UNSUBSCRIBE };
        let is_done = self.client.ask(Deed::Write, query, &topic_of(topic)).await.is_some();
        if is_done {
            self.ledger.book().change_is_done(topic, place);
        }
        is_done
    }

    /// Lists the newest items and marks some of them.
    async fn look(&self, person: Person) {
        let query = "query($state: InboxState) { viewer { inbox(first: 20, filter: { state: $state }) { edges { \
            cursor node { id notificationId type { code } } } } } }";
        let variables = json!({ "state": if roll(5) == 0 { "ARCHIVED" } else { "INBOX" } });
        let Some(data) = self.client.ask(Deed::Read, query, &variables).await else { return };
        let edges = data["viewer"]["inbox"]["edges"].as_array().expect("it is a list");
        if edges.is_empty() {
            return;
        }
        let how = *draw(&["markRead", "markRead", "markUnread", "archiveItems", "unarchiveItems", "markRead up to"]);
        if how == "markRead up to" {
            let select = json!({ "matching": { "upTo": draw(edges)["cursor"] } });
            let before = self.ledger.book().forget_reads(person);
            if self.mark("markRead", select).await {
                self.ledger.book().read.insert(person, before);
            }
            return;
        }
        let some: Vec<&Value> = (0..2).map(|_| &draw(edges)["node"]).collect();
        let ids: Vec<&Value> = some.iter().map(|node| &node["id"]).collect();
        // Items of the type `feed` become read by being listed, so the ledger does not track them.
        let about = some.iter().filter(|node| how.starts_with("mark") && node["type"]["code"] != "feed");
        let about: Vec<&str> = about.filter_map(|node| node["notificationId"].as_str()).collect();
        let known = self.ledger.book().doubt_reads(person, &about);
        if self.mark(how, json!({ "ids": ids })).await {
            let read = known.into_iter().map(|id| (id, Some(how == "markRead")));
            self.ledger.book().read.entry(person).or_default().extend(read);
        }
    }

    async fn mark(&self, how: &str, select: Value) -> bool {
        let query = format!("mutation($select: InboxItemSelector!) {{ {how}(select: $select) {{ changedCount }} }}");
        self.client.ask(Deed::Write, &query, &json!({ "select": select })).await.is_some()
    }
}

/// An overview without its cursor, which may differ between two equal overviews.
pub const OVERVIEW: &str = "{ viewer { overview { unread { count } unseen { count } types { type { code } unread { count } \
    latest { notificationId title isRead } } } } }";

fn instant(from_now: Duration) -> Value {
    let millis = i64::try_from(from_now.as_millis()).expect("it is not for ever");
    json!(to_date_time(Clock::System.now() + millis).to_rfc3339())
}
