//! Lists in statements, written so that a statement stays prepared for lists of any length.

use sea_orm::sea_query::extension::postgres::PgFunc;
use sea_orm::sea_query::{ArrayType, Expr, ExprTrait, Nullable};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, Value};

/// Maximum length of a list in a statement, and of the rows that a list is read for. Longer lists take several
/// statements.
///
/// Several such lists stay below SQLite's limit of 32,766 values, and MariaDB turns a longer list into a temporary
/// table.
pub const LIST: usize = 1000;

/// On PostgreSQL, longer lists of ids are sent as an array. The planner assumes ten elements for any array, and one or
/// two ids need a different plan than ten.
const LISTED: usize = 16;

/// Conditions over lists.
pub trait InList: ColumnTrait {
    /// Whether the column is one of these values. At most [`LIST`] are allowed; an empty list matches nothing.
    fn is_in_list<T>(self, db: &impl ConnectionTrait, values: &[T]) -> Expr
    where
        T: Clone + Into<Value> + Nullable,
    {
        match array_value(db.get_database_backend(), values) {
            Some(array) => Expr::col(self.as_column_ref()).eq(PgFunc::any(Expr::val(array))),
            None => self.is_in(pad_list(values)),
        }
    }
}

impl<C: ColumnTrait> InList for C {}

/// The values of a list, padded with the last one to a power of two, so that few different statements occur. An empty
/// list becomes a single NULL, which matches nothing.
pub fn pad_list<T: Clone + Into<Value> + Nullable>(values: &[T]) -> Vec<Value> {
    debug_assert!(values.len() <= LIST, "a list of {} values", values.len());
    let Some(last) = values.last() else { return vec![T::null()] };
    let places = values.len().next_power_of_two().min(LIST.max(values.len()));
    (0..places).map(|place| values.get(place).unwrap_or(last).clone().into()).collect()
}

/// The values as one array, if they are many numbers and the database is PostgreSQL.
pub fn array_value<T: Clone + Into<Value>>(backend: DbBackend, values: &[T]) -> Option<Value> {
    debug_assert!(values.len() <= LIST, "a list of {} values", values.len());
    if backend != DbBackend::Postgres || values.len() <= LISTED {
        return None;
    }
    let values: Vec<Value> = values.iter().cloned().map(Into::into).collect();
    let are_numbers = values.iter().all(|value| matches!(value, Value::BigInt(_)));
    are_numbers.then(|| Value::Array(ArrayType::BigInt, Some(Box::new(values))))
}
