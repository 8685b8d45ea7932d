//! The state that handlers share.

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;

use super::response_memory::ResponseMemoryLimiter;
use super::session::SessionRegistry;
use crate::app::App;
use crate::graphql::Schema;
use live::LiveRooms;

/// A running server, as HTTP handlers see it. Clones share one state and are cheap: each request makes some.
#[derive(Clone, Debug)]
pub struct Server(Arc<ServerParts>);

/// The parts of a server.
#[derive(Clone, Debug)]
pub struct ServerParts {
    pub(super) app: Arc<App>,
    pub(super) schema: Schema,
    pub(super) sessions: SessionRegistry,
    pub(super) unread: ResponseMemoryLimiter,
    /// Further pages, for a server that is not part of another application.
    pub(super) pages: Router,
}

impl Deref for Server {
    type Target = ServerParts;

    fn deref(&self) -> &ServerParts {
        &self.0
    }
}

impl Server {
    /// Over a running application, with the live sessions of this process.
    pub fn new(app: Arc<App>, live: Arc<LiveRooms>) -> Self {
        let (schema, sessions) = (Schema::new(app.clone(), live), SessionRegistry::new(app.clone()));
        let unread = ResponseMemoryLimiter::new(app.clone());
        Self(Arc::new(ServerParts { app, schema, sessions, unread, pages: Router::new() }))
    }

    /// Adds pages from outside this crate.
    #[must_use]
    pub fn with_pages(self, pages: Router) -> Self {
        Self(Arc::new(ServerParts { pages, ..Arc::unwrap_or_clone(self.0) }))
    }

    /// The GraphQL API.
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }
}
