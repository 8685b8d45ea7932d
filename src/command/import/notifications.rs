//! Earlier notifications, with their read and archived state.

use super::fields::LineFields;
use super::table::{ImportTable, rename_field};
use base::clock::Millis;
use base::error::{Error, Result};
use domain::channel::ActionTarget;
use domain::notification::{
    self, Addressees, ImportCounts, ImportedState, NotificationContent, NotificationInput, SeenMessages,
};
use domain::tenant::TenantContext;

/// Counts of the import.
#[derive(Default)]
pub struct NotificationImport {
    brought: ImportCounts,
    /// In a dry run: the notifications that earlier batches would have created, which the database does not have.
    before: SeenMessages,
    /// `createdAt` of the previous line.
    created_at: Option<Millis>,
}

impl ImportTable for NotificationImport {
    type Row = NotificationInput;
    const COLUMNS: &'static [&'static str] = &[
        "key",
        "type",
        "receiver",
        "title",
        "body",
        "link",
        "params",
        "data",
        "sender",
        "targetType",
        "target",
        "action",
        "createdAt",
        "readAt",
        "archivedAt",
    ];

    fn parse_line(&mut self, line: &mut LineFields) -> Result<NotificationInput> {
        let created_at = line.optional_time("createdAt")?;
        let created_at = created_at.ok_or_else(|| Error::bad_input("createdAt", "is required"))?;
        if self.created_at.replace(created_at).is_some_and(|before| created_at < before) {
            let message = "must not be earlier than on the line before: sort the file from the oldest to the newest";
            return Err(Error::bad_input("createdAt", message));
        }
        let target = match (line.optional_text("targetType")?, line.optional_text("target")?) {
            (Some(target_type), Some(id)) => Some(ActionTarget { target_type, id }),
            (None, None) => None,
            _ => return Err(Error::bad_input("target", "must be given together with targetType")),
        };
        let past = ImportedState {
            created_at,
            read_at: line.optional_time("readAt")?,
            archived_at: line.optional_time("archivedAt")?,
            target,
            action: line.optional_text("action")?,
        };
        let content = NotificationContent {
            title: line.optional_text("title")?,
            body: line.optional_text("body")?,
            link: line.optional_text("link")?,
            params: line.json_value("params")?,
            data: line.json_value("data")?,
        };
        Ok(NotificationInput {
            message_type: line.required_text("type")?,
            addressees: Addressees::Receiver(line.required_text("receiver")?),
            content,
            sender: line.optional_text("sender")?,
            publish_at: None,
            expires_at: None,
            idempotency_key: Some(line.required_text("key")?),
            is_strict: false,
            past: Some(past),
            raised: None,
            sent_by: None,
        })
    }

    async fn check_rows(
        &mut self,
        (app, tenant): &TenantContext,
        rows: &[NotificationInput],
    ) -> Result<Vec<(usize, Error)>> {
        let unfit = notification::find_invalid(app, tenant, rows).await?;
        Ok(unfit.into_iter().map(|(place, error)| (place, rename_field(error))).collect())
    }

    async fn count_rows(&mut self, (app, tenant): &TenantContext, rows: Vec<NotificationInput>) -> Result<()> {
        self.brought.add(notification::preview_import(app, tenant, &rows, &mut self.before).await?);
        Ok(())
    }

    async fn import_rows(&mut self, (app, tenant): &TenantContext, rows: Vec<NotificationInput>) -> Result<()> {
        self.brought.add(notification::import_messages(app, tenant, rows).await?);
        Ok(())
    }

    fn format_counts(&self) -> String {
        let ImportCounts { made, late, unwanted, there, others, old } = self.brought;
        let mut told =
            vec![format!("{made} notifications created"), format!("{there} already existed"), format!("{old} too old")];
        for (many, what) in [
            (late, "created with a later time (the log has newer entries)"),
            (unwanted, "created for receivers who have switched them off"),
            (others, "skipped (their keys were used for something else)"),
        ] {
            if many > 0 {
                told.push(format!("{many} {what}"));
            }
        }
        told.join(", ")
    }
}
