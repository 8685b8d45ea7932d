//! Limits of a request and of a caller; docs/limits.md gives the reason for each number.

use clap::Args;

/// Limits of one request, or of one caller per minute.
#[derive(Args, Clone, Debug)]
pub struct LimitsConfig {
    /// Maximum bytes of a query document.
    #[arg(long = "max-document-bytes", env = "TIDINGS_MAX_DOCUMENT_BYTES", default_value_t = Self::DEFAULT.document_bytes)]
    pub document_bytes: usize,
    /// Maximum tokens of a query document.
    #[arg(long = "max-tokens", env = "TIDINGS_MAX_TOKENS", default_value_t = Self::DEFAULT.tokens)]
    pub tokens: usize,
    /// Maximum nesting of brackets in a query document, 1 to 200; more would overflow the parser's stack.
    #[arg(long = "max-nesting", env = "TIDINGS_MAX_NESTING", default_value_t = Self::DEFAULT.nesting, value_parser = parse_nesting)]
    pub nesting: usize,
    /// Maximum fields and fragments of a query, with every fragment expanded.
    #[arg(long = "max-fields", env = "TIDINGS_MAX_FIELDS", default_value_t = Self::DEFAULT.fields)]
    pub fields: usize,
    /// Maximum nesting of fields.
    #[arg(long = "max-depth", env = "TIDINGS_MAX_DEPTH", default_value_t = Self::DEFAULT.depth)]
    pub depth: usize,
    /// Maximum times a field may occur within itself.
    #[arg(long = "max-recursion", env = "TIDINGS_MAX_RECURSION", default_value_t = Self::DEFAULT.recursion)]
    pub recursion: usize,
    /// Maximum root fields of an operation.
    #[arg(long = "max-root-fields", env = "TIDINGS_MAX_ROOT_FIELDS", default_value_t = Self::DEFAULT.root_fields)]
    pub root_fields: usize,
    /// Maximum aliases of a query.
    #[arg(long = "max-aliases", env = "TIDINGS_MAX_ALIASES", default_value_t = Self::DEFAULT.aliases)]
    pub aliases: usize,
    /// Maximum directives of a query.
    #[arg(long = "max-directives", env = "TIDINGS_MAX_DIRECTIVES", default_value_t = Self::DEFAULT.directives)]
    pub directives: usize,
    /// Maximum complexity of a user's operation: each field costs 1, and fields below a list cost 1 for each row that
    /// the list may have. Services and operators have ten times as much.
    #[arg(long = "max-complexity", env = "TIDINGS_MAX_COMPLEXITY", default_value_t = Self::DEFAULT.complexity)]
    pub complexity: usize,
    /// Maximum entries of a list in the variables.
    #[arg(long = "max-list-items", env = "TIDINGS_MAX_LIST_ITEMS", default_value_t = Self::DEFAULT.list_items)]
    pub list_items: usize,
    /// Maximum items of a page.
    #[arg(long = "max-page-size", env = "TIDINGS_MAX_PAGE_SIZE", default_value_t = Self::DEFAULT.page_size)]
    pub page_size: usize,
    /// Maximum time of an operation, in milliseconds.
    #[arg(long = "max-execution-millis", env = "TIDINGS_MAX_EXECUTION_MILLIS", default_value_t = Self::DEFAULT.execution_millis)]
    pub execution_millis: u64,
    /// Maximum queries and mutations in flight in this process; the server refuses more with `UNAVAILABLE` at once.
    #[arg(long = "max-in-flight", env = "TIDINGS_MAX_IN_FLIGHT", default_value_t = Self::DEFAULT.in_flight)]
    pub in_flight: usize,
    /// Maximum messages a client may send on one socket per minute; 0 for no limit.
    #[arg(long = "socket-rate", env = "TIDINGS_SOCKET_RATE", default_value_t = Self::DEFAULT.socket_rate)]
    pub socket_rate: u32,
    /// Maximum bytes of a user's request body.
    #[arg(long = "max-body-bytes", env = "TIDINGS_MAX_BODY_BYTES", default_value_t = Self::DEFAULT.body_bytes)]
    pub body_bytes: usize,
    /// Maximum bytes of the request body of a service or operator.
    #[arg(long = "max-staff-body-bytes", env = "TIDINGS_MAX_STAFF_BODY_BYTES", default_value_t = Self::DEFAULT.staff_body_bytes)]
    pub staff_body_bytes: usize,
    /// Maximum bytes of the response to a user's query or mutation, and of each event of a subscription.
    #[arg(long = "max-answer-bytes", env = "TIDINGS_MAX_ANSWER_BYTES", default_value_t = Self::DEFAULT.answer_bytes)]
    pub answer_bytes: usize,
    /// Maximum bytes of the response to a service or operator.
    #[arg(long = "max-staff-answer-bytes", env = "TIDINGS_MAX_STAFF_ANSWER_BYTES", default_value_t = Self::DEFAULT.staff_answer_bytes)]
    pub staff_answer_bytes: usize,
    /// Operations (root fields) per user and minute; 0 for no limit.
    #[arg(long = "rate", env = "TIDINGS_RATE", default_value_t = Self::DEFAULT.rate)]
    pub rate: u32,
    /// Operations per service or operator and minute; 0 for no limit.
    #[arg(long = "staff-rate", env = "TIDINGS_STAFF_RATE", default_value_t = Self::DEFAULT.staff_rate)]
    pub staff_rate: u32,
    /// Requests without a token per minute, from one address (for IPv6, one /64) to each route; 0 for no limit.
    #[arg(long = "network-rate", env = "TIDINGS_NETWORK_RATE", default_value_t = Self::DEFAULT.network_rate)]
    pub network_rate: u32,
    /// Requests without a token per minute, from all addresses together to each route; 0 for no limit.
    #[arg(long = "route-rate", env = "TIDINGS_ROUTE_RATE", default_value_t = Self::DEFAULT.route_rate)]
    pub route_rate: u32,
    /// Bytes of live events per user and minute, over all subscriptions together; 0 for no limit.
    #[arg(long = "event-bytes", env = "TIDINGS_EVENT_BYTES", default_value_t = Self::DEFAULT.event_bytes)]
    pub event_bytes: u32,
    /// Subscriptions, follows, preferences of actions and visits of views per user and day, new or not; 0 for no limit.
    #[arg(long = "user-makes", env = "TIDINGS_USER_MAKES", default_value_t = Self::DEFAULT.user_makes)]
    pub user_makes: u32,
    /// Maximum validated documents in the cache.
    #[arg(long = "cached-documents", env = "TIDINGS_CACHED_DOCUMENTS", default_value_t = Self::DEFAULT.cached_documents)]
    pub cached_documents: u32,
    /// Approximate bytes of the cached documents, and as much again for persisted queries.
    #[arg(long = "cached-document-bytes", env = "TIDINGS_CACHED_DOCUMENT_BYTES", default_value_t = Self::DEFAULT.cached_document_bytes)]
    pub cached_document_bytes: u32,
    /// Approximate bytes of the cache of notification contents; 0 for no cache.
    #[arg(long = "cached-content-bytes", env = "TIDINGS_CACHED_CONTENT_BYTES", default_value_t = Self::DEFAULT.cached_content_bytes)]
    pub cached_content_bytes: u32,
    /// Approximate bytes of the overview cache, and as much again for the cache of responses made from overviews and
    /// lists; 0 for no cache.
    #[arg(long = "cached-overview-bytes", env = "TIDINGS_CACHED_OVERVIEW_BYTES", default_value_t = Self::DEFAULT.cached_overview_bytes)]
    pub cached_overview_bytes: u32,
}

impl LimitsConfig {
    /// The default limits.
    pub const DEFAULT: Self = Self {
        document_bytes: 64 * 1024,
        tokens: 10_000,
        nesting: 50,
        fields: 2_000,
        depth: 20,
        recursion: 8,
        root_fields: 20,
        aliases: 100,
        directives: 100,
        complexity: 10_000,
        list_items: 10_000,
        page_size: 200,
        execution_millis: 10_000,
        in_flight: 1_000,
        socket_rate: 1_200,
        body_bytes: 256 * 1024,
        staff_body_bytes: 2 * 1024 * 1024,
        answer_bytes: 1024 * 1024,
        staff_answer_bytes: 16 * 1024 * 1024,
        rate: 600,
        staff_rate: 0,
        network_rate: 300,
        route_rate: 6_000,
        event_bytes: 64 * 1024 * 1024,
        user_makes: 20_000,
        cached_documents: 1_000,
        cached_document_bytes: 16 * 1024 * 1024,
        cached_content_bytes: 16 * 1024 * 1024,
        cached_overview_bytes: 64 * 1024 * 1024,
    };
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

fn parse_nesting(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|nesting| (1..=200).contains(nesting)).ok_or_else(|| "must be 1 to 200".into())
}
