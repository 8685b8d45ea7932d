//! Message types, reasons, target types and the follow policy.

use entity::audit_entry;
use std::sync::Arc;

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::ids::TypeId;

use super::context::{ADMIN, Call, STAFF};
use super::json::Json;
use super::scalars::int;
use crate::domain::catalogue;
use crate::domain::lane::Kind;
use crate::error::Error;
use crate::model::{seal, wechat};

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
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(Call::of(ctx).tenant.seal.close(seal::Kind::MessageType, 0, self.0.id.0))
    }

    /// The partner's own name of it; 1 to 128 characters.
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

    /// Users may send messages of it to each other with `sendMessage`, where the server lets the tenant's users (`TIDINGS_USER_MESSAGES`).
    async fn users_may_send(&self) -> bool {
        self.0.users_may_send
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

    /// What user interfaces show beside its title: a name that they know, or an absolute https URL; 256 characters at most.
    async fn icon(&self) -> Option<&str> {
        self.0.icon.as_deref()
    }

    /// For user interfaces, untouched; 4 KiB of JSON at most.
    async fn ui(&self) -> Option<Json> {
        self.0.ui.clone().map(Json)
    }

    /// How what is sent under it leaves the inbox; nothing for users. SERVICE, ADMIN.
    async fn delivery(&self, ctx: &Context<'_>) -> Vec<DeliveryRule> {
        if !STAFF.contains(&Call::of(ctx).viewer.role) {
            return Vec::new();
        }
        self.0.delivery.iter().map(Into::into).collect()
    }

    /// What is wrong with the template, as `body: undefined value (line 3)`, or with that of its letters, as `letter.html: …`: it does
    /// not compile any more, or has failed on a notification since this node last read the catalogue. Null where nothing is, and for
    /// users. SERVICE, ADMIN.
    async fn template_error(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let call = Call::of(ctx);
        let has_some = self.0.template.is_some() || self.0.letter().is_some();
        if !has_some || !STAFF.contains(&call.viewer.role) {
            return Ok(None);
        }
        Ok(Box::pin(catalogue::cached(call.app, call.tenant)).await?.template_flaw(&self.0.code))
    }
}

/// By what an item leaves the inbox, to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Enum)]
pub enum DeliveryChannel {
    /// As a letter, to each of their addresses.
    Email,
    /// As a template message of the tenant's official account of WeChat, to those who follow it.
    #[graphql(name = "WECHAT")]
    WeChat,
    /// To each of their browsers.
    WebPush,
}

impl From<Kind> for DeliveryChannel {
    fn from(of: Kind) -> Self {
        // Nothing leaves an inbox for an endpoint: those hear of events.
        Self::of(of).unwrap_or(Self::Email)
    }
}

impl From<DeliveryChannel> for Kind {
    fn from(of: DeliveryChannel) -> Self {
        match of {
            DeliveryChannel::Email => Self::Email,
            DeliveryChannel::WeChat => Self::WeChat,
            DeliveryChannel::WebPush => Self::WebPush,
        }
    }
}

impl DeliveryChannel {
    /// The channel of a kind of lane; nothing where none of that kind leads to users.
    pub fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Webhook => None,
            Kind::Email => Some(Self::Email),
            Kind::WeChat => Some(Self::WeChat),
            Kind::WebPush => Some(Self::WebPush),
        }
    }
}

/// Which items leave the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "entity::delivery_rule::Condition")]
pub enum DeliveryCondition {
    /// Those that are still there when the delay is over, unread and not archived.
    IfUnread,
    /// Those that are still there when the delay is over, and not archived.
    Always,
}

/// How what is sent under a type leaves the inbox.
#[derive(SimpleObject)]
#[graphql(name = "MessageDeliveryRule")]
pub struct DeliveryRule {
    /// By what.
    pub channel: DeliveryChannel,
    /// Which items.
    pub condition: DeliveryCondition,
    /// How long after publication.
    pub delay_seconds: i32,
    /// Whether they go into their user's next digest, and not each by itself.
    pub digest: bool,
    /// What its letters say; null where they say what its items do, and of other channels.
    pub letter: Option<Letter>,
    /// What the message is made of; null but for `WECHAT`.
    pub wechat: Option<WeChatTemplate>,
}

/// A template message of WeChat.
#[derive(SimpleObject)]
pub struct WeChatTemplate {
    /// The template's id in the tenant's account.
    pub template_id: String,
    /// What fills its fields.
    pub fields: Vec<WeChatField>,
    /// Renders where a click leads; null: where the item leads.
    pub link: Option<String>,
}

/// A field of a template of WeChat.
#[derive(SimpleObject)]
pub struct WeChatField {
    /// As the template names it: `thing1`.
    pub name: String,
    /// Renders its value.
    pub value: String,
}

impl From<&wechat::WeChatTemplate> for WeChatTemplate {
    fn from(of: &wechat::WeChatTemplate) -> Self {
        let field = |of: &wechat::Field| WeChatField { name: of.name.clone(), value: of.value.clone() };
        Self { template_id: of.id.clone(), fields: of.fields.iter().map(field).collect(), link: of.link.clone() }
    }
}

impl From<&catalogue::DeliveryRule> for DeliveryRule {
    fn from(of: &catalogue::DeliveryRule) -> Self {
        Self {
            channel: of.kind.into(),
            condition: of.condition.into(),
            delay_seconds: int(of.delay_seconds),
            digest: of.digest,
            letter: of.letter.clone().map(Letter::from),
            wechat: of.wechat.as_ref().map(Into::into),
        }
    }
}

/// How what is sent under a type leaves the inbox: at most one rule for each channel.
#[derive(InputObject)]
#[graphql(name = "MessageDeliveryRuleInput")]
pub struct DeliveryRuleInput {
    /// By what.
    pub channel: DeliveryChannel,
    /// Which items.
    #[graphql(default_with = "Some(DeliveryCondition::IfUnread)")]
    pub condition: Option<DeliveryCondition>,
    /// How long after publication: 300 where it is left out, at most 2,592,000, which are 30 days. With `digest` 0, and nothing else.
    pub delay_seconds: Option<i32>,
    /// Whether they go into their user's next digest, and not each by itself: one letter at the hour of `UserProfileInput.digest` with what is
    /// unread then. Of EMAIL and `IF_UNREAD` alone, without `letter`.
    #[graphql(default_with = "Some(false)")]
    pub digest: Option<bool>,
    /// What its letters say, of EMAIL alone; what its items do where it is left out.
    pub letter: Option<LetterInput>,
    /// What the message is made of: needed for `WECHAT`, and for no other.
    pub wechat: Option<WeChatTemplateInput>,
}

/// A template message of WeChat: MiniJinja as in `MessageTemplate`, with `title` and `body`, what the item shows, in scope as well. What
/// does not compile is refused; a message of which one fails is given up, and its `lastError` names the field.
#[derive(InputObject)]
pub struct WeChatTemplateInput {
    /// The template's id in the tenant's account: 1 to 128 letters, digits, `-` and `_`.
    pub template_id: String,
    /// What fills its fields: 1 to 20, of at most 16 KiB as JSON.
    pub fields: Vec<WeChatFieldInput>,
    /// Renders where a click leads; where the item leads where it is left out. 2,000 bytes at most.
    pub link: Option<String>,
}

/// A field of a template of WeChat.
#[derive(InputObject)]
pub struct WeChatFieldInput {
    /// As the template names it, without `.DATA`: `thing1`. 1 to 128 letters, digits, `-` and `_`.
    pub name: String,
    /// Renders its value; 2,000 bytes at most. It is cut to what its kind, by which the name begins, holds: `thing` 20 characters, `phrase`
    /// 5, `character_string` 32; and is `-` where it would be empty.
    pub value: String,
}

impl From<WeChatTemplateInput> for wechat::WeChatTemplate {
    fn from(input: WeChatTemplateInput) -> Self {
        let field = |of: WeChatFieldInput| wechat::Field { name: of.name, value: of.value };
        Self { id: input.template_id, fields: input.fields.into_iter().map(field).collect(), link: input.link }
    }
}

impl From<DeliveryRuleInput> for catalogue::DeliveryRule {
    fn from(input: DeliveryRuleInput) -> Self {
        let digest = input.digest.unwrap_or_default();
        Self {
            kind: input.channel.into(),
            condition: input.condition.map(Into::into).unwrap_or_default(),
            delay_seconds: input.delay_seconds.unwrap_or(if digest { 0 } else { 300 }).into(),
            digest,
            wechat: input.wechat.map(Into::into),
            letter: input.letter.map(Into::into),
        }
    }
}

/// MiniJinja templates of what letters say, with the same in scope as the type's own (`MessageTemplate`). Where one fails on a
/// notification, `templateError` tells it, and the letter says what the item does.
#[derive(SimpleObject)]
#[graphql(name = "MessageLetter")]
pub struct Letter {
    /// Instead of the item's title. It is cut to 256 characters.
    pub subject: Option<String>,
    /// Instead of the item's body; the link follows it.
    pub text: Option<String>,
    /// Instead of the item's body in the HTML of the letter, between its heading and its button; what it speaks of is escaped in it.
    pub html: Option<String>,
}

/// Templates of what letters say; at most 16 KiB each. One that does not compile is refused.
#[derive(InputObject)]
#[graphql(name = "MessageLetterInput")]
pub struct LetterInput {
    /// Instead of the item's title; the title where it is left out. It is cut to 256 characters.
    pub subject: Option<String>,
    /// Instead of the item's body; the body where it is left out. The link follows it.
    pub text: Option<String>,
    /// Instead of the item's body in the HTML of the letter, between its heading and its button; what it speaks of is escaped in it. Where
    /// it is left out the text stands there.
    pub html: Option<String>,
}

impl From<catalogue::LetterTemplate> for Letter {
    fn from(of: catalogue::LetterTemplate) -> Self {
        Self { subject: of.subject, text: of.text, html: of.html }
    }
}

impl From<LetterInput> for catalogue::LetterTemplate {
    fn from(of: LetterInput) -> Self {
        Self { subject: of.subject, text: of.text, html: of.html }
    }
}

/// MiniJinja templates; `params`, `data`, `sender` (`id`, `name`, `avatarUrl`, `locale`), `target` (`type`, `id`) and
/// `action` are in scope. `docs/limits.md` lists the blocks, filters and tests that there are. One that fails on a notification
/// (a name that it uses is missing or null, it takes too many steps or becomes longer than 16 KiB) is told by `templateError`, and the
/// notification's own text shown. A title is cut to 256 characters.
#[derive(SimpleObject)]
#[graphql(name = "MessageTemplate")]
pub struct Template {
    /// Renders the title.
    pub title: String,
    /// Renders the body; null: as the sender wrote it.
    pub body: Option<String>,
    /// Renders the link; null: as the sender wrote it.
    pub link: Option<String>,
}

/// Templates of a type; at most 16 KiB each, with at most 1,000 names, values and signs in braces. One that does not compile is
/// refused.
#[derive(InputObject)]
#[graphql(name = "MessageTemplateInput")]
pub struct TemplateInput {
    /// Renders the title.
    pub title: String,
    /// Renders the body; as the sender wrote it where it is left out.
    pub body: Option<String>,
    /// Renders the link; as the sender wrote it where it is left out.
    pub link: Option<String>,
}

/// Why somebody subscribes, and to which actions that subscribes them (`create_product` → `comment`, `like`).
#[derive(SimpleObject)]
#[graphql(name = "SubscriptionReason")]
pub struct Reason {
    /// The partner's own name of it; 1 to 128 characters.
    pub code: String,
    /// What it subscribes to, 1 to 100.
    pub actions: Vec<String>,
}

/// Who may begin to listen to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "catalogue::SubscriptionPolicy")]
pub enum SubscriptionPolicy {
    /// Services and operators, for any user. Users may only stop.
    BackendOnly,
    /// Users for themselves, too.
    Open,
}

/// What kind of thing a target is (`TopicTarget.type`), and who may subscribe to targets of it.
#[derive(SimpleObject)]
pub struct TargetType {
    /// The partner's own name of it; 1 to 128 characters.
    pub code: String,
    /// Who may subscribe to targets of it.
    pub subscription_policy: SubscriptionPolicy,
}

/// Who may begin to follow users.
#[derive(SimpleObject)]
pub struct SaveFollowPolicyPayload {
    /// As it is now.
    pub follow_policy: SubscriptionPolicy,
}

/// What was deleted.
#[derive(SimpleObject)]
pub struct DeletePayload {
    /// The id of what there was; null where there was nothing.
    pub deleted_id: Option<ID>,
}

/// What was deleted.
#[derive(SimpleObject)]
pub struct DeleteCodePayload {
    /// The code of what there was; null where there was nothing.
    pub deleted_code: Option<String>,
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
    /// How its items come to be read.
    #[graphql(default_with = "Some(ReadPolicy::Manual)")]
    pub read_policy: Option<ReadPolicy>,
    /// Users cannot switch it off, neither by type nor by action.
    #[graphql(default_with = "Some(false)")]
    pub mandatory: Option<bool>,
    /// Users may send messages of it to each other with `sendMessage`, where the server lets the tenant's users (`TIDINGS_USER_MESSAGES`).
    /// Their links must be paths; what its template makes of `params` is theirs to choose, too. Not together with `mandatory`.
    #[graphql(default_with = "Some(false)")]
    pub users_may_send: Option<bool>,
    /// At least 1. Counts for what is published afterwards.
    pub ttl_seconds: Option<i32>,
    /// Order in overviews, ascending; ties by code.
    #[graphql(default_with = "Some(0)")]
    pub position: Option<i32>,
    /// Counts for everything that is read afterwards, also if it was sent before.
    pub template: Option<TemplateInput>,
    /// What user interfaces show beside its title: a name that they know (letters, digits, `-`, `_`, `.` and `:`), or an absolute
    /// https URL; 256 characters at most.
    pub icon: Option<String>,
    /// For user interfaces, untouched; 4 KiB of JSON at most.
    pub ui: Option<Json>,
    /// How what is sent under it leaves the inbox; not at all where it is left out. Counts for what is published afterwards.
    pub delivery: Option<Vec<DeliveryRuleInput>>,
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
    async fn subscription_reasons(&self, ctx: &Context<'_>) -> Result<Vec<Reason>> {
        let call = Call::of(ctx);
        let catalogue = catalogue::current(call.app, call.tenant).await?;
        let reason = |(code, actions): (&String, &Vec<String>)| Reason { code: code.clone(), actions: actions.clone() };
        Ok(catalogue.reasons.iter().map(reason).collect())
    }
}

#[derive(Default)]
pub struct TargetTypeQuery;

#[Object]
impl TargetTypeQuery {
    /// The target types that the tenant has listed, by code. Targets may have other types, to which `BACKEND_ONLY` applies. Any role.
    async fn target_types(&self, ctx: &Context<'_>) -> Result<Vec<TargetType>> {
        let call = Call::of(ctx);
        let catalogue = catalogue::current(call.app, call.tenant).await?;
        let object = |(code, policy): (&String, &catalogue::SubscriptionPolicy)| TargetType {
            code: code.clone(),
            subscription_policy: (*policy).into(),
        };
        Ok(catalogue.target_types.iter().map(object).collect())
    }

    /// Who may begin to follow users: `BACKEND_ONLY` until the tenant says otherwise. Any role.
    async fn follow_policy(&self, ctx: &Context<'_>) -> Result<SubscriptionPolicy> {
        let call = Call::of(ctx);
        Ok(catalogue::current(call.app, call.tenant).await?.follow_policy.into())
    }
}

#[derive(Default)]
pub struct TargetTypeMutation;

#[Object]
impl TargetTypeMutation {
    /// Lists a target type or changes it; subscriptions stay as they are. Only where it is `OPEN` may users subscribe to targets of it by
    /// themselves: they then get all reminders about these, also those of rules. At most 1,000 target types a tenant. ADMIN.
    async fn save_target_type(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "1 to 128 characters: the `type` of its targets.")] code: String,
        #[graphql(desc = "Who may subscribe to targets of it.")] subscription_policy: SubscriptionPolicy,
    ) -> Result<TargetType> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits(ctx, audit_entry::Subject::TargetType, &[&code]);
        let saved = catalogue::TargetType { code, subscription_policy: subscription_policy.into() };
        catalogue::save_target_type(call.app, call.tenant, &saved).await?;
        Ok(TargetType { code: saved.code, subscription_policy })
    }

    /// Takes a target type out of the catalogue, so that `BACKEND_ONLY` applies to its targets; subscriptions stay. ADMIN.
    async fn delete_target_type(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which target type.")] code: String,
    ) -> Result<DeleteCodePayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits(ctx, audit_entry::Subject::TargetType, &[&code]);
        let is_deleted = catalogue::delete_target_type(call.app, call.tenant, &code).await?;
        Ok(DeleteCodePayload { deleted_code: is_deleted.then_some(code) })
    }

    /// Says who may begin to follow users; follows stay as they are. A follower gets all reminders whose sender is the followed user,
    /// of any target. ADMIN.
    async fn save_follow_policy(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Who may begin to follow users.")] follow_policy: SubscriptionPolicy,
    ) -> Result<SaveFollowPolicyPayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, audit_entry::Subject::Tenant, &[]);
        catalogue::save_follow_policy(call.app, call.tenant, follow_policy.into()).await?;
        Ok(SaveFollowPolicyPayload { follow_policy })
    }
}

#[derive(Default)]
pub struct CatalogueMutation;

#[Object]
impl CatalogueMutation {
    /// Makes a message type or changes the one with this code. At most 100 types a tenant. ADMIN.
    async fn save_message_type(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "All of the type.")] input: MessageTypeInput,
    ) -> Result<MessageType> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits(ctx, audit_entry::Subject::MessageType, &[&input.code]);
        let code = input.code.clone();
        catalogue::save_type(call.app, call.tenant, &change(input)).await.map_err(|error| error.within("input"))?;
        let catalogue = catalogue::current(call.app, call.tenant).await?;
        let saved = catalogue.message_type(&code).cloned().map(MessageType);
        Ok(saved.ok_or_else(|| Error::not_found("message type", code))?)
    }

    /// Takes a message type out of the catalogue. `CONFLICT` while notifications of it exist. ADMIN.
    async fn delete_message_type(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which type.")] code: String,
    ) -> Result<DeletePayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits(ctx, audit_entry::Subject::MessageType, &[&code]);
        let deleted = catalogue::delete_type(call.app, call.tenant, &code).await?;
        let id = |of: TypeId| ID(call.tenant.seal.close(seal::Kind::MessageType, 0, of.0));
        Ok(DeletePayload { deleted_id: deleted.map(id) })
    }

    /// Makes a reason or gives it other actions; who subscribed by it before keeps what they have. ADMIN.
    async fn save_subscription_reason(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "1 to 128 characters; the reason with this code is changed, or made.")] code: String,
        #[graphql(desc = "What it subscribes to, 1 to 100.")] actions: Vec<String>,
    ) -> Result<Reason> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits(ctx, audit_entry::Subject::Reason, &[&code]);
        catalogue::save_reason(call.app, call.tenant, &code, actions.clone()).await?;
        Ok(Reason { code, actions })
    }

    /// Takes a reason out of the catalogue; who subscribed by it keeps what they have. ADMIN.
    async fn delete_subscription_reason(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which reason.")] code: String,
    ) -> Result<DeleteCodePayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits(ctx, audit_entry::Subject::Reason, &[&code]);
        let is_deleted = catalogue::delete_reason(call.app, call.tenant, &code).await?;
        Ok(DeleteCodePayload { deleted_code: is_deleted.then_some(code) })
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
        users_may_send: input.users_may_send.unwrap_or_default(),
        ttl_seconds: input.ttl_seconds.map(i64::from),
        position: input.position.unwrap_or_default(),
        template: input.template.map(template),
        icon: input.icon,
        ui: input.ui.map(|Json(ui)| ui),
        delivery: input.delivery.unwrap_or_default().into_iter().map(Into::into).collect(),
    }
}
