//! Whose rows a statement is about: what is a tenant's or a user's is looked for as theirs.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DeleteMany, EntityTrait, QueryFilter, Select, UpdateMany};

use crate::ids::{TenantId, UserId};

/// Tables of which each row is a tenant's.
pub trait OfTenant: EntityTrait {
    /// Says whose.
    const TENANT: Self::Column;

    /// SELECTs rows of a tenant.
    fn of_tenant(tenant: TenantId) -> Select<Self> {
        Self::find().filter(Self::TENANT.eq(tenant))
    }

    /// SELECTs rows that are to be found by a key of their own, as far as they are of a tenant. Without statistics PostgreSQL would think it
    /// cheaper to find them by the tenant, and read all that it has.
    fn keyed_of_tenant(tenant: TenantId) -> Select<Self> {
        let of = ExprTrait::add(Expr::col(Self::TENANT.as_column_ref()), 0);
        Self::find().filter(ExprTrait::eq(of, tenant))
    }

    /// UPDATEs rows of a tenant.
    fn update_of_tenant(tenant: TenantId) -> UpdateMany<Self> {
        Self::update_many().filter(Self::TENANT.eq(tenant))
    }

    /// DELETEs rows of a tenant.
    fn delete_of_tenant(tenant: TenantId) -> DeleteMany<Self> {
        Self::delete_many().filter(Self::TENANT.eq(tenant))
    }
}

/// Tables of which each row is a user's.
pub trait OfUser: EntityTrait {
    /// Says whose.
    const USER: Self::Column;

    /// SELECTs rows of a user.
    fn of_user(user: UserId) -> Select<Self> {
        Self::find().filter(Self::USER.eq(user))
    }

    /// UPDATEs rows of a user.
    fn update_of_user(user: UserId) -> UpdateMany<Self> {
        Self::update_many().filter(Self::USER.eq(user))
    }

    /// DELETEs rows of a user.
    fn delete_of_user(user: UserId) -> DeleteMany<Self> {
        Self::delete_many().filter(Self::USER.eq(user))
    }
}
