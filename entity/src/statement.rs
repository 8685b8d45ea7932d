//! Additions to SeaORM's query builder.

mod columns;
mod count;
mod list;
mod lock;
mod numbers;
mod rows;
mod scope;
mod version;

pub use columns::{Column, Columns};
pub use count::Count;
pub use list::{Among, LIST, array, padded};
pub use lock::Lock;
pub use numbers::{Number, Numbers, folded, one_by_one, unfolded};
pub use rows::{Existing, insert};
pub use scope::{OfTenant, OfUser};
#[doc(hidden)]
pub use sea_orm::{DbErr, QueryResult};
pub use version::next_version;
