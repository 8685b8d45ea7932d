//! SQL for rows of a tenant by a unique key, such as notifications by seq: one index probe per row.
//!
//! Without statistics, PostgreSQL assumes that a tenant has one row. Then any index that begins with the tenant looks
//! as good as any other, and a query reads all rows of the tenant, once or for each key. `ORDER BY` with `LIMIT 1`
//! prevents that: the order comes from the right index or from a sort, and PostgreSQL knows without statistics that a
//! sort costs more.

mod queries;

pub use queries::{push_by_seqs, push_id_by_key, push_join_at, push_query_begin, push_query_end, select_by_text};
