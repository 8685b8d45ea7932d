//! Writes template messages from items in their current state.

use std::collections::HashMap;

use entity::ids::TypeId;

use crate::destination::{Destination, absolute_link};
use crate::dispatch::DueItem;
use model::template::TemplateFlaw;
use model::validate;
use model::wechat::CompiledWeChatTemplate;
use outside::wechat::WeChatMessage;

/// A message that is ready to send, or the reason why it can never be sent.
pub type WeChatPayload = Result<WeChatMessage, String>;

/// The templates of a batch's types, each compiled once.
#[derive(Default)]
pub(super) struct MessageTemplates(HashMap<TypeId, Result<CompiledWeChatTemplate, String>>);

impl MessageTemplates {
    /// Writes the message for an item.
    pub fn write_message(&mut self, destination: &Destination, due: &DueItem<'_>) -> WeChatPayload {
        let template = due.rule.wechat.as_ref().ok_or("the message type has no WeChat template")?;
        let compiled = self.0.entry(due.item.type_id).or_insert_with(|| template.compile().map_err(template_error));
        let filled = compiled
            .as_ref()
            .map_err(Clone::clone)?
            .render(&due.content.variables_with_texts())
            .map_err(template_error)?;
        let link = filled.link.or_else(|| due.content.link()).filter(|link| validate::is_link(link));
        Ok(WeChatMessage {
            to: due.item.address.clone(),
            template: template.id.clone(),
            fields: filled.fields,
            url: link.and_then(|link| absolute_link(destination, &link)),
        })
    }
}

fn template_error((field, flaw): (String, TemplateFlaw)) -> String {
    format!("the WeChat template fails: {field}: {flaw}")
}
