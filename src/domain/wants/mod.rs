//! Preferences as SQL conditions. Nothing else decides what users want to receive.

mod statement;

pub use statement::{push_wants, push_wants_action, push_wants_by, push_wants_type};
