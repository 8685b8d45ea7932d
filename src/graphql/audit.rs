//! The audit log.

use std::collections::HashMap;

use async_graphql::connection::Edge;
use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::ids::UserId;

use super::connection::{PageArguments, ScannedConnection, names};
use super::context::{ADMIN, CallContext};
use super::loaders::BatchLoader;
use super::scalars::{DateTimeScalar, to_int};
use domain::audit::{self, AuditCriteria, AuditCursor, AuditList, AuditRecord, SubjectKind};
use domain::user::{self, UserProfile};
use model::actor::{NetworkClass, StaffActor, StaffKind};
use model::id_cipher::IdKind;
use model::list_page::ListEnd;
use model::validate;

names!(AuditEntries, "AuditEntryConnection", "AuditEntryEdge");

/// Roles of callers who act for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "StaffKind")]
pub enum StaffRole {
    /// The tenant's backend.
    Service,
    /// An operator.
    Admin,
}

/// Network class of a caller's address. The address itself is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "NetworkClass")]
pub enum CallOrigin {
    /// Not over the network.
    Unknown,
    /// The server's own machine.
    Loopback,
    /// A private network.
    Private,
    /// The internet.
    Public,
}

/// The service or operator that did something.
#[derive(Clone, Debug, SimpleObject)]
pub struct AuditActor {
    /// The role.
    pub role: StaffRole,
    /// The `sub` of their token.
    pub name: String,
    /// Network class of the caller's address: the peer address or, behind the server's proxies, the address that they
    /// report.
    pub origin: CallOrigin,
}

impl From<StaffActor> for AuditActor {
    fn from(of: StaffActor) -> Self {
        Self { role: of.staff.into(), name: of.name, origin: of.origin.into() }
    }
}

/// Kind of object that an audit entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "SubjectKind")]
pub enum AuditSubject {
    /// Settings of the whole tenant: defaults, the follow policy, mail, WeChat, Web Push, and deliveries that were sent
    /// again.
    Tenant,
    /// A user, by your id.
    User,
    /// A group, by its code.
    Group,
    /// A view, as `code/externalId`.
    View,
    /// A sent notification, by the `id` of the `SentNotification`.
    Notification,
    /// A message type, by its code.
    MessageType,
    /// A reason, by its code.
    Reason,
    /// A kind of views, by its code.
    ViewCode,
    /// A rule, by its code.
    Rule,
    /// A webhook endpoint, by the `id` of the `WebhookEndpoint`.
    Endpoint,
    /// A target type, by its code.
    TargetType,
}

/// An action of a service or an operator.
#[derive(Clone, Debug, SimpleObject)]
pub struct AuditEntry {
    /// When it happened.
    pub at: DateTimeScalar,
    /// Who did it.
    pub actor: AuditActor,
    /// The mutation, such as `retractSentNotification`, or the query `exportUser`. Each notification of a
    /// `sendNotifications` call appears as if it had been sent alone.
    pub action: String,
    /// Kind of object that it changed.
    pub subject_kind: AuditSubject,
    /// The object, as `AuditSubject` describes; null if there is only one of its kind, or if the user was erased since.
    pub subject: Option<ID>,
    /// Number of users, if the members of a group or a view were changed; else 1.
    pub count: i32,
    /// For `tryNotificationRule`, the source and the beginning of the query, such as `wms: SELECT 1`. Null for other
    /// actions.
    pub detail: Option<String>,
}

/// An object that audit entries are about.
#[derive(InputObject)]
pub struct AuditSubjectInput {
    /// Its kind.
    pub kind: AuditSubject,
    /// Its id, as `AuditSubject` describes.
    pub id: ID,
}

/// Filter of the audit log. Entries must match all given conditions.
#[derive(Default, InputObject)]
pub struct AuditFilter {
    /// The `sub` of the token.
    pub actor: Option<String>,
    /// One of these mutations, such as `saveMessageType`; at most 100.
    pub actions: Option<Vec<String>>,
    /// Done to this object.
    pub subject: Option<AuditSubjectInput>,
    /// At this instant or later.
    pub since: Option<DateTimeScalar>,
    /// Before this instant.
    pub until: Option<DateTimeScalar>,
}

#[derive(Default)]
pub struct AuditQuery;

#[Object]
impl AuditQuery {
    /// What services and operators did that concerns others, newest first: notifications that they sent, amended and
    /// retracted, and changes to the catalogue, groups, rules, destinations and users, including exports and erasures
    /// of users. It leaves out: refused and failed calls, what users do themselves, reads, rows reported to rules
    /// (`reportRuleRows`), and activities in views (`recordActivity`). It holds no texts. Entries are kept for
    /// `TIDINGS_AUDIT_DAYS` days; sends are kept as long as the notification. A filtered page scans 10,000 sends and
    /// 10,000 other entries: it may have fewer than requested, or none, and continues at its `endCursor`
    /// (`startCursor`). ADMIN.
    async fn audit_log(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which entries to list. Default: all.")] filter: Option<AuditFilter>,
        #[graphql(desc = "Page size from the newest on, at most 200.")] first: Option<i32>,
        #[graphql(desc = "Only entries older than the one at this cursor.")] after: Option<String>,
        #[graphql(
            desc = "Page size from the oldest on, at most 200. Not with `first`, unless exactly one cursor is given: `before` selects `last`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries newer than the one at this cursor.")] before: Option<String>,
    ) -> Result<ScannedConnection<AuditEntry, AuditEntries>> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        let paging = PageArguments::from_field(ctx, (first, after), (last, before));
        let slice = paging
            .into_slice(call, |cursor| call.tenant.id_cipher.decode(IdKind::AuditPlace, cursor).map(decode_position))?;
        let filter = filter.unwrap_or_default().into_filter(call).await?;
        let page = match filter {
            Some(filter) => audit::load_page(call.app, call.tenant, &filter, &slice).await?,
            None => audit::AuditPage { entries: Vec::new(), goes_on_at: None },
        };
        let (places, entries): (Vec<AuditCursor>, Vec<AuditRecord>) = page.entries.into_iter().unzip();
        let nodes = api_entries(call, entries).await?;
        let (goes_on, end) = (page.goes_on_at.is_some(), page.goes_on_at.map(|at| encode_cursor(call, at)));
        let is_forwards = slice.from == ListEnd::First;
        Ok(ScannedConnection {
            edges: places.into_iter().zip(nodes).map(|(at, node)| Edge::new(encode_cursor(call, at), node)).collect(),
            has_previous_page: if is_forwards { slice.after.is_some() } else { goes_on },
            has_next_page: if is_forwards { goes_on } else { slice.before.is_some() },
            ends: if is_forwards { (None, end) } else { (end, None) },
        })
    }
}

/// Most actions in a filter.
const ACTIONS: usize = 100;

/// Most bytes of a name or an id in a filter.
const NAME_BYTES: usize = 4096;

/// Largest number in a cursor, above all row ids.
const BEYOND: i64 = (1 << 47) - 1;

fn encode_cursor(call: CallContext<'_>, at: AuditCursor) -> String {
    let twice = |number: i64, list| 2 * number.min(BEYOND) + i64::from(at.behind == Some(list));
    call.tenant.id_cipher.encode(
        IdKind::AuditPlace,
        twice(at.entry, AuditList::Log),
        twice(at.notification, AuditList::Sent),
    )
}

fn decode_position((entry, notification): (i64, i64)) -> AuditCursor {
    let is_odd = |number| number % 2 == 1;
    let behind = match (is_odd(entry), is_odd(notification)) {
        (true, _) => Some(AuditList::Log),
        (_, true) => Some(AuditList::Sent),
        _ => None,
    };
    AuditCursor { entry: entry / 2, notification: notification / 2, behind }
}

impl AuditFilter {
    /// The filter for the database; `None` if its subject does not exist.
    async fn into_filter(self, call: CallContext<'_>) -> base::error::Result<Option<AuditCriteria>> {
        let actions = self.actions.as_deref().unwrap_or_default();
        validate::at_most("filter.actions", actions.len(), ACTIONS)?;
        validate::identifiers("filter.actions", actions)?;
        if let Some(actor) = &self.actor {
            validate::body("filter.actor", actor, NAME_BYTES)?;
        }
        let subject = match self.subject {
            None => None,
            Some(AuditSubjectInput { kind, id }) => match stored_subject(call, kind.into(), &id).await? {
                Some(subject) => Some((kind.into(), subject)),
                None => return Ok(None),
            },
        };
        Ok(Some(AuditCriteria {
            actor: self.actor,
            actions: self.actions,
            subject,
            since: self.since.map(|at| at.0),
            until: self.until.map(|at| at.0),
        }))
    }
}

/// A subject as the table stores it; `None` if it does not exist.
async fn stored_subject(call: CallContext<'_>, kind: SubjectKind, id: &ID) -> base::error::Result<Option<String>> {
    validate::body("filter.subject.id", id, NAME_BYTES)?;
    let opened = |kind| call.tenant.id_cipher.decode(kind, id).map(|(_, number)| number.to_string());
    Ok(match kind {
        SubjectKind::User => {
            let name = id.to_string();
            validate::identifier("filter.subject.id", &name)?;
            user::find_existing(call.app, call.tenant, &[name]).await?.into_values().next().map(|user| user.to_string())
        }
        SubjectKind::Notification => opened(IdKind::Notification),
        SubjectKind::Endpoint => opened(IdKind::Destination),
        _ => Some(id.to_string()),
    })
}

/// Entries as the API shows them. Their users are read in one batch.
pub async fn api_entries(call: CallContext<'_>, entries: Vec<AuditRecord>) -> base::error::Result<Vec<AuditEntry>> {
    let users = entries.iter().filter(|of| of.kind == SubjectKind::User).filter_map(|of| of.subject.as_deref());
    let mut users: Vec<UserId> = users.filter_map(|number| number.parse().ok().map(UserId)).collect();
    users.sort_unstable();
    users.dedup();
    let users = user::load_profiles(call.app, call.tenant, &users).await?;
    Ok(entries.into_iter().map(|of| api_entry(call, of, &users)).collect())
}

fn api_entry(call: CallContext<'_>, of: AuditRecord, users: &HashMap<UserId, UserProfile>) -> AuditEntry {
    let number = || of.subject.as_deref().and_then(|number| number.parse::<i64>().ok());
    let sealed = |kind| number().map(|number| call.tenant.id_cipher.encode(kind, 0, number));
    let subject = match of.kind {
        SubjectKind::User => {
            number().and_then(|number| users.get(&UserId(number))).map(|user| user.external_id.clone())
        }
        SubjectKind::Notification => sealed(IdKind::Notification),
        SubjectKind::Endpoint => sealed(IdKind::Destination),
        _ => of.subject.clone(),
    };
    AuditEntry {
        at: of.at.into(),
        actor: of.actor.into(),
        action: of.action,
        subject_kind: of.kind.into(),
        subject: subject.map(ID),
        count: to_int(of.count),
        detail: of.detail,
    }
}

/// Histories of the notifications of a request, read in one batch.
pub type HistoryLoader = BatchLoader<i64, Vec<AuditRecord>>;

impl HistoryLoader {
    /// The history of one of them.
    pub async fn load_entries(&self, call: CallContext<'_>, notification: i64) -> Result<Vec<AuditEntry>> {
        let of = self.load(notification, |ids| audit::load_histories(call.app, call.tenant, ids)).await?;
        Ok(api_entries(call, of.cloned().unwrap_or_default()).await?)
    }
}
