//! A lazily compiled text of a message type.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::compiled::CompiledTemplate;
use super::flaw::TemplateFlaw;
use super::source::TemplateSource;
use super::variables::TemplateVariables;
use crate::reader::ReaderDependence;

/// Approximate bytes of compiled texts per catalogue, enough for 300 ordinary ones. Texts beyond that are compiled at
/// each rendering, which takes less than a millisecond.
const KEPT: usize = 4 * 1024 * 1024;

/// A text of a catalogue.
#[derive(Default)]
pub struct LazyTemplate {
    /// The compiled text, or why it cannot be compiled.
    compiled: OnceLock<Result<KnownTemplate, TemplateFlaw>>,
    /// The first error in rendering.
    failed: OnceLock<TemplateFlaw>,
}

/// A text that compiles.
struct KnownTemplate {
    /// `None` if there was no room to keep it.
    compiled: Option<CompiledTemplate>,
    dependence: ReaderDependence,
}

impl LazyTemplate {
    /// Renders it. `kept` counts the bytes of the catalogue's compiled texts.
    pub fn render(
        &self,
        source: TemplateSource<'_>,
        scene: &TemplateVariables<'_>,
        kept: &AtomicUsize,
    ) -> Result<String, TemplateFlaw> {
        match self.get_or_compile(source, kept) {
            Ok(KnownTemplate { compiled: Some(compiled), .. }) => compiled.render(scene),
            Ok(KnownTemplate { compiled: None, .. }) => CompiledTemplate::compile(source)?.render(scene),
            Err(flaw) => Err(flaw.clone()),
        }
    }

    /// What its result depends on; nothing if it cannot be compiled.
    pub fn dependence(&self, source: TemplateSource<'_>, kept: &AtomicUsize) -> ReaderDependence {
        self.get_or_compile(source, kept).as_ref().map(|known| known.dependence).unwrap_or_default()
    }

    /// Records an error, and returns it if it is the first.
    pub fn record_failure(&self, flaw: TemplateFlaw) -> Option<&TemplateFlaw> {
        self.failed.set(flaw).ok().and_then(|()| self.failed.get())
    }

    /// The known error, if there is one.
    pub fn first_flaw(&self, source: TemplateSource<'_>, kept: &AtomicUsize) -> Option<&TemplateFlaw> {
        self.get_or_compile(source, kept).as_ref().err().or_else(|| self.failed.get())
    }

    fn get_or_compile(&self, source: TemplateSource<'_>, kept: &AtomicUsize) -> &Result<KnownTemplate, TemplateFlaw> {
        self.compiled.get_or_init(|| {
            let compiled = CompiledTemplate::compile(source)?;
            let (weight, dependence) = (compiled.weight(), compiled.dependence());
            let has_room = kept.fetch_add(weight, Ordering::Relaxed) + weight <= KEPT;
            if !has_room {
                kept.fetch_sub(weight, Ordering::Relaxed);
            }
            Ok(KnownTemplate { compiled: has_room.then_some(compiled), dependence })
        })
    }
}
