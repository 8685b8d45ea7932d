//! What handlers work with.

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;

use super::session::Sessions;
use super::unread::Unread;
use crate::app::App;
use crate::domain::live::Live;
use crate::graphql::Schema;

/// A running Tidings, as its doors have it. Copies are one and the same, and cost nothing: there are some for each request.
#[derive(Clone, Debug)]
pub struct Server(Arc<Parts>);

/// What it is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    pub(super) app: Arc<App>,
    pub(super) schema: Schema,
    pub(super) sessions: Sessions,
    pub(super) unread: Unread,
    /// What else is served where we are alone.
    pub(super) pages: Router,
}

impl Deref for Server {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Server {
    /// Over a running Tidings, with the live sessions of this process.
    pub fn new(app: Arc<App>, live: Arc<Live>) -> Self {
        let (schema, sessions) = (Schema::new(app.clone(), live), Sessions::new(app.clone()));
        let unread = Unread::new(app.clone());
        Self(Arc::new(Parts { app, schema, sessions, unread, pages: Router::new() }))
    }

    /// With further pages, which nothing of ours looks after.
    #[must_use]
    pub fn with(self, pages: Router) -> Self {
        Self(Arc::new(Parts { pages, ..Arc::unwrap_or_clone(self.0) }))
    }

    /// The API that is served.
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }
}
