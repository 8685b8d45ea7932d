//! Three designs over tables of letters that query unread counts and the latest letter of each type, as typical
//! home-grown notification tables do.
//!
//! They use the same libraries as Tidings and the best indexes for their queries, so that only the designs differ.

mod design;

use async_graphql::{Context, EmptyMutation, EmptySubscription, Object, Result, Schema, SimpleObject};
use async_graphql_axum::GraphQL;
use axum::Router;
use sea_orm::FromQueryResult;
use store::{ReadPool, connect};

use design::Design;

/// A type with its number of unread letters and the newest letter.
#[derive(SimpleObject)]
pub struct TypeOverview {
    code: String,
    title: String,
    unread: i64,
    latest: Option<Letter>,
}

#[derive(Clone, SimpleObject, FromQueryResult)]
pub struct Letter {
    id: i64,
    title: String,
    content: String,
    created_at: i64,
    sender_id: Option<i64>,
    is_read: bool,
}

struct Query(Design);

#[Object]
impl Query {
    async fn overview(&self, ctx: &Context<'_>, tenant: String, user: i64) -> Result<Vec<TypeOverview>> {
        self.0.overview(ctx.data_unchecked::<ReadPool>(), &tenant, user).await
    }
}

/// `/letters/v1`: a loop over the types with two joins each; `/letters/v2`: the same with concurrent queries;
/// `/letters/v3`: one statement without joins to the tables of reads and roles.
pub async fn routes(url: &str, connections: u32) -> crate::Result<Router> {
    let db = connect(url, connections).await?.read;
    let mut routes = Router::new();
    for (path, design) in
        [("/letters/v1", Design::Loop), ("/letters/v2", Design::AtOnce), ("/letters/v3", Design::Batched)]
    {
        let schema = Schema::build(Query(design), EmptyMutation, EmptySubscription).data(db.clone()).finish();
        routes = routes.route_service(path, GraphQL::new(schema));
    }
    Ok(routes)
}
