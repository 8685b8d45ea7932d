//! What is due is written as a message, as it is in this moment.

use std::collections::HashMap;

use entity::ids::TypeId;

use crate::domain::dispatch::Due;
use crate::domain::lane::{Lane, absolute};
use crate::model::check;
use crate::model::template::Flaw;
use crate::model::wechat::Fillable;
use crate::wechat::Message;

/// A message that can be sent; or why it never can.
pub type Parcel = Result<Message, String>;

/// The templates of the types of one batch, each compiled once.
#[derive(Default)]
pub(super) struct Templates(HashMap<TypeId, Result<Fillable, String>>);

impl Templates {
    /// What is due, as a message.
    pub fn message(&mut self, lane: &Lane, due: &Due<'_>) -> Parcel {
        let template = due.rule.wechat.as_ref().ok_or("the type does not say what the message is made of")?;
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
    format!("the template of the message fails: {field}: {flaw}")
}
