//! Who did what to what.

use std::collections::HashMap;

use async_graphql::connection::Edge;
use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::ids::UserId;

use super::at_once::AtOnce;
use super::connection::{Paging, Walked, names};
use super::context::{ADMIN, Call};
use super::scalars::{Instant, int};
use crate::domain::audit::{self, Entry, Filter, List, Place, Subject};
use crate::domain::user::{self, Profile};
use crate::model::actor::{Actor, Origin, Staff};
use crate::model::check;
use crate::model::seal::Kind;
use crate::model::slice::End;

names!(AuditEntries, "AuditEntryConnection", "AuditEntryEdge");

/// What services and operators are, who act for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "Staff")]
pub enum StaffRole {
    /// A partner's backend.
    Service,
    /// An operator.
    Admin,
}

/// From what kind of address somebody has called; the address itself is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "Origin")]
pub enum CallOrigin {
    /// Not over the network.
    Unknown,
    /// The machine that the server is on.
    Loopback,
    /// A network that nobody reaches from outside.
    Private,
    /// The internet.
    Public,
}

/// A service or an operator who did something.
#[derive(Clone, Debug, SimpleObject)]
pub struct AuditActor {
    /// What they are.
    pub role: StaffRole,
    /// The `sub` of their token.
    pub name: String,
    /// From what kind of address they called: that of whoever opened the connection or, behind proxies of the server's, the one that
    /// these tell.
    pub origin: CallOrigin,
}

impl From<Actor> for AuditActor {
    fn from(of: Actor) -> Self {
        Self { role: of.staff.into(), name: of.name, origin: of.origin.into() }
    }
}

/// What something was done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "Subject")]
pub enum AuditSubject {
    /// What all of the tenant have in common: defaults, the follow policy, mail, WeChat, Web Push, deliveries that were sent again.
    Tenant,
    /// A user, by the partner's own id.
    User,
    /// A group, by its code.
    Group,
    /// A view, by its code and, behind a slash, the partner's own id of it.
    View,
    /// What was sent, by the `id` of the `SentNotification`.
    Notification,
    /// A message type, by its code.
    MessageType,
    /// A reason, by its code.
    Reason,
    /// A code of views.
    ViewCode,
    /// A rule, by its code.
    Rule,
    /// A webhook endpoint, by the `id` of the `WebhookEndpoint`.
    Endpoint,
    /// A target type, by its code.
    TargetType,
}

/// Something that a service or an operator did.
#[derive(Clone, Debug, SimpleObject)]
pub struct AuditEntry {
    /// When.
    pub at: Instant,
    /// Who.
    pub actor: AuditActor,
    /// The mutation that they called, such as `retractSentNotification`; or the query `exportUser`. What `sendNotifications` sent is here
    /// as if each had been sent by itself.
    pub action: String,
    /// To what.
    pub subject_kind: AuditSubject,
    /// To which of them, as `AuditSubject` says; null where there is but one, and for users who were erased since.
    pub subject: Option<ID>,
    /// How many users it was about, where a group's or a view's members were changed; 1 otherwise.
    pub count: i32,
    /// Of `tryNotificationRule`: the source and the beginning of the query, as in `wms: SELECT 1`. Null for every other act.
    pub detail: Option<String>,
}

/// To what something was done.
#[derive(InputObject)]
pub struct AuditSubjectInput {
    /// What it is.
    pub kind: AuditSubject,
    /// Which, as `AuditSubject` says.
    pub id: ID,
}

/// Which acts; conditions left out do not count.
#[derive(Default, InputObject)]
pub struct AuditFilter {
    /// The `sub` of the token of who did it.
    pub actor: Option<String>,
    /// One of these mutations, such as `saveMessageType`; 100 at the most.
    pub actions: Option<Vec<String>>,
    /// Done to this.
    pub subject: Option<AuditSubjectInput>,
    /// At this instant or later.
    pub since: Option<Instant>,
    /// Before this instant.
    pub until: Option<Instant>,
}

#[derive(Default)]
pub struct AuditQuery;

#[Object]
impl AuditQuery {
    /// What services and operators did that concerns others, newest first: what they sent, amended and took back, and what they changed of
    /// the catalogue, groups, rules, what goes to the outside, and of users for these, whom they exported and erased. Not in it: what was
    /// refused or failed, what users do themselves, what is only read, and what rules are reported (`reportRuleRows`) and happens in views
    /// (`recordActivity`). It holds no texts. Kept for the days that the server is told to (`TIDINGS_AUDIT_DAYS`); what was sent as long as the notification. A page that
    /// is filtered looks at 10,000 acts of each sort: it may have fewer than were asked for, or none, and go on at its `endCursor` (`startCursor`). ADMIN.
    async fn audit_log(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which acts; all where it is left out.")] filter: Option<AuditFilter>,
        #[graphql(desc = "So many from the newest on, 200 at the most.")] first: Option<i32>,
        #[graphql(desc = "Only older ones than the act at this cursor.")] after: Option<String>,
        #[graphql(desc = "So many from the oldest on, 200 at the most; without `first`.")] last: Option<i32>,
        #[graphql(desc = "Only newer ones than the act at this cursor.")] before: Option<String>,
    ) -> Result<Walked<AuditEntry, AuditEntries>> {
        let call = Call::by(ctx, ADMIN)?;
        let paging = Paging::of(ctx, (first, after), (last, before));
        let slice = paging.slice(call, |cursor| call.tenant.seal.open(Kind::AuditPlace, cursor).map(place))?;
        let filter = filter.unwrap_or_default().read(call).await?;
        let page = match filter {
            Some(filter) => audit::page(call.app, call.tenant, &filter, &slice).await?,
            None => audit::Page { entries: Vec::new(), goes_on_at: None },
        };
        let (places, entries): (Vec<Place>, Vec<Entry>) = page.entries.into_iter().unzip();
        let nodes = shown(call, entries).await?;
        let (goes_on, end) = (page.goes_on_at.is_some(), page.goes_on_at.map(|at| cursor(call, at)));
        let is_forwards = slice.from == End::First;
        Ok(Walked {
            edges: places.into_iter().zip(nodes).map(|(at, node)| Edge::new(cursor(call, at), node)).collect(),
            has_previous_page: if is_forwards { slice.after.is_some() } else { goes_on },
            has_next_page: if is_forwards { goes_on } else { slice.before.is_some() },
            ends: if is_forwards { (None, end) } else { (end, None) },
        })
    }
}

/// Of a filter.
const ACTIONS: usize = 100;

/// Of what somebody or something is called.
const NAME_BYTES: usize = 4096;

/// The greatest number that is in a cursor: beyond all that there are.
const BEYOND: i64 = (1 << 47) - 1;

fn cursor(call: Call<'_>, at: Place) -> String {
    let twice = |number: i64, list| 2 * number.min(BEYOND) + i64::from(at.behind == Some(list));
    call.tenant.seal.close(Kind::AuditPlace, twice(at.entry, List::Log), twice(at.notification, List::Sent))
}

fn place((entry, notification): (i64, i64)) -> Place {
    let is_odd = |number| number % 2 == 1;
    let behind = match (is_odd(entry), is_odd(notification)) {
        (true, _) => Some(List::Log),
        (_, true) => Some(List::Sent),
        _ => None,
    };
    Place { entry: entry / 2, notification: notification / 2, behind }
}

impl AuditFilter {
    /// Nothing where it is about what there is not.
    async fn read(self, call: Call<'_>) -> crate::error::Result<Option<Filter>> {
        let actions = self.actions.as_deref().unwrap_or_default();
        check::count("filter.actions", actions.len(), ACTIONS)?;
        check::codes("filter.actions", actions)?;
        if let Some(actor) = &self.actor {
            check::body("filter.actor", actor, NAME_BYTES)?;
        }
        let subject = match self.subject {
            None => None,
            Some(AuditSubjectInput { kind, id }) => match kept(call, kind.into(), &id).await? {
                Some(subject) => Some((kind.into(), subject)),
                None => return Ok(None),
            },
        };
        Ok(Some(Filter {
            actor: self.actor,
            actions: self.actions,
            subject,
            since: self.since.map(|at| at.0),
            until: self.until.map(|at| at.0),
        }))
    }
}

/// A subject as the table names it; nothing where there is none.
async fn kept(call: Call<'_>, kind: Subject, id: &ID) -> crate::error::Result<Option<String>> {
    check::body("filter.subject.id", id, NAME_BYTES)?;
    let opened = |kind| call.tenant.seal.open(kind, id).map(|(_, number)| number.to_string());
    Ok(match kind {
        Subject::User => {
            let name = id.to_string();
            check::code("filter.subject.id", &name)?;
            user::find(call.app, call.tenant, &[name]).await?.into_values().next().map(|user| user.to_string())
        }
        Subject::Notification => opened(Kind::Notification),
        Subject::Endpoint => opened(Kind::Lane),
        _ => Some(id.to_string()),
    })
}

/// Entries as the API has them, whose users are read together.
pub async fn shown(call: Call<'_>, entries: Vec<Entry>) -> crate::error::Result<Vec<AuditEntry>> {
    let users = entries.iter().filter(|of| of.kind == Subject::User).filter_map(|of| of.subject.as_deref());
    let mut users: Vec<UserId> = users.filter_map(|number| number.parse().ok().map(UserId)).collect();
    users.sort_unstable();
    users.dedup();
    let users = user::profiles(call.app, call.tenant, &users).await?;
    Ok(entries.into_iter().map(|of| entry(call, of, &users)).collect())
}

fn entry(call: Call<'_>, of: Entry, users: &HashMap<UserId, Profile>) -> AuditEntry {
    let number = || of.subject.as_deref().and_then(|number| number.parse::<i64>().ok());
    let sealed = |kind| number().map(|number| call.tenant.seal.close(kind, 0, number));
    let subject = match of.kind {
        Subject::User => number().and_then(|number| users.get(&UserId(number))).map(|user| user.external_id.clone()),
        Subject::Notification => sealed(Kind::Notification),
        Subject::Endpoint => sealed(Kind::Lane),
        _ => of.subject.clone(),
    };
    AuditEntry {
        at: of.at.into(),
        actor: of.actor.into(),
        action: of.action,
        subject_kind: of.kind.into(),
        subject: subject.map(ID),
        count: int(of.count),
        detail: of.detail,
    }
}

/// What was done to notifications that were asked for together.
pub type SharedHistories = AtOnce<i64, Vec<Entry>>;

impl SharedHistories {
    /// What was done to one of them.
    pub async fn shown(&self, call: Call<'_>, notification: i64) -> Result<Vec<AuditEntry>> {
        let of = self.get(notification, |ids| audit::histories(call.app, call.tenant, ids)).await?;
        Ok(shown(call, of.cloned().unwrap_or_default()).await?)
    }
}
