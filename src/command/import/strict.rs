//! Enforces the quoting rules of RFC 4180. The CSV reader is more lenient: after a missing quote it would read the
//! following lines as part of one field.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Read};

/// A misplaced quote.
#[derive(Debug)]
pub struct MisplacedQuote {
    pub line: u64,
    why: String,
}

impl Display for MisplacedQuote {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for MisplacedQuote {}

#[derive(Clone, Copy)]
enum CsvPosition {
    /// Before the first character of a field.
    Begin,
    Bare,
    /// Within quotes opened in this line.
    Quoted(u64),
    /// After a quote within quotes: it ends the field, or is the first of an escaped pair.
    Quote(u64),
}

/// Passes bytes through until a quote is misplaced, then fails with [`MisplacedQuote`].
pub struct StrictCsvReader<R> {
    inner: R,
    at: CsvPosition,
    line: u64,
}

impl<R> StrictCsvReader<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, at: CsvPosition::Begin, line: 1 }
    }

    fn check_byte(&mut self, byte: u8) -> Result<(), MisplacedQuote> {
        self.at = match (self.at, byte) {
            (CsvPosition::Begin, b'"') => CsvPosition::Quoted(self.line),
            (CsvPosition::Begin | CsvPosition::Bare | CsvPosition::Quote(_), b',' | b'\r' | b'\n') => {
                CsvPosition::Begin
            }
            (CsvPosition::Begin | CsvPosition::Bare, _) => CsvPosition::Bare,
            (CsvPosition::Quoted(from), b'"') => CsvPosition::Quote(from),
            (CsvPosition::Quote(from), b'"') | (CsvPosition::Quoted(from), _) => CsvPosition::Quoted(from),
            (CsvPosition::Quote(_), _) => {
                let why = "has text after a closing quote: write a quote within quotes twice";
                return Err(MisplacedQuote { line: self.line, why: why.into() });
            }
        };
        self.line += u64::from(byte == b'\n');
        Ok(())
    }
}

impl<R: Read> Read for StrictCsvReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let unclosed =
            |line, why: &str| io::Error::other(MisplacedQuote { line, why: format!("opens a quote that is {why}") });
        let many = self.inner.read(buffer).map_err(|error| match self.at {
            CsvPosition::Quoted(line) if error.raw_os_error().is_none() => {
                unclosed(line, &format!("not closed: {error}"))
            }
            _ => error,
        })?;
        for byte in &buffer[..many] {
            self.check_byte(*byte).map_err(io::Error::other)?;
        }
        match self.at {
            CsvPosition::Quoted(line) if many == 0 && !buffer.is_empty() => Err(unclosed(line, "never closed")),
            _ => Ok(many),
        }
    }
}
