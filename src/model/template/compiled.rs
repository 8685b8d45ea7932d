//! One text, compiled.

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

/// The most bytes that a text may become.
pub const ROOM: usize = BODY_BYTES;

/// What the smallest takes, in bytes.
const LEAST: usize = 11 * 1024;
/// What each token makes it take at the most, in bytes.
const TOKEN: usize = 160;

/// A source that can be rendered.
pub struct Compiled {
    /// Has this one alone.
    environment: Environment<'static>,
    form: Form,
    /// The names that it looks up.
    names: BTreeSet<String>,
    weight: usize,
}

impl Compiled {
    /// It, or why there is none.
    pub fn of(source: Source<'_>) -> Result<Self, Flaw> {
        Self::in_form(source.text.form(), source.source)
    }

    /// The same of a text that is none of a type's or its letters'.
    pub fn in_form(form: Form, source: &str) -> Result<Self, Flaw> {
        let guarded = guarded(&without_marks(source))?;
        let weight = LEAST + TOKEN * guarded.tokens + guarded.source.len();
        let mut environment = environment();
        environment.add_template_owned(form.name(), guarded.source).map_err(|error| Flaw::of_source(&error))?;
        Ok(Self { environment, form, names: guarded.names, weight })
    }

    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// What it says of a scene.
    pub fn render(&self, scene: &Scene<'_>) -> Result<String, Flaw> {
        let mut sink = Sink::with(ROOM);
        let template = self.environment.get_template(self.form.name());
        template
            .and_then(|template| template.render_captured_to(scene.values(&self.names), &mut sink).map(drop))
            .map_err(|error| Flaw::of_rendering(&error))?;
        Ok(finished(&sink.into_text(), self.form))
    }
}
