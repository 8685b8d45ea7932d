//! Prints the output of commands to standard output, which may be full.

use std::io::{ErrorKind, Write};

use base::error::{Error, Result};

/// Prints text. A closed pipe is not an error: the reader has read enough.
pub fn print_line(text: &str) -> Result<()> {
    write_stdout(text).map_err(|error| Error::Unavailable(format!("standard output cannot be written: {error}")))
}

/// Prints the result of completed work. If that fails, the error says that the work is done.
pub fn print_result(text: &str, done: &str) -> Result<()> {
    write_stdout(text)
        .map_err(|error| Error::Unavailable(format!("{done}, but standard output cannot be written: {error}")))
}

/// Prints progress to standard error; failures are ignored.
pub fn print_progress(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn write_stdout(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
