//! Failover of the database to a replica that has either everything or all but the latest acknowledged writes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use auth::{CallerRole, TokenClaims, sign_claims};
use futures_util::future::{join, join_all};
use sea_orm::{ConnectionTrait, Database, Statement};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::report::database;
use crate::support::{Kind, PATIENCE, Process, SECRET, Server, Socket};
use crate::switch::Switch;

/// The number of users, and of tenants, that are created and lost. PostgreSQL reuses their ids only if there are at
/// least 32.
const MANY: usize = 40;

/// The number of users who are not lost and who follow their items over a socket.
const KEPT: usize = 4;

/// The duration of the check that no user sees another user's data.
const LOOKED_FOR: Duration = Duration::from_secs(4);

const SAVE_TYPE: &str = "mutation { saveMessageType(input: { code: \"note\", title: \"Note\" }) { code } }";
const SEND: &str = "mutation($to: ID!, $title: String!, $key: String!) { sendMessage(input: { type: \"note\", \
    receiver: $to, content: { title: $title }, idempotencyKey: $key }) { notification { id } } }";
const LIST: &str =
    "{ viewer { inbox(first: 200) { nodes { id title isRead } } overview { cursor unread { count } } } }";
const SENT: &str = "{ sentNotifications(first: 200) { nodes { title } } }";
const MARK: &str = "mutation($ids: [ID!]!) { markRead(select: { ids: $ids }) { changedCount } }";
const ITEMS: &str = "subscription($after: String) { itemReceived(after: $after) { cursor node { title } } }";

/// How the replica takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// The primary waits for its standby before it acknowledges writes. Then it is killed.
    Synchronous,
    /// The primary is killed while the standby lacks the latest acknowledged writes.
    Asynchronous,
    /// The nodes are switched to a server that is still a standby, and back.
    ByMistake,
    /// The primary waits for a standby that is down.
    StandbyAway,
}

/// The results of a failover.
#[derive(Debug, Default)]
pub struct Counts {
    acknowledged: usize,
    lost: usize,
    twice: usize,
    /// Items that a session lacks after the failover, or still shows although they no longer exist.
    holes: usize,
    /// Items that a user can see or mark although they belong to another user.
    foreign: usize,
    /// Sessions that got the error that their cursor is invalid.
    told: usize,
    /// Seconds from the fault to the first acknowledged send.
    seconds: f64,
    words: Vec<String>,
}

impl Failover {
    pub const ALL: [Self; 4] = [Self::Synchronous, Self::Asynchronous, Self::ByMistake, Self::StandbyAway];

    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "failover, synchronous",
            Self::Asynchronous => "failover, end of the log lost",
            Self::ByMistake => "standby by mistake",
            Self::StandbyAway => "standby away",
        }
    }

    /// MariaDB replicates asynchronously.
    pub fn is_for(self, kind: Kind) -> bool {
        match self {
            Self::Asynchronous | Self::ByMistake => kind != Kind::Sqlite,
            Self::Synchronous | Self::StandbyAway => kind == Kind::Postgres,
        }
    }

    /// Returns `None`, and prints so, if the database's programs are missing.
    pub async fn play(self, kind: Kind) -> Option<Counts> {
        let stage = Stage::open(kind, self).await?;
        Some(match self {
            Self::Synchronous | Self::Asynchronous => stage.fails_over(self == Self::Asynchronous).await,
            Self::ByMistake => stage.follow_a_standby().await,
            Self::StandbyAway => stage.waits().await,
        })
    }
}

impl Counts {
    pub fn is_clean(&self) -> bool {
        self.lost + self.twice + self.holes + self.foreign == 0 && self.words.is_empty()
    }

    pub fn head() -> &'static str {
        "| failover | database | acknowledged | lost | twice | holes | foreign | sessions told | first send after s |\n\
         | --- | --- | --: | --: | --: | --: | --: | --: | --: |"
    }

    pub fn row(&self, of: Failover, kind: Kind) -> String {
        let Self { acknowledged, lost, twice, holes, foreign, told, seconds, words } = self;
        let row = format!(
            "| {} | {} | {acknowledged} | {lost} | {twice} | {holes} | {foreign} | {told} | {seconds:.1} |",
            of.name(),
            database(kind)
        );
        std::iter::once(&row).chain(words.iter().take(20)).cloned().collect::<Vec<_>>().join("\n")
    }

    fn wrong(&mut self, why: impl Into<String>) {
        self.words.push(why.into());
    }
}

/// Two database servers, two nodes, and the switch between them.
struct Stage {
    kind: Kind,
    primary: Server,
    standby: Server,
    switch: Switch,
    nodes: [Process; 2],
    counts: Counts,
    _logs: tempfile::TempDir,
}

fn token(tenant: &str, sub: &str, role: CallerRole) -> String {
    let claims = TokenClaims { tenant: tenant.into(), sub: sub.into(), role, exp: 8_000_000_000, scope: None };
    sign_claims(SECRET, &claims).expect("a token can be signed")
}

/// Retries a request until it succeeds. Panics after [`PATIENCE`].
async fn insist(node: &Process, token: &str, query: &str, variables: Value) -> Value {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(data) = node.ask(token, query, variables.clone()).await {
            return data;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("{query} is never answered");
}

/// Sends a message and retries until the server acknowledges it.
async fn send(node: &Process, tenant: &str, to: &str, title: &str) -> Value {
    let variables = json!({ "to": to, "title": title, "key": title });
    insist(node, &token(tenant, "shop", CallerRole::Service), SEND, variables).await
}

fn titles(of: &Value) -> Vec<String> {
    let nodes = of["nodes"].as_array().expect("it is a list");
    nodes.iter().map(|node| node["title"].as_str().expect("it has a title").to_owned()).collect()
}

/// A user who shows their items: first the list, then what the subscription delivers after the cursor.
struct Follower {
    name: String,
    address: String,
    shown: Vec<String>,
    after: Option<Value>,
    socket: Option<Socket>,
    told: usize,
}

impl Follower {
    /// Receives items until none has arrived for `quiet`. Reconnects when the session ends.
    async fn follow(&mut self, node: &Process, quiet: Duration) {
        let token = token("acme", &self.name, CallerRole::User);
        let mut until = Instant::now() + quiet;
        while Instant::now() < until {
            if self.after.is_none() {
                let listed = insist(node, &token, LIST, json!({})).await;
                self.shown = titles(&listed["viewer"]["inbox"]);
                self.shown.reverse();
                self.after = Some(listed["viewer"]["overview"]["cursor"].clone());
                self.socket = None;
            }
            if self.socket.is_none() {
                let Ok(mut socket) = Socket::try_open(&self.address, &token).await else {
                    sleep(Duration::from_millis(100)).await;
                    continue;
                };
                socket.subscribe("1", ITEMS, json!({ "after": self.after })).await;
                self.socket = Some(socket);
            }
            let Some(socket) = &mut self.socket else { continue };
            let Ok(heard) = timeout(Duration::from_millis(200), socket.try_hear()).await else { continue };
            until = Instant::now() + quiet;
            let Some(message) = heard else {
                self.socket = None;
                continue;
            };
            let item = &message["payload"]["data"]["itemReceived"];
            if item.is_object() {
                self.shown.push(item["node"]["title"].as_str().expect("it has a title").to_owned());
                self.after = Some(item["cursor"].clone());
                continue;
            }
            self.socket = None;
            let text = message.to_string();
            if text.contains("get a new one from `overview.cursor`") {
                self.told += 1;
                self.after = None;
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Stage {
    async fn open(kind: Kind, failover: Failover) -> Option<Self> {
        let primary = Server::primary(kind).await?;
        let standby = primary.standby().await;
        if matches!(failover, Failover::Synchronous | Failover::StandbyAway) {
            primary.run(&["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"]).await;
        }
        let url = primary.create("tidings").await;
        let switch = Switch::to(&primary.address());
        let url = url.replace(&primary.address(), &switch.address);
        let logs = tempfile::tempdir().expect("there is room for logs");
        let (one, other) = (logs.path().join("0.log"), logs.path().join("1.log"));
        let settings = [("TIDINGS_RATE", "0"), ("TIDINGS_LOG", "info")];
        let nodes = [
            Process::start_with(&url, &settings, Some(&one)).await,
            Process::start_with(&url, &settings, Some(&other)).await,
        ];
        insist(&nodes[0], &token("acme", "operator", CallerRole::Admin), SAVE_TYPE, json!({})).await;
        let counts = Counts::default();
        Some(Self { kind, primary, standby, switch, nodes, counts, _logs: logs })
    }

    /// Waits until the standby has all rows of the primary.
    async fn standby_has_all(&self) {
        let [here, there] = [&self.primary, &self.standby].map(|server| server.url("tidings"));
        let until = Instant::now() + PATIENCE;
        let count = async |url: &str| {
            let db = Database::connect(url).await.ok()?;
            let mut count = 0;
            for table in ["users", "notification", "inbox_item"] {
                let words = Statement::from_string(db.get_database_backend(), format!("SELECT COUNT(*) FROM {table}"));
                count += db.query_one_raw(words).await.ok()??.try_get_by_index::<i64>(0).ok()?;
            }
            db.close().await.ok()?;
            Some(count)
        };
        loop {
            let (all, copied) = (count(&here).await, count(&there).await);
            if all.is_some() && all == copied {
                return;
            }
            assert!(Instant::now() < until, "the standby has {copied:?} of {all:?}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Stops replication: the standby gets nothing that is acknowledged after this.
    async fn cut(&self) {
        match self.kind {
            Kind::Postgres => {
                self.standby.run(&["ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"]).await;
                // The standby's receiver stops once it has read the new setting.
                sleep(Duration::from_secs(1)).await;
            }
            _ => self.standby.run(&["STOP SLAVE IO_THREAD"]).await,
        }
    }

    /// Makes the standby accept writes.
    async fn promote(&self) {
        match self.kind {
            Kind::Postgres => self.standby.run(&["SELECT pg_promote(true, 30)"]).await,
            _ => self.standby.run(&["STOP SLAVE", "RESET SLAVE ALL"]).await,
        }
    }

    async fn fails_over(mut self, loses: bool) -> Counts {
        let kept: Vec<String> = (0..KEPT).map(|number| format!("kept-{number}")).collect();
        for name in &kept {
            send(&self.nodes[0], "acme", name, &format!("{name} before")).await;
        }
        let mut followers: Vec<Follower> = kept
            .iter()
            .enumerate()
            .map(|(place, name)| Follower {
                name: name.clone(),
                address: self.nodes[place % 2].address.clone(),
                shown: Vec::new(),
                after: None,
                socket: None,
                told: 0,
            })
            .collect();
        let follow = async |nodes: &[Process; 2], followers: &mut Vec<Follower>, quiet| {
            join_all(followers.iter_mut().map(|follower| follower.follow(&nodes[0], quiet))).await;
        };
        follow(&self.nodes, &mut followers, Duration::from_secs(1)).await;
        self.standby_has_all().await;
        if loses {
            self.cut().await;
        }
        // If replication is cut, the failover loses the following.
        let (node, other) = (&self.nodes[0], &self.nodes[1]);
        for name in &kept {
            send(node, "acme", name, &format!("{name} lost")).await;
            self.counts.acknowledged += 1;
        }
        for number in 0..MANY {
            let (user, tenant) = (format!("lost-{number}"), format!("lostco-{number}"));
            send(node, "acme", &user, &format!("{user} lost")).await;
            insist(node, &token("acme", &user, CallerRole::User), LIST, json!({})).await;
            insist(node, &token(&tenant, "operator", CallerRole::Admin), SAVE_TYPE, json!({})).await;
            send(node, &tenant, "ada", &format!("{tenant} lost")).await;
            self.counts.acknowledged += 2;
        }
        follow(&self.nodes, &mut followers, Duration::from_secs(1)).await;
        let mut lost_ids = Vec::new();
        for name in &kept {
            let listed = insist(node, &token("acme", name, CallerRole::User), LIST, json!({})).await;
            lost_ids.push(listed["viewer"]["inbox"]["nodes"][0]["id"].clone());
        }

        let hurt_at = Instant::now();
        self.primary.kill();
        self.promote().await;
        self.switch.turn(&self.standby.address());
        let (kind, switched_at) = (self.kind, Instant::now());
        send(other, "acme", &kept[0], "kept-0 first").await;
        self.counts.seconds = switched_at.elapsed().as_secs_f64();
        println!("{} is back {:.1} s after the kill", database(kind), hurt_at.elapsed().as_secs_f64());
        for number in 0..MANY {
            let (user, tenant) = (format!("new-{number}"), format!("newco-{number}"));
            send(other, "acme", &user, &format!("{user} new")).await;
            insist(other, &token(&tenant, "operator", CallerRole::Admin), SAVE_TYPE, json!({})).await;
            send(other, &tenant, "ada", &format!("{tenant} new")).await;
        }
        // Send more than was lost. If the log continued where the replica ended, it would now have reached the cursors
        // that clients hold.
        for number in 0..2 * MANY {
            for name in &kept {
                send(other, "acme", name, &format!("{name} after {number}")).await;
                if number >= MANY && number % 8 > 0 {
                    break;
                }
            }
        }

        self.look_for_foreign().await;
        follow(&self.nodes, &mut followers, Duration::from_secs(3)).await;
        self.judge(&kept, &lost_ids, &followers, loses).await
    }

    /// Checks that no user sees another user's data on the node that knew the lost users.
    async fn look_for_foreign(&mut self) {
        let (node, other) = (&self.nodes[0], &self.nodes[1]);
        let until = Instant::now() + LOOKED_FOR;
        let (mut foreign, mut unanswered) = (BTreeSet::new(), BTreeSet::new());
        while Instant::now() < until {
            for number in 0..MANY {
                let (user, tenant) = (format!("lost-{number}"), format!("lostco-{number}"));
                let asked = [
                    (token("acme", &user, CallerRole::User), LIST, format!("{user} lost")),
                    (token(&tenant, "shop", CallerRole::Service), SENT, format!("{tenant} lost")),
                ];
                for (token, query, own) in asked {
                    let Some(listed) = node.ask(&token, query, json!({})).await else {
                        unanswered.insert(own);
                        continue;
                    };
                    unanswered.remove(&own);
                    let listed = if query == LIST { &listed["viewer"]["inbox"] } else { &listed["sentNotifications"] };
                    foreign.extend(titles(listed).into_iter().filter(|title| *title != own));
                }
            }
        }
        if let Some(own) = unanswered.first() {
            self.counts
                .words
                .push(format!("whoever had {own:?} is not answered, nor are {} more", unanswered.len() - 1));
        }
        // Announcements of a lost tenant's backend must not reach users of another tenant.
        for number in 0..MANY {
            let tenant = format!("lostco-{number}");
            insist(node, &token(&tenant, "operator", CallerRole::Admin), SAVE_TYPE, json!({})).await;
            send(node, &tenant, "ada", &format!("{tenant} again")).await;
        }
        for number in 0..MANY {
            let tenant = format!("newco-{number}");
            let listed = insist(other, &token(&tenant, "ada", CallerRole::User), LIST, json!({})).await;
            let strange = |title: &String| *title != format!("{tenant} new");
            foreign.extend(titles(&listed["viewer"]["inbox"]).into_iter().filter(strange));
        }
        self.counts.foreign = foreign.len();
        if let Some(title) = foreign.first() {
            self.counts.words.push(format!("foreign: {title} and {} more", foreign.len() - 1));
        }
    }

    async fn judge(mut self, kept: &[String], lost_ids: &[Value], followers: &[Follower], loses: bool) -> Counts {
        let node = &self.nodes[0];
        for (place, name) in kept.iter().enumerate() {
            let token = token("acme", name, CallerRole::User);
            let listed = insist(node, &token, LIST, json!({})).await;
            let mut all = titles(&listed["viewer"]["inbox"]);
            all.reverse();
            let distinct: BTreeSet<&String> = all.iter().collect();
            self.counts.twice += all.len() - distinct.len();
            let is_there = all.contains(&format!("{name} lost"));
            if !loses && !is_there {
                self.counts.lost += 1;
            }
            if loses && is_there {
                self.counts.wrong(format!("{name} still has what ought to be lost"));
            }
            let shown = &followers[place].shown;
            self.counts.told += followers[place].told;
            if *shown != all {
                let [shown, all]: [BTreeSet<&String>; 2] = [shown.iter().collect(), all.iter().collect()];
                self.counts.holes += shown.symmetric_difference(&all).count().max(1);
                let missing = all.difference(&shown).count();
                self.counts
                    .words
                    .push(format!("{name} lacks {missing}, shows {} too many", shown.difference(&all).count()));
            }
            let marked = insist(node, &token, MARK, json!({ "ids": [lost_ids[place]] })).await;
            let changed = marked["markRead"]["changedCount"].as_u64().unwrap_or_default();
            if loses && changed > 0 {
                self.counts.foreign += 1;
                self.counts.wrong(format!("{name} marks another item by the id of one that is lost"));
            }
        }
        if !loses {
            for number in 0..MANY {
                let listed =
                    insist(node, &token("acme", &format!("lost-{number}"), CallerRole::User), LIST, json!({})).await;
                self.counts.lost += usize::from(titles(&listed["viewer"]["inbox"]).is_empty());
            }
        }
        let wanted = if loses { kept.len() } else { 0 };
        if self.counts.told != wanted {
            let told = self.counts.told;
            self.counts.wrong(format!("{told} sessions were told that their cursor means nothing, of {wanted}"));
        }
        self.counts
    }

    async fn readiness(&self, node: usize) -> String {
        let answer = reqwest::get(format!("http://{}/readyz", self.nodes[node].address)).await;
        answer.expect("it answers").text().await.expect("it is text")
    }

    /// Waits until both nodes report `words` as their readiness, or records a failure.
    async fn says(&mut self, words: &str) {
        let until = Instant::now() + PATIENCE / 2;
        for node in 0..2 {
            while !self.readiness(node).await.contains(words) {
                if Instant::now() > until {
                    let said = self.readiness(node).await;
                    return self.counts.wrong(format!("{said:?} rather than {words:?}"));
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// A standby accepts no writes, and the nodes report that at once. Back on the primary, they continue, and all
    /// cursors stay valid.
    async fn follow_a_standby(mut self) -> Counts {
        if self.kind == Kind::Mysql {
            self.standby.run(&["SET GLOBAL read_only = 1"]).await;
        }
        let name = "kept-0";
        send(&self.nodes[0], "acme", name, "kept-0 before").await;
        self.standby_has_all().await;
        let before = insist(&self.nodes[0], &token("acme", name, CallerRole::User), LIST, json!({})).await;
        self.switch.turn(&self.standby.address());
        self.says("read-only").await;
        let url = self.standby.url("tidings");
        let (is_content, said) = Process::doctor(&url, &[]);
        if is_content || !said.contains("read-only") {
            self.counts.wrong(format!("doctor says {said}"));
        }
        // A node that starts with the standby reports the same.
        let started = Process::start(&url).await;
        let answer = reqwest::get(format!("http://{}/readyz", started.address)).await.expect("it answers");
        let said = answer.text().await.expect("it is text");
        if !said.contains("read-only") {
            self.counts.wrong(format!("a node that starts over a standby says {said:?}"));
        }
        drop(started);
        let back = Instant::now();
        self.switch.turn(&self.primary.address());
        self.says("ready").await;
        send(&self.nodes[1], "acme", name, "kept-0 after").await;
        self.counts.seconds = back.elapsed().as_secs_f64();
        self.counts.acknowledged += 2;
        let cursor = before["viewer"]["overview"]["cursor"].clone();
        let token = token("acme", name, CallerRole::User);
        let mut socket = Socket::subscribed(&self.nodes[0].address, &token, ITEMS, json!({ "after": cursor })).await;
        let heard = socket.try_hear().await.unwrap_or_default();
        if heard["payload"]["data"]["itemReceived"]["node"]["title"] != "kept-0 after" {
            self.counts.wrong(format!("a cursor of before: {heard}"));
        }
        self.counts
    }

    /// While the primary waits for a standby that is down, the server acknowledges nothing, and the nodes report the
    /// reason.
    async fn waits(mut self) -> Counts {
        send(&self.nodes[0], "acme", "kept-0", "kept-0 before").await;
        self.standby.kill();
        let variables = json!({ "to": "kept-0", "title": "kept-0 waits", "key": "waits" });
        let service = token("acme", "shop", CallerRole::Service);
        // The second request is for another tenant, since it would otherwise wait for the row lock of the first.
        let other = token("globex", "operator", CallerRole::Admin);
        let sent = self.nodes[0].ask(&service, SEND, variables.clone());
        let saved = self.nodes[1].ask(&other, SAVE_TYPE, json!({}));
        if join(sent, saved).await != (None, None) {
            self.counts.wrong("something was acknowledged without its standby");
        }
        self.says("writes wait for the standby").await;
        let back = Instant::now();
        self.standby.start_again().await;
        insist(&self.nodes[0], &service, SEND, variables).await;
        self.counts.seconds = back.elapsed().as_secs_f64();
        self.says("ready").await;
        let listed = insist(&self.nodes[1], &token("acme", "kept-0", CallerRole::User), LIST, json!({})).await;
        self.counts.acknowledged += 2;
        let all = titles(&listed["viewer"]["inbox"]);
        if all != ["kept-0 waits", "kept-0 before"] {
            self.counts.wrong(format!("the inbox has {all:?}"));
        }
        self.counts
    }
}
