//! How statements ask what users want to hear.

use entity::preference::Scope;

use crate::database::Sql;
use crate::domain::tenant::Tenant;

/// Adds that `user` wants to hear a notification: `subject` is the alias of its publication (or of itself), whose
/// type is joined as `mt`. This is the one place where preferences decide.
///
/// Each of the four look-ups is one probe of a primary key.
pub fn push_wants(sql: &mut Sql, tenant: &Tenant, user: &str, subject: &str) {
    sql.push("(mt.mandatory OR (");
    for (scope, column) in [(Scope::Type, "type_id"), (Scope::Action, "action_id")] {
        if scope == Scope::Action {
            sql.push(" AND ");
        }
        let scope = scope as i16;
        sql.push(&format!(
            "COALESCE((SELECT f.enabled FROM preference f WHERE f.user_id = {user} AND f.scope = {scope} AND \
             f.subject_id = {subject}.{column}), (SELECT d.enabled FROM default_preference d WHERE d.tenant_id = "
        ));
        sql.bind(tenant.id).push(&format!(" AND d.scope = {scope} AND d.subject_id = {subject}.{column}), TRUE)"));
    }
    sql.push("))");
}
