//! `tidings audit`: prints the audit log of a tenant as JSON lines.

use chrono::{DateTime, Utc};
use clap::Args;
use entity::ids::UserId;
use serde_json::json;

use super::output::print_line;
use super::serve::open_existing_app;
use base::clock::to_date_time;
use base::config::ServerConfig;
use base::error::Result;
use domain::audit::{self, AuditCriteria, AuditRecord, SubjectKind};
use domain::{tenant, user};
use model::actor::{NetworkClass, StaffKind};
use model::list_page::PageRange;
use store::FileAccess;

/// Entries per page.
const ENTRIES: usize = 500;

/// Options of `tidings audit`.
#[derive(Args)]
pub struct AuditCommand {
    #[command(flatten)]
    config: Box<ServerConfig>,
    /// Tenant to print the audit log of.
    #[arg(long)]
    tenant: String,
    /// Print only entries from this instant on, such as `2026-11-01T00:00:00Z`.
    #[arg(long)]
    since: Option<DateTime<Utc>>,
}

impl AuditCommand {
    /// Prints the entries, newest first, one per line.
    pub async fn run(self) -> Result<()> {
        let (_held, app) = open_existing_app(*self.config, FileAccess::Beside).await?;
        let tenant = tenant::get_existing(&app, &self.tenant).await?;
        let filter = AuditCriteria { since: self.since.map(|at| at.timestamp_millis()), ..AuditCriteria::default() };
        let mut place = None;
        loop {
            let page = audit::load_page(&app, &tenant, &filter, &PageRange::first_page(ENTRIES, place)).await?;
            let users = page.entries.iter().filter(|(_, of)| of.kind == SubjectKind::User);
            let users = users.filter_map(|(_, of)| of.subject.as_deref()?.parse().ok().map(UserId));
            let users: Vec<UserId> = users.collect();
            let names = user::load_profiles(&app, &tenant, &users).await?;
            for (_, entry) in &page.entries {
                let user = || names.get(&UserId(entry.subject.as_deref()?.parse().ok()?));
                let subject = match entry.kind {
                    SubjectKind::User => user().map(|user| user.external_id.clone()),
                    _ => entry.subject.clone(),
                };
                print_line(&format_entry(entry, subject.as_deref()))?;
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

fn format_entry(of: &AuditRecord, subject: Option<&str>) -> String {
    let role = match of.actor.staff {
        StaffKind::Service => "service",
        StaffKind::Admin => "admin",
    };
    let origin = match of.actor.origin {
        NetworkClass::Unknown => "unknown",
        NetworkClass::Loopback => "loopback",
        NetworkClass::Private => "private",
        NetworkClass::Public => "public",
    };
    let kind = match of.kind {
        SubjectKind::Tenant => "tenant",
        SubjectKind::User => "user",
        SubjectKind::Group => "group",
        SubjectKind::View => "view",
        SubjectKind::Notification => "notification",
        SubjectKind::MessageType => "messageType",
        SubjectKind::Reason => "reason",
        SubjectKind::ViewCode => "viewCode",
        SubjectKind::Rule => "rule",
        SubjectKind::Endpoint => "endpoint",
        SubjectKind::TargetType => "targetType",
    };
    let line = json!({
        "at": to_date_time(of.at).to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
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
