//! The privileges and connection limits of our database user, and other clients.

use sea_orm::{ConnectionTrait, DbBackend, Statement, TryGetable};

use super::Database;
use base::error::{Error, Result};

impl Database {
    /// The number of connections of other clients to this database, as far as this user may see them. 0 on SQLite.
    async fn count_other_clients(&self) -> Result<i64> {
        let all = match self.backend() {
            DbBackend::Postgres => {
                "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
            }
            DbBackend::MySql => "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()",
            _ => return Ok(0),
        };
        let all: i64 = self.query_value(all).await?.unwrap_or_default();
        let own = self.aside.connection_counts().0 + self.write.connection_counts().0;
        Ok(all.saturating_sub_unsigned(own as u64))
    }

    /// Fails with `Config` if another client is connected. On a SQLite file, [`super::FileLock`] prevents that.
    pub async fn check_no_other_clients(&self) -> Result<()> {
        match self.count_other_clients().await? {
            0 => Ok(()),
            others => {
                Err(Error::Config(format!("{others} other connections use this database: stop all its servers first")))
            }
        }
    }

    /// The maximum number of connections for this user: the server's limit without the connections reserved for
    /// superusers, and at most the limits of the user and the database. `None` if there is no limit.
    pub async fn connection_limit(&self) -> Result<Option<i64>> {
        let most = match self.backend() {
            DbBackend::Postgres => {
                "SELECT LEAST(current_setting('max_connections')::bigint \
                     - CASE WHEN r.rolsuper THEN 0 ELSE current_setting('superuser_reserved_connections')::bigint END, \
                     NULLIF(r.rolconnlimit, -1)::bigint, NULLIF(d.datconnlimit, -1)::bigint) \
                 FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()"
            }
            DbBackend::MySql => {
                "SELECT CAST(LEAST(@@max_connections, CASE @@max_user_connections WHEN 0 THEN @@max_connections \
                     ELSE @@max_user_connections END) AS SIGNED)"
            }
            _ => return Ok(None),
        };
        self.query_value(most).await
    }

    /// Whether this user may create tables. True if that cannot be determined.
    pub async fn can_create_tables(&self) -> Result<bool> {
        let may = match self.backend() {
            DbBackend::Postgres => {
                "SELECT CASE WHEN has_schema_privilege(current_schema(), 'CREATE') THEN 1::bigint ELSE 0::bigint END"
            }
            // Privileges granted through roles are not all listed here.
            DbBackend::MySql => {
                "SELECT CAST(COUNT(*) > 0 AS SIGNED) FROM (\
                     SELECT grantee, privilege_type FROM information_schema.user_privileges \
                     UNION ALL SELECT grantee, privilege_type FROM information_schema.schema_privileges \
                         WHERE DATABASE() LIKE table_schema) may \
                 WHERE privilege_type = 'CREATE' AND grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')"
            }
            _ => return Ok(true),
        };
        Ok(self.query_value::<i64>(may).await? != Some(0))
    }

    /// The single value that a query returns.
    async fn query_value<T: TryGetable>(&self, words: &str) -> Result<Option<T>> {
        let row = self.maintenance_reader().query_one_raw(Statement::from_string(self.backend(), words)).await?;
        Ok(row.map(|row| row.try_get_by_index::<Option<T>>(0)).transpose()?.flatten())
    }
}
