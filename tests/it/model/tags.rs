//! Etags of overviews: for any etag that a client knows, however old, each node returns null exactly if the overview
//! would show the same. And polls: a cached response equals the response to other requests at that moment.

use auth::CallerRole;
use serde_json::{Map, Value, json};

use super::drive::Driver;
use super::op::USERS;
use crate::support::Actor;

/// All fields of an overview but its cursor.
const ALL: &str = "fragment All on InboxOverview { etag unread { count exact } unseen { count exact } total { count exact } \
    views { id code externalId unread { count exact } lastActivityAt lastVisitedAt latest } ...Types } \
    fragment Types on InboxOverview { types { type { id code title group readPolicy mandatory ttlSeconds icon ui } unread { count exact } latest { ...Item } } } fragment Item on InboxItem { \
      id kind type { code } title body link data sender { id name avatarUrl locale } target { type externalId } action createdAt updatedAt \
      expiresAt isRead readAt isArchived archivedAt notificationId }";

/// Parts of an inbox.
const LISTS: &str = "inbox(first: 5) { nodes { ...Item } pageInfo { hasNextPage endCursor } } \
    archive: inbox(first: 3, filter: { state: ARCHIVED }) { nodes { ...Item } }";

/// Fields of an overview with a cacheable response.
const OVERVIEW: &str =
    "overview(cap: 2) { cursor unread { count exact } unseen { count exact } ...Types here: cursor }";

/// The etag of a client's first request.
const NONE: &str = "0000000000000000";

impl Driver<'_> {
    /// Queries both nodes for the overviews of all users, with the known etags and without.
    pub async fn compare_tags(&mut self) -> Result<(), String> {
        let nodes = [self.actor(CallerRole::Service, "shop"), self.looking(CallerRole::Service, "shop")];
        let known = self.known.clone();
        let one = self.overviews(&nodes[0], &known).await;
        let other = self.overviews(&nodes[1], &known).await;
        for (user, known) in known.into_iter().enumerate() {
            let all = &one[user]["overview"];
            self.compare_poll(USERS[user], &one[user]).await?;
            let as_shown = |by: &Value| {
                let overview = &by["overview"];
                // With the Redis validation, a node knows the end of the log only as of its last database read.
                let overview = if self.knows_the_end() { overview.clone() } else { without(overview, "cursor") };
                [overview, by["inbox"].clone(), by["archive"].clone()]
            };
            let (one_shows, other_shows) = (as_shown(&one[user]), as_shown(&other[user]));
            if one_shows != other_shows {
                return Err(format!("one node shows {} {one_shows:#?}, the other {other_shows:#?}", USERS[user]));
            }
            let all = &without(all, "cursor");
            let news = if shown(all) == shown(&known) { &Value::Null } else { all };
            for told in [&one[user]["overviewUnless"], &other[user]["overviewUnless"]] {
                if told != news {
                    return Err(format!("{}, who knows {known:#}, is told {told:#}: it is {all:#}", USERS[user]));
                }
            }
            self.note_tag(user, all)?;
            self.known[user].clone_from(all);
        }
        Ok(())
    }

    /// Records an overview and its etag. In the whole history, overviews with the same etag are equal, and equal
    /// overviews have the same etag.
    fn note_tag(&mut self, user: usize, all: &Value) -> Result<(), String> {
        let (shows, tag) = (shown(all).to_string(), all["etag"].to_string());
        let [by_tag, by_shown] = &mut self.tags[user];
        let before = by_tag.entry(tag.clone()).or_insert_with(|| shows.clone());
        if *before != shows {
            return Err(format!("{} is shown {shows} with the tag {tag} of {before}", USERS[user]));
        }
        let before = by_shown.entry(shows).or_insert_with(|| tag.clone());
        if *before != tag {
            return Err(format!("{} is shown {all:#} again, whose tag was {before}", USERS[user]));
        }
        Ok(())
    }

    /// Queries both nodes twice as the user, who must get the same as another caller gets about them.
    async fn compare_poll(&self, user: &str, all: &Value) -> Result<(), String> {
        if all["overview"].is_null() {
            return Ok(());
        }
        let types = ALL.find("fragment Types").map_or("", |place| &ALL[place..]);
        for node in [self.actor(CallerRole::User, user), self.looking(CallerRole::User, user)] {
            for _ in 0..2 {
                let query = format!("query {{ viewer {{ {OVERVIEW} {LISTS} }} }} {types}");
                let (_, answer) = node.send(&query, json!({})).await;
                let (told, known) = (&answer["data"]["viewer"], &all["overview"]);
                let overview = &told["overview"];
                let differs = ["unread", "unseen", "types"].iter().any(|of| overview[of] != known[of]);
                let place = if self.knows_the_end() { &known["cursor"] } else { &overview["cursor"] };
                let lists_differ = ["inbox", "archive"].iter().any(|of| told[of] != all[of]);
                if differs || lists_differ || [&overview["cursor"], &overview["here"]] != [place; 2] {
                    return Err(format!("{user} is told {answer:#}: it is {all:#}"));
                }
            }
        }
        Ok(())
    }

    /// Whether each node reports an inbox as of the end of the log, even after sends to others.
    fn knows_the_end(&self) -> bool {
        !self.app.app.config.board
    }

    async fn overviews(&self, node: &Actor<'_>, known: &[Value]) -> Vec<Value> {
        let (mut fields, mut variables, mut declared) = (Vec::new(), Map::new(), Vec::new());
        for (place, (user, known)) in USERS.iter().zip(known).enumerate() {
            variables.insert(format!("t{place}"), json!(known["etag"].as_str().unwrap_or(NONE)));
            declared.push(format!("$t{place}: String!"));
            let of = format!(
                "overview(cap: 2) {{ ...All cursor }} overviewUnless(cap: 2, etag: $t{place}) {{ ...All }} {LISTS}"
            );
            fields.push(format!("u{place}: inboxUser(id: \"{user}\") {{ {of} }}"));
        }
        let query = format!("query({}) {{ {} }} {ALL}", declared.join(", "), fields.join(" "));
        let (_, mut answer) = node.send(&query, Value::Object(variables)).await;
        (0..USERS.len()).map(|place| answer["data"][format!("u{place}")].take()).collect()
    }
}

/// Everything but the etag.
fn shown(all: &Value) -> Value {
    without(all, "etag")
}

fn without(all: &Value, field: &str) -> Value {
    let mut all = all.clone();
    if let Some(fields) = all.as_object_mut() {
        fields.remove(field);
    }
    all
}
