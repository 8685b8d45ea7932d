//! Who is calling, and what they may do.

use std::collections::HashSet;
use std::sync::Arc;

use async_graphql::{Context, ID};
use entity::audit_entry::Subject;
use entity::ids::UserId;
use futures_util::future::BoxFuture;

use super::admission::Rates;
use super::viewer::Viewer;
use crate::app::App;
use crate::auth::Role;
use crate::database::Act;
use crate::domain::tenant::Tenant;
use crate::domain::user::{self, By};
use crate::error::{Error, Result};
use crate::model::actor::{Actor, Staff};
use crate::model::check;

/// What a resolver works with.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub app: &'a Arc<App>,
    pub viewer: &'a Viewer,
    pub tenant: &'a Arc<Tenant>,
}

/// How many there are, where one is named more than once.
pub fn different(names: &[String]) -> usize {
    names.iter().collect::<HashSet<_>>().len()
}

/// Partners' backends and operators.
pub const STAFF: &[Role] = &[Role::Service, Role::Admin];
/// Operators.
pub const ADMIN: &[Role] = &[Role::Admin];

impl<'a> Call<'a> {
    /// Of the request under way.
    pub fn of(ctx: &'a Context<'_>) -> Self {
        let viewer = ctx.data_unchecked::<Viewer>();
        Self { app: ctx.data_unchecked::<Arc<App>>(), viewer, tenant: &viewer.tenant }
    }

    /// The same, for callers of some roles only; `FORBIDDEN` for the others.
    pub fn by(ctx: &'a Context<'_>, roles: &[Role]) -> Result<Self> {
        let call = Self::of(ctx);
        if roles.contains(&call.viewer.role) {
            return Ok(call);
        }
        let roles: Vec<String> = roles.iter().map(ToString::to_string).collect();
        let message = format!("this needs a token of the role {}, not {}", roles.join(" or "), call.viewer.role);
        Err(Error::Forbidden(message))
    }

    /// Makes something that stays, and counts so much of it; `RATE_LIMITED` for users who have made enough for a day.
    pub async fn making<T>(self, ctx: &Context<'_>, things: usize, work: BoxFuture<'_, Result<T>>) -> Result<T> {
        ctx.data_unchecked::<Rates>().making(self.app, self.viewer, things, work).await
    }

    /// On whose behalf the call is: keys and what is made belong to them.
    pub fn on_behalf(&self) -> By<'a> {
        match self.viewer.role {
            Role::User => By::User(&self.viewer.sub),
            Role::Service | Role::Admin => By::Partner,
        }
    }

    /// Who is calling, as the audit log names them; nothing where it is a user, whose doings concern themselves.
    pub fn actor(&self) -> Option<Actor> {
        let staff = match self.viewer.role {
            Role::User => return None,
            Role::Service => Staff::Service,
            Role::Admin => Staff::Admin,
        };
        Some(Actor { staff, origin: self.viewer.origin, name: self.viewer.sub.clone() })
    }

    /// From here on the mutation of `ctx` is done to this, and is in the audit log with the first of its transactions that changes
    /// anything. Nothing where a user calls.
    pub fn audits<S: ToString>(self, ctx: &Context<'_>, kind: Subject, subjects: &[S]) -> Self {
        self.audits_many(ctx, (kind, subjects), 1)
    }

    /// The same for what is about so many things or users.
    pub fn audits_many<S: ToString>(self, ctx: &Context<'_>, (kind, subjects): (Subject, &[S]), count: usize) -> Self {
        if let Some(act) = self.act(ctx, kind, subjects) {
            Act { count: i64::try_from(count).unwrap_or(i64::MAX), ..act }.begins();
        }
        self
    }

    /// What is done by the field of `ctx`, to this.
    pub fn act<S: ToString>(&self, ctx: &Context<'_>, kind: Subject, subjects: &[S]) -> Option<Act> {
        Some(Act {
            tenant: self.tenant.id,
            at: self.app.now(),
            actor: self.actor()?.kept(),
            action: ctx.field().name().to_owned(),
            kind,
            subjects: subjects.iter().map(ToString::to_string).collect(),
            count: 1,
            detail: None,
        })
    }

    /// The calling user; `FORBIDDEN` for services and operators, who have no inbox.
    pub async fn user(ctx: &'a Context<'_>) -> Result<(Self, UserId)> {
        let call = Self::by(ctx, &[Role::User])?;
        let user = user::mention_one(call.app, call.tenant, "sub", &call.viewer.sub).await?;
        Ok((call, user))
    }

    /// The user whom a call is about: users can name only themselves, and need not; others must name one.
    pub async fn subject(self, field: &str, named: Option<&ID>) -> Result<UserId> {
        user::mention_one(self.app, self.tenant, field, self.named(field, named)?).await
    }

    /// The user of a call that creates no user. `None` if the tenant does not know them. A user's own token makes them known.
    pub async fn known_subject(self, field: &str, named: Option<&ID>) -> Result<Option<UserId>> {
        let name = self.named(field, named)?;
        match self.viewer.role {
            Role::User => self.subject(field, named).await.map(Some),
            Role::Service | Role::Admin => self.known_user(field, name).await,
        }
    }

    /// The user with this id, if the tenant knows them. `field` is blamed for a bad id.
    pub async fn known_user(self, field: &str, name: &str) -> Result<Option<UserId>> {
        check::code(field, name)?;
        Ok(user::find(self.app, self.tenant, &[name.to_owned()]).await?.into_values().next())
    }

    /// The id of the user whom a call is about.
    pub fn named<'b>(&self, field: &str, named: Option<&'b ID>) -> Result<&'b str>
    where
        'a: 'b,
    {
        match (self.viewer.role, named) {
            (Role::User, Some(named)) if named.as_str() != self.viewer.sub => {
                Err(Error::not_found_at(field, "user", named.as_str()))
            }
            (Role::User, _) => Ok(&self.viewer.sub),
            (_, Some(named)) => Ok(named.as_str()),
            (_, None) => Err(Error::bad_input(field, "is required, for the token is not a user's")),
        }
    }
}
