//! Where a text is written while it is rendered.

use std::io::{Error, Result, Write};

use super::inserted::mark_bytes;

/// A text that may not become longer than it has room. What sets values apart takes none of it.
#[derive(Debug)]
pub struct Sink {
    text: Vec<u8>,
    room: usize,
}

impl Sink {
    /// An empty one, with room for so many bytes.
    pub fn with(room: usize) -> Self {
        Self { text: Vec::new(), room }
    }

    /// What was written.
    pub fn into_text(self) -> String {
        // The engine writes whole texts, so that nothing is ever replaced.
        String::from_utf8(self.text).unwrap_or_default()
    }
}

impl Write for Sink {
    /// All of it or nothing: then the rendering ends.
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let left = self.room.checked_sub(bytes.len() - mark_bytes(bytes));
        self.room = left.ok_or_else(|| Error::other("no room"))?;
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
