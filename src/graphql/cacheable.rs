//! A response cache for queries that poll the state of an inbox. An entry holds the response and the validators of its
//! parts; it is used while the query would produce the same response again.

use std::sync::Arc;

use async_graphql::Context;
use async_graphql::parser::types::{Field, OperationType, Selection, SelectionSet};
use entity::ids::{Seq, UserId};
use parking_lot::Mutex;

use super::{AdmittedRequest, Schema, Viewer};
use auth::CallerRole;
use base::error::{Error, Result};
use domain::overview::{self, UserOverview};
use domain::user;
use model::cache_validator::CacheValidator;
use model::fingerprint::fingerprint;
use model::id_cipher::IdKind;
use model::response_cache::{CachedResponse, ResponseText};

/// A query of a user for the overview and parts of the inbox, and for nothing else that may change.
#[derive(Debug)]
pub struct CacheableQuery {
    viewer: Viewer,
    /// Hash of everything that the response depends on, except the user.
    request: i64,
    /// Whether to send an `ETag`.
    is_tagged: bool,
    /// Number of fields of the response that contain the cursor.
    cursors: usize,
    readings: ReadSet,
}

/// The response that execution would produce.
#[derive(Debug)]
pub struct ReusableResponse {
    /// `ETag` of the text, if the client gets one.
    pub tag: Option<i64>,
    /// `None` if it was too long to cache.
    pub text: Option<String>,
}

/// A response to a poll without errors.
#[derive(Debug)]
pub struct CacheCandidate {
    /// `ETag` of the text, if the client gets one.
    pub tag: Option<i64>,
    /// The cache entry and its user; `None` if the server cannot tell when the response changes.
    answer: Option<(UserId, CachedResponse)>,
}

/// What a response was made from, recorded during execution.
#[derive(Clone, Debug, Default)]
pub struct ReadSet(Arc<Mutex<ReadLog>>);

#[derive(Debug, Default)]
struct ReadLog {
    proofs: Vec<Arc<CacheValidator>>,
    cursors: Vec<Seq>,
    /// Whether it includes something without a validator. Such a response is not cached.
    is_beyond_proof: bool,
}

impl ReadSet {
    /// Records an overview, if the request is a poll.
    pub fn record_overview(ctx: &Context<'_>, of: &UserOverview) {
        Self::record_validator(ctx, of.proof.as_ref());
        if let Some(Self(read)) = ctx.data_opt() {
            read.lock().cursors.push(of.cursor);
        }
    }

    /// Records the validator of something else that depends only on an inbox.
    pub fn record_validator(ctx: &Context<'_>, proof: Option<&Arc<CacheValidator>>) {
        if let Some(Self(read)) = ctx.data_opt() {
            let mut read = read.lock();
            read.is_beyond_proof |= proof.is_none();
            read.proofs.extend(proof.cloned());
        }
    }
}

impl CacheableQuery {
    /// `None` if the request is no poll. `request` is a hash of everything that the response depends on, except the
    /// user.
    pub fn from_request(
        viewer: &Viewer,
        admitted: &mut AdmittedRequest,
        is_tagged: bool,
        request: impl FnOnce() -> i64,
    ) -> Option<Self> {
        let operation = &admitted.document.node;
        if viewer.role != CallerRole::User || operation.ty != OperationType::Query {
            return None;
        }
        let [root] = &operation.selection_set.node.items[..] else { return None };
        let Selection::Field(root) = &root.node else { return None };
        let asked = &root.node.selection_set.node;
        let is_one = root.node.name.node == "viewer" && asked.items.iter().all(|item| is_cacheable(&item.node));
        let overviews = direct_fields(asked).filter(|field| field.name.node == "overview");
        let cursors = overviews.map(|of| count_fields(&of.selection_set.node, "cursor")).sum();
        if !is_one || !direct_fields(asked).any(is_inbox_field) {
            return None;
        }
        let readings = ReadSet::default();
        admitted.request.data.insert(readings.clone());
        Some(Self { viewer: viewer.clone(), request: request(), is_tagged, cursors, readings })
    }

    /// The response, if it is known without execution.
    pub(super) async fn find_response(&self, schema: &Schema) -> Result<Option<ReusableResponse>> {
        let Viewer { tenant, sub, .. } = &self.viewer;
        let asking = async {
            let user = user::find_or_create_one(&schema.app, tenant, "user", sub).await?;
            let answered = overview::find_cached_response(&schema.app, tenant, user, self.request).await?;
            Result::<_, Error>::Ok(answered.map(|answered| (user, answered)))
        };
        let Some((user, (answer, cursor))) = self.viewer.principal().run_as(asking).await? else { return Ok(None) };
        let text = answer.text_at(cursor, &self.encode_cursor(user, cursor));
        let is_same = answer.cursor.is_none_or(|of| of == cursor);
        let tag = if is_same { answer.tag } else { text.as_ref().and_then(|text| self.make_tag(text)) };
        let known = ReusableResponse { tag, text };
        Ok(Some(known).filter(|known| known.tag.is_some() || known.text.is_some()))
    }

    /// The `ETag` and the cache entry of a response without errors.
    pub fn prepare_entry(&self, text: &str) -> CacheCandidate {
        let tag = self.make_tag(text);
        CacheCandidate { tag, answer: self.cache_entry(text, tag) }
    }

    /// Stores a response in the cache.
    pub fn store_entry(&self, schema: &Schema, made: CacheCandidate) {
        if let Some((user, answer)) = made.answer {
            schema.app.caches.answers.insert(user, answer);
        }
    }

    fn make_tag(&self, text: &str) -> Option<i64> {
        self.is_tagged.then(|| fingerprint(text.as_bytes()))
    }

    fn cache_entry(&self, text: &str, tag: Option<i64>) -> Option<(UserId, CachedResponse)> {
        let ReadLog { proofs, cursors, is_beyond_proof } = std::mem::take(&mut *self.readings.0.lock());
        let user = proofs.first().map(|proof| proof.user).filter(|_| !is_beyond_proof)?;
        let cursor = cursors.first().copied().filter(|_| self.cursors > 0);
        // An entry has one cursor, so overviews at different positions cannot be cached.
        if cursors.iter().any(|other| cursor.is_some_and(|one| one != *other)) {
            return None;
        }
        let written = cursor.map(|cursor| self.encode_cursor(user, cursor)).unwrap_or_default();
        let text = ResponseText::split_at_cursor(text, &written, self.cursors);
        let is_told = tag.is_some() || text.is_some();
        is_told.then_some((user, CachedResponse { request: self.request, proofs, tag, cursor, text }))
    }

    /// The cursor as responses contain it; empty if this one contains none.
    fn encode_cursor(&self, user: UserId, cursor: Seq) -> String {
        if self.cursors == 0 {
            return String::new();
        }
        self.viewer.tenant.id_cipher.encode(IdKind::Cursor, user.0, cursor.0)
    }
}

/// Whether a field of the viewer is an overview without views, a part of the inbox, or constant.
fn is_cacheable(selection: &Selection) -> bool {
    let Selection::Field(field) = selection else { return false };
    let field = &field.node;
    let is_of_views = |field: &Field| matches!(field.name.node.as_str(), "views" | "total");
    match field.name.node.as_str() {
        "id" | "__typename" | "inbox" => true,
        "overview" => !has_matching_field(&field.selection_set.node, &is_of_views),
        _ => false,
    }
}

fn is_inbox_field(field: &Field) -> bool {
    matches!(field.name.node.as_str(), "overview" | "inbox")
}

fn direct_fields(of: &SelectionSet) -> impl Iterator<Item = &Field> {
    of.items.iter().filter_map(|item| match &item.node {
        Selection::Field(field) => Some(&field.node),
        _ => None,
    })
}

/// Number of fields with this name anywhere below.
fn count_fields(of: &SelectionSet, name: &str) -> usize {
    let counts = of.items.iter().map(|item| match &item.node {
        Selection::Field(field) => {
            usize::from(field.node.name.node == name) + count_fields(&field.node.selection_set.node, name)
        }
        Selection::InlineFragment(fragment) => count_fields(&fragment.node.selection_set.node, name),
        Selection::FragmentSpread(_) => 0,
    });
    counts.sum()
}

/// Whether a field like that is selected anywhere below.
fn has_matching_field(of: &SelectionSet, is_it: &impl Fn(&Field) -> bool) -> bool {
    of.items.iter().any(|item| match &item.node {
        Selection::Field(field) => is_it(&field.node) || has_matching_field(&field.node.selection_set.node, is_it),
        Selection::InlineFragment(fragment) => has_matching_field(&fragment.node.selection_set.node, is_it),
        // The guard has expanded fragments.
        Selection::FragmentSpread(_) => true,
    })
}
