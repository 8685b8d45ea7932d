//! Message types: categories of notifications, tabs of the inbox.

use std::collections::HashMap;

use entity::default_preference::{self, Entity as DefaultPreference};
use entity::delivery_rule::{self, Entity as Rule};
use entity::ids::TypeId;
use entity::message_type::{self, Column, Entity as Type};
use entity::preference::{self, Entity as Preference, PreferenceScope};
use entity::prelude::*;
use entity::user::{self, Entity as User};
use sea_orm::QueryTrait;

use super::queries;
use super::version::increment_version;
use crate::tenant::Tenant;
use base::error::{Error, Result};
use model::catalogue::{DeliveryRule, MessageType, TYPES};
use model::template::{EmailTemplate, ItemTemplate};
use model::validate;
use model::wechat::WeChatTemplate;
use store::{Store, Transaction, transaction};

/// The new settings of a type. Omitted fields return to their defaults.
pub type TypeChange = MessageType;

/// Creates a message type, or replaces the one with this code. Ignores `id`.
///
/// A new TTL applies to later notifications; a new template applies to everything that is read from now on.
pub async fn save(store: &Store, tenant: &Tenant, change: &TypeChange) -> Result<()> {
    change.check()?;
    let columns = [
        Column::TenantId,
        Column::Code,
        Column::Title,
        Column::GroupLabel,
        Column::ReadPolicy,
        Column::Mandatory,
        Column::TtlSeconds,
        Column::Position,
        Column::TemplateTitle,
        Column::TemplateBody,
        Column::TemplateLink,
        Column::Icon,
        Column::Ui,
        Column::UsersMaySend,
    ];
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let existing = ExistingRows::Merged { key: &columns[..2], raised: &[], replaced: &columns[2..] };
        insert(txn, columns, vec![type_row(tenant, change)], existing).await?;
        let many = Type::of_tenant(tenant.id).count_rows(txn).await?;
        if usize::try_from(many).unwrap_or(usize::MAX) > TYPES {
            return Err(Error::Conflict(format!("a tenant has at most {TYPES} message types")));
        }
        let saved = queries::find_message_type(txn, tenant, &change.code).await?;
        let saved = saved.ok_or_else(|| Error::internal("a saved message type is missing"))?;
        save_rules(txn, tenant, saved.id, &change.delivery).await
    })
}

async fn save_rules(txn: &Transaction, tenant: &Tenant, of: TypeId, rules: &[DeliveryRule]) -> Result<()> {
    use delivery_rule::Column;
    Rule::delete_of_tenant(tenant.id).filter(Column::TypeId.eq(of)).exec(txn).await?;
    let row = |rule: &DeliveryRule| {
        let wechat = rule.wechat.as_ref();
        let letter = rule.letter.clone().unwrap_or_default();
        [
            of.into(),
            rule.kind.into(),
            tenant.id.into(),
            rule.condition.into(),
            rule.delay_seconds.into(),
            rule.digest.into(),
            wechat.map(|of| of.id.clone()).into(),
            wechat.map(WeChatTemplate::fields_json).into(),
            wechat.and_then(|of| of.link.clone()).into(),
            letter.subject.into(),
            letter.text.into(),
            letter.html.into(),
        ]
    };
    let columns = [
        Column::TypeId,
        Column::Kind,
        Column::TenantId,
        Column::Sends,
        Column::DelaySeconds,
        Column::Digest,
        Column::WechatTemplate,
        Column::WechatFields,
        Column::WechatLink,
        Column::LetterSubject,
        Column::LetterText,
        Column::LetterHtml,
    ];
    insert(txn, columns, rules.iter().map(row).collect(), ExistingRows::Refused).await?;
    Ok(())
}

/// Deletes a message type and returns its id; `None` if there is no such type.
///
/// `CONFLICT` if notifications of the type exist, because their items would have no type. Incrementing the version
/// first locks the tenant's row, so that no send can come in between.
pub async fn delete(store: &Store, tenant: &Tenant, code: &str) -> Result<Option<TypeId>> {
    validate::identifier("code", code)?;
    transaction!(store.db, |txn| {
        increment_version(txn, tenant, store.now()).await?;
        let Some(found) = queries::find_message_type(txn, tenant, code).await? else { return Ok(None) };
        if found.used == 1 {
            let message = format!("the message type {code:?} cannot be deleted, because notifications of it exist");
            return Err(Error::Conflict(message));
        }
        let defaults = DefaultPreference::delete_of_tenant(tenant.id);
        let defaults = defaults.filter(default_preference::Column::Scope.is_in(PreferenceScope::type_scopes()));
        defaults.filter(default_preference::Column::SubjectId.eq(found.id)).exec(txn).await?;
        let users = User::of_tenant(tenant.id).select_only().column(user::Column::Id).into_query();
        let own = Preference::delete_many().filter(preference::Column::UserId.in_subquery(users));
        let own = own.filter(preference::Column::Scope.is_in(PreferenceScope::type_scopes()));
        own.filter(preference::Column::SubjectId.eq(found.id)).exec(txn).await?;
        save_rules(txn, tenant, found.id, &[]).await?;
        Type::delete_by_id(found.id).exec(txn).await?;
        Ok(Some(found.id))
    })
}

/// All message types of a tenant, unordered.
pub(super) async fn load_all(store: &Store, tenant: &Tenant) -> Result<Vec<MessageType>> {
    let mut rules: HashMap<TypeId, Vec<DeliveryRule>> = HashMap::new();
    let all = Rule::of_tenant(tenant.id).order_by_asc(delivery_rule::Column::Kind);
    for of in all.all(&store.db.read).await? {
        rules.entry(of.type_id).or_default().push(delivery_rule_from_row(of)?);
    }
    let types = Type::of_tenant(tenant.id).all(&store.db.read).await?.into_iter();
    let with_rules = |row: message_type::Model| {
        let delivery = rules.remove(&row.id).unwrap_or_default();
        Ok(MessageType { delivery, ..type_from_row(row)? })
    };
    types.map(with_rules).collect()
}

fn type_row(tenant: &Tenant, of: &TypeChange) -> [Value; 14] {
    let template = of.template.as_ref();
    [
        tenant.id.into(),
        of.code.clone().into(),
        of.title.clone().into(),
        of.group.clone().into(),
        of.read_policy.into(),
        of.mandatory.into(),
        of.ttl_seconds.into(),
        of.position.into(),
        template.map(|template| template.title.clone()).into(),
        template.and_then(|template| template.body.clone()).into(),
        template.and_then(|template| template.link.clone()).into(),
        of.icon.clone().into(),
        of.ui.as_ref().map(ToString::to_string).into(),
        of.users_may_send.into(),
    ]
}

fn delivery_rule_from_row(row: delivery_rule::Model) -> Result<DeliveryRule> {
    let wechat = |(id, fields): (String, String)| {
        let fields = serde_json::from_str(&fields).map_err(Error::internal)?;
        Ok::<_, Error>(WeChatTemplate { id, fields, link: row.wechat_link })
    };
    let letter = EmailTemplate { subject: row.letter_subject, text: row.letter_text, html: row.letter_html };
    Ok(DeliveryRule {
        kind: row.kind,
        condition: row.sends,
        delay_seconds: row.delay_seconds,
        digest: row.digest,
        letter: (letter != EmailTemplate::default()).then_some(letter),
        wechat: row.wechat_template.zip(row.wechat_fields).map(wechat).transpose()?,
    })
}

/// Without its delivery rules.
fn type_from_row(row: message_type::Model) -> Result<MessageType> {
    let (body, link) = (row.template_body, row.template_link);
    let ui = row.ui.map(|ui| serde_json::from_str(&ui)).transpose().map_err(Error::internal)?;
    Ok(MessageType {
        id: row.id,
        code: row.code,
        title: row.title,
        group: row.group_label,
        read_policy: row.read_policy,
        mandatory: row.mandatory,
        users_may_send: row.users_may_send,
        ttl_seconds: row.ttl_seconds,
        position: row.position,
        template: row.template_title.map(|title| ItemTemplate { title, body, link }),
        icon: row.icon,
        ui,
        delivery: Vec::new(),
    })
}
