//! Queries that ask again and again where an inbox stands: what their answers were and what they were made of, so that one that would be the
//! same is not made again.

use std::sync::Arc;

use async_graphql::Context;
use async_graphql::parser::types::{Field, OperationType, Selection, SelectionSet};
use entity::ids::{Seq, UserId};
use parking_lot::Mutex;

use super::{Admitted, Schema, Viewer};
use crate::auth::Role;
use crate::domain::overview::{self, Overview};
use crate::domain::user;
use crate::error::{Error, Result};
use crate::model::answer::{Answer, Text};
use crate::model::fingerprint::fingerprint;
use crate::model::proof::Proof;
use crate::model::seal::Kind;

/// A query of a user for their overview and parts of their inbox, and for nothing else that may change.
#[derive(Debug)]
pub struct Poll {
    viewer: Viewer,
    /// All that was asked.
    request: i64,
    /// Whether its client is told what the answer is told from others by.
    is_tagged: bool,
    /// How many fields of the answer say where the inbox stands.
    cursors: usize,
    readings: Readings,
}

/// The answer to a poll that would be made if it were executed.
#[derive(Debug)]
pub struct Known {
    /// What its text is told from other texts by, where the client is told that.
    pub tag: Option<i64>,
    /// Nothing where it is too long to be remembered.
    pub text: Option<String>,
}

/// An answer to a poll that was made, of which nothing has failed.
#[derive(Debug)]
pub struct Made {
    /// What its text is told from other texts by, where the client is told that.
    pub tag: Option<i64>,
    /// What is to be remembered of it, and of whom; nothing where it cannot be told whether it would be made again.
    answer: Option<(UserId, Answer)>,
}

/// What was read of inboxes for an answer, noted while it is made.
#[derive(Clone, Debug, Default)]
pub struct Readings(Arc<Mutex<Read>>);

#[derive(Debug, Default)]
struct Read {
    proofs: Vec<Arc<Proof>>,
    cursors: Vec<Seq>,
    /// Something was read of which it cannot be told whether it would be read again.
    is_beyond_proof: bool,
}

impl Readings {
    /// Notes an overview, where somebody wants to know.
    pub fn note(ctx: &Context<'_>, of: &Overview) {
        Self::note_proof(ctx, of.proof.as_ref());
        if let Some(Self(read)) = ctx.data_opt() {
            read.lock().cursors.push(of.cursor);
        }
    }

    /// Notes something else that is of an inbox alone.
    pub fn note_proof(ctx: &Context<'_>, proof: Option<&Arc<Proof>>) {
        if let Some(Self(read)) = ctx.data_opt() {
            let mut read = read.lock();
            read.is_beyond_proof |= proof.is_none();
            read.proofs.extend(proof.cloned());
        }
    }
}

impl Poll {
    /// Nothing where the request is for something else. `request` stands for all that its answer goes by, but for who asks.
    pub fn of(
        viewer: &Viewer,
        admitted: &mut Admitted,
        is_tagged: bool,
        request: impl FnOnce() -> i64,
    ) -> Option<Self> {
        let operation = &admitted.document.node;
        if viewer.role != Role::User || operation.ty != OperationType::Query {
            return None;
        }
        let [root] = &operation.selection_set.node.items[..] else { return None };
        let Selection::Field(root) = &root.node else { return None };
        let asked = &root.node.selection_set.node;
        let is_one = root.node.name.node == "viewer" && asked.items.iter().all(|item| is_of_poll(&item.node));
        let overviews = fields(asked).filter(|field| field.name.node == "overview");
        let cursors = overviews.map(|of| count(&of.selection_set.node, "cursor")).sum();
        if !is_one || !fields(asked).any(is_read) {
            return None;
        }
        let readings = Readings::default();
        admitted.request.data.insert(readings.clone());
        Some(Self { viewer: viewer.clone(), request: request(), is_tagged, cursors, readings })
    }

    /// What the answer would be, where that is known without executing it.
    pub(super) async fn known(&self, schema: &Schema) -> Result<Option<Known>> {
        let Viewer { tenant, sub, .. } = &self.viewer;
        let asking = async {
            let user = user::mention_one(&schema.app, tenant, "user", sub).await?;
            let answered = overview::answered(&schema.app, tenant, user, self.request).await?;
            Result::<_, Error>::Ok(answered.map(|answered| (user, answered)))
        };
        let Some((user, (answer, cursor))) = self.viewer.party().does(asking).await? else { return Ok(None) };
        let text = answer.text_at(cursor, &self.sealed(user, cursor));
        let is_same = answer.cursor.is_none_or(|of| of == cursor);
        let tag = if is_same { answer.tag } else { text.as_ref().and_then(|text| self.tag(text)) };
        let known = Known { tag, text };
        Ok(Some(known).filter(|known| known.tag.is_some() || known.text.is_some()))
    }

    /// What there is of an answer of which nothing has failed.
    pub fn made(&self, text: &str) -> Made {
        let tag = self.tag(text);
        Made { tag, answer: self.remembered(text, tag) }
    }

    /// Remembers an answer.
    pub fn answered(&self, schema: &Schema, made: Made) {
        if let Some((user, answer)) = made.answer {
            schema.app.caches.answers.keep(user, answer);
        }
    }

    fn tag(&self, text: &str) -> Option<i64> {
        self.is_tagged.then(|| fingerprint(text.as_bytes()))
    }

    fn remembered(&self, text: &str, tag: Option<i64>) -> Option<(UserId, Answer)> {
        let Read { proofs, cursors, is_beyond_proof } = std::mem::take(&mut *self.readings.0.lock());
        let user = proofs.first().map(|proof| proof.user).filter(|_| !is_beyond_proof)?;
        let cursor = cursors.first().copied().filter(|_| self.cursors > 0);
        // Overviews of different places, or of none, would say so.
        if cursors.iter().any(|other| cursor.is_some_and(|one| one != *other)) {
            return None;
        }
        let written = cursor.map(|cursor| self.sealed(user, cursor)).unwrap_or_default();
        let text = Text::of(text, &written, self.cursors);
        let is_told = tag.is_some() || text.is_some();
        is_told.then_some((user, Answer { request: self.request, proofs, tag, cursor, text }))
    }

    /// As answers say where the inbox stands; nothing where this one does not.
    fn sealed(&self, user: UserId, cursor: Seq) -> String {
        if self.cursors == 0 {
            return String::new();
        }
        self.viewer.tenant.seal.close(Kind::Cursor, user.0, cursor.0)
    }
}

/// Whether a field of the viewer is an overview without what happens in views, or a part of the inbox, or never changes.
fn is_of_poll(selection: &Selection) -> bool {
    let Selection::Field(field) = selection else { return false };
    let field = &field.node;
    let is_of_views = |field: &Field| matches!(field.name.node.as_str(), "views" | "total");
    match field.name.node.as_str() {
        "id" | "__typename" | "inbox" => true,
        "overview" => !selects(&field.selection_set.node, &is_of_views),
        _ => false,
    }
}

fn is_read(field: &Field) -> bool {
    matches!(field.name.node.as_str(), "overview" | "inbox")
}

fn fields(of: &SelectionSet) -> impl Iterator<Item = &Field> {
    of.items.iter().filter_map(|item| match &item.node {
        Selection::Field(field) => Some(&field.node),
        _ => None,
    })
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
