//! A user's own data: all of it at once, and none of it any more.

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
    /// All that is kept about a user, in parts: profile, groups, preferences, subscriptions, follows, views, the whole inbox, and
    /// what they sent, up to 500 rows of lists each. `next` in a part is what to ask for the following one `after`; it is null in
    /// the last. Null where the tenant has never heard of the user. SERVICE, ADMIN.
    async fn export_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The partner's own id of the user.")] id: ID,
        #[graphql(desc = "The `next` of the part before.")] after: Option<String>,
    ) -> Result<Option<Json>> {
        let call = Call::by(ctx, STAFF)?;
        let exported = privacy::export(call.app, call.tenant, &id, after.as_deref()).await?;
        // Whoever takes all of it away is known, once and not for each part.
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

/// Who was erased.
#[derive(SimpleObject)]
pub struct EraseUserPayload {
    /// The partner's own id of the user; null where there was nothing left to erase.
    pub erased_id: Option<ID>,
}

#[derive(Default)]
pub struct PrivacyMutation;

#[Object]
impl PrivacyMutation {
    /// Erases a user: profile, inbox, marks, subscriptions, preferences, visits, and the messages to them. What they sent stays,
    /// without its sender. Their live sessions end; a later mention of the id makes a new user, so stop issuing tokens for it
    /// first. Where the call is cut off, the rest goes on by itself, and the same call again waits for it. SERVICE,
    /// ADMIN.
    async fn erase_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The partner's own id of the user.")] id: ID,
    ) -> Result<EraseUserPayload> {
        let call = Call::by(ctx, STAFF)?;
        call.audits::<&str>(ctx, Subject::User, &[]);
        let is_erased = privacy::erase(call.app, call.tenant, &id).await?;
        Ok(EraseUserPayload { erased_id: is_erased.then_some(id) })
    }
}
