//! A rule with data: late reviews, as an external query reports them.

use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::Value;

use crate::app::App;
use base::error::{Error, Result};
use domain::catalogue::{self, ItemTemplate, MessageType};
use domain::channel::{self, ActionTarget, ListenerId};
use domain::tenant::Tenant;
use domain::user::PerformedBy;
use rules::{ColumnValues, FirstRun, PlaceholderText, ResolvePolicy, RowAudience, RowReport, RuleDefinition};

const RULE: &str = "late_reviews";
const TYPE: &str = "review";
const ACTION: &str = "review_late";

/// The late reviews of each report: review and reviewer.
const LATE: [&[(&str, &str)]; 2] = [&[("R-5", "Dara"), ("R-7", "Gus")], &[("R-7", "Gus"), ("R-8", "Ben")]];

/// Creates the rule and reports late and finished reviews of a document. An existing rule is left as it is, including
/// changes by users of the demo.
pub async fn report_reviews(app: &App, tenant: &Arc<Tenant>, document: &ActionTarget, title: &str) -> Result<()> {
    match rules::find_by_code(app, tenant, RULE).await {
        Err(Error::NotFound { .. }) => {}
        found => return found.map(drop),
    }
    let design = channel::find_group(app, tenant, "design").await?.channel;
    channel::subscribe(app, tenant, PerformedBy::Backend, ListenerId::Group(design), document, vec![ACTION.into()])
        .await?;
    catalogue::save_type(app, tenant, &review_type()).await?;
    rules::save(&app.rules, tenant, RULE, &review_rule()?).await?;
    for late in LATE {
        app.clock.advance(TimeDelta::minutes(5));
        let rows = late.iter().map(|(number, reviewer)| review_row([number, &document.id, title, reviewer])).collect();
        let report = RowReport { rows, is_complete: true, run: None, chunk: 0, has_more: false };
        rules::apply_report(app, tenant, RULE, report).await?;
    }
    Ok(())
}

fn review_type() -> MessageType {
    MessageType {
        code: TYPE.into(),
        title: "Reviews".into(),
        group: Some("Documents".into()),
        position: 60,
        template: Some(ItemTemplate {
            title: "{{ params.title }}: review {{ params.number }} is late".into(),
            body: Some("It waits for {{ params.reviewer }}.".into()),
            link: Some("/documents/{{ target.id }}".into()),
        }),
        icon: Some("check".into()),
        ..MessageType::default()
    }
}

fn review_rule() -> Result<RuleDefinition> {
    Ok(RuleDefinition {
        message_type: TYPE.into(),
        scan: None,
        key: vec!["number".into()],
        audience: RowAudience::Reminder {
            target_type: PlaceholderText::parse("document".into())?,
            target_id: PlaceholderText::parse("{{ document }}".into())?,
            action: PlaceholderText::parse(ACTION.into())?,
        },
        resolve: ResolvePolicy::Retract,
        resolve_after: 1,
        amends: true,
        repeat_after: None,
        first_run: FirstRun::Raise,
        max_new: 200,
        alarm: None,
    })
}

fn review_row(values: [&str; 4]) -> ColumnValues {
    let columns = ["number", "document", "title", "reviewer"].map(str::to_owned);
    columns.into_iter().zip(values.map(Value::from)).collect()
}
