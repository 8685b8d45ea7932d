//! Statements over tenants.

use entity::channel::Kind;

use crate::clock::Millis;
use crate::database::Sql;
use crate::database::Transaction;
use crate::error::Result;

/// Creates the channel of all users of the tenant with a code, unless it exists: a probe of `tenant_code`.
pub async fn make_everyone(txn: &Transaction, code: &str, now: Millis) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("INSERT INTO channel (tenant_id, kind, code, created_at) SELECT id, ")
        .push(&format!("{}, '', ", Kind::Everyone as i16))
        .bind(now)
        .push(" FROM tenant WHERE code = ")
        .bind(code)
        .or_ignore("channel.code");
    sql.run(txn).await?;
    Ok(())
}
