//! Restricts statements to the rows of one tenant or user.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DeleteMany, EntityTrait, QueryFilter, Select, UpdateMany};

use crate::ids::{TenantId, UserId};

/// Tables with rows that each belong to a tenant.
pub trait OfTenant: EntityTrait {
    /// The column with the tenant.
    const TENANT: Self::Column;

    /// SELECTs rows of a tenant.
    fn of_tenant(tenant: TenantId) -> Select<Self> {
        Self::find().filter(Self::TENANT.eq(tenant))
    }

    /// SELECTs rows by a key of their own, if they belong to the tenant. The `+ 0` keeps PostgreSQL from using an index
    /// on the tenant: without statistics it would consider that cheaper, and read all of the tenant's rows.
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

/// Tables with rows that each belong to a user.
pub trait OfUser: EntityTrait {
    /// The column with the user.
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
