//! Lists in statements, written so that these stay prepared whatever the lists' lengths.

use sea_orm::sea_query::extension::postgres::PgFunc;
use sea_orm::sea_query::{ArrayType, Expr, ExprTrait, Nullable};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, Value};

/// The most entries of a list in a statement, and of the rows that a list is read for: longer ones go in several statements.
///
/// Several such lists stay below SQLite's 32,766 values, and MariaDB turns a longer one into a table of its own.
pub const LIST: usize = 1000;

/// The most ids that PostgreSQL is not given as an array: it takes an array, whatever is in it, for one of ten, and one or two
/// ids are read in other ways than ten.
const LISTED: usize = 16;

/// Conditions over lists.
pub trait Among: ColumnTrait {
    /// That the column is one of these, of which there are at most [`LIST`]. None at all matches nothing.
    fn among<T>(self, db: &impl ConnectionTrait, values: &[T]) -> Expr
    where
        T: Clone + Into<Value> + Nullable,
    {
        match array(db.get_database_backend(), values) {
            Some(array) => Expr::col(self.as_column_ref()).eq(PgFunc::any(Expr::val(array))),
            None => self.is_in(padded(values)),
        }
    }
}

impl<C: ColumnTrait> Among for C {}

/// The values of a list, the last one repeated, so that a statement's text depends on how many there are only by powers of two.
/// None at all is a single NULL, which matches nothing.
pub fn padded<T: Clone + Into<Value> + Nullable>(values: &[T]) -> Vec<Value> {
    debug_assert!(values.len() <= LIST, "a list of {} values", values.len());
    let Some(last) = values.last() else { return vec![T::null()] };
    let places = values.len().next_power_of_two().min(LIST.max(values.len()));
    (0..places).map(|place| values.get(place).unwrap_or(last).clone().into()).collect()
}

/// The values as one array, where the database takes many numbers so.
pub fn array<T: Clone + Into<Value>>(backend: DbBackend, values: &[T]) -> Option<Value> {
    debug_assert!(values.len() <= LIST, "a list of {} values", values.len());
    if backend != DbBackend::Postgres || values.len() <= LISTED {
        return None;
    }
    let values: Vec<Value> = values.iter().cloned().map(Into::into).collect();
    let are_numbers = values.iter().all(|value| matches!(value, Value::BigInt(_)));
    are_numbers.then(|| Value::Array(ArrayType::BigInt, Some(Box::new(values))))
}
