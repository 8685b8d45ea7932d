//! Webhook deliveries for changes without a log entry. The transaction of the change records them.

use entity::delivery::{self, DeliveryEvent, Entity as Deliveries};
use entity::destination::{Column, DestinationKind, Entity as Destinations};
use entity::prelude::*;

use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use store::Transaction;

/// Records, in the transaction that amends the text of a notification, a delivery for each endpoint that wants to know.
///
/// `amend` has locked the tenant's row by now. A worker that disables its endpoint locks the two rows in the other
/// order, so a deadlock is possible: the database aborts one of the transactions, and the server retries it.
pub(super) async fn record_text_amendment(txn: &Transaction, tenant: &Tenant, id: i64, now: Millis) -> Result<()> {
    let all = Destinations::of_tenant(tenant.id)
        .filter(Column::Kind.eq(DestinationKind::Webhook))
        .order_by_asc(Column::Id)
        .select_only();
    let all = all.columns([Column::Id, Column::Events]).into_tuple::<(i64, i64)>().all(txn).await?;
    let wanting = all.into_iter().filter(|(_, events)| events & DeliveryEvent::Amended.bit() != 0);
    let wanting: Vec<i64> = wanting.map(|(endpoint, _)| endpoint).collect();
    if wanting.is_empty() {
        return Ok(());
    }
    let due = Destinations::update_of_tenant(tenant.id).col_expr(Column::DueAt, Expr::val(now));
    due.filter(Column::Id.is_in_list(txn, &wanting)).exec(txn).await?;
    let row = |endpoint: &i64| delivery::ActiveModel {
        tenant_id: Set(tenant.id),
        lane_id: Set(*endpoint),
        event: Set(DeliveryEvent::Amended),
        subject_id: Set(Some(id)),
        happened_at: Set(now),
        state: Set(delivery::DeliveryState::Fresh),
        due_at: Set(now),
        created_at: Set(now),
        ..Default::default()
    };
    Deliveries::insert_many(wanting.iter().map(row)).exec_without_returning(txn).await?;
    Ok(())
}
