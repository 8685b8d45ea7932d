//! Addresses of users outside the server.

use std::collections::BTreeMap;

use entity::contact::{Column, Entity as Contacts, Model};
use entity::destination::DestinationKind;
use entity::ids::UserId;
use entity::prelude::*;

use super::find_existing;
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use store::{Store, Transaction};

/// The most addresses of a user.
pub const CONTACTS: usize = 5;

/// An address of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactAddress {
    pub kind: DestinationKind,
    pub address: String,
}

/// The addresses that the backend has given for a user, oldest first. Browsers are not among them.
pub async fn load_contacts(store: &Store, user: UserId) -> Result<Vec<Model>> {
    let of = Contacts::of_user(user).filter(Column::Kind.ne(DestinationKind::WebPush));
    Ok(of.order_by_asc(Column::Id).all(&store.db.read).await?)
}

/// The owner of an address. `None` if the address no longer exists.
pub async fn find_contact_owner(store: &Store, tenant: &Tenant, id: i64) -> Result<Option<UserId>> {
    let of = Contacts::of_tenant(tenant.id).filter(Column::Id.eq(id)).select_only().column(Column::UserId);
    Ok(of.into_tuple().one(&store.db.read).await?)
}

/// The row ids of a user's addresses, by the backend's id of the user.
pub async fn find_contact_ids(store: &Store, tenant: &Tenant, external_id: &str) -> Result<Vec<i64>> {
    let found = find_existing(store, tenant, &[external_id.to_owned()]).await?.into_values().next();
    let Some(user) = found else { return Ok(Vec::new()) };
    let of = Contacts::of_user(user).select_only().column(Column::Id);
    Ok(of.into_tuple().all(&store.db.read).await?)
}

/// Replaces the addresses of users, except their browsers. The users' rows are locked. The last entry of a user counts.
/// An address that stays keeps its row, but its failures are cleared, so that deliveries use it again.
pub(super) async fn save_contacts(
    txn: &Transaction,
    tenant: &Tenant,
    all: &[(UserId, &[ContactAddress])],
    now: Millis,
) -> Result<()> {
    let users: Vec<UserId> = all.iter().map(|(user, _)| *user).collect();
    let before = Contacts::of_tenant(tenant.id).filter(Column::UserId.is_in_list(txn, &users));
    let before = before.filter(Column::Kind.ne(DestinationKind::WebPush)).all(txn).await?;
    let wanted: BTreeMap<UserId, &[ContactAddress]> = all.iter().copied().collect();
    let is_wanted = |of: &Model| {
        let same = |contact: &ContactAddress| contact.kind == of.kind && contact.address == of.address;
        wanted.get(&of.user_id).is_some_and(|contacts| contacts.iter().any(same))
    };
    let (kept, gone): (Vec<&Model>, Vec<&Model>) = before.iter().partition(|of| is_wanted(of));
    let gone: Vec<i64> = gone.iter().map(|of| of.id).collect();
    Contacts::delete_many().filter(Column::Id.is_in_list(txn, &gone)).exec(txn).await?;
    let kept: Vec<i64> = kept.iter().filter(|of| of.failures > 0).map(|of| of.id).collect();
    clear_contact_failures(txn, &kept).await?;
    let row = |(user, of): (UserId, &ContactAddress)| {
        [tenant.id.into(), user.into(), of.kind.into(), of.address.as_str().into(), now.into()]
    };
    let named = wanted.iter().flat_map(|(user, contacts)| contacts.iter().map(|contact| (*user, contact)));
    let columns = [Column::TenantId, Column::UserId, Column::Kind, Column::Address, Column::CreatedAt];
    insert(txn, columns, named.map(row).collect(), ExistingRows::Kept).await?;
    Ok(())
}

/// Clears the failures of addresses.
pub async fn clear_contact_failures(txn: &Transaction, ids: &[i64]) -> Result<()> {
    for ids in ids.chunks(LIST) {
        let well = Contacts::update_many().col_expr(Column::Failures, Expr::val(0_i64));
        let well = well.col_expr(Column::BadSince, Expr::val(None::<Millis>)).filter(Column::Failures.gt(0_i64));
        well.filter(Column::Id.is_in_list(txn, ids)).exec(txn).await?;
    }
    Ok(())
}
