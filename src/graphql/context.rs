//! The caller of a request, and what they may do.

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

/// A request as resolvers see it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub app: &'a Arc<App>,
    pub viewer: &'a Viewer,
    pub tenant: &'a Arc<Tenant>,
}

/// Number of different names.
pub fn different(names: &[String]) -> usize {
    names.iter().collect::<HashSet<_>>().len()
}

/// Tenants' backends and operators.
pub const STAFF: &[Role] = &[Role::Service, Role::Admin];
/// Operators.
pub const ADMIN: &[Role] = &[Role::Admin];

impl<'a> Call<'a> {
    /// The call of the current request.
    pub fn of(ctx: &'a Context<'_>) -> Self {
        let viewer = ctx.data_unchecked::<Viewer>();
        Self { app: ctx.data_unchecked::<Arc<App>>(), viewer, tenant: &viewer.tenant }
    }

    /// The same, but `FORBIDDEN` for callers without one of these roles.
    pub fn by(ctx: &'a Context<'_>, roles: &[Role]) -> Result<Self> {
        let call = Self::of(ctx);
        if roles.contains(&call.viewer.role) {
            return Ok(call);
        }
        let roles: Vec<String> = roles.iter().map(ToString::to_string).collect();
        let message = format!("this needs a token of the role {}, not {}", roles.join(" or "), call.viewer.role);
        Err(Error::Forbidden(message))
    }

    /// Runs `work`, which creates `things` permanent objects, and counts them. `RATE_LIMITED` for users beyond their
    /// daily quota.
    pub async fn making<T>(self, ctx: &Context<'_>, things: usize, work: BoxFuture<'_, Result<T>>) -> Result<T> {
        ctx.data_unchecked::<Rates>().making(self.app, self.viewer, things, work).await
    }

    /// The party that the call acts for. It owns idempotency keys and created objects.
    pub fn on_behalf(&self) -> By<'a> {
        match self.viewer.role {
            Role::User => By::User(&self.viewer.sub),
            Role::Service | Role::Admin => By::Partner,
        }
    }

    /// The caller as the audit log names them; `None` for users, who act only for themselves.
    pub fn actor(&self) -> Option<Actor> {
        let staff = match self.viewer.role {
            Role::User => return None,
            Role::Service => Staff::Service,
            Role::Admin => Staff::Admin,
        };
        Some(Actor { staff, origin: self.viewer.origin, name: self.viewer.sub.clone() })
    }

    /// Starts the audit entry of the mutation of `ctx`: the first transaction that changes something writes it. Does
    /// nothing for users.
    pub fn audits<S: ToString>(self, ctx: &Context<'_>, kind: Subject, subjects: &[S]) -> Self {
        self.audits_many(ctx, (kind, subjects), 1)
    }

    /// The same for a mutation of several things or users.
    pub fn audits_many<S: ToString>(self, ctx: &Context<'_>, (kind, subjects): (Subject, &[S]), count: usize) -> Self {
        if let Some(act) = self.act(ctx, kind, subjects) {
            Act { count: i64::try_from(count).unwrap_or(i64::MAX), ..act }.begins();
        }
        self
    }

    /// The audit entry of the field of `ctx`, with these subjects.
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

    /// The user of a call, created at the first mention. Users can name only themselves, and need not; others must name
    /// one.
    pub async fn subject(self, field: &str, named: Option<&ID>) -> Result<UserId> {
        user::mention_one(self.app, self.tenant, field, self.named(field, named)?).await
    }

    /// The user of a call that creates no user; `None` if the tenant does not know them. USER's own token makes them
    /// known.
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

    /// The id of the user of a call.
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
            (_, None) => Err(Error::bad_input(field, "is required, because the token is not a user's")),
        }
    }
}
