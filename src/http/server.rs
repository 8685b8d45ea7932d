//! What handlers work with.

use std::sync::Arc;

use axum::Router;

use super::session::Sessions;
use super::unread::Unread;
use crate::app::App;
use crate::domain::live::Live;
use crate::graphql::Schema;

/// A running Tidings, as its doors have it.
#[derive(Clone, Debug)]
pub struct Server {
    pub(super) app: Arc<App>,
    pub(super) schema: Schema,
    pub(super) sessions: Sessions,
    pub(super) unread: Unread,
    /// What else is served where we are alone.
    pub(super) pages: Router,
}

impl Server {
    /// Over a running Tidings, with the live sessions of this process.
    pub fn new(app: Arc<App>, live: Arc<Live>) -> Self {
        let (schema, sessions) = (Schema::new(app.clone(), live), Sessions::new(app.clone()));
        Self { app, schema, sessions, unread: Unread::default(), pages: Router::new() }
    }

    /// With further pages, which nothing of ours looks after.
    #[must_use]
    pub fn with(self, pages: Router) -> Self {
        Self { pages, ..self }
    }

    /// The API that is served.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}
