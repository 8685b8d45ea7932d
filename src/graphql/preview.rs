//! Renders a notification before it is sent, or before its type's template is saved.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};
use serde_json::{Value, json};

use super::catalogue::TemplateInput;
use super::channel::TargetInput;
use super::context::{Call, STAFF};
use super::json::Json;
use super::scalars::int;
use super::send::ContentInput;
use super::user::profiles;
use crate::domain::catalogue::{self, Template};
use crate::error::Error;
use crate::model::check;
use crate::model::template::{Flaw, Scene, TargetScene, Text, tried};
use crate::text::{closed, shown_line};

/// A notification to render.
#[derive(InputObject)]
pub struct PreviewNotificationInput {
    /// Code of the message type.
    #[graphql(name = "type")]
    pub message_type: Option<String>,
    /// A template to use instead of the type's. The type then need not exist.
    pub template: Option<TemplateInput>,
    /// The content.
    pub content: ContentInput,
    /// Your id of the sender. An unknown user is shown with only the id.
    pub sender: Option<ID>,
    /// The target of a reminder.
    pub target: Option<TargetInput>,
    /// The action on the target.
    pub action: Option<String>,
}

/// An error in a template.
#[derive(SimpleObject)]
pub struct MessageTemplateFlaw {
    /// The text of the template: `title`, `body` or `link`.
    pub field: String,
    /// Line of its source, from 1 on; null if unknown.
    pub line: Option<i32>,
    /// The error message.
    pub message: String,
}

/// A notification as its readers would see it.
#[derive(SimpleObject)]
pub struct NotificationPreview {
    /// Rendered by the template; else as given; else the type's title.
    pub title: String,
    /// Rendered by the template; else as given.
    pub body: Option<String>,
    /// Rendered by the template if the result is a link; else as given.
    pub link: Option<String>,
    /// Errors of the template. The given text is shown instead of each text that failed.
    pub flaws: Vec<MessageTemplateFlaw>,
}

#[derive(Default)]
pub struct PreviewQuery;

#[Object]
impl PreviewQuery {
    /// A notification as its readers would see it, with its type's template or another one. Sends and saves nothing.
    /// `BAD_USER_INPUT` if the type does not exist. SERVICE, ADMIN.
    async fn preview_notification(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The notification to render.")] input: PreviewNotificationInput,
    ) -> Result<NotificationPreview> {
        let call = Call::by(ctx, STAFF)?;
        let (template, name) = of_type(call, &input).await?;
        let template = input
            .template
            .map_or(template, |given| Some(Template { title: given.title, body: given.body, link: given.link }));
        let sender = sender(call, input.sender.as_ref()).await?;
        let given = |json: Option<Json>| json.map(|Json(value)| value).unwrap_or_default();
        let ContentInput { title, body, link, params, data } = input.content;
        let (params, data) = (given(params), given(data));
        let target = input.target.as_ref();
        let scene = Scene {
            params: &params,
            data: &data,
            sender,
            target: target.map(|of| TargetScene { r#type: &of.r#type, id: &of.external_id }),
            action: input.action.as_deref(),
            shown: None,
        };
        let mut flaws = Vec::new();
        let mut shown = |text, field, own: Option<String>| {
            let rendered = template.as_ref().map_or(Ok(None), |template| tried(template, text, &scene));
            rendered
                .unwrap_or_else(|flaw| {
                    flaws.push(told(field, &flaw));
                    None
                })
                .or(own)
        };
        Ok(NotificationPreview {
            title: shown(Text::Title, "title", title.as_deref().and_then(shown_line)).or(name).unwrap_or_default(),
            body: shown(Text::Body, "body", body.map(|body| closed(&body).into_owned())),
            link: shown(Text::Link, "link", link.filter(|link| check::is_link(link))),
            flaws,
        })
    }
}

/// The template and the title of the named type, if one is named.
async fn of_type(call: Call<'_>, input: &PreviewNotificationInput) -> Result<(Option<Template>, Option<String>)> {
    let Some(code) = &input.message_type else { return Ok((None, None)) };
    let catalogue = catalogue::current(call.app, call.tenant).await?;
    match catalogue.message_type(code) {
        Some(found) => Ok((found.template.clone(), Some(found.title.clone()))),
        None if input.template.is_some() => Ok((None, None)),
        None => Err(Error::bad_input("input.type", format!("no message type {code}")).into()),
    }
}

/// The sender as templates see it.
async fn sender(call: Call<'_>, id: Option<&ID>) -> Result<Value> {
    let Some(id) = id else { return Ok(Value::Null) };
    check::code("input.sender", id)?;
    let found = profiles(call, std::slice::from_ref(&id.0)).await?;
    Ok(match found.get(id.as_str()) {
        Some(of) => json!({ "id": of.external_id, "name": of.name, "avatarUrl": of.avatar_url, "locale": of.locale }),
        None => json!({ "id": id.as_str(), "name": null, "avatarUrl": null, "locale": null }),
    })
}

fn told(field: &str, flaw: &Flaw) -> MessageTemplateFlaw {
    MessageTemplateFlaw { field: field.to_owned(), line: flaw.line.map(int), message: flaw.to_string() }
}
