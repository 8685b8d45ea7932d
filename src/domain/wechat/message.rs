//! Writes template messages from items in their current state.

use std::collections::HashMap;

use entity::ids::TypeId;

use crate::domain::dispatch::Due;
use crate::domain::lane::{Lane, absolute};
use crate::model::check;
use crate::model::template::Flaw;
use crate::model::wechat::Fillable;
use crate::wechat::Message;

/// A message that is ready to send, or the reason why it can never be sent.
pub type Parcel = Result<Message, String>;

/// The templates of a batch's types, each compiled once.
#[derive(Default)]
pub(super) struct Templates(HashMap<TypeId, Result<Fillable, String>>);

impl Templates {
    /// Writes the message for an item.
    pub fn message(&mut self, lane: &Lane, due: &Due<'_>) -> Parcel {
        let template = due.rule.wechat.as_ref().ok_or("the message type has no WeChat template")?;
        let compiled = self.0.entry(due.item.type_id).or_insert_with(|| template.compile().map_err(told));
        let filled = compiled.as_ref().map_err(Clone::clone)?.fill(&due.content.scene_with_texts()).map_err(told)?;
        let link = filled.link.or_else(|| due.content.link()).filter(|link| check::is_link(link));
        Ok(Message {
            to: due.item.address.clone(),
            template: template.id.clone(),
            fields: filled.fields,
            url: link.and_then(|link| absolute(lane, &link)),
        })
    }
}

fn told((field, flaw): (String, Flaw)) -> String {
    format!("the WeChat template fails: {field}: {flaw}")
}
