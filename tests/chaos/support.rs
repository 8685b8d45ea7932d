//! Code that this suite shares with `tests/it`: child processes and socket clients.

#[path = "../it/support/database.rs"]
mod database;
#[path = "../it/support/process.rs"]
mod process;
#[path = "../it/support/server.rs"]
mod server;
#[path = "../it/support/socket.rs"]
mod socket;

pub use database::{Kind, everything_must_be_tested};
pub use process::{Process, Redis};
pub use server::Server;
pub use socket::{PATIENCE, Socket};

/// Signs all tokens.
pub const SECRET: &str = "the secret of the tests, 32 bytes";
