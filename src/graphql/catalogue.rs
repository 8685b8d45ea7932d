//! Message types, reasons, target types and the follow policy.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::audit_entry;
use entity::ids::TypeId;

use super::context::{ADMIN, CallContext, STAFF};
use super::json::JsonScalar;
use super::scalars::to_int;
use base::error::Error;
use delivery::destination::DestinationKind;
use domain::catalogue;
use model::{id_cipher, wechat};

/// How items of a type become read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "catalogue::ReadPolicy")]
pub enum ReadPolicy {
    /// The user, or the application for the user, marks items one by one or in bulk.
    Manual,
    /// `markSeen` marks the type's items read when the user looks at their list.
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
        ID(CallContext::from_context(ctx).tenant.id_cipher.encode(id_cipher::IdKind::MessageType, 0, self.0.id.0))
    }

    /// Your code of the type, 1 to 128 characters.
    async fn code(&self) -> &str {
        &self.0.code
    }

    /// Name for people, 1 to 256 characters.
    async fn title(&self) -> &str {
        &self.0.title
    }

    /// Free label for grouping types in a UI.
    async fn group(&self) -> Option<&str> {
        self.0.group.as_deref()
    }

    /// How its items become read.
    async fn read_policy(&self) -> ReadPolicy {
        self.0.read_policy.into()
    }

    /// True: users cannot switch it off, neither by type nor by action.
    async fn mandatory(&self) -> bool {
        self.0.mandatory
    }

    /// True: users may send messages of this type to each other with `sendMessage`, if the server allows it for the
    /// tenant (`TIDINGS_USER_MESSAGES`).
    async fn users_may_send(&self) -> bool {
        self.0.users_may_send
    }

    /// Seconds from publication until items expire, unless the notification sets `expiresAt`. Null: only the server's
    /// retention applies.
    async fn ttl_seconds(&self) -> Option<i32> {
        self.0.ttl_seconds.and_then(|ttl| i32::try_from(ttl).ok())
    }

    /// Order in overviews, ascending; ties by code.
    async fn position(&self) -> i32 {
        self.0.position
    }

    /// Renders the title, body and link of items when clients read them.
    async fn template(&self) -> Option<MessageTemplate> {
        self.0.template.clone().map(|template| MessageTemplate {
            title: template.title,
            body: template.body,
            link: template.link,
        })
    }

    /// Icon beside the title in user interfaces: a name that they know, or an absolute https URL; at most 256
    /// characters.
    async fn icon(&self) -> Option<&str> {
        self.0.icon.as_deref()
    }

    /// JSON for user interfaces, at most 4 KiB. The server returns it unchanged.
    async fn ui(&self) -> Option<JsonScalar> {
        self.0.ui.clone().map(JsonScalar)
    }

    /// Rules for delivery outside of the inbox. SERVICE, ADMIN; empty for USER.
    async fn delivery(&self, ctx: &Context<'_>) -> Vec<DeliveryRule> {
        if !STAFF.contains(&CallContext::from_context(ctx).viewer.role) {
            return Vec::new();
        }
        self.0.delivery.iter().map(Into::into).collect()
    }

    /// The error of the template, such as `body: undefined value (line 3)`, or of the email's, such as
    /// `letter.html: …`: it no longer compiles, or it failed on a notification since this node last read the
    /// catalogue. Null without an error. SERVICE, ADMIN; null for USER.
    async fn template_error(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let call = CallContext::from_context(ctx);
        let has_some = self.0.template.is_some() || self.0.email_template().is_some();
        if !has_some || !STAFF.contains(&call.viewer.role) {
            return Ok(None);
        }
        Ok(Box::pin(catalogue::load_cached(call.app, call.tenant)).await?.template_flaw(&self.0.code))
    }
}

/// A channel that delivers items to users outside of the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Enum)]
pub enum DeliveryChannel {
    /// Email to each of the user's addresses.
    Email,
    /// Template message of the tenant's WeChat official account, to users who follow it.
    #[graphql(name = "WECHAT")]
    WeChat,
    /// Web Push to each of the user's browsers.
    WebPush,
}

impl From<DestinationKind> for DeliveryChannel {
    fn from(of: DestinationKind) -> Self {
        // Webhooks do not occur here: they receive events, not items.
        Self::for_destination(of).unwrap_or(Self::Email)
    }
}

impl From<DeliveryChannel> for DestinationKind {
    fn from(of: DeliveryChannel) -> Self {
        match of {
            DeliveryChannel::Email => Self::Email,
            DeliveryChannel::WeChat => Self::WeChat,
            DeliveryChannel::WebPush => Self::WebPush,
        }
    }
}

impl DeliveryChannel {
    /// The channel of a kind of destination; `None` for webhooks, which do not lead to users.
    pub fn for_destination(kind: DestinationKind) -> Option<Self> {
        match kind {
            DestinationKind::Webhook => None,
            DestinationKind::Email => Some(Self::Email),
            DestinationKind::WeChat => Some(Self::WeChat),
            DestinationKind::WebPush => Some(Self::WebPush),
        }
    }
}

/// Which items are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "entity::delivery_rule::SendCondition")]
pub enum DeliveryCondition {
    /// Items that still exist after the delay, unread and not archived.
    IfUnread,
    /// Items that still exist after the delay and are not archived.
    Always,
}

/// How notifications of a type leave the inbox by one channel.
#[derive(SimpleObject)]
#[graphql(name = "MessageDeliveryRule")]
pub struct DeliveryRule {
    /// The channel.
    pub channel: DeliveryChannel,
    /// Which items.
    pub condition: DeliveryCondition,
    /// Seconds after publication.
    pub delay_seconds: i32,
    /// Whether items wait for the user's next digest instead of being sent one by one.
    pub digest: bool,
    /// Templates of the email. Null: the email shows the item's texts. Null for other channels.
    pub letter: Option<MessageLetter>,
    /// The WeChat template message; null for other channels.
    pub wechat: Option<WeChatTemplate>,
}

/// A WeChat template message.
#[derive(SimpleObject)]
pub struct WeChatTemplate {
    /// Id of the template in the tenant's account.
    pub template_id: String,
    /// Values of its fields.
    pub fields: Vec<WeChatField>,
    /// Renders the link. Null: the item's link.
    pub link: Option<String>,
}

/// A field of a WeChat template.
#[derive(SimpleObject)]
pub struct WeChatField {
    /// Its name in the template, such as `thing1`.
    pub name: String,
    /// Renders its value.
    pub value: String,
}

impl From<&wechat::WeChatTemplate> for WeChatTemplate {
    fn from(of: &wechat::WeChatTemplate) -> Self {
        let field = |of: &wechat::WeChatFieldSource| WeChatField { name: of.name.clone(), value: of.value.clone() };
        Self { template_id: of.id.clone(), fields: of.fields.iter().map(field).collect(), link: of.link.clone() }
    }
}

impl From<&catalogue::DeliveryRule> for DeliveryRule {
    fn from(of: &catalogue::DeliveryRule) -> Self {
        Self {
            channel: of.kind.into(),
            condition: of.condition.into(),
            delay_seconds: to_int(of.delay_seconds),
            digest: of.digest,
            letter: of.letter.clone().map(MessageLetter::from),
            wechat: of.wechat.as_ref().map(Into::into),
        }
    }
}

/// How notifications of a type leave the inbox by one channel. At most one rule per channel.
#[derive(InputObject)]
#[graphql(name = "MessageDeliveryRuleInput")]
pub struct DeliveryRuleInput {
    /// The channel.
    pub channel: DeliveryChannel,
    /// Which items.
    #[graphql(default_with = "Some(DeliveryCondition::IfUnread)")]
    pub condition: Option<DeliveryCondition>,
    /// Seconds after publication. Default: 300, or 0 with `digest`, which allows nothing else. At most 2,592,000 (30
    /// days).
    pub delay_seconds: Option<i32>,
    /// Whether items wait for the user's next digest instead of being sent one by one: one email with all unread items,
    /// at the time of `UserProfileInput.digest`. Only with EMAIL and `IF_UNREAD`, without `letter`.
    #[graphql(default_with = "Some(false)")]
    pub digest: Option<bool>,
    /// Templates of the email; only with EMAIL. Default: the item's texts.
    pub letter: Option<MessageLetterInput>,
    /// The WeChat template message. Required for `WECHAT`, forbidden for other channels.
    pub wechat: Option<WeChatTemplateInput>,
}

/// A WeChat template message, made of MiniJinja templates as in `MessageTemplate`. The item's `title` and `body` are in
/// scope, too. A template that does not compile is refused. If one fails on an item, the server gives up the message,
/// and its `lastError` names the field.
#[derive(InputObject)]
pub struct WeChatTemplateInput {
    /// Id of the template in the tenant's account: 1 to 128 letters, digits, `-` and `_`.
    pub template_id: String,
    /// Values of its fields: 1 to 20, at most 16 KiB as JSON.
    pub fields: Vec<WeChatFieldInput>,
    /// Renders the link, at most 2,000 bytes. Default: the item's link.
    pub link: Option<String>,
}

/// A field of a WeChat template.
#[derive(InputObject)]
pub struct WeChatFieldInput {
    /// Its name in the template without `.DATA`, such as `thing1`: 1 to 128 letters, digits, `-` and `_`.
    pub name: String,
    /// Renders its value, at most 2,000 bytes. The name begins with the kind of the field, and the server cuts the
    /// value to the limit of that kind: `thing` 20 characters, `phrase` 5, `character_string` 32. An empty value
    /// becomes `-`.
    pub value: String,
}

impl From<WeChatTemplateInput> for wechat::WeChatTemplate {
    fn from(input: WeChatTemplateInput) -> Self {
        let field = |of: WeChatFieldInput| wechat::WeChatFieldSource { name: of.name, value: of.value };
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

/// MiniJinja templates of an email, with the same variables as the type's own (`MessageTemplate`). If one fails on a
/// notification, `templateError` reports it, and the email shows the item's texts.
#[derive(SimpleObject)]
#[graphql(name = "MessageLetter")]
pub struct MessageLetter {
    /// Replaces the item's title. The result is cut to 256 characters.
    pub subject: Option<String>,
    /// Replaces the item's body. The link follows it.
    pub text: Option<String>,
    /// Replaces the item's body in the HTML part, between heading and button. Variables are escaped.
    pub html: Option<String>,
}

/// Templates of an email, at most 16 KiB each. One that does not compile is refused.
#[derive(InputObject)]
#[graphql(name = "MessageLetterInput")]
pub struct MessageLetterInput {
    /// Replaces the item's title. The result is cut to 256 characters. Default: the title.
    pub subject: Option<String>,
    /// Replaces the item's body. The link follows it. Default: the body.
    pub text: Option<String>,
    /// Replaces the item's body in the HTML part, between heading and button. Variables are escaped. Default: the text.
    pub html: Option<String>,
}

impl From<catalogue::EmailTemplate> for MessageLetter {
    fn from(of: catalogue::EmailTemplate) -> Self {
        Self { subject: of.subject, text: of.text, html: of.html }
    }
}

impl From<MessageLetterInput> for catalogue::EmailTemplate {
    fn from(of: MessageLetterInput) -> Self {
        Self { subject: of.subject, text: of.text, html: of.html }
    }
}

/// MiniJinja templates. In scope are `params`, `data`, `sender` (`id`, `name`, `avatarUrl`, `locale`), `target`
/// (`type`, `id`) and `action`, and of the reader `locale` and `time_zone`. `docs/limits.md` lists the available blocks,
/// filters and tests. A template fails on a notification if a name that it uses is missing or null, if it takes too many
/// steps, or if its result is longer than 16 KiB. Then `templateError` reports it, and readers see the notification's
/// own text. A title is cut to 256 characters.
#[derive(SimpleObject)]
#[graphql(name = "MessageTemplate")]
pub struct MessageTemplate {
    /// Renders the title.
    pub title: String,
    /// Renders the body. Null: the body as sent.
    pub body: Option<String>,
    /// Renders the link. Null: the link as sent.
    pub link: Option<String>,
}

/// Templates of a type, at most 16 KiB each, with at most 1,000 names, values and symbols in braces. One that does not
/// compile is refused.
#[derive(InputObject)]
#[graphql(name = "MessageTemplateInput")]
pub struct MessageTemplateInput {
    /// Renders the title.
    pub title: String,
    /// Renders the body. Default: the body as sent.
    pub body: Option<String>,
    /// Renders the link. Default: the link as sent.
    pub link: Option<String>,
}

/// A reason to subscribe, and the actions that it subscribes to (`create_product` → `comment`, `like`).
#[derive(SimpleObject)]
#[graphql(name = "SubscriptionReason")]
pub struct SubscriptionReason {
    /// Your code of the reason, 1 to 128 characters.
    pub code: String,
    /// The actions, 1 to 100.
    pub actions: Vec<String>,
}

/// Who may subscribe to targets, or follow users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "catalogue::SubscriptionPolicy")]
pub enum SubscriptionPolicy {
    /// Services and operators, for any user. Users may only end subscriptions and follows.
    BackendOnly,
    /// Also users, for themselves.
    Open,
}

/// A kind of targets (`TopicTarget.type`), and who may subscribe to them.
#[derive(SimpleObject)]
pub struct TargetType {
    /// Your code of the kind, 1 to 128 characters.
    pub code: String,
    /// Who may subscribe to targets of this type.
    pub subscription_policy: SubscriptionPolicy,
}

/// The result of setting the follow policy.
#[derive(SimpleObject)]
pub struct SaveFollowPolicyPayload {
    /// The policy after the change.
    pub follow_policy: SubscriptionPolicy,
}

/// The result of a deletion.
#[derive(SimpleObject)]
pub struct DeletePayload {
    /// Id of the deleted object; null if it did not exist.
    pub deleted_id: Option<ID>,
}

/// The result of a deletion.
#[derive(SimpleObject)]
pub struct DeleteCodePayload {
    /// Code of the deleted object; null if it did not exist.
    pub deleted_code: Option<String>,
}

/// A whole message type. Absent fields get their defaults.
#[derive(InputObject)]
pub struct MessageTypeInput {
    /// Code of the type to create or change, 1 to 128 characters.
    pub code: String,
    /// Name for people, 1 to 256 characters.
    pub title: String,
    /// Free label for grouping types in a UI, 1 to 128 characters.
    pub group: Option<String>,
    /// How its items become read.
    #[graphql(default_with = "Some(ReadPolicy::Manual)")]
    pub read_policy: Option<ReadPolicy>,
    /// True: users cannot switch it off, neither by type nor by action.
    #[graphql(default_with = "Some(false)")]
    pub mandatory: Option<bool>,
    /// True: users may send messages of this type to each other with `sendMessage`, if the server allows it for the
    /// tenant (`TIDINGS_USER_MESSAGES`). Their links must be paths. Users then also choose the `params` of its
    /// template. Not together with `mandatory`.
    #[graphql(default_with = "Some(false)")]
    pub users_may_send: Option<bool>,
    /// Seconds from publication until items expire, at least 1. Applies to notifications published afterwards.
    pub ttl_seconds: Option<i32>,
    /// Order in overviews, ascending; ties by code.
    #[graphql(default_with = "Some(0)")]
    pub position: Option<i32>,
    /// Applies to all later reads, also of notifications sent before.
    pub template: Option<MessageTemplateInput>,
    /// Icon beside the title in user interfaces: a name that they know (letters, digits, `-`, `_`, `.` and `:`), or an
    /// absolute https URL; at most 256 characters.
    pub icon: Option<String>,
    /// JSON for user interfaces, at most 4 KiB. The server returns it unchanged.
    pub ui: Option<JsonScalar>,
    /// Rules for delivery outside of the inbox. Default: none. Applies to notifications published afterwards.
    pub delivery: Option<Vec<DeliveryRuleInput>>,
}

#[derive(Default)]
pub struct CatalogueQuery;

#[Object]
impl CatalogueQuery {
    /// The tenant's message types, in catalogue order. Any role.
    async fn message_types(&self, ctx: &Context<'_>) -> Result<Vec<MessageType>> {
        let call = CallContext::from_context(ctx);
        let catalogue = catalogue::load_current(call.app, call.tenant).await?;
        Ok(catalogue.types.iter().cloned().map(MessageType).collect())
    }

    /// The tenant's reasons, by code. Any role.
    async fn subscription_reasons(&self, ctx: &Context<'_>) -> Result<Vec<SubscriptionReason>> {
        let call = CallContext::from_context(ctx);
        let catalogue = catalogue::load_current(call.app, call.tenant).await?;
        let reason = |(code, actions): (&String, &Vec<String>)| SubscriptionReason {
            code: code.clone(),
            actions: actions.clone(),
        };
        Ok(catalogue.reasons.iter().map(reason).collect())
    }
}

#[derive(Default)]
pub struct TargetTypeQuery;

#[Object]
impl TargetTypeQuery {
    /// The target types that the tenant saved, by code. Targets may have other types, which are `BACKEND_ONLY`. Any
    /// role.
    async fn target_types(&self, ctx: &Context<'_>) -> Result<Vec<TargetType>> {
        let call = CallContext::from_context(ctx);
        let catalogue = catalogue::load_current(call.app, call.tenant).await?;
        let object = |(code, policy): (&String, &catalogue::SubscriptionPolicy)| TargetType {
            code: code.clone(),
            subscription_policy: (*policy).into(),
        };
        Ok(catalogue.target_types.iter().map(object).collect())
    }

    /// Who may begin to follow users: `BACKEND_ONLY` until the tenant sets it. Any role.
    async fn follow_policy(&self, ctx: &Context<'_>) -> Result<SubscriptionPolicy> {
        let call = CallContext::from_context(ctx);
        Ok(catalogue::load_current(call.app, call.tenant).await?.follow_policy.into())
    }
}

#[derive(Default)]
pub struct TargetTypeMutation;

#[Object]
impl TargetTypeMutation {
    /// Creates or changes a target type; existing subscriptions stay. If it is `OPEN`, users may subscribe to its
    /// targets themselves, and then receive all reminders about them, including those of rules. At most 1,000 target
    /// types per tenant. ADMIN.
    async fn save_target_type(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `type` of its targets, 1 to 128 characters.")] code: String,
        #[graphql(desc = "Who may subscribe to targets of this type.")] subscription_policy: SubscriptionPolicy,
    ) -> Result<TargetType> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, audit_entry::SubjectKind::TargetType, &[&code]);
        let saved = catalogue::TargetType { code, subscription_policy: subscription_policy.into() };
        catalogue::save_target_type(call.app, call.tenant, &saved).await?;
        Ok(TargetType { code: saved.code, subscription_policy })
    }

    /// Deletes a target type: `BACKEND_ONLY` then applies to its targets. Existing subscriptions stay. ADMIN.
    async fn delete_target_type(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the target type.")] code: String,
    ) -> Result<DeleteCodePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, audit_entry::SubjectKind::TargetType, &[&code]);
        let is_deleted = catalogue::delete_target_type(call.app, call.tenant, &code).await?;
        Ok(DeleteCodePayload { deleted_code: is_deleted.then_some(code) })
    }

    /// Sets who may begin to follow users; existing follows stay. A follower receives all reminders that have the
    /// followed user as their sender, about any target. ADMIN.
    async fn save_follow_policy(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Who may begin to follow users.")] follow_policy: SubscriptionPolicy,
    ) -> Result<SaveFollowPolicyPayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, audit_entry::SubjectKind::Tenant, &[]);
        catalogue::save_follow_policy(call.app, call.tenant, follow_policy.into()).await?;
        Ok(SaveFollowPolicyPayload { follow_policy })
    }
}

#[derive(Default)]
pub struct CatalogueMutation;

#[Object]
impl CatalogueMutation {
    /// Creates a message type, or changes the one with this code. At most 100 types per tenant. ADMIN.
    async fn save_message_type(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The whole type.")] input: MessageTypeInput,
    ) -> Result<MessageType> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, audit_entry::SubjectKind::MessageType, &[&input.code]);
        let code = input.code.clone();
        catalogue::save_type(call.app, call.tenant, &into_type_change(input))
            .await
            .map_err(|error| error.with_field_prefix("input"))?;
        let catalogue = catalogue::load_current(call.app, call.tenant).await?;
        let saved = catalogue.message_type(&code).cloned().map(MessageType);
        Ok(saved.ok_or_else(|| Error::not_found("message type", code))?)
    }

    /// Deletes a message type. `CONFLICT` while notifications of it exist. ADMIN.
    async fn delete_message_type(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the message type.")] code: String,
    ) -> Result<DeletePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, audit_entry::SubjectKind::MessageType, &[&code]);
        let deleted = catalogue::delete_type(call.app, call.tenant, &code).await?;
        let id = |of: TypeId| ID(call.tenant.id_cipher.encode(id_cipher::IdKind::MessageType, 0, of.0));
        Ok(DeletePayload { deleted_id: deleted.map(id) })
    }

    /// Creates a reason, or changes its actions. Existing subscriptions stay. ADMIN.
    async fn save_subscription_reason(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the reason to create or change, 1 to 128 characters.")] code: String,
        #[graphql(desc = "Actions that the reason subscribes to, 1 to 100.")] actions: Vec<String>,
    ) -> Result<SubscriptionReason> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, audit_entry::SubjectKind::Reason, &[&code]);
        catalogue::save_reason(call.app, call.tenant, &code, actions.clone()).await?;
        Ok(SubscriptionReason { code, actions })
    }

    /// Deletes a reason. Existing subscriptions stay. ADMIN.
    async fn delete_subscription_reason(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Code of the reason.")] code: String,
    ) -> Result<DeleteCodePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit(ctx, audit_entry::SubjectKind::Reason, &[&code]);
        let is_deleted = catalogue::delete_reason(call.app, call.tenant, &code).await?;
        Ok(DeleteCodePayload { deleted_code: is_deleted.then_some(code) })
    }
}

fn into_type_change(input: MessageTypeInput) -> catalogue::TypeChange {
    let template = |of: MessageTemplateInput| catalogue::ItemTemplate { title: of.title, body: of.body, link: of.link };
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
        ui: input.ui.map(|JsonScalar(ui)| ui),
        delivery: input.delivery.unwrap_or_default().into_iter().map(Into::into).collect(),
    }
}
