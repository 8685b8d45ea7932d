//! Statements over tenants.

use entity::channel::ChannelKind;

use base::clock::Millis;
use base::error::Result;
use store::{SqlBuilder, Transaction};

/// Creates the channel of all users of the tenant with a code, unless it exists: a probe of `tenant_code`.
pub async fn create_everyone_channel(txn: &Transaction, code: &str, now: Millis) -> Result<()> {
    let mut sql = SqlBuilder::new(txn);
    sql.push("INSERT INTO channel (tenant_id, kind, code, created_at) SELECT id, ")
        .push(&format!("{}, '', ", ChannelKind::Everyone as i16))
        .bind(now)
        .push(" FROM tenant WHERE code = ")
        .bind(code)
        .or_ignore("channel.code");
    sql.execute(txn).await?;
    Ok(())
}
