//! Rows of numbers, which PostgreSQL returns many at once.
//!
//! A row costs more in transit (a protocol message and a few allocations) than its numbers do. So PostgreSQL returns
//! one row with an array for each column.

use std::fmt::Write;

use sea_orm::sqlx::Row;
use sea_orm::{ActiveEnum, DbErr, QueryResult};

use super::FromColumn;
use super::columns::unreadable_column;
use crate::ids::{Seq, UserId};
use crate::inbox_item::ItemState;

/// A type that is read from a row of numbers.
pub trait FromNumbers: Sized {
    /// How many numbers it needs.
    const MANY: usize;

    /// Reads the numbers. Each may be NULL.
    fn from_numbers(numbers: &[Option<i64>]) -> Result<Self, DbErr>;
}

/// The numbers of both, one after the other.
impl<A: FromNumbers, B: FromNumbers> FromNumbers for (A, B) {
    const MANY: usize = A::MANY + B::MANY;

    fn from_numbers(numbers: &[Option<i64>]) -> Result<Self, DbErr> {
        let (first, second) = numbers.split_at(A::MANY);
        Ok((A::from_numbers(first)?, B::from_numbers(second)?))
    }
}

/// A type that is read from one number.
pub trait FromNumber: Sized {
    /// Reads the number. NULL is an error unless the type is an [`Option`].
    fn from_number(number: Option<i64>) -> Result<Self, DbErr>;
}

impl<T: FromNumber> FromNumber for Option<T> {
    fn from_number(number: Option<i64>) -> Result<Self, DbErr> {
        number.map(|number| T::from_number(Some(number))).transpose()
    }
}

impl FromNumber for i64 {
    fn from_number(number: Option<i64>) -> Result<Self, DbErr> {
        number.ok_or_else(|| DbErr::Type("a number is NULL".into()))
    }
}

impl FromNumber for Seq {
    fn from_number(number: Option<i64>) -> Result<Self, DbErr> {
        i64::from_number(number).map(Self)
    }
}

impl FromNumber for UserId {
    fn from_number(number: Option<i64>) -> Result<Self, DbErr> {
        i64::from_number(number).map(Self)
    }
}

impl FromNumber for ItemState {
    fn from_number(number: Option<i64>) -> Result<Self, DbErr> {
        let number = i64::from_number(number)?;
        let state = i16::try_from(number).map_err(|_| DbErr::Type(format!("{number} is not a state")))?;
        Self::try_from_value(&state)
    }
}

/// Wraps `statement`, on PostgreSQL, so that it returns one row with an array for each of its `columns`.
pub fn fold_into_arrays(statement: &str, columns: usize) -> String {
    let mut text = String::with_capacity(statement.len() + 64 * columns);
    for place in 0..columns {
        let before = if place == 0 { "SELECT" } else { "," };
        let _ = write!(text, "{before} array_agg(c{place}::bigint)");
    }
    let _ = write!(text, " FROM ({statement}) folded (");
    for place in 0..columns {
        let before = if place == 0 { "" } else { ", " };
        let _ = write!(text, "{before}c{place}");
    }
    text.push(')');
    text
}

/// Reads the row of a [`fold_into_arrays`] statement.
pub fn read_arrays<T: FromNumbers>(row: &QueryResult) -> Result<Vec<T>, DbErr> {
    let row = row.try_as_pg_row().ok_or_else(|| DbErr::Type("only PostgreSQL folds rows".into()))?;
    let mut columns = Vec::with_capacity(T::MANY);
    for place in 0..T::MANY {
        // NULL if there are no rows.
        let column: Option<Vec<Option<i64>>> = row.try_get(place).map_err(unreadable_column)?;
        columns.push(column.unwrap_or_default());
    }
    let rows = columns.first().map_or(0, Vec::len);
    let mut numbers = Vec::with_capacity(T::MANY);
    (0..rows)
        .map(|row| {
            numbers.clear();
            numbers.extend(columns.iter().map(|column| column.get(row).copied().flatten()));
            T::from_numbers(&numbers)
        })
        .collect()
}

/// Reads ordinary rows of numbers.
pub fn read_rows<T: FromNumbers>(rows: &[QueryResult]) -> Result<Vec<T>, DbErr> {
    let mut numbers = Vec::with_capacity(T::MANY);
    rows.iter()
        .map(|row| {
            numbers.clear();
            for place in 0..T::MANY {
                numbers.push(Option::<i64>::read_column(row, place)?);
            }
            T::from_numbers(&numbers)
        })
        .collect()
}

/// Declares [`columns!`](crate::columns) that also implement [`FromNumbers`].
#[macro_export]
macro_rules! numbers {
    ($(#[$about:meta])* $sees:vis struct $name:ident {
        $($(#[$what:meta])* $shows:vis $field:ident: $of:ty = $text:literal),+ $(,)?
    }) => {
        $crate::columns! {
            $(#[$about])*
            $sees struct $name {
                $($(#[$what])* $shows $field: $of = $text),+
            }
        }

        impl $crate::statement::FromNumbers for $name {
            const MANY: usize = <Self as $crate::statement::FromColumns>::MANY;

            fn from_numbers(numbers: &[Option<i64>]) -> Result<Self, $crate::statement::DbErr> {
                let mut numbers = numbers.iter().copied();
                Ok(Self { $($field: $crate::statement::FromNumber::from_number(numbers.next().flatten())?),+ })
            }
        }
    };
}
