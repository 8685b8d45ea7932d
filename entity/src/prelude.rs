//! Traits for writing statements over entities.

pub use sea_orm::sea_query::Expr;
pub use sea_orm::{
    ColumnTrait, ConnectionTrait, DerivePartialModel, EntityTrait, FromQueryResult, JoinType, QueryFilter, QueryOrder,
    QuerySelect, RelationTrait, Set, Value,
};

pub use crate::statement::{Among, Columns, Count, Existing, LIST, Lock, OfTenant, OfUser, insert, next_version};
