//! Sequences of generated ids.

use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement};

use super::Transaction;
use base::error::Result;

/// The tables with generated ids. A test compares this list with the schema.
pub const TABLES: [&str; 15] = [
    "tenant",
    "users",
    "message_type",
    "reason",
    "action",
    "channel",
    "view",
    "tally",
    "job",
    "rule",
    "lane",
    "delivery",
    "contact",
    "webhook_batch",
    "audit_entry",
];

/// Advances the sequence of each table by `by`, so that no new row gets an id that was used before a restore.
///
/// On MySQL, this commits the transaction's earlier work.
pub async fn advance(txn: &Transaction, by: i64) -> Result<()> {
    for table in TABLES {
        match txn.get_database_backend() {
            DbBackend::Postgres => {
                let sequence = format!("pg_get_serial_sequence('{table}', 'id')");
                execute_sql(txn, format!("SELECT setval({sequence}, nextval({sequence}) + {by})")).await?;
            }
            DbBackend::MySql => {
                let newest = format!(
                    "SELECT CAST(GREATEST(COALESCE((SELECT MAX(id) FROM `{table}`), 0), COALESCE((SELECT auto_increment FROM \
                     information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{table}'), 0)) + {by} AS SIGNED)"
                );
                let newest = txn.query_one_raw(Statement::from_string(DbBackend::MySql, newest)).await?;
                let newest = newest.ok_or_else(|| DbErr::RecordNotFound(table.to_owned()))?;
                let newest: i64 = newest.try_get_by_index(0)?;
                txn.execute_unprepared(&format!("ALTER TABLE `{table}` AUTO_INCREMENT = {newest}")).await?;
            }
            _ => {
                execute_sql(
                    txn,
                    format!(
                        "INSERT INTO sqlite_sequence (name, seq) SELECT '{table}', 0 \
                    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '{table}')"
                    ),
                )
                .await?;
                execute_sql(txn, format!("UPDATE sqlite_sequence SET seq = seq + {by} WHERE name = '{table}'")).await?;
            }
        }
    }
    Ok(())
}

async fn execute_sql(txn: &Transaction, words: String) -> Result<()> {
    txn.execute_raw(Statement::from_string(txn.get_database_backend(), words)).await?;
    Ok(())
}
