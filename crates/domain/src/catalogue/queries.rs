//! SQL for the catalogue.

use entity::ids::TypeId;
use sea_orm::FromQueryResult;

use crate::tenant::Tenant;
use base::error::Result;
use store::{SqlBuilder, Transaction};

/// A message type. `used` is 1 if a notification of this type exists.
#[derive(Debug, FromQueryResult)]
pub struct MessageTypeUsage {
    pub id: TypeId,
    pub used: i32,
}

/// The message type with this code: one probe of `message_type_code` and one of `notification_type`.
pub async fn find_message_type(txn: &Transaction, tenant: &Tenant, code: &str) -> Result<Option<MessageTypeUsage>> {
    let mut sql = SqlBuilder::new(txn);
    sql.push("SELECT t.id, CASE WHEN EXISTS (SELECT 1 FROM notification n WHERE n.tenant_id = t.tenant_id")
        .push(" AND n.type_id = t.id) THEN 1 ELSE 0 END AS used FROM message_type t WHERE t.tenant_id = ")
        .bind(tenant.id)
        .push(" AND t.code = ")
        .bind(code);
    sql.fetch_optional(txn).await
}
