//! What this suite shares with the tests of `tests/it`: other programs, and clients of sockets.

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

/// What all tokens are signed with.
pub const SECRET: &str = "the secret of the tests, 32 bytes";
