//! Renders a notification before it is sent, or before its type's template is saved.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};
use serde_json::{Value, json};

use super::catalogue::MessageTemplateInput;
use super::channel::TargetInput;
use super::context::{CallContext, STAFF};
use super::json::JsonScalar;
use super::scalars::to_int;
use super::send::ContentInput;
use super::user::find_profiles;
use base::error::Error;
use base::text::{close_directions, display_line};
use domain::catalogue::{self, ItemTemplate};
use model::reader::ReaderLocale;
use model::template::{TargetVariables, TemplateFlaw, TemplateVariables, TextKind, try_render};
use model::validate;

/// A notification to render.
#[derive(InputObject)]
pub struct PreviewNotificationInput {
    /// Code of the message type.
    #[graphql(name = "type")]
    pub message_type: Option<String>,
    /// A template to use instead of the type's. The type then need not exist.
    pub template: Option<MessageTemplateInput>,
    /// The content.
    pub content: ContentInput,
    /// Your id of the sender. An unknown user is shown with only the id.
    pub sender: Option<ID>,
    /// The target of a reminder.
    pub target: Option<TargetInput>,
    /// The action on the target.
    pub action: Option<String>,
    /// The reader's locale, a BCP 47 language tag. Default: English.
    pub locale: Option<String>,
    /// The reader's IANA time zone. Default: UTC.
    pub time_zone: Option<String>,
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
        let call = CallContext::with_role(ctx, STAFF)?;
        let (template, name) = type_template(call, &input).await?;
        let template = input
            .template
            .map_or(template, |given| Some(ItemTemplate { title: given.title, body: given.body, link: given.link }));
        let sender = template_sender(call, input.sender.as_ref()).await?;
        let given = |json: Option<JsonScalar>| json.map(|JsonScalar(value)| value).unwrap_or_default();
        let ContentInput { title, body, link, params, data } = input.content;
        let (params, data) = (given(params), given(data));
        let target = input.target.as_ref();
        let reader = ReaderLocale { locale: input.locale, time_zone: input.time_zone };
        reader.check().map_err(|error| error.with_field_prefix("input"))?;
        let scene = TemplateVariables {
            params: &params,
            data: &data,
            sender,
            target: target.map(|of| TargetVariables { r#type: &of.r#type, id: &of.external_id }),
            action: input.action.as_deref(),
            shown: None,
            reader: &reader,
        };
        let mut flaws = Vec::new();
        let mut shown = |text, field, own: Option<String>| {
            let rendered = template.as_ref().map_or(Ok(None), |template| try_render(template, text, &scene));
            rendered
                .unwrap_or_else(|flaw| {
                    flaws.push(api_flaw(field, &flaw));
                    None
                })
                .or(own)
        };
        Ok(NotificationPreview {
            title: shown(TextKind::Title, "title", title.as_deref().and_then(display_line))
                .or(name)
                .unwrap_or_default(),
            body: shown(TextKind::Body, "body", body.map(|body| close_directions(&body).into_owned())),
            link: shown(TextKind::Link, "link", link.filter(|link| validate::is_link(link))),
            flaws,
        })
    }
}

/// The template and the title of the named type, if one is named.
async fn type_template(
    call: CallContext<'_>,
    input: &PreviewNotificationInput,
) -> Result<(Option<ItemTemplate>, Option<String>)> {
    let Some(code) = &input.message_type else { return Ok((None, None)) };
    let catalogue = catalogue::load_current(call.app, call.tenant).await?;
    match catalogue.message_type(code) {
        Some(found) => Ok((found.template.clone(), Some(found.title.clone()))),
        None if input.template.is_some() => Ok((None, None)),
        None => Err(Error::bad_input("input.type", format!("no message type {code}")).into()),
    }
}

/// The sender as templates see it.
async fn template_sender(call: CallContext<'_>, id: Option<&ID>) -> Result<Value> {
    let Some(id) = id else { return Ok(Value::Null) };
    validate::identifier("input.sender", id)?;
    let found = find_profiles(call, std::slice::from_ref(&id.0)).await?;
    Ok(match found.get(id.as_str()) {
        Some(of) => json!({ "id": of.external_id, "name": of.name, "avatarUrl": of.avatar_url, "locale": of.locale }),
        None => json!({ "id": id.as_str(), "name": null, "avatarUrl": null, "locale": null }),
    })
}

fn api_flaw(field: &str, flaw: &TemplateFlaw) -> MessageTemplateFlaw {
    MessageTemplateFlaw { field: field.to_owned(), line: flaw.line.map(to_int), message: flaw.to_string() }
}
