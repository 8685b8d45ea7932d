//! Operations of an inbox. That they fit the schema is checked when they are compiled.

#[cynic::schema("tidings")]
pub mod schema {}

#[derive(cynic::Scalar, Debug, Clone)]
pub struct DateTime(pub String);

#[derive(cynic::Enum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationKind {
    Announcement,
    Message,
    Reminder,
}

#[derive(cynic::Enum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxState {
    Inbox,
    Archived,
    All,
}

#[derive(cynic::InputObject, Debug, Default)]
pub struct InboxFilter {
    #[cynic(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    pub kinds: Option<Vec<NotificationKind>>,
    pub read: Option<bool>,
    #[cynic(skip_serializing_if = "Option::is_none")]
    pub sender: Option<cynic::Id>,
    #[cynic(skip_serializing_if = "Option::is_none")]
    pub since: Option<DateTime>,
    pub state: Option<InboxState>,
    #[cynic(skip_serializing_if = "Option::is_none")]
    pub target: Option<TopicTargetInput>,
    pub types: Option<Vec<String>>,
    #[cynic(skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime>,
}

#[derive(cynic::InputObject, Debug)]
pub struct TopicTargetInput {
    #[cynic(rename = "type")]
    pub kind: String,
    pub external_id: cynic::Id,
}

#[derive(cynic::QueryVariables, Debug)]
pub struct InboxVariables {
    pub first: Option<i32>,
    pub filter: Option<InboxFilter>,
    pub cap: Option<i32>,
}

#[derive(cynic::QueryFragment, Debug)]
#[cynic(graphql_type = "Query", variables = "InboxVariables")]
pub struct Inbox {
    pub viewer: Viewer,
}

#[derive(cynic::QueryFragment, Debug)]
#[cynic(variables = "InboxVariables")]
pub struct Viewer {
    pub id: cynic::Id,
    pub user: User,
    #[arguments(cap: $cap)]
    pub overview: InboxOverview,
    #[arguments(first: $first, filter: $filter)]
    pub inbox: InboxItemConnection,
}

#[derive(cynic::QueryFragment, Debug)]
pub struct User {
    pub id: cynic::Id,
}

#[derive(cynic::QueryFragment, Debug)]
pub struct InboxOverview {
    pub unread: CappedCount,
}

#[derive(cynic::QueryFragment, Debug)]
pub struct CappedCount {
    pub count: i32,
    pub exact: bool,
}

#[derive(cynic::QueryFragment, Debug)]
pub struct InboxItemConnection {
    pub nodes: Vec<InboxItem>,
}

#[derive(cynic::QueryFragment, Debug)]
pub struct InboxItem {
    pub id: cynic::Id,
    pub title: String,
    pub kind: NotificationKind,
    pub is_read: bool,
    pub created_at: DateTime,
    pub read_at: Option<DateTime>,
}

/// Which items: either some, or all that match.
#[derive(cynic::InputObject, Debug)]
pub enum InboxItemSelector {
    Ids(Vec<cynic::Id>),
    Matching(InboxItemMatch),
}

#[derive(cynic::InputObject, Debug)]
pub struct InboxItemMatch {
    pub types: Option<Vec<String>>,
    pub target: Option<TopicTargetInput>,
    pub up_to: Option<String>,
}

#[derive(cynic::QueryVariables, Debug)]
pub struct MarkVariables {
    pub select: InboxItemSelector,
}

#[derive(cynic::QueryFragment, Debug)]
#[cynic(graphql_type = "Mutation", variables = "MarkVariables")]
pub struct MarkRead {
    #[arguments(select: $select)]
    pub mark_read: InboxItemsPayload,
}

#[derive(cynic::QueryFragment, Debug)]
pub struct InboxItemsPayload {
    pub changed_count: i32,
    pub items: Vec<InboxItem>,
    pub viewer: Option<MarkedViewer>,
}

#[derive(cynic::QueryFragment, Debug)]
#[cynic(graphql_type = "Viewer")]
pub struct MarkedViewer {
    pub id: cynic::Id,
    pub overview: InboxOverview,
}
