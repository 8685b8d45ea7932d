//! Traits for writing statements over entities.

pub use sea_orm::sea_query::Expr;
pub use sea_orm::{
    ColumnTrait, ConnectionTrait, DerivePartialModel, EntityTrait, FromQueryResult, JoinType, QueryFilter, QueryOrder,
    QuerySelect, RelationTrait, Set, Value,
};

pub use crate::statement::{
    CountRows, ExistingRows, FromColumns, InList, LIST, LockRows, OfTenant, OfUser, insert, next_version,
};
