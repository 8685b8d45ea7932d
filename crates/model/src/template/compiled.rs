//! A compiled template text.

use std::collections::BTreeSet;

use minijinja::Environment;

use super::filters::shared_environment;
use super::flaw::TemplateFlaw;
use super::guard::guard_source;
use super::isolate::{finish_text, without_marks};
use super::output::BoundedBuffer;
use super::source::{TemplateSource, TextFormat};
use super::variables::TemplateVariables;
use crate::reader::ReaderDependence;
use crate::validate::BODY_BYTES;

/// Maximum bytes of a rendered text.
pub const ROOM: usize = BODY_BYTES;

/// Bytes in memory of the smallest template.
const LEAST: usize = 11 * 1024;
/// Maximum additional bytes in memory per token.
const TOKEN: usize = 160;

/// A compiled template.
pub struct CompiledTemplate {
    /// Contains only this template.
    environment: Environment<'static>,
    form: TextFormat,
    /// The variables that it uses.
    names: BTreeSet<String>,
    dependence: ReaderDependence,
    weight: usize,
}

impl CompiledTemplate {
    /// Compiles a source.
    pub fn compile(source: TemplateSource<'_>) -> Result<Self, TemplateFlaw> {
        Self::compile_as(source.text.text_format(), source.source)
    }

    /// Compiles a source that does not belong to a message type.
    pub fn compile_as(form: TextFormat, source: &str) -> Result<Self, TemplateFlaw> {
        let guarded = guard_source(&without_marks(source))?;
        let weight = LEAST + TOKEN * guarded.tokens + guarded.source.len();
        let mut environment = shared_environment();
        environment
            .add_template_owned(form.engine_name(), guarded.source)
            .map_err(|error| TemplateFlaw::from_source_error(&error))?;
        Ok(Self { environment, form, names: guarded.names, dependence: guarded.dependence, weight })
    }

    /// Approximate bytes in memory.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// What its result depends on.
    pub fn dependence(&self) -> ReaderDependence {
        self.dependence
    }

    /// Renders it with these variables.
    pub fn render(&self, scene: &TemplateVariables<'_>) -> Result<String, TemplateFlaw> {
        let mut sink = BoundedBuffer::with_limit(ROOM);
        let template = self.environment.get_template(self.form.engine_name());
        template
            .and_then(|template| {
                template.render_captured_to(scene.values(&self.names, self.dependence), &mut sink).map(drop)
            })
            .map_err(|error| TemplateFlaw::from_render_error(&error))?;
        Ok(finish_text(&sink.into_text(), self.form))
    }
}
