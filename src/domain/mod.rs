//! What Tidings does, one file or folder a noun, lowest first; it knows neither GraphQL nor HTTP.

pub mod catalogue;
pub mod channel;
pub mod chore;
pub mod inbox;
pub mod job;
pub mod live;
pub mod notification;
pub mod overview;
pub mod preference;
pub mod privacy;
pub mod tally;
pub mod tenant;
pub mod user;
pub mod view;
pub mod wants;
