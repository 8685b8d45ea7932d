//! A user's own data: export and erasure.

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use entity::audit_entry::SubjectKind;
use entity::ids::UserId;

use super::context::{CallContext, STAFF};
use super::json::JsonScalar;
use domain::{audit, user};
use maintenance::privacy;

#[derive(Default)]
pub struct PrivacyQuery;

#[Object]
impl PrivacyQuery {
    /// All data that the server keeps about a user, in parts: profile, groups, preferences, subscriptions, follows,
    /// views, the whole inbox, and what the user sent; up to 500 rows of each list per part. Pass `next` of a part as
    /// `after` to get the following one; it is null in the last. Null if the tenant does not know the user. SERVICE,
    /// ADMIN.
    async fn export_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Your id of the user.")] id: ID,
        #[graphql(desc = "The `next` of the previous part.")] after: Option<String>,
    ) -> Result<Option<JsonScalar>> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let exported = privacy::export_user(call.app, call.tenant, &id, after.as_deref()).await?;
        // One audit entry per export, not per part.
        if exported.is_some() && after.is_none() {
            let user = user::find_existing(call.app, call.tenant, &[id.to_string()]).await?;
            let users: Vec<UserId> = user.into_values().collect();
            if let Some(act) = call.pending_audit(ctx, SubjectKind::User, &users) {
                audit::record_act(call.app, &act).await?;
            }
        }
        Ok(exported.map(JsonScalar))
    }
}

/// The result of an erasure.
#[derive(SimpleObject)]
pub struct EraseUserPayload {
    /// Your id of the user; null if there was nothing left to erase.
    pub erased_id: Option<ID>,
}

#[derive(Default)]
pub struct PrivacyMutation;

#[Object]
impl PrivacyMutation {
    /// Erases a user: profile, inbox, marks, subscriptions, preferences, visits, and the messages to them. What they
    /// sent stays, without its sender. Their live sessions end. A later mention of the id creates a new user, so stop
    /// issuing tokens for it first. If the call is cut off, the server continues the erasure, and the same call again
    /// waits for it. SERVICE, ADMIN.
    async fn erase_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Your id of the user.")] id: ID,
    ) -> Result<EraseUserPayload> {
        let call = CallContext::with_role(ctx, STAFF)?;
        call.start_audit::<&str>(ctx, SubjectKind::User, &[]);
        let is_erased = privacy::erase_user(call.app, call.tenant, &id).await?;
        Ok(EraseUserPayload { erased_id: is_erased.then_some(id) })
    }
}
