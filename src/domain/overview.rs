//! The overview: unread counts and latest items of every type, in one statement for any number of users and types.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};
use sea_orm::{DbBackend, QueryResult};

use super::catalogue::{self, Catalogue, MessageType};
use super::inbox::item::{self, Item};
use super::inbox::shelf::{Place, Side, push_range, ranges};
use super::inbox::standing::{self, Standing};
use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::sql::Sql;

/// What to put into an overview.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wish {
    /// Codes of types; nothing means all.
    pub types: Option<Vec<String>>,
    /// Counts stop here; at least 1.
    pub cap: Option<i64>,
    /// Whether `unseen` is wanted, which costs a walk over what arrived since.
    pub unseen: bool,
}

/// How many, or that there are more than the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub count: i64,
    /// False where there were more than the cap, which is then the count.
    pub is_exact: bool,
}

impl Count {
    /// `counted` may stand one above the cap, never further.
    fn of(counted: i64, cap: Option<i64>) -> Self {
        match cap {
            Some(cap) if counted > cap => Self { count: cap, is_exact: false },
            _ => Self { count: counted, is_exact: true },
        }
    }
}

/// Where one user's inbox stands.
#[derive(Clone, Debug)]
pub struct Overview {
    pub user: UserId,
    pub unread: Count,
    pub unseen: Count,
    /// In catalogue order.
    pub types: Vec<TypeOverview>,
    /// The inbox is complete up to here.
    pub cursor: Seq,
}

/// One type of it.
#[derive(Clone, Debug)]
pub struct TypeOverview {
    pub message_type: Arc<MessageType>,
    pub unread: Count,
    /// The newest item that is neither archived nor expired.
    pub latest: Option<Item>,
}

/// Branches that one statement on MySQL may have, one a user and type: each has some twenty of its 65,535 parameters.
const BRANCHES: usize = 2000;

/// The overviews of users: one statement where none is behind; where some are, their sync and the statement again.
/// (On MySQL one for every 2,000 pairs of user and type.)
pub async fn of(app: &App, tenant: &Tenant, users: &[UserId], wish: &Wish) -> Result<HashMap<UserId, Overview>> {
    if wish.cap.is_some_and(|cap| cap < 1) {
        return Err(Error::bad_input("cap", "must be at least 1"));
    }
    let types = catalogue::cached(app, tenant).await?.types.len().max(1);
    let at_once = if app.db.backend() == DbBackend::MySql { BRANCHES / types } else { users.len() };
    let mut overviews = HashMap::with_capacity(users.len());
    for users in users.chunks(at_once.max(1)) {
        overviews.extend(together(app, tenant, users, wish).await?);
    }
    Ok(overviews)
}

async fn together(app: &App, tenant: &Tenant, users: &[UserId], wish: &Wish) -> Result<HashMap<UserId, Overview>> {
    let mut catalogue = catalogue::cached(app, tenant).await?;
    let mut is_synced = false;
    loop {
        let types = match chosen(&catalogue, wish.types.as_deref()) {
            Ok(types) => types,
            Err(error) => {
                let seen = catalogue.version;
                catalogue = catalogue::current(app, tenant).await?;
                if catalogue.version == seen {
                    return Err(error);
                }
                continue;
            }
        };
        let rows = statement(app, tenant, users, &types, wish).all(&app.db.read).await?;
        let standings = rows.iter().map(Standing::read).collect::<Result<Vec<_>>>()?;
        match standing::check(app, tenant, &standings, &catalogue, &mut is_synced).await? {
            Some(newer) => catalogue = newer,
            None => return assemble(&rows, &standings, &catalogue, &types, wish),
        }
    }
}

fn chosen(catalogue: &Catalogue, codes: Option<&[String]>) -> Result<Vec<Arc<MessageType>>> {
    let Some(codes) = codes else { return Ok(catalogue.types.clone()) };
    for code in codes {
        if catalogue.message_type(code).is_none() {
            return Err(Error::bad_input("types", format!("no message type {code:?}")));
        }
    }
    Ok(catalogue.types.iter().filter(|kind| codes.contains(&kind.code)).cloned().collect())
}

fn assemble(
    rows: &[QueryResult],
    standings: &[Standing],
    catalogue: &Arc<Catalogue>,
    types: &[Arc<MessageType>],
    wish: &Wish,
) -> Result<HashMap<UserId, Overview>> {
    let mut found: HashMap<(UserId, TypeId), (i64, Option<Item>)> = HashMap::with_capacity(rows.len());
    let mut overviews = HashMap::new();
    for (row, standing) in rows.iter().zip(standings) {
        let unseen = Count::of(row.try_get::<Option<i64>>("", "h_unseen")?.unwrap_or_default(), wish.cap);
        overviews.entry(standing.user).or_insert_with(|| Overview {
            user: standing.user,
            unread: Count { count: 0, is_exact: true },
            unseen,
            types: Vec::with_capacity(types.len()),
            cursor: standing.complete_upto,
        });
        if let Some(kind) = row.try_get::<Option<TypeId>>("", "x_type_id")? {
            found.insert((standing.user, kind), (row.try_get("", "x_unread")?, Item::read(row, catalogue)?));
        }
    }
    for overview in overviews.values_mut() {
        let mut sum = 0;
        for kind in types {
            let (unread, latest) = found.remove(&(overview.user, kind.id)).unwrap_or_default();
            sum += unread;
            let unread = Count::of(unread, wish.cap);
            overview.types.push(TypeOverview { message_type: kind.clone(), unread, latest });
        }
        overview.unread = Count::of(sum, wish.cap);
    }
    Ok(overviews)
}

/// The one statement: where each inbox stands (`h`), for each of its types the unread count and the newest seq (`x`),
/// and that item with its notification, sender and action.
///
/// Per user and type two ranges of `inbox_item_state` are counted and three ends of it are probed; what follows are
/// probes of primary keys.
pub fn statement(app: &App, tenant: &Tenant, users: &[UserId], types: &[Arc<MessageType>], wish: &Wish) -> Sql {
    let now = app.now();
    let ids: Vec<TypeId> = types.iter().map(|kind| kind.id).collect();
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").push(standing::COLUMNS).push(", h.h_unseen, x.x_type_id, x.x_unread, ").push(item::COLUMNS);
    sql.push(", ").push(&super::user::Profile::columns("s")).push(" FROM (");
    standing::push(&mut sql, tenant, users, &|sql, user| {
        if wish.unseen {
            push_unseen(sql, user, &ids, wish.cap, now);
        } else {
            sql.push(", NULL AS h_unseen");
        }
    });
    sql.push(") h LEFT JOIN (");
    push_types(&mut sql, tenant, users, &ids, wish.cap, now);
    sql.push(
        ") x ON x.x_user_id = h.h_user_id LEFT JOIN inbox_item i ON i.user_id = x.x_user_id AND i.seq = x.x_latest",
    );
    item::push_joins(&mut sql, tenant);
    sql
}

/// A row for each user and type. MySQL uses ranges only where it sees constants: there, a branch for each.
fn push_types(sql: &mut Sql, tenant: &Tenant, users: &[UserId], types: &[TypeId], cap: Option<i64>, now: Millis) {
    let columns = |sql: &mut Sql, user: Place<'_>, kind: Place<'_>| {
        sql.push("SELECT ");
        user.push(sql);
        sql.push(" AS x_user_id, ");
        kind.push(sql);
        sql.push(" AS x_type_id, ");
        push_unread(sql, user, kind, cap, now);
        sql.push(" AS x_unread, ");
        push_latest(sql, user, kind, now);
        sql.push(" AS x_latest");
    };
    if sql.backend() == DbBackend::MySql && !types.is_empty() {
        let pairs = users.iter().flat_map(|user| types.iter().map(move |kind| (*user, *kind)));
        for (place, (user, kind)) in pairs.enumerate() {
            sql.push(if place > 0 { " UNION ALL " } else { "" });
            columns(sql, user.into(), kind.into());
        }
        return;
    }
    columns(sql, Place::Column("u.id"), Place::Column("t.id"));
    sql.push(" FROM users u JOIN message_type t ON t.tenant_id = u.tenant_id WHERE u.tenant_id = ").bind(tenant.id);
    sql.push(" AND u.id").in_ids(users).push(" AND t.id").in_ids(types);
}

fn push_unread(sql: &mut Sql, user: Place<'_>, kind: Place<'_>, cap: Option<i64>, now: Millis) {
    for (place, range) in ranges(Side::Inbox, Some(false)).iter().enumerate() {
        sql.push(if place > 0 { " + " } else { "" });
        push_count(sql, cap, &|sql| push_range(sql, user, kind, *range, now));
    }
}

/// What arrived after the inbox was last seen: a range of `inbox_item`'s key, which holds nothing else once somebody
/// has looked.
fn push_unseen(sql: &mut Sql, user: Place<'_>, types: &[TypeId], cap: Option<i64>, now: Millis) {
    sql.push(", ");
    push_count(sql, cap, &|sql| {
        sql.push("i.user_id = ");
        user.push(sql);
        sql.push(" AND i.seq > ");
        match user {
            Place::Column(_) => {
                sql.push("u.seen_seq");
            }
            Place::Constant(user) => {
                sql.push("(SELECT c.seen_seq FROM users c WHERE c.id = ").bind(user).push(")");
            }
        }
        sql.push(" AND i.type_id").in_ids(types).push(" AND i.state IN (");
        for (place, (state, _)) in ranges(Side::Inbox, None).iter().enumerate() {
            sql.push(if place > 0 { ", " } else { "" }).push(&(*state as i16).to_string());
        }
        sql.push(") AND (i.expires_at IS NULL OR i.expires_at > ").bind(now).push(")");
    });
    sql.push(" AS h_unseen");
}

/// Counts the items of a condition, up to one above the cap.
fn push_count(sql: &mut Sql, cap: Option<i64>, condition: &dyn Fn(&mut Sql)) {
    match cap {
        None => {
            sql.push("(SELECT count(*) FROM inbox_item i WHERE ");
            condition(sql);
            sql.push(")");
        }
        Some(cap) => {
            sql.push("(SELECT count(*) FROM (SELECT 1 FROM inbox_item i WHERE ");
            condition(sql);
            sql.push(" LIMIT ").bind(cap.saturating_add(1)).push(") c)");
        }
    }
}

fn push_latest(sql: &mut Sql, user: Place<'_>, kind: Place<'_>, now: Millis) {
    let greatest = sql.greatest();
    sql.push(greatest).push("(");
    for (place, range) in ranges(Side::Inbox, None).iter().enumerate() {
        sql.push(if place > 0 { ", " } else { "" }).push("COALESCE((SELECT i.seq FROM inbox_item i WHERE ");
        push_range(sql, user, kind, *range, now);
        sql.push(" ORDER BY i.seq DESC LIMIT 1), 0)");
    }
    sql.push(")");
}
