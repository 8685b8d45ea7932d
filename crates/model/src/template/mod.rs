//! Templates of message types and of their emails, written for MiniJinja. They are rendered when an item is read or an
//! email is written.
//!
//! Operators of any tenant write them, and any sender supplies their values, so neither may cost other tenants
//! anything. A source is checked before it is compiled (`guard`), and a rendering has limits on steps (`filters`), work
//! (`work_limit`) and size (`compiled`). All together take about a millisecond, so rendering runs inline.

mod compiled;
mod filters;
mod flaw;
mod guard;
mod guard_filters;
mod isolate;
mod lazy;
mod locale_filters;
mod output;
mod source;
#[cfg(test)]
mod tests;
mod variables;
mod work_limit;

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;

use super::reader::ReaderDependence;
use super::validate as texts;
use base::error::{Error, Result};
pub use compiled::CompiledTemplate;
pub use flaw::TemplateFlaw;
use lazy::LazyTemplate;
pub use source::{EmailTemplate, ItemTemplate, TemplateSource, TextFormat, TextKind};
pub use variables::{ShownVariables, TargetVariables, TemplateVariables};

/// Maximum bytes of a source.
const SOURCE_BYTES: usize = 16 * 1024;

/// The templates of a catalogue.
#[derive(Default)]
pub struct CatalogueTemplates {
    /// The texts of each type with templates, by its code.
    types: HashMap<String, [LazyTemplate; 6]>,
    /// Approximate bytes of the compiled ones.
    kept: AtomicUsize,
}

impl std::fmt::Debug for CatalogueTemplates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CatalogueTemplates")
    }
}

impl CatalogueTemplates {
    /// The templates of the types with these codes. Each text is compiled on first use.
    pub(super) fn for_types(codes: impl Iterator<Item = String>) -> Self {
        let types = codes.map(|code| (code, <[LazyTemplate; 6]>::default())).collect();
        Self { types, kept: AtomicUsize::new(0) }
    }

    /// Renders a text of a type. `None` if it fails (logged once per catalogue), is empty, or is an invalid link.
    pub fn render(
        &self,
        message_type: &str,
        source: TemplateSource<'_>,
        scene: &TemplateVariables<'_>,
    ) -> Option<String> {
        let known = self.lazy_template(message_type, source.text)?;
        match known.render(source, scene, &self.kept) {
            Ok(rendered) => source.text.clean_rendered(&rendered),
            Err(flaw) => {
                if let Some(TemplateFlaw { kind, line, .. }) = known.record_failure(flaw) {
                    let what = "a template failed: the notification's own text is shown instead";
                    tracing::warn!(message_type, text = ?source.text, kind, line, "{what}");
                }
                None
            }
        }
    }

    /// What a text of a type depends on. Nothing if it does not compile.
    pub fn dependence(&self, message_type: &str, source: TemplateSource<'_>) -> ReaderDependence {
        let known = self.lazy_template(message_type, source.text);
        known.map(|known| known.dependence(source, &self.kept)).unwrap_or_default()
    }

    /// What is wrong with a text of a type; `None` if nothing is known. A stored text may no longer be allowed, or may
    /// have failed on a notification since this catalogue was read.
    pub fn flaw(&self, message_type: &str, source: TemplateSource<'_>) -> Option<String> {
        let flaw = self.lazy_template(message_type, source.text)?.first_flaw(source, &self.kept)?;
        Some(format!("{}: {flaw}", source.text.field_name()))
    }

    fn lazy_template(&self, message_type: &str, text: TextKind) -> Option<&LazyTemplate> {
        Some(&self.types.get(message_type)?[text as usize])
    }
}

/// Renders a text of a template; the error says what is wrong with it.
pub fn render_template(
    template: &ItemTemplate,
    text: TextKind,
    scene: &TemplateVariables<'_>,
) -> Result<Option<String>, String> {
    try_render(template, text, scene).map_err(|flaw| format!("{}: {flaw}", text.field_name()))
}

/// The same with a typed error. Rejects a source that is too long to be saved.
pub fn try_render(
    template: &ItemTemplate,
    text: TextKind,
    scene: &TemplateVariables<'_>,
) -> Result<Option<String>, TemplateFlaw> {
    let Some(source) = template.source(text) else { return Ok(None) };
    if source.source.len() > SOURCE_BYTES {
        return Err(TemplateFlaw::not_allowed("longer than 16 KiB", 1_usize, "it cannot be saved"));
    }
    let rendered = LazyTemplate::default().render(source, scene, &AtomicUsize::new(0))?;
    Ok(text.clean_rendered(&rendered))
}

/// Fails if a source does not compile or is too long.
pub fn check_sources<'a>(sources: impl Iterator<Item = TemplateSource<'a>>) -> Result<()> {
    for source in sources {
        let field = source.text.field_name();
        texts::body(field, source.source, SOURCE_BYTES)?;
        CompiledTemplate::compile(source)
            .map_err(|flaw| Error::bad_input(field, format!("does not compile: {flaw}")))?;
    }
    Ok(())
}
