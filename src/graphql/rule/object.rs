//! A rule as operators see it.

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};

use super::input::{RuleFirstRun, RuleResolve};
use super::run::RuleRun;
use crate::graphql::catalogue::MessageType;
use crate::graphql::connection::{PageArguments, ScannedConnection, names, row_connection};
use crate::graphql::context::CallContext;
use crate::graphql::inline::InlineObject;
use crate::graphql::notification::SentNotification;
use crate::graphql::scalars::{DateTimeScalar, to_int};
use base::error::Error;
use domain::catalogue;
use model::id_cipher::IdKind;
use rules::RowAudience;

names!(OpenNotifications, "RuleNotificationConnection", "RuleNotificationEdge");

/// Whether a rule runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "rules::RuleStatus")]
pub enum RuleState {
    /// It runs.
    Active,
    /// An operator has paused it.
    Paused,
    /// It paused itself because a result had more new rows than `maxNew`. `resumeNotificationRule` continues it.
    Flooded,
}

/// A scheduled query.
#[derive(SimpleObject)]
pub struct RuleScan {
    /// Name of its source.
    pub source: String,
    /// One SELECT.
    pub sql: String,
    /// Cron of five fields, or `@every 30s`.
    pub schedule: String,
    /// Time zone of the cron fields.
    pub time_zone: String,
    /// Time-out in milliseconds, if it is shorter than the source's own.
    pub timeout_ms: Option<i32>,
}

/// The readers of a row's notification: one of these.
#[derive(Default, SimpleObject)]
pub struct RuleAudience {
    /// The subscribers of an action on a target.
    pub reminder: Option<RuleReminder>,
    /// Column with your id of the user.
    pub user_column: Option<String>,
    /// Column with the code of the group.
    pub group_column: Option<String>,
    /// All users of the tenant.
    pub everyone: bool,
}

/// A target and an action. `{{ column }}` stands for the row's value.
#[derive(SimpleObject)]
pub struct RuleReminder {
    /// Type of the target.
    pub target_type: String,
    /// Your id of the target.
    pub target_id: String,
    /// The action.
    pub action: String,
}

/// An announcement to a group.
#[derive(SimpleObject)]
pub struct RuleAlarm {
    /// Code of the message type.
    #[graphql(name = "type")]
    pub message_type: String,
    /// Code of the group.
    pub group: String,
}

/// A query for rows that need attention, and the notification for each.
#[derive(Clone)]
pub struct NotificationRule(Box<rules::Rule>);

impl From<rules::Rule> for NotificationRule {
    fn from(of: rules::Rule) -> Self {
        Self(Box::new(of))
    }
}

/// A query for rows that need attention, and the notification for each.
#[Object]
impl NotificationRule {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(CallContext::from_context(ctx).tenant.id_cipher.encode(IdKind::Rule, 0, self.0.of.id))
    }

    /// Your code for the rule, 1 to 128 characters.
    async fn code(&self) -> &str {
        &self.0.of.code
    }

    /// The message type that it sends; null if that was deleted.
    async fn r#type(&self, ctx: &Context<'_>) -> Result<Option<MessageType>> {
        let call = CallContext::from_context(ctx);
        let catalogue = catalogue::load_cached(call.app, call.tenant).await?;
        Ok(catalogue.message_type(&self.0.definition.message_type).cloned().map(MessageType))
    }

    /// The query; null if rows are reported.
    async fn scan(&self) -> Option<RuleScan> {
        self.0.definition.scan.clone().map(|scan| RuleScan {
            source: scan.source,
            sql: scan.sql,
            schedule: scan.schedule,
            time_zone: scan.time_zone,
            timeout_ms: scan.timeout.map(to_int),
        })
    }

    /// The columns that identify a row.
    async fn key(&self) -> &[String] {
        &self.0.definition.key
    }

    /// The readers of a row's notification.
    async fn audience(&self) -> RuleAudience {
        match self.0.definition.audience.clone() {
            RowAudience::Everyone => RuleAudience { everyone: true, ..RuleAudience::default() },
            RowAudience::UserColumn(column) => RuleAudience { user_column: Some(column), ..RuleAudience::default() },
            RowAudience::GroupColumn(column) => RuleAudience { group_column: Some(column), ..RuleAudience::default() },
            RowAudience::Reminder { target_type, target_id, action } => {
                let [target_type, target_id, action] = [target_type, target_id, action].map(|of| of.text().to_owned());
                let reminder = RuleReminder { target_type, target_id, action };
                RuleAudience { reminder: Some(reminder), ..RuleAudience::default() }
            }
        }
    }

    /// What happens to a notification when its row is gone.
    async fn resolve(&self) -> RuleResolve {
        self.0.definition.resolve.into()
    }

    /// A row counts as gone after this many consecutive complete results without it.
    async fn resolve_after(&self) -> i32 {
        to_int(self.0.definition.resolve_after)
    }

    /// Whether a changed row amends its notification.
    async fn amend(&self) -> bool {
        self.0.definition.amends
    }

    /// Seconds after which a row that is still there raises a new notification; null for never.
    async fn repeat_after_seconds(&self) -> Option<i32> {
        self.0.definition.repeat_after.map(|millis| to_int(millis / 1000))
    }

    /// What happens, or happened, to the rows of the first complete result.
    async fn first_run(&self) -> RuleFirstRun {
        self.0.definition.first_run.into()
    }

    /// The most new rows of one result.
    async fn max_new(&self) -> i32 {
        to_int(self.0.definition.max_new)
    }

    /// Sent when the rule pauses itself, or fails three times in a row.
    async fn alarm(&self) -> Option<RuleAlarm> {
        let alarm = self.0.definition.alarm.clone();
        alarm.map(|alarm| RuleAlarm { message_type: alarm.message_type, group: alarm.group })
    }

    /// Whether it runs.
    async fn state(&self) -> RuleState {
        self.0.of.state.into()
    }

    /// Time of the next run, unless it is paused; null if rows are reported.
    async fn next_run_at(&self) -> Option<DateTimeScalar> {
        self.0.of.due_at.map(Into::into)
    }

    /// Start of the last complete run.
    async fn last_complete_at(&self) -> Option<DateTimeScalar> {
        self.0.of.complete_at.map(Into::into)
    }

    /// Failed runs in a row. Each doubles the pause before the next run, up to 16 times.
    async fn failure_count(&self) -> i32 {
        to_int(self.0.of.failures)
    }

    /// Known rows that are not gone, including those of the first result.
    async fn row_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(to_int(rules::count_known_rows(CallContext::from_context(ctx).app, &self.0).await?))
    }

    /// The last runs, newest first.
    async fn runs(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(10)", desc = "1 to 50.")] first: Option<i32>,
    ) -> Result<Vec<RuleRun>> {
        let most = u64::try_from(first.unwrap_or(10)).ok().filter(|first| (1..=50).contains(first));
        let most = most.ok_or_else(|| Error::bad_input("first", "must be 1 to 50"))?;
        Ok(rules::list_runs(CallContext::from_context(ctx).app, &self.0, most)
            .await?
            .into_iter()
            .map(RuleRun)
            .collect())
    }

    /// Its notifications of rows that are not gone, newest first; 20 without `first` and `last`.
    async fn open_notifications(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size from the newest on, at most 200.")] first: Option<i32>,
        #[graphql(desc = "Only notifications older than the one at this cursor.")] after: Option<String>,
        #[graphql(
            desc = "Page size from the oldest on, at most 200. Not with `first`, unless exactly one cursor is given: `before` selects `last`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only notifications newer than the one at this cursor.")] before: Option<String>,
    ) -> Result<ScannedConnection<InlineObject<SentNotification>, OpenNotifications>> {
        let call = CallContext::from_context(ctx);
        let open = |cursor: &str| call.tenant.id_cipher.decode(IdKind::Row, cursor).map(|(_, id)| id);
        let slice = PageArguments::from_field(ctx, (first, after), (last, before)).into_slice(call, open)?;
        let (found, goes_on) = rules::list_open(call.app, call.tenant, &self.0, slice).await?;
        let ids: Vec<i64> = found.iter().map(|of| of.id).collect();
        let rows = ids.into_iter().zip(SentNotification::from_notifications(found).into_iter().map(InlineObject));
        Ok(row_connection(call, &slice, rows, (goes_on, None)))
    }
}
