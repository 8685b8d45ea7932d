//! Reads new items of synced inboxes: two statements for any number of users.

mod statement;

use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::prelude::{Columns, ConnectionTrait, LIST};

use crate::app::App;
use crate::domain::catalogue;
use crate::domain::inbox::item::{self, Content, Item, Own, Reading};
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::number::ByNumber;
use statement::Place;
pub use statement::Span;

/// The items of a span.
#[derive(Debug)]
pub struct Newer {
    /// Oldest first.
    pub items: Vec<Item>,
    /// If the span's limit was reached: the position after which there may be more.
    pub more_after: Option<Seq>,
}

/// The unexpired items of users within a span of the log.
///
/// A range of `inbox_item`'s key per user, then the contents, once for all users who got the same notification.
pub async fn newer(app: &App, tenant: &Tenant, users: &[UserId], span: Span<'_>) -> Result<Newer> {
    let rows: Vec<Own> = statement::items(app, users, span).numbers(&app.db.read).await?;
    let mut seqs: Vec<Seq> = rows.iter().map(|row| row.seq).collect();
    // By rows, since items without content count towards the limit too.
    let more_after = seqs.last().copied().filter(|_| span.limit.is_some_and(|limit| rows.len() >= limit));
    seqs.dedup();
    let contents = contents(app, tenant, &seqs).await?;
    // Leaves out items without content: it was deleted between the two statements.
    let with_content = |row: Own| contents.get(&row.seq).map(|content| item::over(&row, content.clone()));
    let items = rows.into_iter().filter_map(with_content).collect();
    Ok(Newer { items, more_after })
}

async fn contents(app: &App, tenant: &Tenant, seqs: &[Seq]) -> Result<ByNumber<Seq, Arc<Content>>> {
    let mut contents = ByNumber::default();
    for seqs in seqs.chunks(LIST) {
        let rows = app.db.read.query_all_raw(statement::contents(app, tenant, seqs).into_statement()).await?;
        let Some(first) = rows.first() else { continue };
        let Place { catalogue_version, texts, .. } = Place::read(first, 0)?;
        let catalogue = catalogue::at(app, tenant, catalogue_version).await?;
        let reading = Reading::by(app, tenant, &catalogue, texts);
        for row in &rows {
            let seq = Place::read(row, 0)?.seq;
            contents.extend(reading.content(seq, row, Place::MANY)?.map(|(_, content)| (seq, content)));
        }
    }
    Ok(contents)
}
