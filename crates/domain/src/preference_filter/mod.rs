//! Preferences as SQL conditions. Nothing else decides what an inbox receives.

mod queries;

pub use queries::{push_action_allowed, push_allowed, push_allowed_by_kind, push_type_allowed};
