//! What clients' tools build upon: ids, payloads, pages and words.

mod identity;
mod pages;
mod patches;
mod payloads;
mod wire;
mod words;
