//! The labels of metrics. Each has a bounded number of values, and no client chooses them.

use prometheus_client::encoding::EncodeLabelSet;

/// A GraphQL request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// The field at the top level. `many` if there are several, `none` if the request was refused before it was known.
    pub operation: String,
    /// `query`, `mutation`, `subscription` or `none`.
    pub kind: &'static str,
    /// `OK`, or the code of the first error.
    pub code: String,
}

/// A query or mutation with its duration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestTimeLabels {
    /// `query` or `mutation`.
    pub kind: &'static str,
}

/// The kind of caller that used up its rate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CallerLabels {
    /// `user`, `service` or `admin`, or `nobody` for all callers without a token.
    pub caller: &'static str,
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct HttpLabels {
    /// The status, such as 200. 101 is a WebSocket.
    pub status: u16,
}

/// A client's connection that the server refused or closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReasonLabels {
    /// `full`, `address` or `accept` for refused connections; `headers`, `idle` or `taking` for closed ones.
    pub why: &'static str,
}

/// A notification that was published.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PublicationLabels {
    /// `announcement`, `reminder` or `message`.
    pub kind: &'static str,
}

/// Database connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PoolLabels {
    /// `shared`; on SQLite `read` and `write`.
    pub pool: &'static str,
    /// `idle` or `used`.
    pub state: &'static str,
}

/// A completed run of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RuleRunLabels {
    pub outcome: &'static str,
}

/// A delivery attempt to the outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DeliveryLabels {
    /// `webhook`, `email`, `wechat` or `web_push`.
    pub channel: &'static str,
    /// `delivered`, `failed`, `dead` or `dropped`.
    pub outcome: &'static str,
}

/// Destinations by state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DestinationLabels {
    /// `webhook`, `email`, `wechat` or `web_push`.
    pub channel: &'static str,
    /// `active`, `failing`, `paused` or `disabled`.
    pub state: &'static str,
}
