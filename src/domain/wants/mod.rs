//! What users want to hear: the one place where preferences decide.

mod statement;

pub use statement::{push_wants, push_wants_action, push_wants_by, push_wants_type};
