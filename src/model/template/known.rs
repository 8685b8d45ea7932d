//! What is known of one text of a type, as soon as somebody asks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::compiled::Compiled;
use super::flaw::Flaw;
use super::scene::Scene;
use super::source::Source;

/// About how many bytes the compiled texts of a catalogue may take: 300 ordinary ones do. One that finds no room is compiled
/// whenever it is rendered, which takes less than a millisecond.
const KEPT: usize = 4 * 1024 * 1024;

/// One text of a catalogue.
#[derive(Default)]
pub struct Known {
    /// It, if there is room to keep it; or why it can never be rendered.
    compiled: OnceLock<Result<Option<Compiled>, Flaw>>,
    /// Why it could not be rendered when it was not for the first time.
    failed: OnceLock<Flaw>,
}

impl Known {
    /// What it says of a scene. `kept` is what the compiled texts of its catalogue take.
    pub fn render(&self, source: Source<'_>, scene: &Scene<'_>, kept: &AtomicUsize) -> Result<String, Flaw> {
        match self.compiled(source, kept) {
            Ok(Some(compiled)) => compiled.render(scene),
            Ok(None) => Compiled::of(source)?.render(scene),
            Err(flaw) => Err(flaw.clone()),
        }
    }

    /// Remembers why it could not be rendered, and gives it back where that is new.
    pub fn fail(&self, flaw: Flaw) -> Option<&Flaw> {
        self.failed.set(flaw).ok().and_then(|()| self.failed.get())
    }

    /// What is wrong with it, as far as that is known.
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
