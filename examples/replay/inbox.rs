//! Queries of inboxes.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::json;

use crate::Result;
use crate::activity::Topic;
use crate::client::Client;
use crate::send::MESSAGE_TYPE;

/// Items per page.
const PAGE: usize = 200;

const OVERVIEWS: &str = "query Overviews($ids: [ID!]!, $types: [String!]) {
  inboxUsers(ids: $ids) {
    user { id }
    overview(types: $types) {
      unread { count exact }
      types { unread { count } latest { id title } }
    }
  }
}";

const LIST: &str = "query List($id: ID!, $types: [String!], $first: Int!, $after: String) {
  inboxUser(id: $id) {
    inbox(filter: { types: $types }, first: $first, after: $after) {
      nodes { id target { type externalId } action sender { id } }
      pageInfo { hasNextPage endCursor }
    }
  }
}";

/// The parts of an overview that are checked.
pub struct Seen {
    pub unread: usize,
    pub is_exact: bool,
    pub unread_of_type: usize,
    /// The newest item's id.
    pub latest: Option<String>,
}

/// Totals over all pages of an inbox.
#[derive(Default)]
pub struct Listed {
    pub item_count: usize,
    pub ids: HashSet<String>,
    pub newest: Option<String>,
    pub own_count: usize,
    pub by_topic: HashMap<Topic, usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsersData {
    inbox_users: Vec<Option<OverviewUser>>,
}

#[derive(Deserialize)]
struct OverviewUser {
    user: User,
    overview: Overview,
}

#[derive(Deserialize)]
struct Overview {
    unread: Count,
    types: Vec<TypeOverview>,
}

#[derive(Deserialize)]
struct Count {
    count: usize,
    #[serde(default)]
    exact: bool,
}

#[derive(Deserialize)]
struct TypeOverview {
    unread: Count,
    latest: Option<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserData {
    inbox_user: Option<ListUser>,
}

#[derive(Deserialize)]
struct ListUser {
    inbox: Connection,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection {
    nodes: Vec<Item>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    id: String,
    target: Option<Target>,
    action: Option<String>,
    sender: Option<User>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    r#type: String,
    external_id: String,
}

#[derive(Deserialize)]
struct User {
    id: String,
}

/// The overviews of the users, by user.
pub async fn overviews(client: &Client, ids: &[&str]) -> Result<Vec<(String, Seen)>> {
    let variables = json!({ "ids": ids, "types": [MESSAGE_TYPE] });
    let data: UsersData = client.call(OVERVIEWS, variables).await?;
    let answered: Vec<Option<&str>> =
        data.inbox_users.iter().map(|of| of.as_ref().map(|of| of.user.id.as_str())).collect();
    if !answered.iter().copied().eq(ids.iter().map(|id| Some(*id))) {
        return Err(format!("asked for the users {ids:?}, got {answered:?}").into());
    }
    data.inbox_users.into_iter().flatten().map(|of| Ok((of.user.id, seen(of.overview)?))).collect()
}

fn seen(overview: Overview) -> Result<Seen> {
    let [of_type] = <[TypeOverview; 1]>::try_from(overview.types)
        .map_err(|types| format!("asked for the overview of 1 type, got {}", types.len()))?;
    Ok(Seen {
        unread: overview.unread.count,
        is_exact: overview.unread.exact,
        unread_of_type: of_type.unread.count,
        latest: of_type.latest.map(|item| item.id),
    })
}

/// Reads all pages of a user's inbox, newest first.
pub async fn list(client: &Client, user: &str) -> Result<Listed> {
    let mut listed = Listed::default();
    let mut after: Option<String> = None;
    loop {
        let variables = json!({ "id": user, "types": [MESSAGE_TYPE], "first": PAGE, "after": after });
        let data: UserData = client.call(LIST, variables).await?;
        let Connection { nodes, page_info } = data.inbox_user.ok_or_else(|| format!("no user {user}"))?.inbox;
        let unique_count = listed.ids.len();
        for item in nodes {
            listed.add(user, item);
        }
        if !page_info.has_next_page {
            return Ok(listed);
        }
        // Without this check, a cursor that leads in a circle would keep the loop running forever.
        if listed.ids.len() == unique_count {
            return Err(format!("{user}: a page after {after:?} brought nothing new, yet there is a next one").into());
        }
        after = page_info.end_cursor;
    }
}

impl Listed {
    fn add(&mut self, user: &str, item: Item) {
        self.item_count += 1;
        self.own_count += usize::from(item.sender.is_some_and(|sender| sender.id == user));
        // An item without target or action counts for a topic that is not expected, and is reported.
        let Target { r#type, external_id } = item.target.unwrap_or_default();
        let topic = Topic { action: item.action.unwrap_or_default(), target_type: r#type, target_id: external_id };
        *self.by_topic.entry(topic).or_default() += 1;
        self.newest.get_or_insert_with(|| item.id.clone());
        self.ids.insert(item.id);
    }
}
