//! A compiled template text.

use std::collections::BTreeSet;

use minijinja::Environment;

use super::filters::environment;
use super::flaw::Flaw;
use super::guard::guarded;
use super::inserted::{finished, without_marks};
use super::scene::Scene;
use super::sink::Sink;
use super::source::{Form, Source};
use crate::model::check::BODY_BYTES;

/// Maximum bytes of a rendered text.
pub const ROOM: usize = BODY_BYTES;

/// Bytes in memory of the smallest template.
const LEAST: usize = 11 * 1024;
/// Maximum additional bytes in memory per token.
const TOKEN: usize = 160;

/// A compiled template.
pub struct Compiled {
    /// Contains only this template.
    environment: Environment<'static>,
    form: Form,
    /// The variables that it uses.
    names: BTreeSet<String>,
    weight: usize,
}

impl Compiled {
    /// Compiles a source.
    pub fn of(source: Source<'_>) -> Result<Self, Flaw> {
        Self::in_form(source.text.form(), source.source)
    }

    /// Compiles a source that does not belong to a message type.
    pub fn in_form(form: Form, source: &str) -> Result<Self, Flaw> {
        let guarded = guarded(&without_marks(source))?;
        let weight = LEAST + TOKEN * guarded.tokens + guarded.source.len();
        let mut environment = environment();
        environment.add_template_owned(form.name(), guarded.source).map_err(|error| Flaw::of_source(&error))?;
        Ok(Self { environment, form, names: guarded.names, weight })
    }

    /// Approximate bytes in memory.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Renders it with these variables.
    pub fn render(&self, scene: &Scene<'_>) -> Result<String, Flaw> {
        let mut sink = Sink::with(ROOM);
        let template = self.environment.get_template(self.form.name());
        template
            .and_then(|template| template.render_captured_to(scene.values(&self.names), &mut sink).map(drop))
            .map_err(|error| Flaw::of_rendering(&error))?;
        Ok(finished(&sink.into_text(), self.form))
    }
}
