//! What there is in Tidings, and its own rules: values, which know neither the application nor statements.

pub mod actor;
pub mod alarm;
pub mod answer;
pub mod catalogue;
pub mod channel;
pub mod check;
pub mod content;
pub mod contents;
pub mod delivery;
pub mod fingerprint;
pub mod hours;
pub mod item;
pub mod notification;
pub mod overview;
pub mod proof;
pub mod remembered;
pub mod rule;
pub mod seal;
pub mod slice;
pub mod standing;
pub mod template;
pub mod tenant;
pub mod user;
pub mod view;
pub mod webhook;
pub mod wechat;
