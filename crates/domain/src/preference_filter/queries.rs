//! SQL conditions on users' preferences.

use entity::destination::DestinationKind;
use entity::preference::PreferenceScope;

use crate::tenant::Tenant;
use store::SqlBuilder;

/// Adds the condition that `user` wants a notification. `subject` is the alias of its publication (or of itself), and
/// `mt` that of its joined type. Only this file has the SQL of preferences; `preference::merge_with_defaults` repeats
/// the rule for display.
///
/// Each look-up is one probe of a primary key.
pub fn push_allowed(sql: &mut SqlBuilder, tenant: &Tenant, user: &str, subject: &str) {
    push_type_allowed(sql, tenant, user, subject);
    sql.push(" AND ");
    push_action_allowed(sql, tenant, user, subject);
}

/// The part of [`push_allowed`] that is about the type.
pub fn push_type_allowed(sql: &mut SqlBuilder, tenant: &Tenant, user: &str, subject: &str) {
    push_mandatory_or_enabled(sql, tenant, user, (PreferenceScope::Type, &format!("{subject}.type_id")));
}

/// The part of [`push_allowed`] that is about the action. Without an action, as most notifications are, it costs
/// nothing.
pub fn push_action_allowed(sql: &mut SqlBuilder, tenant: &Tenant, user: &str, subject: &str) {
    sql.push(&format!("({subject}.action_id IS NULL OR "));
    push_mandatory_or_enabled(sql, tenant, user, (PreferenceScope::Action, &format!("{subject}.action_id")));
    sql.push(")");
}

/// Adds the condition that `user` also wants an inbox item from this kind of destination. `subject` is the alias of the
/// item, and `mt` that of its joined type. For a kind without a preference the condition is always true.
///
/// Both look-ups are a probe of a primary key.
pub fn push_allowed_by_kind(sql: &mut SqlBuilder, tenant: &Tenant, kind: DestinationKind, user: &str, subject: &str) {
    let Some(scope) = PreferenceScope::for_destination(kind) else {
        sql.push("TRUE");
        return;
    };
    push_mandatory_or_enabled(sql, tenant, user, (scope, &format!("{subject}.type_id")));
}

/// A preference, which a mandatory type overrides.
fn push_mandatory_or_enabled(sql: &mut SqlBuilder, tenant: &Tenant, user: &str, of: (PreferenceScope, &str)) {
    sql.push("(mt.mandatory OR ");
    push_enabled(sql, tenant, user, of);
    sql.push(")");
}

/// A preference: the user's own, else the tenant's default, else on.
fn push_enabled(sql: &mut SqlBuilder, tenant: &Tenant, user: &str, (scope, subject): (PreferenceScope, &str)) {
    let scope = scope as i16;
    sql.push(&format!(
        "COALESCE((SELECT f.enabled FROM preference f WHERE f.user_id = {user} AND f.scope = {scope} AND \
         f.subject_id = {subject}), (SELECT d.enabled FROM default_preference d WHERE d.tenant_id = "
    ));
    sql.bind(tenant.id).push(&format!(" AND d.scope = {scope} AND d.subject_id = {subject}), TRUE)"));
}
