//! Templates of message types: MiniJinja, rendered when a reader asks.

use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use serde_json::Value;

use super::super::check as texts;
use super::MessageType;
use crate::error::{Error, Result};

/// The steps that one rendering may take, so that a loop in a template holds no reader up. A usual one takes fifty.
const FUEL: u64 = 20_000;

/// The most bytes of a template's source, each of its three.
const SOURCE_BYTES: usize = 16 * 1024;

/// The sources of a type's three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub title: String,
    pub body: Option<String>,
    pub link: Option<String>,
}

/// One of the three texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    Title,
    Body,
    Link,
}

/// What templates may speak of.
#[derive(Clone, Debug, Serialize)]
pub struct Scene<'a> {
    pub params: &'a Value,
    pub data: &'a Value,
    pub sender: Value,
    pub target: Option<TargetScene<'a>>,
    pub action: Option<&'a str>,
}

/// What a reminder is about.
#[derive(Clone, Debug, Serialize)]
pub struct TargetScene<'a> {
    pub r#type: &'a str,
    pub id: &'a str,
}

/// The compiled templates of a catalogue.
pub struct Templates(Environment<'static>);

impl std::fmt::Debug for Templates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Templates")
    }
}

impl Templates {
    /// Those of all types. One that does not compile any more (it did when it was saved) counts as failing.
    pub(super) fn compile(types: &[Arc<MessageType>]) -> Self {
        let mut environment = environment();
        for kind in types {
            let Some(template) = &kind.template else { continue };
            for (text, source) in sources(template) {
                if let Err(error) = environment.add_template_owned(name(&kind.code, text), source.to_owned()) {
                    tracing::error!(message_type = kind.code, %error, "a stored template does not compile");
                }
            }
        }
        Self(environment)
    }

    /// A text of the type in this scene; nothing where the type has no template for it, or where it fails (which is
    /// logged), says nothing, or is a link that leads nowhere.
    pub fn render(&self, message_type: &str, text: Text, scene: &Scene<'_>) -> Option<String> {
        let template = self.0.get_template(&name(message_type, text)).ok()?;
        match template.render(minijinja::value::Serde(scene)) {
            Ok(rendered) => Some(rendered.trim().to_owned()).filter(|rendered| match text {
                Text::Title => !rendered.is_empty(),
                Text::Body => true,
                Text::Link => texts::is_link(rendered),
            }),
            Err(error) => {
                tracing::warn!(message_type, ?text, %error, "a template failed, its notification's own text is shown");
                None
            }
        }
    }
}

/// Refuses what does not compile or is too long.
pub(super) fn check(template: &Template) -> Result<()> {
    let mut environment = environment();
    for (text, source) in sources(template) {
        let field = format!("{text:?}").to_lowercase();
        texts::body(&field, source, SOURCE_BYTES)?;
        if let Err(error) = environment.add_template_owned(field.clone(), source.to_owned()) {
            let message = format!("does not compile: {} (line {})", error.kind(), error.line().unwrap_or(1));
            return Err(Error::bad_input(
                field,
                error.detail().map_or(message.clone(), |why| format!("{message}: {why}")),
            ));
        }
    }
    Ok(())
}

/// Names that are missing fail, or half a sentence would be shown; asking whether they are there does not.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_fuel(Some(FUEL));
    environment
}

fn sources(template: &Template) -> impl Iterator<Item = (Text, &str)> {
    [
        (Text::Title, Some(template.title.as_str())),
        (Text::Body, template.body.as_deref()),
        (Text::Link, template.link.as_deref()),
    ]
    .into_iter()
    .filter_map(|(text, source)| Some((text, source?)))
}

fn name(message_type: &str, text: Text) -> String {
    format!("{text:?} of {message_type}")
}
