#![doc = include_str!("../README.md")]

mod client;
mod error;
mod input;
#[doc(hidden)]
pub mod operations;
mod output;
mod sender;
mod token;

pub use client::Client;
pub use error::Error;
pub use input::*;
pub use output::*;
pub use sender::Sender;
pub use token::{Token, sign};
