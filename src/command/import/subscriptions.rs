//! Subscriptions of users to actions on targets.

use super::fields::LineFields;
use super::table::{ImportTable, rename_field};
use base::error::{Error, Result};
use domain::channel::{self, ActionChoice, ActionTarget, SubscriptionRequest};
use domain::tenant::TenantContext;

/// Counts of the import.
#[derive(Default)]
pub struct SubscriptionImport {
    made: u64,
    there: u64,
}

/// A user, and the actions of a target to subscribe to.
#[derive(Clone)]
pub struct SubscriptionRow {
    /// Its `actions` are filled in once the choice is resolved.
    subscriber: SubscriptionRequest,
    what: ActionChoice,
}

impl SubscriptionImport {
    async fn resolve_rows(
        (app, tenant): &TenantContext,
        rows: Vec<SubscriptionRow>,
    ) -> Result<Vec<SubscriptionRequest>> {
        let mut resolved = Vec::with_capacity(rows.len());
        for SubscriptionRow { subscriber, what } in rows {
            let actions = channel::resolve_actions(app, tenant, what).await?;
            resolved.push(SubscriptionRequest { actions, ..subscriber });
        }
        Ok(resolved)
    }

    fn add_counts(&mut self, wanted: &[SubscriptionRequest], made: u64) {
        self.made += made;
        self.there += wanted.iter().map(|of| of.actions.len() as u64).sum::<u64>() - made;
    }
}

impl ImportTable for SubscriptionImport {
    type Row = SubscriptionRow;
    const COLUMNS: &'static [&'static str] = &["user", "targetType", "target", "actions", "reason"];

    fn parse_line(&mut self, line: &mut LineFields) -> Result<SubscriptionRow> {
        let target = ActionTarget { target_type: line.required_text("targetType")?, id: line.required_text("target")? };
        let subscriber = SubscriptionRequest { user: line.required_text("user")?, target, actions: Vec::new() };
        subscriber.check().map_err(rename_field)?;
        let what = match (line.text_list("actions")?, line.optional_text("reason")?) {
            (Some(actions), None) => ActionChoice::Actions(actions),
            (None, Some(reason)) => ActionChoice::Reason(reason),
            _ => return Err(Error::bad_input("actions", "or `reason` must be given, but not both")),
        };
        Ok(SubscriptionRow { subscriber, what })
    }

    async fn check_rows(
        &mut self,
        (app, tenant): &TenantContext,
        rows: &[SubscriptionRow],
    ) -> Result<Vec<(usize, Error)>> {
        let mut bad = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            match channel::resolve_actions(app, tenant, row.what.clone()).await {
                Err(error @ Error::BadInput { .. }) => bad.push((place, error)),
                resolved => drop(resolved?),
            }
        }
        Ok(bad)
    }

    async fn count_rows(&mut self, needs: &TenantContext, rows: Vec<SubscriptionRow>) -> Result<()> {
        let wanted = Self::resolve_rows(needs, rows).await?;
        let made = channel::count_new_subscriptions(&needs.0, &needs.1, &wanted).await?;
        self.add_counts(&wanted, made);
        Ok(())
    }

    async fn import_rows(&mut self, needs: &TenantContext, rows: Vec<SubscriptionRow>) -> Result<()> {
        let wanted = Self::resolve_rows(needs, rows).await?;
        let made = channel::subscribe_all(&needs.0, &needs.1, &wanted).await?;
        self.add_counts(&wanted, made);
        Ok(())
    }

    fn format_counts(&self) -> String {
        format!("{} subscriptions created, {} already existed", self.made, self.there)
    }
}
