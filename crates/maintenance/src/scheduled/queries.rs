//! SQL over the logs of all tenants.

use base::clock::Millis;
use base::error::Result;
use store::{SqlBuilder, Transaction};

/// Records the gap that each log is about to have: one row per tenant, written and read once per failover.
pub async fn record_gaps(txn: &Transaction, by: i64, now: Millis) -> Result<()> {
    let mut sql = SqlBuilder::new(txn);
    sql.push("INSERT INTO gap (tenant_id, after_seq, upto_seq, created_at) SELECT id, last_seq, last_seq + ").bind(by);
    sql.push(", ").bind(now).push(" FROM tenant");
    sql.execute(txn).await?;
    Ok(())
}
