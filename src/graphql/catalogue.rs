//! Message types and reasons.

use std::sync::Arc;

use async_graphql::{Context, Enum, InputObject, Object, Result, SimpleObject};
use entity::ids::TypeId;

use super::context::{ADMIN, Call, STAFF};
use crate::domain::catalogue;
use crate::error::Error;

/// How items of a type come to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "catalogue::ReadPolicy")]
pub enum ReadPolicy {
    /// The user (or the application for them) marks items one by one or in bulk.
    Manual,
    /// Looking at the type's list (`markSeen`) marks its items read.
    Auto,
}

/// A category of notifications: a tab of the inbox.
#[derive(Clone)]
pub struct MessageType(pub Arc<catalogue::MessageType>);

/// A category of notifications: a tab of the inbox.
#[Object]
impl MessageType {
    /// 1 to 128 characters.
    async fn code(&self) -> &str {
        &self.0.code
    }

    /// For people; 1 to 256 characters.
    async fn title(&self) -> &str {
        &self.0.title
    }

    /// Free label under which a UI groups types.
    async fn group(&self) -> Option<&str> {
        self.0.group.as_deref()
    }

    /// How its items come to be read.
    async fn read_policy(&self) -> ReadPolicy {
        self.0.read_policy.into()
    }

    /// Users cannot switch it off, neither by type nor by action.
    async fn mandatory(&self) -> bool {
        self.0.mandatory
    }

    /// Items of the type expire this many seconds after publication, unless the notification says otherwise; null: by the
    /// server's retention only.
    async fn ttl_seconds(&self) -> Option<i32> {
        self.0.ttl_seconds.and_then(|ttl| i32::try_from(ttl).ok())
    }

    /// Order in overviews, ascending; ties by code.
    async fn position(&self) -> i32 {
        self.0.position
    }

    /// Renders titles, bodies and links of its items when they are read.
    async fn template(&self) -> Option<Template> {
        self.0.template.clone().map(|template| Template {
            title: template.title,
            body: template.body,
            link: template.link,
        })
    }

    /// What is wrong with the template, as `body: undefined value (line 3)`: it does not compile any more, or has failed on a
    /// notification since this node last read the catalogue. Null where nothing is, and for users. SERVICE, ADMIN.
    async fn template_error(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let call = Call::of(ctx);
        if self.0.template.is_none() || !STAFF.contains(&call.viewer.role) {
            return Ok(None);
        }
        Ok(Box::pin(catalogue::cached(call.app, call.tenant)).await?.template_flaw(&self.0.code))
    }
}

/// MiniJinja templates; `params`, `data`, `sender` (`id`, `name`, `avatarUrl`, `locale`), `target` (`type`, `id`) and
/// `action` are in scope. `docs/limits.md` lists the blocks, filters and tests that there are. One that fails on a notification
/// (a name that it uses is missing, it takes too many steps or becomes longer than 16 KiB) is told by `templateError`, and the
/// notification's own text shown. A title is cut to 256 characters.
#[derive(SimpleObject)]
pub struct Template {
    pub title: String,
    pub body: Option<String>,
    pub link: Option<String>,
}

/// Templates of a type; at most 16 KiB each, with at most 1,000 names, values and signs in braces. One that does not compile is
/// refused.
#[derive(InputObject)]
pub struct TemplateInput {
    pub title: String,
    pub body: Option<String>,
    pub link: Option<String>,
}

/// Why somebody subscribes, and to which actions that subscribes them (`create_product` → `comment`, `like`).
#[derive(SimpleObject)]
pub struct Reason {
    pub code: String,
    pub actions: Vec<String>,
}

/// All of a type: what is left out goes back to its default.
#[derive(InputObject)]
pub struct MessageTypeInput {
    /// 1 to 128 characters; the type with this code is changed, or made.
    pub code: String,
    /// 1 to 256 characters.
    pub title: String,
    /// Free label under which a UI groups types; 1 to 128 characters.
    pub group: Option<String>,
    #[graphql(default_with = "Some(ReadPolicy::Manual)")]
    pub read_policy: Option<ReadPolicy>,
    #[graphql(default_with = "Some(false)")]
    pub mandatory: Option<bool>,
    /// At least 1. Counts for what is sent afterwards.
    pub ttl_seconds: Option<i32>,
    #[graphql(default_with = "Some(0)")]
    pub position: Option<i32>,
    /// Counts for everything that is read afterwards, also if it was sent before.
    pub template: Option<TemplateInput>,
}

#[derive(Default)]
pub struct CatalogueQuery;

#[Object]
impl CatalogueQuery {
    /// The tenant's message types, in catalogue order. Any role.
    async fn message_types(&self, ctx: &Context<'_>) -> Result<Vec<MessageType>> {
        let call = Call::of(ctx);
        let catalogue = catalogue::current(call.app, call.tenant).await?;
        Ok(catalogue.types.iter().cloned().map(MessageType).collect())
    }

    /// The tenant's reasons, by code. Any role.
    async fn reasons(&self, ctx: &Context<'_>) -> Result<Vec<Reason>> {
        let call = Call::of(ctx);
        let catalogue = catalogue::current(call.app, call.tenant).await?;
        let reason = |(code, actions): (&String, &Vec<String>)| Reason { code: code.clone(), actions: actions.clone() };
        Ok(catalogue.reasons.iter().map(reason).collect())
    }
}

#[derive(Default)]
pub struct CatalogueMutation;

#[Object]
impl CatalogueMutation {
    /// Makes a message type or changes the one with this code. At most 100 types a tenant. ADMIN.
    async fn save_message_type(&self, ctx: &Context<'_>, input: MessageTypeInput) -> Result<MessageType> {
        let call = Call::by(ctx, ADMIN)?;
        let code = input.code.clone();
        catalogue::save_type(call.app, call.tenant, &change(input)).await.map_err(|error| error.within("input"))?;
        let catalogue = catalogue::current(call.app, call.tenant).await?;
        let saved = catalogue.message_type(&code).cloned().map(MessageType);
        Ok(saved.ok_or_else(|| Error::not_found("message type", code))?)
    }

    /// Takes a message type out of the catalogue; false where there is none. `CONFLICT` while notifications of it exist.
    /// ADMIN.
    async fn delete_message_type(&self, ctx: &Context<'_>, code: String) -> Result<bool> {
        let call = Call::by(ctx, ADMIN)?;
        Ok(catalogue::delete_type(call.app, call.tenant, &code).await?)
    }

    /// Makes a reason or gives it other actions (1 to 100); who subscribed by it before keeps what they have. ADMIN.
    async fn save_reason(&self, ctx: &Context<'_>, code: String, actions: Vec<String>) -> Result<Reason> {
        let call = Call::by(ctx, ADMIN)?;
        catalogue::save_reason(call.app, call.tenant, &code, actions.clone()).await?;
        Ok(Reason { code, actions })
    }

    /// Takes a reason out of the catalogue; who subscribed by it keeps what they have. False where there is none. ADMIN.
    async fn delete_reason(&self, ctx: &Context<'_>, code: String) -> Result<bool> {
        let call = Call::by(ctx, ADMIN)?;
        Ok(catalogue::delete_reason(call.app, call.tenant, &code).await?)
    }
}

fn change(input: MessageTypeInput) -> catalogue::TypeChange {
    let template = |of: TemplateInput| catalogue::Template { title: of.title, body: of.body, link: of.link };
    catalogue::TypeChange {
        id: TypeId::default(),
        code: input.code,
        title: input.title,
        group: input.group,
        read_policy: input.read_policy.map(Into::into).unwrap_or_default(),
        mandatory: input.mandatory.unwrap_or_default(),
        ttl_seconds: input.ttl_seconds.map(i64::from),
        position: input.position.unwrap_or_default(),
        template: input.template.map(template),
    }
}
