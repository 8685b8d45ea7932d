//! The API: translates GraphQL into operations of the domain and back, one file a noun.

mod catalogue;
mod channel;
mod connection;
mod context;
mod errors;
mod inbox;
mod mark;
mod notification;
mod overview;
mod preference;
mod scalars;
mod send;
mod user;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_graphql::{EmptySubscription, MergedObject, Pos, Request, Response, Schema as AsyncGraphqlSchema};

use futures_util::FutureExt;

use crate::app::App;
use crate::error::Error;
pub use context::Viewer;
pub use errors::code as error_code;

/// Everything that can be asked.
#[derive(Default, MergedObject)]
pub struct Query(user::UserQuery, catalogue::CatalogueQuery, channel::GroupQuery, inbox::NodeQuery);

/// Everything that can be changed.
#[derive(Default, MergedObject)]
pub struct Mutation(
    send::SendMutation,
    channel::SubscribeMutation,
    channel::GroupMutation,
    preference::PreferenceMutation,
    mark::MarkMutation,
    catalogue::CatalogueMutation,
    user::UserMutation,
);

/// The API over a running Tidings.
#[derive(Clone)]
pub struct Schema(AsyncGraphqlSchema<Query, Mutation, EmptySubscription>);

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Schema")
    }
}

/// Deepest nesting of a query; an introspection by `GraphiQL` has 15 levels.
const DEPTH: usize = 20;
/// The most fields of a query, counted without regard to how many rows they have.
const FIELDS: usize = 2000;
/// How deep a query may nest before it is even looked at.
const RECURSION: usize = 32;

impl Schema {
    /// The API over `app`.
    pub fn new(app: Arc<App>) -> Self {
        Self(builder().data(app).finish())
    }

    /// The API in the schema definition language, as `schema.graphql` keeps it.
    pub fn sdl() -> String {
        let options = async_graphql::SDLExportOptions::new().sorted_fields().sorted_arguments().sorted_enum_items();
        let mut sdl = builder().finish().sdl_with_options(options);
        sdl.truncate(sdl.trim_end().len());
        sdl.push('\n');
        sdl
    }

    /// Answers a request of a caller. The fields of a mutation run one after the other and stop at the first error.
    pub async fn execute(&self, viewer: Viewer, request: Request) -> Response {
        let executed = AssertUnwindSafe(self.0.execute(request.data(viewer))).catch_unwind().await;
        let mut response = executed.unwrap_or_else(|_| {
            let failure: async_graphql::Error = Error::internal("a resolver panicked").into();
            Response::from_errors(vec![failure.into_server_error(Pos::default())])
        });
        response.errors.iter_mut().for_each(errors::translate);
        response
    }
}

fn builder() -> async_graphql::SchemaBuilder<Query, Mutation, EmptySubscription> {
    AsyncGraphqlSchema::build(Query::default(), Mutation::default(), EmptySubscription)
        .limit_depth(DEPTH)
        .limit_complexity(FIELDS)
        .limit_recursive_depth(RECURSION)
}
