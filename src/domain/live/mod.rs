//! Live sessions: what is new reaches whoever is connected, without a statement a session.
//!
//! Each tenant with somebody connected has a *room*, one task that hears the notices of the hub and knows who listens
//! to which channel. It syncs all the inboxes that a notice concerns together, reads what is new in them together, and
//! hands each session its own.

mod audience;
mod contents;
mod event;
mod items;
mod listened;
mod look;
mod looks;
mod mailbox;
mod members;
mod newer;
mod overviews;
mod resume;
mod room;
mod rooms;
mod seat;
mod touched;
mod viewer;
mod views;

pub use items::{Feed, items};
pub use look::look;
pub use overviews::{Watch, overviews};
pub use rooms::Live;
pub use views::{Lookout, views};
