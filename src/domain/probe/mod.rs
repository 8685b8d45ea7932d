//! Rows of a tenant by a unique key, such as notifications by their places in the log, in statements that are written by hand: one probe for each.
//!
//! Without statistics PostgreSQL takes a tenant to have one row. Any index that begins with the tenant is as good as any other then, and it
//! reads all that the tenant has, once or for each key. An order and one row it has by an index or by sorting, and knows without statistics that
//! sorting costs more.

mod statement;

pub use statement::{by_text, push_at, push_begin, push_end, push_id, push_these};
