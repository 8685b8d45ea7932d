//! Overviews for which the board stands, and perhaps the database does not.

use std::sync::Arc;

use super::board::hanging;
use super::known::{Known, PROOFS};
use crate::app::App;
use crate::domain::inbox::standing::Reach;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::overview::Entry;

/// A remembered overview, and what hung when the board was asked about it.
pub type Stood = (Arc<Entry>, u64);

/// Those that hold by the board, and then may not by the database. It may have been changed a moment ago, or only be said not to hold:
/// something of another user's has expired.
pub async fn doubtful(app: &App, tenant: &Tenant, entries: &[Arc<Entry>]) -> Result<Vec<Stood>> {
    let Some(board) = &app.board else { return Ok(Vec::new()) };
    let (now, mut doubtful) = (app.now(), Vec::new());
    for entries in entries.chunks(PROOFS) {
        let proofs: Vec<_> = entries.iter().map(|entry| entry.proof.clone()).collect();
        let hanging = hanging(board, tenant, &proofs, now).await;
        let standing = entries.iter().cloned().zip(hanging);
        let standing: Vec<Stood> = standing.filter_map(|(entry, hung)| Some((entry, hung?))).collect();
        if !standing.is_empty() {
            let asked: Vec<_> = standing.iter().map(|(entry, _)| &entry.proof).collect();
            let mut known = Known::default();
            known.ask(app, tenant, &asked, Reach::End, now).await?;
            doubtful.extend(standing.into_iter().filter(|(entry, _)| known.of(tenant, &entry.proof, now).is_none()));
        }
    }
    Ok(doubtful)
}

/// How many of them still hold by the board, by the same that hung then.
pub async fn still_standing(app: &App, tenant: &Tenant, stood: &[Stood]) -> usize {
    let Some(board) = &app.board else { return 0 };
    let mut count = 0;
    for stood in stood.chunks(PROOFS) {
        let proofs: Vec<_> = stood.iter().map(|(entry, _)| entry.proof.clone()).collect();
        let hanging = hanging(board, tenant, &proofs, app.now()).await;
        count += stood.iter().zip(hanging).filter(|((_, by), hung)| *hung == Some(*by)).count();
    }
    count
}
