//! The content of a notification.

use serde::Serialize;
use serde_json::Value;

use super::catalogue::MessageType;
use super::validate;
use base::error::{Error, Result};

/// The texts of a notification and the data sent with them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NotificationContent {
    pub title: Option<String>,
    pub body: Option<String>,
    pub link: Option<String>,
    /// For the type's template.
    pub params: Option<Value>,
    /// For the client; the server does not read it.
    pub data: Option<Value>,
}

/// A change of content: `None` keeps a field, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentChange {
    pub title: Option<Option<String>>,
    pub body: Option<Option<String>>,
    pub link: Option<Option<String>>,
    pub params: Option<Option<Value>>,
    pub data: Option<Option<Value>>,
}

impl NotificationContent {
    /// Fails if the content cannot be shown. A title is optional only if the type has a template.
    pub fn check(&self, kind: &MessageType) -> Result<()> {
        match &self.title {
            Some(title) => validate::title("title", title)?,
            None if kind.template.is_none() => {
                let message = format!("is required, because the message type {:?} has no template", kind.code);
                return Err(Error::bad_input("title", message));
            }
            None => {}
        }
        if let Some(body) = &self.body {
            validate::body("body", body, validate::BODY_BYTES)?;
            if !body.trim().is_empty() {
                validate::visible_text("body", body)?;
            }
        }
        if let Some(link) = &self.link {
            validate::link("link", link)?;
        }
        for (field, json) in [("params", &self.params), ("data", &self.data)] {
            if let Some(json) = json {
                validate::body(field, &json.to_string(), validate::BODY_BYTES)?;
            }
        }
        Ok(())
    }

    /// Bytes of the content, with its JSON as text.
    pub fn byte_count(&self) -> usize {
        let texts = [&self.title, &self.body, &self.link].into_iter().flatten().map(String::len);
        let values = [&self.params, &self.data].into_iter().flatten().map(|json| json.to_string().len());
        texts.chain(values).sum()
    }

    /// Applies a change.
    #[must_use]
    pub fn with_change(self, change: ContentChange) -> Self {
        Self {
            title: change.title.unwrap_or(self.title),
            body: change.body.unwrap_or(self.body),
            link: change.link.unwrap_or(self.link),
            params: change.params.unwrap_or(self.params),
            data: change.data.unwrap_or(self.data),
        }
    }
}
