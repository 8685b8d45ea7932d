//! What statements over the tables are written with, besides SeaORM's own words.

mod count;
mod list;
mod lock;
mod rows;
mod scope;

pub use count::Count;
pub use list::{Among, LIST, array, padded};
pub use lock::Lock;
pub use rows::{Existing, insert};
pub use scope::{OfTenant, OfUser};
