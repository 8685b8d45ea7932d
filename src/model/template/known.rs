//! A lazily compiled text of a message type.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::compiled::Compiled;
use super::flaw::Flaw;
use super::scene::Scene;
use super::source::Source;

/// Approximate bytes of compiled texts per catalogue, enough for 300 ordinary ones. Texts beyond that are compiled at
/// each rendering, which takes less than a millisecond.
const KEPT: usize = 4 * 1024 * 1024;

/// A text of a catalogue.
#[derive(Default)]
pub struct Known {
    /// The compiled text; `None` if there was no room to keep it; or why it cannot be compiled.
    compiled: OnceLock<Result<Option<Compiled>, Flaw>>,
    /// The first error in rendering.
    failed: OnceLock<Flaw>,
}

impl Known {
    /// Renders it. `kept` counts the bytes of the catalogue's compiled texts.
    pub fn render(&self, source: Source<'_>, scene: &Scene<'_>, kept: &AtomicUsize) -> Result<String, Flaw> {
        match self.compiled(source, kept) {
            Ok(Some(compiled)) => compiled.render(scene),
            Ok(None) => Compiled::of(source)?.render(scene),
            Err(flaw) => Err(flaw.clone()),
        }
    }

    /// Records an error, and returns it if it is the first.
    pub fn fail(&self, flaw: Flaw) -> Option<&Flaw> {
        self.failed.set(flaw).ok().and_then(|()| self.failed.get())
    }

    /// The known error, if there is one.
    pub fn flaw(&self, source: Source<'_>, kept: &AtomicUsize) -> Option<&Flaw> {
        self.compiled(source, kept).as_ref().err().or_else(|| self.failed.get())
    }

    fn compiled(&self, source: Source<'_>, kept: &AtomicUsize) -> &Result<Option<Compiled>, Flaw> {
        self.compiled.get_or_init(|| {
            let compiled = Compiled::of(source)?;
            let weight = compiled.weight();
            let has_room = kept.fetch_add(weight, Ordering::Relaxed) + weight <= KEPT;
            if !has_room {
                kept.fetch_sub(weight, Ordering::Relaxed);
            }
            Ok(has_room.then_some(compiled))
        })
    }
}
