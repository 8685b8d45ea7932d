//! Rules, their runs and their sources.

mod input;
mod object;
mod report;
mod run;
mod source;
mod trial;

use async_graphql::{Context, ID, Object, Result};
use entity::audit_entry::SubjectKind;

use self::source::RuleSource;
use super::catalogue::DeletePayload;
use super::context::{ADMIN, CallContext, STAFF};
use base::error::Error;
use input::NotificationRuleInput;
use model::id_cipher::IdKind;
pub use object::NotificationRule;
use report::ReportRuleRowsInput;
use run::RuleRun;
use trial::TryRulePayload;

#[derive(Default)]
pub struct RuleQuery;

#[Object]
impl RuleQuery {
    /// The tenant's rules, by code. ADMIN.
    async fn notification_rules(&self, ctx: &Context<'_>) -> Result<Vec<NotificationRule>> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        Ok(rules::list_all(call.app, call.tenant).await?.into_iter().map(Into::into).collect())
    }

    /// The rule with this code, or null. ADMIN.
    async fn notification_rule(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the rule.")] code: String,
    ) -> Result<Option<NotificationRule>> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        match rules::find_by_code(call.app, call.tenant, &code).await {
            Err(Error::NotFound { .. }) => Ok(None),
            found => Ok(Some(found?.into())),
        }
    }

    /// The databases that the tenant's rules may read, by name. ADMIN.
    #[expect(clippy::unused_async, reason = "resolvers are asynchronous")]
    async fn rule_sources(&self, ctx: &Context<'_>) -> Result<Vec<RuleSource>> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        let sources = call.app.rules.sources.list_for_tenant(&call.tenant.code);
        let mut sources: Vec<RuleSource> =
            sources.map(|source| RuleSource(source.name().to_owned(), source.kind())).collect();
        sources.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(sources)
    }
}

#[derive(Default)]
pub struct RuleMutation;

#[Object]
impl RuleMutation {
    /// Creates a rule, or changes the one with this code. A new rule with a scan runs at once. A run in progress
    /// stops. At most 1,000 rules per tenant. ADMIN.
    async fn save_notification_rule(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The whole rule.")] input: NotificationRuleInput,
    ) -> Result<NotificationRule> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, SubjectKind::Rule, &[&input.code]);
        let saved = async {
            let (code, definition) = input.into_definition()?;
            rules::save(&call.app.rules, call.tenant, &code, &definition).await
        };
        Ok(saved.await.map_err(|error| error.with_field_prefix("input"))?.into())
    }

    /// Deletes a rule. Its notifications stay, unless `retract` is true. ADMIN.
    async fn delete_notification_rule(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the rule.")] code: String,
        #[graphql(
            default_with = "Some(false)",
            desc = "Whether to retract its notifications of rows that are not gone."
        )]
        retract: Option<bool>,
    ) -> Result<DeletePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, SubjectKind::Rule, &[&code]);
        let deleted = rules::delete(call.app, call.tenant, &code, retract.unwrap_or_default()).await?;
        Ok(DeletePayload { deleted_id: deleted.map(|id| ID(call.tenant.id_cipher.encode(IdKind::Rule, 0, id))) })
    }

    /// Pauses a rule, and ends a run in progress. ADMIN.
    async fn pause_notification_rule(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the rule.")] code: String,
    ) -> Result<NotificationRule> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, SubjectKind::Rule, &[&code]);
        Ok(rules::pause(call.app, call.tenant, &code).await?.into())
    }

    /// Continues a rule; one with a scan runs at once. ADMIN.
    async fn resume_notification_rule(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the rule.")] code: String,
        #[graphql(
            default_with = "Some(false)",
            desc = "Whether new rows of the next complete result are only remembered and raise nothing."
        )]
        baseline: Option<bool>,
    ) -> Result<NotificationRule> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, SubjectKind::Rule, &[&code]);
        Ok(rules::resume(call.app, call.tenant, &code, baseline.unwrap_or_default()).await?.into())
    }

    /// Scans like the rule, but writes nothing: returns the notifications to raise, amend and resolve, and the cost.
    /// The audit log records the source and the query. ADMIN.
    async fn try_notification_rule(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The whole rule. If a rule with this code exists, this is tried as a change of it.")]
        input: NotificationRuleInput,
        #[graphql(default_with = "Some(20)", desc = "Number of samples of new rows, at most 100.")] first: Option<i32>,
    ) -> Result<TryRulePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        let first = usize::try_from(first.unwrap_or(20)).map_err(|_| Error::bad_input("first", "must be 0 to 100"))?;
        let (code, definition) = input.into_definition().map_err(|error| error.with_field_prefix("input"))?;
        let act = call.pending_audit(ctx, SubjectKind::Rule, &[&code]);
        let tried = rules::run_trial(&call.app.rules, call.tenant, (&code, &definition), first, act).await;
        Ok(tried.map_err(|error| error.with_field_prefix("input"))?.into())
    }

    /// Runs a rule with a scan now, besides its schedule. `UNAVAILABLE` while another run is in progress. SERVICE,
    /// ADMIN.
    async fn run_notification_rule(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the rule.")] code: String,
    ) -> Result<RuleRun> {
        let call = CallContext::with_role(ctx, STAFF)?;
        call.start_audit(ctx, SubjectKind::Rule, &[&code]);
        Ok(RuleRun(rules::run_now(&call.app.rules, call.tenant, &code).await?))
    }

    /// Reports rows for a rule without a scan: new rows raise, changed rows amend, and rows that are not in a complete
    /// result resolve. One invalid row refuses all. SERVICE, ADMIN.
    async fn report_rule_rows(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The rows of a result, or of a part of it.")] input: ReportRuleRowsInput,
    ) -> Result<RuleRun> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let reported = async {
            let (code, report) = input.into_report()?;
            rules::apply_report(call.app, call.tenant, &code, report).await
        };
        Ok(RuleRun(reported.await.map_err(|error| error.with_field_prefix("input"))?))
    }
}
