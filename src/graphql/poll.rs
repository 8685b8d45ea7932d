//! Queries that ask again and again where an inbox stands: what their answers were made of, so that one that would be the same is not
//! made again.

use std::sync::Arc;

use async_graphql::Context;
use async_graphql::parser::types::{Field, OperationType, Selection, SelectionSet};
use entity::ids::{Seq, UserId};
use parking_lot::Mutex;

use super::{Admitted, Schema, Viewer};
use crate::auth::Role;
use crate::domain::overview::{self, Made, Overview};
use crate::domain::user;
use crate::error::Result;
use crate::model::fingerprint::fingerprint;

/// A query of a user for their overview, and for nothing else that may change.
#[derive(Debug)]
pub struct Poll {
    viewer: Viewer,
    /// All that was asked.
    request: i64,
    shows_cursor: bool,
    readings: Readings,
}

/// The overviews that an answer is made of, noted while it is: whose, which reading, and its cursor.
#[derive(Clone, Debug, Default)]
pub struct Readings(Arc<Mutex<Vec<(UserId, u64, Seq)>>>);

impl Readings {
    /// Notes one, where somebody wants to know.
    pub fn note(ctx: &Context<'_>, of: &Overview) {
        if let Some(Self(readings)) = ctx.data_opt() {
            readings.lock().push((of.user, of.reading, of.cursor));
        }
    }
}

impl Poll {
    /// Nothing where the request is for something else. `asked` is all that its answer goes by, but for who asks.
    pub fn of(viewer: &Viewer, admitted: &mut Admitted, asked: &[u8]) -> Option<Self> {
        let operation = &admitted.document.node;
        if viewer.role != Role::User || operation.ty != OperationType::Query {
            return None;
        }
        let [Selection::Field(root)] = nodes(&operation.selection_set.node)[..] else { return None };
        let is_one =
            root.node.name.node == "viewer" && nodes(&root.node.selection_set.node).into_iter().all(is_of_poll);
        if !is_one || !selects(&root.node.selection_set.node, &|field| field.name.node == "overview") {
            return None;
        }
        let readings = Readings::default();
        admitted.request.data.insert(readings.clone());
        let shows_cursor = selects(&root.node.selection_set.node, &|field| field.name.node == "cursor");
        Some(Self { viewer: viewer.clone(), request: fingerprint(asked), shows_cursor, readings })
    }

    /// The tag of the last answer to the same, where it would be the same now.
    pub async fn unchanged(&self, schema: &Schema) -> Result<Option<i64>> {
        let Viewer { tenant, sub, .. } = &self.viewer;
        let asking = async {
            let user = user::mention_one(&schema.app, tenant, "user", sub).await?;
            overview::unchanged(&schema.app, tenant, user, self.request).await
        };
        Ok(self.viewer.party().does(asking).await?.map(|made| made.tag))
    }

    /// Remembers an answer, of which nothing has failed, by its tag.
    pub async fn answered(&self, schema: &Schema, tag: i64) {
        let readings = self.readings.0.lock().clone();
        if let [(user, reading, cursor)] = readings[..] {
            let made = Made { request: self.request, tag, cursor: self.shows_cursor.then_some(cursor) };
            schema.app.caches.overviews.answered(user, reading, made).await;
        }
    }
}

fn nodes(of: &SelectionSet) -> Vec<&Selection> {
    of.items.iter().map(|item| &item.node).collect()
}

/// Whether a field of the viewer is the overview without what happens in views, or never changes.
fn is_of_poll(selection: &Selection) -> bool {
    let Selection::Field(field) = selection else { return false };
    let field = &field.node;
    let is_of_views = |field: &Field| matches!(field.name.node.as_str(), "views" | "total");
    match field.name.node.as_str() {
        "id" | "__typename" => true,
        "overview" => !selects(&field.selection_set.node, &is_of_views),
        _ => false,
    }
}

/// Whether a field like that is selected anywhere below.
fn selects(of: &SelectionSet, is_it: &impl Fn(&Field) -> bool) -> bool {
    of.items.iter().any(|item| match &item.node {
        Selection::Field(field) => is_it(&field.node) || selects(&field.node.selection_set.node, is_it),
        Selection::InlineFragment(fragment) => selects(&fragment.node.selection_set.node, is_it),
        // The guard has written them out.
        Selection::FragmentSpread(_) => true,
    })
}
