//! Queries that ask again and again where an inbox stands: what their answers were and what they were made of, so that one that would be the
//! same is not made again.

use std::sync::Arc;

use async_graphql::Context;
use async_graphql::parser::types::{Field, OperationType, Selection, SelectionSet};
use entity::ids::{Seq, UserId};
use parking_lot::Mutex;

use super::{Admitted, Schema, Viewer};
use crate::auth::Role;
use crate::domain::overview::{self, Made, Overview, Text};
use crate::domain::user;
use crate::error::{Error, Result};
use crate::model::fingerprint::fingerprint;
use crate::model::seal::Kind;

/// A query of a user for their overview, and for nothing else that may change.
#[derive(Debug)]
pub struct Poll {
    viewer: Viewer,
    /// All that was asked.
    request: i64,
    /// How many fields of the answer say where the inbox stands.
    cursors: usize,
    readings: Readings,
}

/// The answer to a poll that would be made if it were executed.
#[derive(Debug)]
pub struct Known {
    /// What its text is told from other texts by.
    pub tag: i64,
    /// Nothing where it is too long to be remembered.
    pub text: Option<String>,
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
    /// Nothing where the request is for something else. `request` stands for all that its answer goes by, but for who asks.
    pub fn of(viewer: &Viewer, admitted: &mut Admitted, request: i64) -> Option<Self> {
        let operation = &admitted.document.node;
        if viewer.role != Role::User || operation.ty != OperationType::Query {
            return None;
        }
        let [root] = &operation.selection_set.node.items[..] else { return None };
        let Selection::Field(root) = &root.node else { return None };
        let asked = &root.node.selection_set.node;
        let is_one = root.node.name.node == "viewer" && asked.items.iter().all(|item| is_of_poll(&item.node));
        if !is_one || !selects(asked, &|field| field.name.node == "overview") {
            return None;
        }
        let readings = Readings::default();
        admitted.request.data.insert(readings.clone());
        Some(Self { viewer: viewer.clone(), request, cursors: count(asked, "cursor"), readings })
    }

    /// What the answer would be, where that is known without executing it.
    pub async fn known(&self, schema: &Schema) -> Result<Option<Known>> {
        let Viewer { tenant, sub, .. } = &self.viewer;
        let asking = async {
            let user = user::mention_one(&schema.app, tenant, "user", sub).await?;
            let made = overview::unchanged(&schema.app, tenant, user, self.request).await?;
            Result::<_, Error>::Ok(made.map(|made| (user, made)))
        };
        let Some((user, (made, cursor))) = self.viewer.party().does(asking).await? else { return Ok(None) };
        let is_same = made.cursor.is_none_or(|of| of == cursor);
        let text = made.text.map(|text| text.at(&self.sealed(user, cursor)));
        let moved = || Some(fingerprint(text.as_ref()?.as_bytes()));
        let tag = if is_same { Some(made.tag) } else { moved() };
        Ok(tag.map(|tag| Known { tag, text }))
    }

    /// What to remember of an answer of which nothing has failed.
    pub fn made(&self, answer: &str) -> Made {
        let reading = self.readings.0.lock().first().copied();
        let cursor = reading.filter(|_| self.cursors > 0).map(|(_, _, cursor)| cursor);
        let sealed = reading.map(|(user, _, cursor)| self.sealed(user, cursor)).unwrap_or_default();
        let text = Text::of(answer, &sealed, self.cursors);
        Made { request: self.request, tag: fingerprint(answer.as_bytes()), cursor, text }
    }

    /// Remembers an answer, where it was made of one overview.
    pub async fn answered(&self, schema: &Schema, made: Made) {
        let readings = self.readings.0.lock().clone();
        if let [(user, reading, _)] = readings[..] {
            schema.app.caches.overviews.answered(user, reading, made).await;
        }
    }

    /// As answers say where the inbox stands; nothing where this one does not.
    fn sealed(&self, user: UserId, cursor: Seq) -> String {
        if self.cursors == 0 {
            return String::new();
        }
        self.viewer.tenant.seal.close(Kind::Cursor, user.0, cursor.0)
    }
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

/// How many fields of that name are selected anywhere below.
fn count(of: &SelectionSet, name: &str) -> usize {
    let counts = of.items.iter().map(|item| match &item.node {
        Selection::Field(field) => {
            usize::from(field.node.name.node == name) + count(&field.node.selection_set.node, name)
        }
        Selection::InlineFragment(fragment) => count(&fragment.node.selection_set.node, name),
        Selection::FragmentSpread(_) => 0,
    });
    counts.sum()
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
