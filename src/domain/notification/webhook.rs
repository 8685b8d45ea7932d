//! What has no place in the log is written down for webhooks where it happens.

use entity::delivery::{self, Entity as Deliveries, Event};
use entity::lane::{Column, Entity as Lanes, Kind};
use entity::prelude::*;

use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::tenant::Tenant;
use crate::error::Result;

/// A notification has another text: a delivery for each endpoint that wants to hear of it, in the transaction that amends it.
///
/// Before the tenant's row is locked, since whoever sends to an endpoint may lock that after it.
pub(super) async fn text_amended(txn: &Transaction, tenant: &Tenant, id: i64, now: Millis) -> Result<()> {
    let all = Lanes::of_tenant(tenant.id).filter(Column::Kind.eq(Kind::Webhook)).order_by_asc(Column::Id).select_only();
    let all = all.columns([Column::Id, Column::Events]).into_tuple::<(i64, i64)>().all(txn).await?;
    let wanting = all.into_iter().filter(|(_, events)| events & Event::Amended.bit() != 0);
    let wanting: Vec<i64> = wanting.map(|(endpoint, _)| endpoint).collect();
    if wanting.is_empty() {
        return Ok(());
    }
    let due = Lanes::update_of_tenant(tenant.id).col_expr(Column::DueAt, Expr::val(now));
    due.filter(Column::Id.among(txn, &wanting)).exec(txn).await?;
    let row = |endpoint: &i64| delivery::ActiveModel {
        tenant_id: Set(tenant.id),
        lane_id: Set(*endpoint),
        event: Set(Event::Amended),
        subject_id: Set(Some(id)),
        happened_at: Set(now),
        state: Set(delivery::State::Fresh),
        due_at: Set(now),
        created_at: Set(now),
        ..Default::default()
    };
    Deliveries::insert_many(wanting.iter().map(row)).exec_without_returning(txn).await?;
    Ok(())
}
