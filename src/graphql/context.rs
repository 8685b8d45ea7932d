//! The caller of a request, and what they may do.

use std::collections::HashSet;
use std::sync::Arc;

use async_graphql::{Context, ID};
use entity::audit_entry::SubjectKind;
use entity::ids::{TenantId, UserId};
use futures_util::future::BoxFuture;

use super::admission::RateLimiter;
use crate::app::App;
use auth::{CallerRole, TokenClaims};
use base::error::{Error, Result};
use domain::tenant;
use domain::user::{self, PerformedBy};
use model::actor::{NetworkClass, StaffActor, StaffKind};
use model::tenant::Tenant;
use model::validate;
use store::{PendingAudit, Principal};

/// A request as resolvers see it.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    pub app: &'a Arc<App>,
    pub viewer: &'a Viewer,
    pub tenant: &'a Arc<Tenant>,
}

/// Number of different names.
pub fn distinct_count(names: &[String]) -> usize {
    names.iter().collect::<HashSet<_>>().len()
}

/// Tenants' backends and operators.
pub const STAFF: &[CallerRole] = &[CallerRole::Service, CallerRole::Admin];
/// Operators.
pub const ADMIN: &[CallerRole] = &[CallerRole::Admin];

impl<'a> CallContext<'a> {
    /// The call of the current request.
    pub fn from_context(ctx: &'a Context<'_>) -> Self {
        let viewer = ctx.data_unchecked::<Viewer>();
        Self { app: ctx.data_unchecked::<Arc<App>>(), viewer, tenant: &viewer.tenant }
    }

    /// The same, but `FORBIDDEN` for callers without one of these roles.
    pub fn with_role(ctx: &'a Context<'_>, roles: &[CallerRole]) -> Result<Self> {
        let call = Self::from_context(ctx);
        if roles.contains(&call.viewer.role) {
            return Ok(call);
        }
        let roles: Vec<String> = roles.iter().map(ToString::to_string).collect();
        let message = format!("this needs a token of the role {}, not {}", roles.join(" or "), call.viewer.role);
        Err(Error::Forbidden(message))
    }

    /// Runs `work`, which creates `things` permanent objects, and counts them. `RATE_LIMITED` for users beyond their
    /// daily quota.
    pub async fn charge_creation<T>(
        self,
        ctx: &Context<'_>,
        things: usize,
        work: BoxFuture<'_, Result<T>>,
    ) -> Result<T> {
        ctx.data_unchecked::<RateLimiter>().charge_creation(self.app, self.viewer, things, work).await
    }

    /// The party that the call acts for. It owns idempotency keys and created objects.
    pub fn acting_party(&self) -> PerformedBy<'a> {
        match self.viewer.role {
            CallerRole::User => PerformedBy::User(&self.viewer.sub),
            CallerRole::Service | CallerRole::Admin => PerformedBy::Backend,
        }
    }

    /// The caller as the audit log names them; `None` for users, who act only for themselves.
    pub fn audit_actor(&self) -> Option<StaffActor> {
        let staff = match self.viewer.role {
            CallerRole::User => return None,
            CallerRole::Service => StaffKind::Service,
            CallerRole::Admin => StaffKind::Admin,
        };
        Some(StaffActor { staff, origin: self.viewer.origin, name: self.viewer.sub.clone() })
    }

    /// Starts the audit entry of the mutation of `ctx`: the first transaction that changes something writes it. Does
    /// nothing for users.
    pub fn start_audit<S: ToString>(self, ctx: &Context<'_>, kind: SubjectKind, subjects: &[S]) -> Self {
        self.start_audit_many(ctx, (kind, subjects), 1)
    }

    /// The same for a mutation of several things or users.
    pub fn start_audit_many<S: ToString>(
        self,
        ctx: &Context<'_>,
        (kind, subjects): (SubjectKind, &[S]),
        count: usize,
    ) -> Self {
        if let Some(act) = self.pending_audit(ctx, kind, subjects) {
            PendingAudit { count: i64::try_from(count).unwrap_or(i64::MAX), ..act }.start();
        }
        self
    }

    /// The audit entry of the field of `ctx`, with these subjects.
    pub fn pending_audit<S: ToString>(
        &self,
        ctx: &Context<'_>,
        kind: SubjectKind,
        subjects: &[S],
    ) -> Option<PendingAudit> {
        Some(PendingAudit {
            tenant: self.tenant.id,
            at: self.app.now(),
            actor: self.audit_actor()?.stored_form(),
            action: ctx.field().name().to_owned(),
            kind,
            subjects: subjects.iter().map(ToString::to_string).collect(),
            count: 1,
            detail: None,
        })
    }

    /// The calling user; `FORBIDDEN` for services and operators, who have no inbox.
    pub async fn for_calling_user(ctx: &'a Context<'_>) -> Result<(Self, UserId)> {
        let call = Self::with_role(ctx, &[CallerRole::User])?;
        let user = user::find_or_create_one(call.app, call.tenant, "sub", &call.viewer.sub).await?;
        Ok((call, user))
    }

    /// The user of a call, created at the first mention. Users can name only themselves, and need not; others must name
    /// one.
    pub async fn mention_subject(self, field: &str, named: Option<&ID>) -> Result<UserId> {
        user::find_or_create_one(self.app, self.tenant, field, self.subject_name(field, named)?).await
    }

    /// The user of a call that creates no user; `None` if the tenant does not know them. USER's own token makes them
    /// known.
    pub async fn find_subject(self, field: &str, named: Option<&ID>) -> Result<Option<UserId>> {
        let name = self.subject_name(field, named)?;
        match self.viewer.role {
            CallerRole::User => self.mention_subject(field, named).await.map(Some),
            CallerRole::Service | CallerRole::Admin => self.find_user(field, name).await,
        }
    }

    /// The user with this id, if the tenant knows them. `field` is blamed for a bad id.
    pub async fn find_user(self, field: &str, name: &str) -> Result<Option<UserId>> {
        validate::identifier(field, name)?;
        Ok(user::find_existing(self.app, self.tenant, &[name.to_owned()]).await?.into_values().next())
    }

    /// The id of the user of a call.
    pub fn subject_name<'b>(&self, field: &str, named: Option<&'b ID>) -> Result<&'b str>
    where
        'a: 'b,
    {
        match (self.viewer.role, named) {
            (CallerRole::User, Some(named)) if named.as_str() != self.viewer.sub => {
                Err(Error::not_found_at(field, "user", named.as_str()))
            }
            (CallerRole::User, _) => Ok(&self.viewer.sub),
            (_, Some(named)) => Ok(named.as_str()),
            (_, None) => Err(Error::bad_input(field, "is required, because the token is not a user's")),
        }
    }
}

/// The identity of a caller: the tenant, the role, and the name in the token.
pub type CallerIdentity = (TenantId, CallerRole, String);

/// The caller of a request, according to the token.
#[derive(Clone, Debug)]
pub struct Viewer {
    pub tenant: Arc<Tenant>,
    pub role: CallerRole,
    /// The external id of a user, or the name of a service or an operator.
    pub sub: String,
    /// Network class of the caller's address.
    pub origin: NetworkClass,
}

impl Viewer {
    /// The caller of a verified token. Creates the tenant at its first mention.
    pub async fn from_claims(app: &App, claims: TokenClaims) -> Result<Self> {
        Self::with_names(app, &claims.tenant, claims.role, &claims.sub).await
    }

    /// A caller that the embedding application vouches for. `BAD_USER_INPUT` if no token could contain these names.
    pub async fn with_names(app: &App, tenant: &str, role: CallerRole, sub: &str) -> Result<Self> {
        validate::identifier("tenant", tenant)?;
        validate::identifier("sub", sub)?;
        Ok(Self {
            tenant: tenant::get_or_create(app, tenant).await?,
            role,
            sub: sub.to_owned(),
            origin: NetworkClass::Unknown,
        })
    }

    /// The same caller. Looks the tenant up again if the database was replaced since.
    pub async fn refresh_tenant(&self, app: &App) -> Result<Self> {
        if self.tenant.era == app.db.fence.era() {
            return Ok(self.clone());
        }
        Ok(Self { tenant: tenant::get_or_create(app, &self.tenant.code).await?, ..self.clone() })
    }

    /// The identity of the caller.
    pub fn identity(&self) -> CallerIdentity {
        (self.tenant.id, self.role, self.sub.clone())
    }

    /// The party that the caller's transactions count for in the fair-share limiter.
    pub fn principal(&self) -> Principal {
        match self.role {
            CallerRole::User => Principal::for_user(self.tenant.id, &self.sub),
            CallerRole::Service | CallerRole::Admin => Principal::for_tenant(self.tenant.id),
        }
    }
}
