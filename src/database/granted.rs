//! What the database's server gives us, and to whom else.

use sea_orm::{ConnectionTrait, DbBackend, Statement, TryGetable};

use super::Database;
use crate::error::{Error, Result};

impl Database {
    /// How many connections others have to this database, as far as this user may see them. SQLite has none to count.
    async fn others(&self) -> Result<i64> {
        let all = match self.backend() {
            DbBackend::Postgres => {
                "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
            }
            DbBackend::MySql => "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()",
            _ => return Ok(0),
        };
        let all: i64 = self.one(all).await?.unwrap_or_default();
        let own = self.aside.count().0 + self.write.count().0;
        Ok(all.saturating_sub_unsigned(own as u64))
    }

    /// Fails with `Config` where anybody else is connected. At a file of SQLite they are kept away by [`super::Held`].
    pub async fn is_left_alone(&self) -> Result<()> {
        match self.others().await? {
            0 => Ok(()),
            others => Err(Error::Config(format!(
                "{others} other connections use this database: stop whatever serves it first"
            ))),
        }
    }

    /// The most connections that the server has for this user: of its own limit what is not kept for its operators, and no more
    /// than the user and the database may have. Nothing where there is no limit.
    pub async fn most_connections(&self) -> Result<Option<i64>> {
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
        self.one(most).await
    }

    /// Whether this user may make tables; where that cannot be told, nobody is stopped.
    pub async fn may_create(&self) -> Result<bool> {
        let may = match self.backend() {
            DbBackend::Postgres => {
                "SELECT CASE WHEN has_schema_privilege(current_schema(), 'CREATE') THEN 1::bigint ELSE 0::bigint END"
            }
            // Of a user with roles, not all of what they may do stands here.
            DbBackend::MySql => {
                "SELECT CAST(COUNT(*) > 0 AS SIGNED) FROM (\
                     SELECT grantee, privilege_type FROM information_schema.user_privileges \
                     UNION ALL SELECT grantee, privilege_type FROM information_schema.schema_privileges \
                         WHERE DATABASE() LIKE table_schema) may \
                 WHERE privilege_type = 'CREATE' AND grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')"
            }
            _ => return Ok(true),
        };
        Ok(self.one::<i64>(may).await? != Some(0))
    }

    /// The one value that a statement gives.
    async fn one<T: TryGetable>(&self, words: &str) -> Result<Option<T>> {
        let row = self.aside().query_one_raw(Statement::from_string(self.backend(), words)).await?;
        Ok(row.map(|row| row.try_get_by_index::<Option<T>>(0)).transpose()?.flatten())
    }
}
