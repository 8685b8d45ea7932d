//! The browsers that users have subscribed to Web Push.

use entity::contact::{Column, Entity as Contacts, Model};
use entity::destination::DestinationKind;
use entity::ids::UserId;
use entity::prelude::*;
use sea_orm::Select;
use sea_orm::sea_query::{ExprTrait, Func};
use serde_json::Value;

use crate::DeliveryContext;
use crate::destination::lock_destinations;
use base::clock::Millis;
use base::error::{Error, Result};
use domain::tenant::Tenant;
use domain::user;
use outside::web_push::{PushSubscription, endpoint_hash};
use store::{Store, Transaction, transaction};

/// The most browsers of a user. One more replaces the oldest.
pub const BROWSERS: usize = 10;
/// A browser is deleted after this many consecutive failures, if they go on for this long (in milliseconds). Shorter
/// failures may be caused by our own network or by a key.
const FAILURES: i64 = 20;
const FAILING: Millis = 24 * 3_600_000;

/// The browsers of a user, oldest first.
pub async fn list_browsers(store: &Store, user: UserId) -> Result<Vec<Model>> {
    Ok(select_of_user(user).order_by_asc(Column::Id).all(&store.db.read).await?)
}

/// Subscribes a browser for a user. It is removed from the user who was signed in there before.
///
/// `CONFLICT` if the tenant has no Web Push.
pub async fn subscribe_browser(context: &DeliveryContext, tenant: &Tenant, user: UserId, said: &Value) -> Result<()> {
    let of = context.push.parse_subscription(said)?;
    let is_same = |known: &Model| {
        known.endpoint.as_ref() == Some(&of.endpoint) && known.push_keys.as_ref() == Some(&of.stored_keys())
    };
    if list_browsers(context, user).await?.iter().any(is_same) {
        return Ok(());
    }
    transaction!(context.db, |txn| {
        // Concurrent changes of the browsers or of the key wait here.
        if lock_destinations(txn, tenant.id, DestinationKind::WebPush).await?.is_empty() {
            return Err(Error::Conflict("Web Push is off: an operator can turn it on with saveWebPush".into()));
        }
        user::lock_users(txn, tenant, &[user]).await?;
        let before = select_of_tenant(tenant).filter(Column::Address.eq(endpoint_hash(&of.endpoint)));
        let before: Vec<i64> = before.select_only().column(Column::Id).into_tuple().all(txn).await?;
        delete_browsers(txn, &before).await?;
        insert_browser(txn, tenant, user, &of, context.now()).await?;
        let newest = select_of_user(user).order_by_desc(Column::Id).offset(BROWSERS as u64).limit(BROWSERS as u64);
        let beyond: Vec<i64> = newest.select_only().column(Column::Id).into_tuple().all(txn).await?;
        delete_browsers(txn, &beyond).await
    })
}

/// Removes the browser with this endpoint from the user. Returns whether it was there.
pub async fn unsubscribe_browser(store: &Store, user: UserId, endpoint: &str) -> Result<bool> {
    let address = endpoint_hash(endpoint);
    transaction!(store.db, |txn| {
        let gone = Contacts::delete_of_user(user).filter(Column::Kind.eq(DestinationKind::WebPush));
        Ok(gone.filter(Column::Address.eq(address.as_str())).exec(txn).await?.rows_affected > 0)
    })
}

/// Deletes browsers.
pub(super) async fn delete_browsers(txn: &Transaction, ids: &[i64]) -> Result<()> {
    for ids in ids.chunks(LIST) {
        Contacts::delete_many().filter(Column::Id.is_in_list(txn, ids)).exec(txn).await?;
    }
    Ok(())
}

/// Counts a failure for browsers with a service that did not answer or refused the key. Deletes those that have failed
/// too often for too long.
pub(super) async fn count_failures(txn: &Transaction, ids: &[i64], now: Millis) -> Result<()> {
    for id in ids {
        let of = Contacts::update_many().filter(Column::Id.eq(*id));
        let of = of.col_expr(Column::BadSince, Func::coalesce([Expr::col(Column::BadSince), Expr::val(now)]).into());
        of.col_expr(Column::Failures, Expr::col(Column::Failures).add(1)).exec(txn).await?;
    }
    for ids in ids.chunks(LIST) {
        let gone = Contacts::delete_many().filter(Column::Id.is_in_list(txn, ids));
        let gone = gone.filter(Column::Failures.gte(FAILURES));
        gone.filter(Column::BadSince.lte(now - FAILING)).exec(txn).await?;
    }
    Ok(())
}

/// The id of a tenant's newest browser, or 0 if it has none.
pub(super) async fn newest_browser_id(db: &impl ConnectionTrait, tenant: &Tenant) -> Result<i64> {
    let newest = select_of_tenant(tenant).order_by_desc(Column::Id).limit(1).select_only().column(Column::Id);
    Ok(newest.into_tuple().one(db).await?.unwrap_or_default())
}

/// Deletes a tenant's browsers up to this id, in steps.
pub(super) async fn delete_browsers_upto(store: &Store, tenant: &Tenant, upto: i64) -> Result<()> {
    loop {
        let many = transaction!(store.db, |txn| {
            let some = select_of_tenant(tenant).filter(Column::Id.lte(upto)).limit(LIST as u64);
            let some: Vec<i64> = some.select_only().column(Column::Id).into_tuple().all(txn).await?;
            delete_browsers(txn, &some).await?;
            Ok(some.len())
        })?;
        if many < LIST {
            return Ok(());
        }
    }
}

async fn insert_browser(
    txn: &Transaction,
    tenant: &Tenant,
    user: UserId,
    of: &PushSubscription,
    now: Millis,
) -> Result<()> {
    let columns = [
        Column::TenantId,
        Column::UserId,
        Column::Kind,
        Column::Address,
        Column::Endpoint,
        Column::PushKeys,
        Column::CreatedAt,
    ];
    let row = [
        tenant.id.into(),
        user.into(),
        DestinationKind::WebPush.into(),
        endpoint_hash(&of.endpoint).into(),
        of.endpoint.as_str().into(),
        of.stored_keys().into(),
        now.into(),
    ];
    insert(txn, columns, vec![row], ExistingRows::Kept).await?;
    Ok(())
}

fn select_of_user(user: UserId) -> Select<Contacts> {
    Contacts::of_user(user).filter(Column::Kind.eq(DestinationKind::WebPush))
}

fn select_of_tenant(tenant: &Tenant) -> Select<Contacts> {
    Contacts::of_tenant(tenant.id).filter(Column::Kind.eq(DestinationKind::WebPush))
}
