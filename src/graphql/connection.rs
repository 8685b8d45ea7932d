//! Relay's cursor connections (<https://relay.dev/graphql/connections.htm>), with page sizes that are bounded.

use std::borrow::Cow;

use async_graphql::connection::{Connection, ConnectionNameType, Edge, EdgeNameType, EmptyFields, PageInfo};
use async_graphql::{Object, OutputType, TypeName};
use entity::ids::ChannelId;

use super::context::Call;
use crate::error::{Error, Result};
use crate::model::seal::Kind;

/// Page size where the client names none.
pub const DEFAULT_SIZE: usize = 20;

/// A connection with the type names of the contract.
pub type Named<Node, Name> = Connection<String, Node, EmptyFields, EmptyFields, Name, Name>;

/// A connection whose page ends where the walk over its list did: filters may let pass nothing that is there.
pub struct Walked<Node: OutputType, Name: EdgeNameType> {
    pub edges: Vec<Edge<String, Node, EmptyFields, Name>>,
    pub has_previous_page: bool,
    pub has_next_page: bool,
    /// Where to go on, where that is no edge: backwards and forwards.
    pub ends: (Option<String>, Option<String>),
}

impl<Node: OutputType, Name: ConnectionNameType + EdgeNameType> TypeName for Walked<Node, Name> {
    fn type_name() -> Cow<'static, str> {
        <Name as ConnectionNameType>::type_name::<Node>().into()
    }
}

#[Object(name_type, shareable)]
impl<Node: OutputType, Name: ConnectionNameType + EdgeNameType> Walked<Node, Name> {
    /// Information to aid in pagination.
    async fn page_info(&self) -> PageInfo {
        let (start, end) = self.ends.clone();
        PageInfo {
            has_previous_page: self.has_previous_page,
            has_next_page: self.has_next_page,
            start_cursor: start.or_else(|| self.edges.first().map(|edge| edge.cursor.clone())),
            end_cursor: end.or_else(|| self.edges.last().map(|edge| edge.cursor.clone())),
        }
    }

    /// A list of edges.
    async fn edges(&self) -> &[Edge<String, Node, EmptyFields, Name>] {
        &self.edges
    }

    /// A list of nodes.
    async fn nodes(&self) -> Vec<&Node> {
        self.edges.iter().map(|edge| &edge.node).collect()
    }
}

/// How many items a page shall have.
pub fn size(call: Call<'_>, field: &str, asked: Option<i32>) -> Result<usize> {
    let most = call.app.config.limits.page_size;
    match asked.map(usize::try_from) {
        None => Ok(DEFAULT_SIZE.min(most)),
        Some(Ok(size)) if size <= most => Ok(size),
        Some(_) => Err(Error::bad_input(field, format!("must be 0 to {most}"))),
    }
}

/// The channel at a cursor of a list of subscriptions or follows.
pub fn channel_at(call: Call<'_>, after: Option<&str>) -> Result<Option<ChannelId>> {
    let open = |cursor| {
        let place = call.tenant.seal.open(Kind::Row, cursor);
        place
            .map(|(_, channel)| ChannelId(channel))
            .ok_or_else(|| Error::bad_input("after", "is no cursor of this list"))
    };
    after.map(open).transpose()
}

/// A page of a list that is read forwards by channels, of which one more than `size` was read.
pub fn by_channel<Node, Name, Row>(
    call: Call<'_>,
    after: Option<&str>,
    size: usize,
    mut rows: Vec<(ChannelId, Row)>,
    node: impl Fn(Row) -> Node,
) -> Named<Node, Name>
where
    Node: OutputType,
    Name: ConnectionNameType + EdgeNameType,
{
    let has_next = rows.len() > size;
    rows.truncate(size);
    let mut connection = Connection::new(after.is_some(), has_next);
    let edge = |(channel, row): (ChannelId, Row)| Edge::new(call.tenant.seal.close(Kind::Row, 0, channel.0), node(row));
    connection.edges.extend(rows.into_iter().map(edge));
    connection
}

/// Names a connection and its edges.
macro_rules! names {
    ($name:ident, $connection:literal, $edge:literal) => {
        #[derive(Debug)]
        pub struct $name;

        impl async_graphql::connection::ConnectionNameType for $name {
            fn type_name<T: async_graphql::OutputType>() -> String {
                $connection.into()
            }
        }

        impl async_graphql::connection::EdgeNameType for $name {
            fn type_name<T: async_graphql::OutputType>() -> String {
                $edge.into()
            }
        }
    };
}
pub(super) use names;
