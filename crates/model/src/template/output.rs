//! The output buffer of a rendering.

use std::io::{Error, Result, Write};

use super::isolate::mark_bytes;

/// A buffer with a maximum size. Marks around values do not count.
#[derive(Debug)]
pub struct BoundedBuffer {
    text: Vec<u8>,
    room: usize,
}

impl BoundedBuffer {
    /// An empty buffer for this many bytes.
    pub fn with_limit(room: usize) -> Self {
        Self { text: Vec::new(), room }
    }

    /// The text written.
    pub fn into_text(self) -> String {
        // The engine writes valid UTF-8, so the conversion cannot fail.
        String::from_utf8(self.text).unwrap_or_default()
    }
}

impl Write for BoundedBuffer {
    /// Fails if there is no room, which ends the rendering.
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
