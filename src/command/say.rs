//! What a command says on standard output, which may be full.

use std::io::{ErrorKind, Write};

use tidings::error::{Error, Result};

/// Says something. Who reads no further has heard enough.
pub fn say(text: &str) -> Result<()> {
    written(text).map_err(|error| Error::Unavailable(format!("standard output cannot be written: {error}")))
}

/// Says what came of work; where that cannot be said, it is an error that says that the work is done.
pub fn say_done(text: &str, done: &str) -> Result<()> {
    written(text).map_err(|error| Error::Unavailable(format!("{done}, but standard output cannot be written: {error}")))
}

/// Tells whoever watches; nobody need.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn written(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
