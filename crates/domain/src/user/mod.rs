//! Users: recipients, identified by the backend's own id and created when it is first mentioned.

mod contact;
mod lock;
mod queries;
mod resolve;
mod search;

use std::collections::HashMap;

use entity::ids::{Seq, UserId};
use entity::prelude::*;
use entity::user::{Column, Entity as User};
use sea_orm::Select;
use sea_orm::sea_query::ExprTrait;

use super::tenant::{Tenant, load_head};
use base::clock::Millis;
use base::error::Result;
use cluster::hub::Notice;
pub use contact::{
    CONTACTS, ContactAddress, clear_contact_failures, find_contact_ids, find_contact_owner, load_contacts,
};
pub use lock::{fail_erased, find_missing, lock_users, retry_if_erased};
use model::hours::{ContactHours, DigestTime, QuietPeriod, StoredHours};
use model::reader::ReaderLocale;
use model::user::folded_name;
pub use model::user::{PerformedBy, UserProfile};
use model::validate;
use model::zone::IanaZone;
pub use queries::{PrefixField, count_users, select_by_prefix, seq_before};
pub use resolve::{InboxStart, find_existing, find_or_create, find_or_create_one, find_or_create_within};
pub use search::search;
use store::{PendingAudit, Store, Transaction, transaction};

/// A change of a profile: `None` keeps a field, `Some(None)` clears it.
#[derive(Clone, Debug, Default)]
pub struct ProfileChange {
    /// The backend's id of the user.
    pub external_id: String,
    pub name: Option<Option<String>>,
    pub avatar_url: Option<Option<String>>,
    pub locale: Option<Option<String>>,
    pub time_zone: Option<Option<IanaZone>>,
    pub quiet: Option<Option<QuietPeriod>>,
    pub digest: Option<Option<DigestTime>>,
    /// All contacts. `None` keeps the present ones.
    pub contacts: Option<Vec<ContactAddress>>,
}

/// The profiles of users by their rows: one statement per thousand.
pub async fn load_profiles(store: &Store, tenant: &Tenant, ids: &[UserId]) -> Result<HashMap<UserId, UserProfile>> {
    let mut profiles = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(LIST) {
        let known = User::keyed_of_tenant(tenant.id).filter(Column::Id.is_in_list(&store.db.read, ids));
        let known = known.into_partial_model::<UserProfile>().all(&store.db.read).await?;
        profiles.extend(known.into_iter().map(|profile| (profile.id, profile)));
    }
    if profiles.len() < ids.len() {
        // One of them was erased. This records it, so that the next lookup finds the user who has the id now.
        load_head(&store.db.read, tenant).await?;
    }
    Ok(profiles)
}

/// When a user may be reached.
pub async fn load_hours(store: &Store, user: UserId) -> Result<ContactHours> {
    let of = User::of_user(user).select_only().columns([Column::TimeZone, Column::QuietFrom, Column::QuietTo]);
    let of = of.columns([Column::DigestAt, Column::DigestWeekday]).into_model::<StoredHours>();
    Ok(of.one(&store.db.read).await?.unwrap_or_default().parse())
}

/// The locales and time zones of users: one statement per thousand.
pub async fn load_readers(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    users: &[UserId],
) -> Result<HashMap<UserId, ReaderLocale>> {
    let mut readers = HashMap::with_capacity(users.len());
    for users in users.chunks(LIST) {
        let of = User::keyed_of_tenant(tenant.id).filter(Column::Id.is_in_list(db, users));
        readers.extend(read_readers(db, of).await?);
    }
    Ok(readers)
}

async fn read_readers(db: &impl ConnectionTrait, of: Select<User>) -> Result<Vec<(UserId, ReaderLocale)>> {
    let of = of.select_only().columns([Column::Id, Column::Locale, Column::TimeZone]);
    let rows: Vec<(UserId, Option<String>, Option<String>)> = of.into_tuple().all(db).await?;
    Ok(rows.into_iter().map(|(user, locale, time_zone)| (user, ReaderLocale { locale, time_zone })).collect())
}

/// Records that the contents of users' inboxes have changed, in the transaction of the change. Cached overviews become
/// invalid, and the commit notifies open sessions. New items need no call.
pub async fn record_inbox_change(txn: &Transaction, tenant: &Tenant, users: &[UserId]) -> Result<()> {
    let change = User::update_many().col_expr(Column::Version, Expr::col(Column::Version).add(1));
    change.filter(Column::Id.is_in_list(txn, users)).exec(txn).await?;
    txn.notify(Notice::inbox_changes(tenant.id, users));
    Ok(())
}

/// Like [`record_inbox_change`], when a user has looked at the whole inbox up to a seq.
pub async fn record_inbox_seen(txn: &Transaction, tenant: &Tenant, user: UserId, upto: Seq) -> Result<()> {
    let newer = Expr::case(Column::SeenSeq.lt(upto), upto).finally(Expr::col(Column::SeenSeq));
    let change = User::update_of_user(user).col_expr(Column::Version, Expr::col(Column::Version).add(1));
    change.col_expr(Column::SeenSeq, newer.into()).exec(txn).await?;
    txn.notify(Notice::inbox_changes(tenant.id, &[user]));
    Ok(())
}

/// Changes profiles, all or none, and returns the users' rows in the order given.
pub async fn save_profiles(store: &Store, tenant: &Tenant, changes: Vec<ProfileChange>) -> Result<Vec<UserId>> {
    validate::at_most("inputs", changes.len(), 1000)?;
    for (place, change) in changes.iter().enumerate() {
        change.check().map_err(|error| error.with_field_prefix(&format!("inputs[{place}]")))?;
    }
    retry_if_erased(|| try_save_profiles(store, tenant, &changes)).await
}

async fn try_save_profiles(store: &Store, tenant: &Tenant, changes: &[ProfileChange]) -> Result<Vec<UserId>> {
    let ids: Vec<String> = changes.iter().map(|change| change.external_id.clone()).collect();
    let users = find_or_create(store, tenant, "inputs", &ids).await?;
    PendingAudit::set_subjects(&users);
    // Locks the rows in the order of their ids, so that two calls for the same users cannot deadlock.
    let mut ordered: Vec<(UserId, &ProfileChange)> = users.iter().copied().zip(changes).collect();
    ordered.sort_by_key(|(user, _)| *user);
    let tells = |change: &ProfileChange| (&change.name, &change.avatar_url, &change.locale) != (&None, &None, &None);
    transaction!(store.db, |txn| {
        let moved = lock_moved(txn, tenant, &ordered).await?;
        for (user, change) in &ordered {
            save_profile(txn, tenant, (*user, change), store.now()).await?;
        }
        let reached = ordered.iter().filter_map(|(user, change)| Some((*user, change.contacts.as_deref()?)));
        let reached: Vec<(UserId, &[ContactAddress])> = reached.collect();
        if !reached.is_empty() {
            contact::save_contacts(txn, tenant, &reached, store.now()).await?;
        }
        // Templates may use the reader's language and time zone.
        if !moved.is_empty() {
            record_inbox_change(txn, tenant, &moved).await?;
        }
        // Notifications are shown with the profile of their sender.
        txn.notify(Notice { doubtful: changes.iter().any(tells), ..Notice::for_tenant(tenant.id) });
        Ok(())
    })?;
    Ok(users)
}

/// The users whose locale or time zone changes. Locks the rows of all users with a new value, so that the comparison
/// with the stored one holds until the commit.
async fn lock_moved(txn: &Transaction, tenant: &Tenant, changes: &[(UserId, &ProfileChange)]) -> Result<Vec<UserId>> {
    let is_given = |change: &ProfileChange| change.locale.is_some() || change.time_zone.is_some();
    let given: Vec<UserId> = changes.iter().filter(|(_, change)| is_given(change)).map(|(user, _)| *user).collect();
    if given.is_empty() {
        return Ok(given);
    }
    let of = User::keyed_of_tenant(tenant.id).filter(Column::Id.is_in_list(txn, &given));
    let readers = read_readers(txn, of.order_by_asc(Column::Id).for_update(txn)).await?;
    let readers: HashMap<UserId, ReaderLocale> = readers.into_iter().collect();
    let moves = |(user, change): &(UserId, &ProfileChange)| {
        let before = readers.get(user)?;
        let zone = change.time_zone.as_ref().map(|zone| zone.as_ref().map(|zone| zone.name().to_owned()));
        let is_same = change.locale.as_ref().is_none_or(|locale| *locale == before.locale)
            && zone.is_none_or(|zone| zone == before.time_zone);
        (!is_same).then_some(*user)
    };
    Ok(changes.iter().filter_map(moves).collect())
}

async fn save_profile(
    txn: &Transaction,
    tenant: &Tenant,
    (user, change): (UserId, &ProfileChange),
    now: Millis,
) -> Result<()> {
    let version = next_version(Column::ProfileVersion, now);
    let mut save = User::update_of_user(user).col_expr(Column::ProfileVersion, version);
    let fields =
        [(Column::Name, &change.name), (Column::AvatarUrl, &change.avatar_url), (Column::Locale, &change.locale)];
    for (column, value) in fields {
        if let Some(value) = value {
            save = save.col_expr(column, Expr::val(value.clone()));
        }
    }
    if let Some(name) = &change.name {
        save = save.col_expr(Column::FoldedName, Expr::val(name.as_deref().map(folded_name)));
    }
    if let Some(zone) = &change.time_zone {
        save = save.col_expr(Column::TimeZone, Expr::val(zone.as_ref().map(IanaZone::name)));
    }
    if let Some(quiet) = change.quiet {
        let (from, to) = quiet.map(|quiet| (quiet.starts_at().minutes(), quiet.ends_at().minutes())).unzip();
        save = save.col_expr(Column::QuietFrom, Expr::val(from)).col_expr(Column::QuietTo, Expr::val(to));
    }
    if let Some(digest) = change.digest {
        let (at, weekday) = digest.map(|of| (of.at.minutes(), of.weekday)).unzip();
        let weekday = weekday.flatten().map(|day| i64::from(day.num_days_from_monday()));
        save = save.col_expr(Column::DigestAt, Expr::val(at)).col_expr(Column::DigestWeekday, Expr::val(weekday));
    }
    if save.exec(txn).await?.rows_affected == 0 {
        return fail_erased(txn, tenant).await;
    }
    Ok(())
}

impl ProfileChange {
    /// Refuses values that no profile can have.
    pub fn check(&self) -> Result<()> {
        validate::identifier("id", &self.external_id)?;
        if let Some(Some(name)) = &self.name {
            validate::title("name", name)?;
        }
        if let Some(Some(url)) = &self.avatar_url {
            validate::link("avatarUrl", url)?;
        }
        if let Some(Some(locale)) = &self.locale {
            validate::language_tag("locale", locale)?;
        }
        validate::at_most("contacts", self.contacts.iter().flatten().count(), CONTACTS)?;
        Ok(())
    }

    /// Whether a profile has these values already. False if there are contacts or hours, which it does not contain.
    pub fn is_already_in(&self, profile: &UserProfile) -> bool {
        let fields =
            [(&self.name, &profile.name), (&self.avatar_url, &profile.avatar_url), (&self.locale, &profile.locale)];
        let is_in = |(change, is): (&Option<Option<String>>, &Option<String>)| {
            change.as_ref().is_none_or(|change| change == is)
        };
        let is_timed = self.time_zone.is_some() || self.quiet.is_some() || self.digest.is_some();
        let is_more = self.contacts.is_some() || is_timed;
        !is_more && fields.into_iter().all(is_in)
    }
}
