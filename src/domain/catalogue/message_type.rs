//! Message types: categories of notifications, tabs of the inbox.

use entity::default_preference::{self, Entity as DefaultPreference};
use entity::message_type::{self, Column, Entity as Type};
use entity::preference::{self, Entity as Preference, Scope};
use entity::prelude::*;
use entity::user::{self, Entity as User};
use sea_orm::QueryTrait;

use super::statement;
use super::version::raise_version;
use crate::app::App;
use crate::database::transaction;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::catalogue::{MessageType, TYPES};
use crate::model::check;
use crate::model::template::Template;

/// What `save` makes of a type: all of it, for what is left out goes back to its default.
pub type TypeChange = MessageType;

/// Makes a type or changes the one with this code. `id` does not count.
///
/// A ttl counts for what is sent afterwards; a template for everything that is read afterwards.
pub async fn save(app: &App, tenant: &Tenant, change: &TypeChange) -> Result<()> {
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
    ];
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let existing = Existing::Merged { key: &columns[..2], raised: &[], replaced: &columns[2..] };
        insert(txn, columns, vec![row(tenant, change)], existing).await?;
        let many = Type::of_tenant(tenant.id).count_rows(txn).await?;
        if usize::try_from(many).unwrap_or(usize::MAX) > TYPES {
            return Err(Error::Conflict(format!("a tenant has at most {TYPES} message types")));
        }
        Ok(())
    })
}

/// Takes a type out of the catalogue; false where there is none.
///
/// A type under which something was sent stays (`CONFLICT`), for its items would belong nowhere. Raising the
/// version first holds the tenant's row, so that no send can come in between.
pub async fn delete(app: &App, tenant: &Tenant, code: &str) -> Result<bool> {
    check::code("code", code)?;
    transaction!(app.db, |txn| {
        raise_version(txn, tenant).await?;
        let Some(found) = statement::named(txn, tenant, code).await? else { return Ok(false) };
        if found.used == 1 {
            let message = format!("notifications of the message type {code:?} exist, so that it cannot be deleted");
            return Err(Error::Conflict(message));
        }
        let defaults = DefaultPreference::delete_of_tenant(tenant.id);
        let defaults = defaults.filter(default_preference::Column::Scope.eq(Scope::Type));
        defaults.filter(default_preference::Column::SubjectId.eq(found.id)).exec(txn).await?;
        let users = User::of_tenant(tenant.id).select_only().column(user::Column::Id).into_query();
        let own = Preference::delete_many().filter(preference::Column::UserId.in_subquery(users));
        let own = own.filter(preference::Column::Scope.eq(Scope::Type));
        own.filter(preference::Column::SubjectId.eq(found.id)).exec(txn).await?;
        Ok(Type::delete_by_id(found.id).exec(txn).await?.rows_affected > 0)
    })
}

/// All of a tenant's, in no order.
pub(super) async fn all(app: &App, tenant: &Tenant) -> Result<Vec<MessageType>> {
    Ok(Type::of_tenant(tenant.id).all(&app.db.read).await?.into_iter().map(MessageType::from).collect())
}

fn row(tenant: &Tenant, of: &TypeChange) -> [Value; 11] {
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
    ]
}

impl From<message_type::Model> for MessageType {
    fn from(row: message_type::Model) -> Self {
        let (body, link) = (row.template_body, row.template_link);
        Self {
            id: row.id,
            code: row.code,
            title: row.title,
            group: row.group_label,
            read_policy: row.read_policy,
            mandatory: row.mandatory,
            ttl_seconds: row.ttl_seconds,
            position: row.position,
            template: row.template_title.map(|title| Template { title, body, link }),
        }
    }
}
