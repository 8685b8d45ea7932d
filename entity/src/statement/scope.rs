//! Whose rows a statement is about: what is a tenant's or a user's is looked for as theirs.

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
