//! Enforces the quoting rules of RFC 4180. The CSV reader is more lenient: after a missing quote it would read the
//! following lines as part of one field.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Read};

/// A misplaced quote.
#[derive(Debug)]
pub struct Misquoted {
    pub line: u64,
    why: String,
}

impl Display for Misquoted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Misquoted {}

#[derive(Clone, Copy)]
enum At {
    /// Before the first character of a field.
    Begin,
    Bare,
    /// Within quotes opened in this line.
    Quoted(u64),
    /// After a quote within quotes: it ends the field, or is the first of an escaped pair.
    Quote(u64),
}

/// Passes bytes through until a quote is misplaced, then fails with [`Misquoted`].
pub struct Strict<R> {
    inner: R,
    at: At,
    line: u64,
}

impl<R> Strict<R> {
    pub fn over(inner: R) -> Self {
        Self { inner, at: At::Begin, line: 1 }
    }

    fn take(&mut self, byte: u8) -> Result<(), Misquoted> {
        self.at = match (self.at, byte) {
            (At::Begin, b'"') => At::Quoted(self.line),
            (At::Begin | At::Bare | At::Quote(_), b',' | b'\r' | b'\n') => At::Begin,
            (At::Begin | At::Bare, _) => At::Bare,
            (At::Quoted(from), b'"') => At::Quote(from),
            (At::Quote(from), b'"') | (At::Quoted(from), _) => At::Quoted(from),
            (At::Quote(_), _) => {
                let why = "has text after a closing quote: write a quote within quotes twice";
                return Err(Misquoted { line: self.line, why: why.into() });
            }
        };
        self.line += u64::from(byte == b'\n');
        Ok(())
    }
}

impl<R: Read> Read for Strict<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let unclosed =
            |line, why: &str| io::Error::other(Misquoted { line, why: format!("opens a quote that is {why}") });
        let many = self.inner.read(buffer).map_err(|error| match self.at {
            At::Quoted(line) if error.raw_os_error().is_none() => unclosed(line, &format!("not closed: {error}")),
            _ => error,
        })?;
        for byte in &buffer[..many] {
            self.take(*byte).map_err(io::Error::other)?;
        }
        match self.at {
            At::Quoted(line) if many == 0 && !buffer.is_empty() => Err(unclosed(line, "never closed")),
            _ => Ok(many),
        }
    }
}
