//! Lists of sent notifications.

use std::collections::BTreeSet;
use std::ops::Range;

use entity::ids::{TypeId, UserId};
use entity::notification::{Column, Entity as Notifications};
use entity::prelude::*;
use entity::schedule::{self, Entity as Schedule};
use sea_orm::sea_query::{Condition, ExprTrait};
use sea_orm::{QueryTrait, Select};
use tokio::sync::Mutex;

use super::{Notification, NotificationKind, NotificationRow, NotificationState, select_rows};
use crate::catalogue::{self, Catalogue};
use crate::channel::ActionTarget;
use crate::tenant::Tenant;
use crate::user;
use base::clock::Millis;
use base::error::{Error, Result};
use model::list_page::{ListEnd, PageRange};
use model::user::fold_case;
use model::validate;
use store::Store;

/// The most notifications that a page scans, if its filter has no index.
const PASSED_OVER: u64 = 10_000;

/// How many titles the searches of one request may still scan, together. It starts with the limit of one page. The
/// searches scan one after the other.
#[derive(Debug)]
pub struct SearchBudget(Mutex<u64>);

impl Default for SearchBudget {
    fn default() -> Self {
        Self(Mutex::new(PASSED_OVER))
    }
}

/// A page of sent notifications.
#[derive(Debug)]
pub struct NotificationPage {
    /// Newest first.
    pub notifications: Vec<Notification>,
    /// The number of the notification beyond which the list continues, in reading direction, if it does.
    pub goes_on_at: Option<i64>,
    /// Whether the list continues. A page of size 0 continues where it began.
    pub goes_on: bool,
}

/// Which notifications to list. `None` does not filter.
#[derive(Clone, Debug, Default)]
pub struct SentFilter {
    /// Codes of types.
    pub types: Option<Vec<String>>,
    pub kinds: Option<Vec<NotificationKind>>,
    pub statuses: Option<Vec<NotificationState>>,
    /// The backend's id of a user.
    pub sender: Option<String>,
    pub target: Option<ActionTarget>,
    /// Published at this instant or later.
    pub since: Option<Millis>,
    /// Published before this instant.
    pub until: Option<Millis>,
    /// A part of the title. Case does not matter.
    pub text: Option<String>,
}

impl SentFilter {
    /// Whether the page scans no other rows, because nothing is filtered or an index has the filtered rows.
    fn is_indexed(&self) -> bool {
        let Self { types, kinds, statuses, sender, target, since: _, until: _, text } = self;
        let is_apart =
            (target.is_some() && !self.is_dated()) || statuses.as_deref() == Some(&[NotificationState::Scheduled]);
        let is_apart_alone = is_apart && text.is_none();
        let is_open = types.is_none() && kinds.is_none() && statuses.is_none() && sender.is_none() && target.is_none();
        is_apart_alone || (is_open && text.is_none())
    }

    /// Whether it is limited to a time of publication, which is a range of the log.
    fn is_dated(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }
}

/// A page of notifications, newest first: by number, or by seq if the filter has a time. Walks the key,
/// `notification_seq` or the target's index until the page is full. If the filter has no index, the page ends after
/// 10,000 scanned rows. A search of titles ends after as many as the request's other searches have left.
pub async fn list_page(
    store: &Store,
    tenant: &Tenant,
    filter: &SentFilter,
    slice: PageRange<i64>,
    budget: &SearchBudget,
) -> Result<NotificationPage> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let db = &store.db.read;
    let walk = ListWalk::for_filter(store, tenant, filter, slice).await?;
    let mut found = apply_filter(store, tenant, &catalogue, filter).await?;
    let mut walked_to = if filter.is_indexed() { None } else { walk.last_scannable(db, tenant).await? };
    if let Some((place, _)) = walked_to {
        found = found.filter(match slice.from {
            ListEnd::First => walk.by.gte(place),
            ListEnd::Last => walk.by.lte(place),
        });
    }
    let many = slice.many.saturating_add(1);
    let rows: Vec<NotificationRow> = match &filter.text {
        None => walk.limit_query(found).limit(many as u64).into_model().all(db).await?,
        Some(text) => {
            validate::title("filter.text", text)?;
            let text: String = fold_case(text.trim()).collect();
            let TitleMatches { ids, stopped_at } =
                search_titles(db, &catalogue, (&walk, found), (&text, budget), many).await?;
            walked_to = stopped_at.or(walked_to);
            walk.limit_query(select_rows(tenant).filter(Column::Id.is_in_list(db, &ids))).into_model().all(db).await?
        }
    };
    let (rows, is_full) = slice.make_page(rows);
    let notifications =
        rows.into_iter().map(|row| row.into_notification(&catalogue)).collect::<Result<Vec<Notification>>>()?;
    let farthest = match slice.from {
        ListEnd::First => notifications.last(),
        ListEnd::Last => notifications.first(),
    };
    let farthest = farthest.map(|of| of.id);
    let goes_on_at = if is_full { farthest } else { walked_to.map(|(_, id)| id) };
    Ok(NotificationPage { notifications, goes_on_at, goes_on: is_full || walked_to.is_some() })
}

/// The filter's conditions, except those on titles and times.
async fn apply_filter(
    store: &Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
    filter: &SentFilter,
) -> Result<Select<Notifications>> {
    let (db, mut found) = (&store.db.read, select_rows(tenant));
    if filter.types.is_some() {
        let types = catalogue.select_types("filter.types", filter.types.as_deref())?;
        let ids: Vec<TypeId> = types.iter().map(|kind| kind.id).collect();
        found = found.filter(Column::TypeId.is_in_list(db, &ids));
    }
    if let Some(kinds) = &filter.kinds {
        let kinds: BTreeSet<NotificationKind> = kinds.iter().copied().collect();
        found = found.filter(Column::Kind.is_in_list(db, &Vec::from_iter(kinds)));
    }
    if let Some(statuses) = &filter.statuses {
        found = found.filter(status_condition(statuses, store.now()));
        if statuses.as_slice() == [NotificationState::Scheduled] {
            // Few rows, in a table of their own.
            let scheduled = Schedule::of_tenant(tenant.id).select_only().column(schedule::Column::NotificationId);
            found = found.filter(Column::Id.in_subquery(scheduled.into_query()));
        }
    }
    if let Some(sender) = &filter.sender {
        validate::identifier("filter.sender", sender)?;
        // A user that the tenant does not know has sent nothing.
        let known = user::find_existing(store, tenant, std::slice::from_ref(sender)).await?;
        found = found.filter(Column::SenderId.is_in_list(db, &known.into_values().collect::<Vec<_>>()));
    }
    if let Some(target) = &filter.target {
        target.check().map_err(|error| error.with_field_prefix("filter"))?;
        found = found.filter(Column::TargetType.eq(&target.target_type)).filter(Column::TargetId.eq(&target.id));
    }
    Ok(found)
}

/// The order of a list, and the part of it to walk.
struct ListWalk {
    by: Column,
    part: PageRange<i64>,
    /// The time of the filter as seqs: above the first, up to the second.
    within: (Option<i64>, Option<i64>),
}

impl ListWalk {
    /// By number. By seq if the filter has a time, because a time is a range of the log.
    async fn for_filter(store: &Store, tenant: &Tenant, filter: &SentFilter, slice: PageRange<i64>) -> Result<Self> {
        if !filter.is_dated() {
            return Ok(Self { by: Column::Id, part: slice, within: (None, None) });
        }
        let db = &store.db.read;
        let mut within = (None, None);
        if let Some(since) = filter.since {
            within.0 = Some(user::seq_before(db, tenant, since).await?);
        }
        if let Some(until) = filter.until {
            within.1 = Some(user::seq_before(db, tenant, until).await?);
        }
        let place = async |field, cursor: Option<i64>| {
            let Some(id) = cursor else { return Ok(None) };
            let seq = Notifications::of_tenant(tenant.id).filter(Column::Id.eq(id)).select_only().column(Column::Seq);
            let seq: Option<Option<i64>> = seq.into_tuple().one(db).await?;
            let gone = || Error::bad_input(field, "is the cursor of a notification that was deleted");
            seq.flatten().map(Some).ok_or_else(gone)
        };
        let part = PageRange {
            many: slice.many,
            from: slice.from,
            after: place("after", slice.after).await?,
            before: place("before", slice.before).await?,
        };
        Ok(Self { by: Column::Seq, part, within })
    }

    /// Limits the query to the part, and orders it from the part's end on. Later in the list means older.
    fn limit_query<Found: QueryFilter + QueryOrder>(&self, found: Found) -> Found {
        let mut found = found;
        for bound in [self.part.before, self.within.0].into_iter().flatten() {
            found = found.filter(self.by.gt(bound));
        }
        if let Some(newer) = self.part.after {
            found = found.filter(self.by.lt(newer));
        }
        if let Some(newest) = self.within.1 {
            found = found.filter(self.by.lte(newest));
        }
        match self.part.from {
            ListEnd::First => found.order_by_desc(self.by),
            ListEnd::Last => found.order_by_asc(self.by),
        }
    }

    /// The last row that a page may scan, as its position in the walk and its number.
    async fn last_scannable(&self, db: &impl ConnectionTrait, tenant: &Tenant) -> Result<Option<(i64, i64)>> {
        let walked = Notifications::of_tenant(tenant.id).select_only().column_as(self.by.into_expr(), "place");
        let walked = walked.column_as(Column::Id.into_expr(), "number");
        Ok(self.limit_query(walked).offset(PASSED_OVER - 1).into_tuple().one(db).await?)
    }
}

/// The result of a search of titles.
struct TitleMatches {
    ids: Vec<i64>,
    /// The last row scanned, if the budget was spent before the search was complete.
    stopped_at: Option<(i64, i64)>,
}

/// The numbers of up to `many` notifications with a folded text in the title. Scans a thousand titles of the walk at a
/// time, in the server, because every database has its own rules for case.
async fn search_titles(
    db: &impl ConnectionTrait,
    catalogue: &Catalogue,
    (walk, found): (&ListWalk, Select<Notifications>),
    (text, budget): (&str, &SearchBudget),
    many: usize,
) -> Result<TitleMatches> {
    let titles = found.select_only().columns([Column::Id, Column::TypeId, Column::Title]);
    let titles = walk.limit_query(titles.column_as(walk.by.into_expr(), "place"));
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let mut left = budget.0.lock().await;
        let most = Ord::min(*left, LIST as u64);
        if most == 0 {
            let spent = format!(
                "must be sent in another request: all searches of one request scan at most {PASSED_OVER} titles together"
            );
            let stopped_at = Some(after.ok_or_else(|| Error::bad_input("filter.text", spent))?);
            return Ok(TitleMatches { ids, stopped_at });
        }
        let some = after.map_or_else(Condition::all, |(place, _): (i64, i64)| {
            Condition::all().add(match walk.part.from {
                ListEnd::First => walk.by.lt(place),
                ListEnd::Last => walk.by.gt(place),
            })
        });
        let some = titles.clone().filter(some).limit(most);
        let some: Vec<(i64, TypeId, Option<String>, i64)> = some.into_tuple().all(db).await?;
        *left -= some.len() as u64;
        drop(left);
        for (id, kind, title, place) in &some {
            after = Some((*place, *id));
            let shown = title.as_deref().or_else(|| Some(catalogue.type_by_id(*kind)?.title.as_str()));
            if shown.is_some_and(|shown| fold_case(shown).collect::<String>().contains(text)) {
                ids.push(*id);
            }
        }
        if (some.len() as u64) < most || ids.len() >= many {
            ids.truncate(many);
            return Ok(TitleMatches { ids, stopped_at: None });
        }
    }
}

/// At most `many` notifications of a sender with numbers in a range, newest first: a walk over that range of the key.
pub async fn list_by_sender(
    store: &Store,
    tenant: &Tenant,
    sender: UserId,
    within: Range<i64>,
    many: usize,
) -> Result<Vec<Notification>> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let sent = select_rows(tenant).filter(Column::Id.gte(within.start)).filter(Column::Id.lt(within.end));
    let sent = sent.filter(Column::SenderId.eq(sender)).order_by_desc(Column::Id).limit(many as u64);
    let rows: Vec<NotificationRow> = sent.into_model().all(&store.db.read).await?;
    rows.into_iter().map(|row| row.into_notification(&catalogue)).collect()
}

fn status_condition(statuses: &[NotificationState], now: Millis) -> Condition {
    let statuses: BTreeSet<NotificationState> = statuses.iter().copied().collect();
    let is_out = || Column::Seq.is_not_null().and(Column::RetractedAt.is_null());
    let one = |status| match status {
        NotificationState::Scheduled => Column::Seq.is_null().and(Column::RetractedAt.is_null()),
        NotificationState::Published => is_out().and(Column::ExpiresAt.is_null().or(Column::ExpiresAt.gt(now))),
        NotificationState::Expired => is_out().and(Column::ExpiresAt.lte(now)),
        NotificationState::Retracted => Column::RetractedAt.is_not_null(),
    };
    statuses.into_iter().map(one).fold(Condition::any(), Condition::add)
}
