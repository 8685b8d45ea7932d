//! The parts of the API that client tools depend on: ids, payloads, pages and names.

mod identity;
mod pages;
mod patches;
mod payloads;
mod wire;
mod words;
