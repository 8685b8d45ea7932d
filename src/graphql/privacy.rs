//! A user's own data: export and erasure.

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use entity::audit_entry::Subject;
use entity::ids::UserId;

use super::context::{Call, STAFF};
use super::json::Json;
use crate::domain::{audit, privacy, user};

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
    ) -> Result<Option<Json>> {
        let call = Call::by(ctx, STAFF)?;
        let exported = privacy::export(call.app, call.tenant, &id, after.as_deref()).await?;
        // One audit entry per export, not per part.
        if exported.is_some() && after.is_none() {
            let user = user::find(call.app, call.tenant, &[id.to_string()]).await?;
            let users: Vec<UserId> = user.into_values().collect();
            if let Some(act) = call.act(ctx, Subject::User, &users) {
                audit::note(call.app, &act).await?;
            }
        }
        Ok(exported.map(Json))
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
        let call = Call::by(ctx, STAFF)?;
        call.audits::<&str>(ctx, Subject::User, &[]);
        let is_erased = privacy::erase(call.app, call.tenant, &id).await?;
        Ok(EraseUserPayload { erased_id: is_erased.then_some(id) })
    }
}
