//! A rule with data: late reviews, as an external query reports them.

use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::Value;

use crate::app::App;
use crate::domain::catalogue::{self, MessageType, Template};
use crate::domain::channel::{self, Listener, Target};
use crate::domain::rule::{self, Audience, Columns, Definition, FirstRun, Report, Resolve, Words};
use crate::domain::tenant::Tenant;
use crate::domain::user::By;
use crate::error::{Error, Result};

const RULE: &str = "late_reviews";
const TYPE: &str = "review";
const ACTION: &str = "review_late";

/// The late reviews of each report: review and reviewer.
const LATE: [&[(&str, &str)]; 2] = [&[("R-5", "Dara"), ("R-7", "Gus")], &[("R-7", "Gus"), ("R-8", "Ben")]];

/// Creates the rule and reports late and finished reviews of a document. An existing rule is left as it is, including
/// changes by users of the demo.
pub async fn watch(app: &App, tenant: &Arc<Tenant>, document: &Target, title: &str) -> Result<()> {
    match rule::find(app, tenant, RULE).await {
        Err(Error::NotFound { .. }) => {}
        found => return found.map(drop),
    }
    let design = channel::find_group(app, tenant, "design").await?.channel;
    channel::subscribe(app, tenant, By::Partner, Listener::Group(design), document, vec![ACTION.into()]).await?;
    catalogue::save_type(app, tenant, &review()).await?;
    rule::save(app, tenant, RULE, &definition()?).await?;
    for late in LATE {
        app.clock.advance(TimeDelta::minutes(5));
        let rows = late.iter().map(|(number, reviewer)| row([number, &document.id, title, reviewer])).collect();
        let report = Report { rows, is_complete: true, run: None, chunk: 0, has_more: false };
        rule::report(app, tenant, RULE, report).await?;
    }
    Ok(())
}

fn review() -> MessageType {
    MessageType {
        code: TYPE.into(),
        title: "Reviews".into(),
        group: Some("Documents".into()),
        position: 60,
        template: Some(Template {
            title: "{{ params.title }}: review {{ params.number }} is late".into(),
            body: Some("It waits for {{ params.reviewer }}.".into()),
            link: Some("/documents/{{ target.id }}".into()),
        }),
        icon: Some("check".into()),
        ..MessageType::default()
    }
}

fn definition() -> Result<Definition> {
    Ok(Definition {
        message_type: TYPE.into(),
        scan: None,
        key: vec!["number".into()],
        audience: Audience::Reminder {
            target_type: Words::parse("document".into())?,
            target_id: Words::parse("{{ document }}".into())?,
            action: Words::parse(ACTION.into())?,
        },
        resolve: Resolve::Retract,
        resolve_after: 1,
        amends: true,
        repeat_after: None,
        first_run: FirstRun::Raise,
        max_new: 200,
        alarm: None,
    })
}

fn row(values: [&str; 4]) -> Columns {
    let columns = ["number", "document", "title", "reviewer"].map(str::to_owned);
    columns.into_iter().zip(values.map(Value::from)).collect()
}
