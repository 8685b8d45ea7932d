//! Who is calling.

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

/// What tells a caller from all others: the tenant, the role, and the name in the token.
pub type Who = (TenantId, Role, String);

/// The caller of a request, as their token says.
#[derive(Clone, Debug)]
pub struct Viewer {
    pub tenant: Arc<Tenant>,
    pub role: Role,
    /// The partner's id of the user; of services and operators, a name.
    pub sub: String,
    /// From what kind of address they call.
    pub origin: Origin,
}

impl Viewer {
    /// The caller behind a token that was verified. Their tenant is made if this is its first mention.
    pub async fn of(app: &App, claims: Claims) -> Result<Self> {
        Self::named(app, &claims.tenant, claims.role, &claims.sub).await
    }

    /// A caller whom somebody else vouches for, such as an application in which Tidings is mounted. `BAD_USER_INPUT` where
    /// no token could name them so.
    pub async fn named(app: &App, tenant: &str, role: Role, sub: &str) -> Result<Self> {
        check::code("tenant", tenant)?;
        check::code("sub", sub)?;
        Ok(Self { tenant: tenant::named(app, tenant).await?, role, sub: sub.to_owned(), origin: Origin::Unknown })
    }

    /// The same caller, whose tenant is found again where the database is another one by now.
    pub async fn renewed(&self, app: &App) -> Result<Self> {
        if self.tenant.era == app.db.fence.era() {
            return Ok(self.clone());
        }
        Ok(Self { tenant: tenant::named(app, &self.tenant.code).await?, ..self.clone() })
    }

    /// What tells them from all others.
    pub fn who(&self) -> Who {
        (self.tenant.id, self.role, self.sub.clone())
    }

    /// Whose transactions a request of theirs begins.
    pub fn party(&self) -> Party {
        match self.role {
            Role::User => Party::user(self.tenant.id, &self.sub),
            Role::Service | Role::Admin => Party::tenant(self.tenant.id),
        }
    }
}
