//! The caller.

use std::sync::Arc;

use entity::ids::TenantId;

use crate::app::App;
use crate::auth::{Claims, Role};
use crate::database::Party;
use crate::domain::tenant;
use crate::error::Result;
use crate::model::actor::Origin;
use crate::model::check;
use crate::model::tenant::Tenant;

/// The identity of a caller: the tenant, the role, and the name in the token.
pub type Who = (TenantId, Role, String);

/// The caller of a request, according to the token.
#[derive(Clone, Debug)]
pub struct Viewer {
    pub tenant: Arc<Tenant>,
    pub role: Role,
    /// The external id of a user, or the name of a service or an operator.
    pub sub: String,
    /// Network class of the caller's address.
    pub origin: Origin,
}

impl Viewer {
    /// The caller of a verified token. Creates the tenant at its first mention.
    pub async fn of(app: &App, claims: Claims) -> Result<Self> {
        Self::named(app, &claims.tenant, claims.role, &claims.sub).await
    }

    /// A caller that the embedding application vouches for. `BAD_USER_INPUT` if no token could contain these names.
    pub async fn named(app: &App, tenant: &str, role: Role, sub: &str) -> Result<Self> {
        check::code("tenant", tenant)?;
        check::code("sub", sub)?;
        Ok(Self { tenant: tenant::named(app, tenant).await?, role, sub: sub.to_owned(), origin: Origin::Unknown })
    }

    /// The same caller. Looks the tenant up again if the database was replaced since.
    pub async fn renewed(&self, app: &App) -> Result<Self> {
        if self.tenant.era == app.db.fence.era() {
            return Ok(self.clone());
        }
        Ok(Self { tenant: tenant::named(app, &self.tenant.code).await?, ..self.clone() })
    }

    /// The identity of the caller.
    pub fn who(&self) -> Who {
        (self.tenant.id, self.role, self.sub.clone())
    }

    /// The party that the caller's transactions count for in the fair-share limiter.
    pub fn party(&self) -> Party {
        match self.role {
            Role::User => Party::user(self.tenant.id, &self.sub),
            Role::Service | Role::Admin => Party::tenant(self.tenant.id),
        }
    }
}
