//! Relay's cursor connections (<https://relay.dev/graphql/connections.htm>), with bounded page sizes.

use std::borrow::Cow;

use async_graphql::connection::{ConnectionNameType, Edge, EdgeNameType, EmptyFields, PageInfo};
use async_graphql::{Context, Object, OutputType, TypeName};
use async_graphql_value::Value as Written;
use entity::ids::ChannelId;

use super::context::CallContext;
use super::inline::{InlineList, InlineObject};
use base::error::{Error, Result};
use model::id_cipher::IdKind;
use model::list_page::{ListEnd, PageRange};

/// Page size without `first` and `last`.
pub const DEFAULT_SIZE: usize = 20;

/// The arguments of a connection; null means absent. If both `first` and `last` are given, a cursor on only one side
/// decides.
#[derive(Debug, Default)]
pub struct PageArguments {
    pub first: Option<i32>,
    pub after: Option<String>,
    pub last: Option<i32>,
    pub before: Option<String>,
}

/// A connection over a scan that may stop before the page is full, because a filter skipped too many rows.
pub struct ScannedConnection<Node: OutputType, Name: EdgeNameType> {
    pub edges: Vec<Edge<String, Node, EmptyFields, Name>>,
    pub has_previous_page: bool,
    pub has_next_page: bool,
    /// Cursors to continue at if the page has no edge there: backwards and forwards.
    pub ends: (Option<String>, Option<String>),
}

impl<Node: OutputType, Name: ConnectionNameType + EdgeNameType> TypeName for ScannedConnection<Node, Name> {
    fn type_name() -> Cow<'static, str> {
        <Name as ConnectionNameType>::type_name::<Node>().into()
    }
}

/// A page of a list, and where the list continues.
#[Object(name_type)]
impl<Node: OutputType, Name: ConnectionNameType + EdgeNameType> ScannedConnection<Node, Name> {
    /// Where the page begins and ends, and whether the list continues there.
    async fn page_info(&self) -> PageInfo {
        let (start, end) = self.ends.clone();
        PageInfo {
            has_previous_page: self.has_previous_page,
            has_next_page: self.has_next_page,
            start_cursor: start.or_else(|| self.edges.first().map(|edge| edge.cursor.clone())),
            end_cursor: end.or_else(|| self.edges.last().map(|edge| edge.cursor.clone())),
        }
    }

    /// The page's entries, each with its cursor.
    async fn edges(&self) -> InlineList<InlineObject<&Edge<String, Node, EmptyFields, Name>>> {
        InlineList(self.edges.iter().map(InlineObject).collect())
    }

    /// The page's entries without cursors.
    async fn nodes(&self) -> InlineList<&Node> {
        InlineList(self.edges.iter().map(|edge| &edge.node).collect())
    }
}

impl PageArguments {
    /// The arguments of the current field. A `first` that is only a variable's default gives way to a `last`.
    pub fn from_field(
        ctx: &Context<'_>,
        (first, after): (Option<i32>, Option<String>),
        (last, before): (Option<i32>, Option<String>),
    ) -> Self {
        let first = first.filter(|_| last.is_none() || !is_variable_default(ctx, "first"));
        Self { first, after, last, before }
    }

    /// The requested part of a list. `open` decodes a cursor, or returns `None` if it is not of this list.
    pub fn into_slice<Place>(
        self,
        call: CallContext<'_>,
        open: impl Fn(&str) -> Option<Place>,
    ) -> Result<PageRange<Place>> {
        let place = |field, cursor: Option<String>| {
            let open =
                |cursor: String| open(&cursor).ok_or_else(|| Error::bad_input(field, "is not a cursor of this list"));
            cursor.map(open).transpose()
        };
        let (after, before) = (place("after", self.after)?, place("before", self.before)?);
        // Relay sends its default of `first` along when it pages backwards. If both are given, the only cursor decides.
        let from = match (self.first, self.last) {
            (Some(_), Some(_)) => match (&after, &before) {
                (None, Some(_)) => ListEnd::Last,
                (Some(_), None) => ListEnd::First,
                _ => return Err(Error::bad_input("first", "cannot be combined with `last`")),
            },
            (None, Some(_)) => ListEnd::Last,
            _ => ListEnd::First,
        };
        let many = match from {
            ListEnd::First => page_size(call, "first", self.first)?,
            ListEnd::Last => page_size(call, "last", self.last)?,
        };
        Ok(PageRange { many, from, after, before })
    }

    /// The requested part of a list of subscriptions or follows.
    pub fn into_channel_slice(self, call: CallContext<'_>) -> Result<PageRange<ChannelId>> {
        self.into_slice(call, |cursor| {
            call.tenant.id_cipher.decode(IdKind::Row, cursor).map(|(_, channel)| ChannelId(channel))
        })
    }
}

/// Whether an argument's value is a variable's default.
fn is_variable_default(ctx: &Context<'_>, argument: &str) -> bool {
    match ctx.item.node.get_argument(argument).map(|value| &value.node) {
        Some(Written::Variable(name)) => !ctx.query_env.variables.contains_key(name),
        _ => false,
    }
}

/// The requested page size.
pub fn page_size(call: CallContext<'_>, field: &str, asked: Option<i32>) -> Result<usize> {
    let most = call.app.config.limits.page_size;
    match asked.map(usize::try_from) {
        None => Ok(DEFAULT_SIZE.min(most)),
        Some(Ok(size)) if size <= most => Ok(size),
        Some(_) => Err(Error::bad_input(field, format!("must be 0 to {most}"))),
    }
}

/// A page of a list by channels, and whether the list continues.
pub fn channel_connection<Node, Name, Row>(
    call: CallContext<'_>,
    slice: PageRange<ChannelId>,
    (rows, goes_on): (Vec<(ChannelId, Row)>, bool),
    node: impl Fn(Row) -> Node,
) -> ScannedConnection<Node, Name>
where
    Node: OutputType,
    Name: ConnectionNameType + EdgeNameType,
{
    row_connection(call, &slice, rows.into_iter().map(|(channel, row)| (channel.0, node(row))), (goes_on, None))
}

/// A page of a list by rows, whether the list continues, and the row to continue after if the page has no edge there.
pub fn row_connection<Node, Name, Place>(
    call: CallContext<'_>,
    slice: &PageRange<Place>,
    rows: impl Iterator<Item = (i64, Node)>,
    (goes_on, goes_on_at): (bool, Option<i64>),
) -> ScannedConnection<Node, Name>
where
    Node: OutputType,
    Name: ConnectionNameType + EdgeNameType,
{
    let cursor = |row: i64| call.tenant.id_cipher.encode(IdKind::Row, 0, row);
    let end = goes_on_at.map(cursor);
    let is_forwards = slice.from == ListEnd::First;
    ScannedConnection {
        edges: rows.map(|(row, node)| Edge::new(cursor(row), node)).collect(),
        has_previous_page: if is_forwards { slice.after.is_some() } else { goes_on },
        has_next_page: if is_forwards { goes_on } else { slice.before.is_some() },
        ends: if is_forwards { (None, end) } else { (end, None) },
    }
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
