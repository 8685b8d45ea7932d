//! Earlier notifications, with their read and archived state.

use tidings::clock::Millis;
use tidings::domain::channel::Target;
use tidings::domain::notification::{self, Addressees, Brought, Content, Foretold, Input, Past};
use tidings::domain::tenant::Needs;
use tidings::error::{Error, Result};

use super::fields::Fields;
use super::table::{Table, by_column};

/// Counts of the import.
#[derive(Default)]
pub struct Notifications {
    brought: Brought,
    /// In a dry run: the notifications that earlier batches would have created, which the database does not have.
    before: Foretold,
    /// `createdAt` of the previous line.
    created_at: Option<Millis>,
}

impl Table for Notifications {
    type Row = Input;
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

    fn read(&mut self, line: &mut Fields) -> Result<Input> {
        let created_at = line.instant("createdAt")?;
        let created_at = created_at.ok_or_else(|| Error::bad_input("createdAt", "is required"))?;
        if self.created_at.replace(created_at).is_some_and(|before| created_at < before) {
            let message = "must not be earlier than on the line before: sort the file from the oldest to the newest";
            return Err(Error::bad_input("createdAt", message));
        }
        let target = match (line.text("targetType")?, line.text("target")?) {
            (Some(target_type), Some(id)) => Some(Target { target_type, id }),
            (None, None) => None,
            _ => return Err(Error::bad_input("target", "must be given together with targetType")),
        };
        let past = Past {
            created_at,
            read_at: line.instant("readAt")?,
            archived_at: line.instant("archivedAt")?,
            target,
            action: line.text("action")?,
        };
        let content = Content {
            title: line.text("title")?,
            body: line.text("body")?,
            link: line.text("link")?,
            params: line.json("params")?,
            data: line.json("data")?,
        };
        Ok(Input {
            message_type: line.required("type")?,
            addressees: Addressees::Receiver(line.required("receiver")?),
            content,
            sender: line.text("sender")?,
            publish_at: None,
            expires_at: None,
            idempotency_key: Some(line.required("key")?),
            is_strict: false,
            past: Some(past),
            raised: None,
            sent_by: None,
        })
    }

    async fn check(&mut self, (app, tenant): &Needs, rows: &[Input]) -> Result<Vec<(usize, Error)>> {
        let unfit = notification::unfit(app, tenant, rows).await?;
        Ok(unfit.into_iter().map(|(place, error)| (place, by_column(error))).collect())
    }

    async fn count(&mut self, (app, tenant): &Needs, rows: Vec<Input>) -> Result<()> {
        self.brought.add(notification::would_bring(app, tenant, &rows, &mut self.before).await?);
        Ok(())
    }

    async fn make(&mut self, (app, tenant): &Needs, rows: Vec<Input>) -> Result<()> {
        self.brought.add(notification::bring(app, tenant, rows).await?);
        Ok(())
    }

    fn told(&self) -> String {
        let Brought { made, late, unwanted, there, others, old } = self.brought;
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
