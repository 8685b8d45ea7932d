//! Templates of WeChat messages.

use serde::{Deserialize, Serialize};

use super::template::{CompiledTemplate, TemplateFlaw, TemplateVariables, TextFormat};
use super::validate;
use base::error::{Error, Result};

/// Maximum characters of a template id, a field name and an open id.
const NAME_CHARACTERS: usize = 128;
/// Maximum fields of a template.
const FIELDS: usize = 20;
/// Maximum bytes of the source of a field or of the link.
const SOURCE_BYTES: usize = 2_000;
/// Maximum bytes of all fields, as JSON.
const FIELDS_BYTES: usize = 16 * 1024;

/// A template of a WeChat account, and the sources of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeChatTemplate {
    /// The template's id at WeChat.
    pub id: String,
    pub fields: Vec<WeChatFieldSource>,
    /// Source of the message's link; `None` for the item's own link.
    pub link: Option<String>,
}

/// The source of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeChatFieldSource {
    /// The name in WeChat's template without `.DATA`: `thing1`.
    pub name: String,
    /// Source of its value.
    pub value: String,
}

/// A compiled template.
pub struct CompiledWeChatTemplate {
    fields: Vec<(String, CompiledTemplate)>,
    link: Option<CompiledTemplate>,
}

/// A rendered template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedWeChatTemplate {
    /// Values by field name.
    pub fields: Vec<(String, String)>,
    /// The link, if the template has one.
    pub link: Option<String>,
}

impl WeChatTemplate {
    /// Fails if the template is invalid or does not compile.
    pub fn check(&self) -> Result<()> {
        check_name("templateId", &self.id)?;
        if self.fields.is_empty() {
            return Err(Error::bad_input("fields", "must have at least one field"));
        }
        validate::at_most("fields", self.fields.len(), FIELDS)?;
        for (place, field) in self.fields.iter().enumerate() {
            let within = |error: Error| error.with_field_prefix(&format!("fields[{place}]"));
            check_name("name", &field.name).map_err(within)?;
            validate::body("value", &field.value, SOURCE_BYTES).map_err(within)?;
            if self.fields[..place].iter().any(|before| before.name == field.name) {
                return Err(within(Error::bad_input("name", "is given twice")));
            }
        }
        validate::body("fields", &self.fields_json(), FIELDS_BYTES)?;
        if let Some(link) = &self.link {
            validate::body("link", link, SOURCE_BYTES)?;
        }
        let refused =
            |(field, flaw): (String, TemplateFlaw)| Error::bad_input(field, format!("does not compile: {flaw}"));
        self.compile().map(drop).map_err(refused)
    }

    /// All fields, as JSON.
    pub fn fields_json(&self) -> String {
        serde_json::json!(self.fields).to_string()
    }

    /// Compiles the template; the error names the field that fails.
    pub fn compile(&self) -> Result<CompiledWeChatTemplate, (String, TemplateFlaw)> {
        let compiled = |(place, field): (usize, &WeChatFieldSource)| {
            let value = CompiledTemplate::compile_as(TextFormat::Line, &field.value)
                .map_err(|flaw| (format!("fields[{place}].value"), flaw))?;
            Ok((field.name.clone(), value))
        };
        let link = self.link.as_deref().map(|link| CompiledTemplate::compile_as(TextFormat::Link, link)).transpose();
        let link = link.map_err(|flaw| ("link".to_owned(), flaw))?;
        Ok(CompiledWeChatTemplate {
            fields: self.fields.iter().enumerate().map(compiled).collect::<Result<_, _>>()?,
            link,
        })
    }
}

impl CompiledWeChatTemplate {
    /// Renders the template; the error names the field that fails.
    pub fn render(&self, scene: &TemplateVariables<'_>) -> Result<RenderedWeChatTemplate, (String, TemplateFlaw)> {
        let filled = |(name, value): &(String, CompiledTemplate)| {
            let value = value.render(scene).map_err(|flaw| (name.clone(), flaw))?;
            Ok((name.clone(), value))
        };
        let link = self.link.as_ref().map(|link| link.render(scene)).transpose();
        Ok(RenderedWeChatTemplate {
            fields: self.fields.iter().map(filled).collect::<Result<_, _>>()?,
            link: link.map_err(|flaw| ("link".to_owned(), flaw))?.map(|link| link.trim().to_owned()),
        })
    }
}

/// Validates an id or name of WeChat: 1 to 128 letters, digits, `-` and `_`.
pub fn check_name(field: &str, text: &str) -> Result<()> {
    let is_part = |of: char| of.is_ascii_alphanumeric() || of == '-' || of == '_';
    if (1..=NAME_CHARACTERS).contains(&text.len()) && text.chars().all(is_part) {
        return Ok(());
    }
    Err(Error::bad_input(field, format!("must be 1 to {NAME_CHARACTERS} letters, digits, - and _")))
}
