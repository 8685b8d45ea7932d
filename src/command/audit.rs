//! `tidings audit`: prints the audit log of a tenant as JSON lines.

use chrono::{DateTime, Utc};
use clap::Args;
use entity::ids::UserId;
use serde_json::json;
use tidings::clock::calendar;
use tidings::config::Config;
use tidings::database::Use;
use tidings::domain::audit::{self, Entry, Filter, Subject};
use tidings::domain::{tenant, user};
use tidings::error::Result;
use tidings::model::actor::{Origin, Staff};
use tidings::model::slice::Slice;

use super::say::say;
use super::serve::start_over;

/// Entries per page.
const ENTRIES: usize = 500;

/// Options of `tidings audit`.
#[derive(Args)]
pub struct Audit {
    #[command(flatten)]
    config: Box<Config>,
    /// Tenant to print the audit log of.
    #[arg(long)]
    tenant: String,
    /// Print only entries from this instant on, such as `2026-11-01T00:00:00Z`.
    #[arg(long)]
    since: Option<DateTime<Utc>>,
}

impl Audit {
    /// Prints the entries, newest first, one per line.
    pub async fn run(self) -> Result<()> {
        let (_held, app) = start_over(*self.config, Use::Beside).await?;
        let tenant = tenant::existing(&app, &self.tenant).await?;
        let filter = Filter { since: self.since.map(|at| at.timestamp_millis()), ..Filter::default() };
        let mut place = None;
        loop {
            let page = audit::page(&app, &tenant, &filter, &Slice::first(ENTRIES, place)).await?;
            let users = page.entries.iter().filter(|(_, of)| of.kind == Subject::User);
            let users = users.filter_map(|(_, of)| of.subject.as_deref()?.parse().ok().map(UserId));
            let users: Vec<UserId> = users.collect();
            let names = user::profiles(&app, &tenant, &users).await?;
            for (_, entry) in &page.entries {
                let user = || names.get(&UserId(entry.subject.as_deref()?.parse().ok()?));
                let subject = match entry.kind {
                    Subject::User => user().map(|user| user.external_id.clone()),
                    _ => entry.subject.clone(),
                };
                say(&line(entry, subject.as_deref()))?;
            }
            place = page.goes_on_at;
            if place.is_none() {
                break;
            }
        }
        app.db.close().await;
        Ok(())
    }
}

fn line(of: &Entry, subject: Option<&str>) -> String {
    let role = match of.actor.staff {
        Staff::Service => "service",
        Staff::Admin => "admin",
    };
    let origin = match of.actor.origin {
        Origin::Unknown => "unknown",
        Origin::Loopback => "loopback",
        Origin::Private => "private",
        Origin::Public => "public",
    };
    let kind = match of.kind {
        Subject::Tenant => "tenant",
        Subject::User => "user",
        Subject::Group => "group",
        Subject::View => "view",
        Subject::Notification => "notification",
        Subject::MessageType => "messageType",
        Subject::Reason => "reason",
        Subject::ViewCode => "viewCode",
        Subject::Rule => "rule",
        Subject::Endpoint => "endpoint",
        Subject::TargetType => "targetType",
    };
    let line = json!({
        "at": calendar(of.at).to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        "role": role,
        "name": of.actor.name,
        "origin": origin,
        "action": of.action,
        "subjectKind": kind,
        "subject": subject,
        "count": of.count,
    });
    format!("{line}\n")
}
