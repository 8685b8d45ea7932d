//! The state that handlers share.

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;

use super::session::Sessions;
use super::unread::Unread;
use crate::app::App;
use crate::domain::live::Live;
use crate::graphql::Schema;

/// A running server, as HTTP handlers see it. Clones share one state and are cheap: each request makes some.
#[derive(Clone, Debug)]
pub struct Server(Arc<Parts>);

/// The parts of a server.
#[derive(Clone, Debug)]
pub struct Parts {
    pub(super) app: Arc<App>,
    pub(super) schema: Schema,
    pub(super) sessions: Sessions,
    pub(super) unread: Unread,
    /// Further pages, for a server that is not part of another application.
    pub(super) pages: Router,
}

impl Deref for Server {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Server {
    /// Over a running application, with the live sessions of this process.
    pub fn new(app: Arc<App>, live: Arc<Live>) -> Self {
        let (schema, sessions) = (Schema::new(app.clone(), live), Sessions::new(app.clone()));
        let unread = Unread::new(app.clone());
        Self(Arc::new(Parts { app, schema, sessions, unread, pages: Router::new() }))
    }

    /// Adds pages from outside this crate.
    #[must_use]
    pub fn with(self, pages: Router) -> Self {
        Self(Arc::new(Parts { pages, ..Arc::unwrap_or_clone(self.0) }))
    }

    /// The GraphQL API.
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }
}
