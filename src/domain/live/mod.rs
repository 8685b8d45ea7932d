//! Live sessions: what is new reaches whoever is connected, without a statement a session.
//!
//! Each tenant with somebody connected has a *room*, one task that hears the notices of the hub and knows who listens
//! to which channel. It syncs all the inboxes that a notice concerns together, reads what is new in them together, and
//! hands each session its own.

mod alike;
mod contents;
mod event;
mod items;
mod listened;
mod mailbox;
mod members;
mod newer;
mod overview_session;
mod overviews;
mod poll;
mod resume;
mod room;
mod rooms;
mod session;
mod shared;
mod touched;
mod view_members;
mod view_queue;
mod views;
mod waiting;

pub use items::{ItemFeed, items};
pub use mailbox::without_news;
pub use overviews::{OverviewFeed, overviews};
pub use poll::poll;
pub use rooms::Live;
pub use views::{ViewFeed, views};
