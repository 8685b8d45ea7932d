//! What nodes tell each other: change notices for live sessions (`hub`), and which cached overviews are still valid
//! (`board`).

pub mod hub;
pub mod invalidation;
