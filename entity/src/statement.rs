//! Additions to SeaORM's query builder.

mod columns;
mod count;
mod list;
mod lock;
mod numbers;
mod rows;
mod scope;
mod version;

pub use columns::{FromColumn, FromColumns};
pub use count::CountRows;
pub use list::{InList, LIST, array_value, pad_list};
pub use lock::LockRows;
pub use numbers::{FromNumber, FromNumbers, fold_into_arrays, read_arrays, read_rows};
pub use rows::{ExistingRows, insert};
pub use scope::{OfTenant, OfUser};
#[doc(hidden)]
pub use sea_orm::{DbErr, QueryResult};
pub use version::next_version;
