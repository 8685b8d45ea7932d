//! The caller.

use std::sync::Arc;

use entity::ids::TenantId;

use crate::app::App;
use auth::{CallerRole, TokenClaims};
use base::error::Result;
use domain::tenant;
use model::actor::NetworkClass;
use model::tenant::Tenant;
use model::validate;
use store::Principal;

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
