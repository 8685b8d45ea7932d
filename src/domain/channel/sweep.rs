//! Channels that are used no more: nobody listens to them, and nothing that was published to them is kept.

use entity::ids::ChannelId;

use super::Kind;
use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::sql::{LIST, Sql};

/// Deletes a tenant's unused channels of targets, users and deleted groups, in transactions of a thousand at most, and
/// returns how many. What is listened to next gets a new one.
///
/// Safe while others begin to listen: they hold the channel's row (`open`), and here it is looked at again once it is locked.
pub async fn sweep(app: &App, tenant: &Tenant) -> Result<u64> {
    let mut swept = 0;
    for kind in [Kind::Target, Kind::Actor, Kind::Deleted] {
        let mut after = Some(String::new());
        while let Some(code) = after {
            let (last, unused) = unused(app, tenant, kind, &code).await?;
            if !unused.is_empty() {
                swept += transaction!(app.db, |txn| delete(txn, &unused).await)?;
            }
            after = last;
        }
    }
    Ok(swept)
}

/// Adds that nobody listens to the channel `channel` and nothing is published to it: three probes of keys.
fn push_unused(sql: &mut Sql) {
    for table in [
        "subscription x WHERE x.channel_id",
        "group_subscription x WHERE x.target_channel_id",
        "publication x WHERE x.channel_id",
    ] {
        sql.push(&format!(" AND NOT EXISTS (SELECT 1 FROM {table} = channel.id)"));
    }
}

/// The unused among the next channels of a kind after a code: a range of `channel_code`. And the code to go on after.
async fn unused(app: &App, tenant: &Tenant, kind: Kind, after: &str) -> Result<(Option<String>, Vec<ChannelId>)> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT channel.id, channel.code, CASE WHEN 1 = 1");
    push_unused(&mut sql);
    sql.push(" THEN 1 ELSE 0 END AS is_unused FROM channel WHERE channel.tenant_id = ").bind(tenant.id);
    sql.push(" AND channel.kind = ").bind(kind as i16).push(" AND channel.code > ").bind(after);
    sql.push(" ORDER BY channel.code LIMIT ").bind(i64::try_from(LIST).map_err(Error::internal)?);
    let rows = sql.all(&app.db.read).await?;
    let mut unused = Vec::new();
    for row in &rows {
        if row.try_get::<i32>("", "is_unused")? == 1 {
            unused.push(row.try_get("", "id")?);
        }
    }
    let last = rows.last().filter(|_| rows.len() == LIST).map(|row| row.try_get("", "code")).transpose()?;
    Ok((last, unused))
}

async fn delete(txn: &Transaction, channels: &[ChannelId]) -> Result<u64> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT c.id FROM channel c WHERE c.id").among(channels).push(" ORDER BY c.id").for_update();
    sql.all(txn).await?;
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM channel WHERE id").among(channels);
    push_unused(&mut sql);
    sql.run(txn).await
}
