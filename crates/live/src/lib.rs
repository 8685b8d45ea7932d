//! Live sessions: new items, overviews and views reach connected users without a statement per session.
//!
//! Each tenant with connected users has a *room* (`room`): one task that receives the hub's notices and knows which
//! connected users follow which channel (`members`). It syncs all inboxes that a notice concerns together, 500 users
//! per step, reads their new items in two statements (`new_items`), and puts each item into the mailboxes of its sessions.
//!
//! A new item is added to an overview that was read before, once for all users with equal overviews
//! (`overview_session`, `overview_interner`). Every other change is announced by a notice (marks, preferences, amendments), changes
//! a version (the catalogue), or is looked for (expiry); then the overview is read again. Each user's overview is sent
//! at most ten times a second.
//!
//! A mailbox holds 256 items, and a slot the newest overview (`mailbox`). Senders never wait for a session: one that
//! does not take its items ends, and resumes from its cursor. Notices never contain what was sent, and a lost notice
//! only makes sessions late: once a second `poll_changes` compares the end of each log with the last entry heard, and a
//! sixtieth of all connected users is read again.

mod changed_items;
mod content_interner;
mod event;
mod fair_queue;
mod interner;
mod items;
mod mailbox;
mod members;
mod new_items;
mod overview_interner;
mod overview_session;
mod overviews;
mod poll;
mod resume;
mod room;
mod rooms;
mod session;
mod subscriptions;
mod view_members;
mod view_queue;
mod views;

pub use items::{ItemFeed, subscribe_items};
pub use overviews::{OverviewFeed, subscribe_overviews};
pub use poll::poll_changes;
pub use rooms::LiveRooms;
pub use views::{ViewFeed, subscribe_views};
