//! What there is in Tidings, and its own rules: values, which know neither the application nor statements.

pub mod catalogue;
pub mod channel;
pub mod check;
pub mod content;
pub mod item;
pub mod notification;
pub mod overview;
pub mod seal;
pub mod standing;
pub mod template;
pub mod tenant;
pub mod user;
pub mod view;
