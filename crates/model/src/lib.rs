//! Domain values and their rules: catalogue, templates, items, overviews, opaque ids, quiet hours, caches of values.
//!
//! Knows `base` and the ids and codes of `entity`. It has no statements, no application state and no input or output, so
//! its tests need neither database nor runtime.

pub mod actor;
pub mod alarm;
pub mod cache_validator;
pub mod catalogue;
pub mod channel;
pub mod content;
pub mod delivery;
pub mod fingerprint;
pub mod hours;
pub mod id_cipher;
pub mod inbox_position;
pub mod int_map;
pub mod item;
pub mod json;
pub mod list_page;
pub mod log_gaps;
pub mod network;
pub mod notification;
pub mod notification_cache;
pub mod overview;
pub mod per_user_cache;
pub mod reader;
pub mod response_cache;
pub mod rule;
pub mod template;
pub mod tenant;
pub mod user;
pub mod validate;
pub mod view;
pub mod webhook;
pub mod wechat;
pub mod zone;
