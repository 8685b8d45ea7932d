//! What figures are told apart by: a bounded number of values each, none of them a client's.

use prometheus_client::encoding::EncodeLabelSet;

/// A GraphQL request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Requests {
    /// The field of the first level; `many` where there are several, `none` where the request was refused before that
    /// was known.
    pub operation: String,
    /// `query`, `mutation`, `subscription` or `none`.
    pub kind: &'static str,
    /// `OK`, or the code of the first error.
    pub code: String,
}

/// A request that takes some time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Timed {
    /// `query` or `mutation`.
    pub kind: &'static str,
}

/// Whose rate was used up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Caller {
    /// `user`, `service`, `admin`, or `nobody` for all who have no token.
    pub caller: &'static str,
}

/// An answer to whatever request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Http {
    /// The status, such as 200; 101 is a socket.
    pub status: u16,
}

/// A connection of a client that the server did not want.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Why {
    /// Of those that were refused `full`, `address` or `accept`; of those that were closed `headers`, `idle`, `taking` or `room`.
    pub why: &'static str,
}

/// A notification that was published.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Published {
    /// `announcement`, `reminder` or `message`.
    pub kind: &'static str,
}

/// Database connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Connections {
    /// `shared`; on SQLite `read` and `write`.
    pub pool: &'static str,
    /// `idle` or `used`.
    pub state: &'static str,
}

/// How a run of a rule has ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Ran {
    pub outcome: &'static str,
}

/// What came of a delivery to the outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Deliveries {
    /// `webhook` or `email`.
    pub channel: &'static str,
    /// `delivered`, `failed`, `dead` or `dropped`.
    pub outcome: &'static str,
}

/// How webhook endpoints and mail relays are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Standing {
    /// `webhook` or `email`.
    pub channel: &'static str,
    /// `active`, `failing`, `paused` or `disabled`.
    pub state: &'static str,
}
