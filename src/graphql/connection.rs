//! Relay's cursor connections (<https://relay.dev/graphql/connections.htm>), with page sizes that are bounded.

use async_graphql::connection::{Connection, ConnectionNameType, EdgeNameType, EmptyFields};
use async_graphql::{OutputType, connection::Edge};
use entity::ids::ChannelId;

use super::context::Call;
use crate::error::{Error, Result};
use crate::seal::Kind;

/// Page size where the client names none.
pub const DEFAULT_SIZE: usize = 20;

/// A connection with the type names of the contract.
pub type Named<Node, Name> = Connection<String, Node, EmptyFields, EmptyFields, Name, Name>;

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
