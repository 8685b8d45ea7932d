//! Rows of numbers, which PostgreSQL returns many at once.
//!
//! A row costs more in transit (a protocol message and a few allocations) than its numbers do. So PostgreSQL returns
//! one row with an array for each column.

use std::fmt::Write;

use sea_orm::sqlx::Row;
use sea_orm::{ActiveEnum, DbErr, QueryResult};

use super::Column;
use super::columns::unread;
use crate::ids::{Seq, UserId};
use crate::inbox_item::State;

/// A type that is read from a row of numbers.
pub trait Numbers: Sized {
    /// How many numbers it needs.
    const MANY: usize;

    /// Reads the numbers. Each may be NULL.
    fn of(numbers: &[Option<i64>]) -> Result<Self, DbErr>;
}

/// The numbers of both, one after the other.
impl<A: Numbers, B: Numbers> Numbers for (A, B) {
    const MANY: usize = A::MANY + B::MANY;

    fn of(numbers: &[Option<i64>]) -> Result<Self, DbErr> {
        let (first, second) = numbers.split_at(A::MANY);
        Ok((A::of(first)?, B::of(second)?))
    }
}

/// A type that is read from one number.
pub trait Number: Sized {
    /// Reads the number. NULL is an error unless the type is an [`Option`].
    fn of(number: Option<i64>) -> Result<Self, DbErr>;
}

impl<T: Number> Number for Option<T> {
    fn of(number: Option<i64>) -> Result<Self, DbErr> {
        number.map(|number| T::of(Some(number))).transpose()
    }
}

impl Number for i64 {
    fn of(number: Option<i64>) -> Result<Self, DbErr> {
        number.ok_or_else(|| DbErr::Type("a number is NULL".into()))
    }
}

impl Number for Seq {
    fn of(number: Option<i64>) -> Result<Self, DbErr> {
        i64::of(number).map(Self)
    }
}

impl Number for UserId {
    fn of(number: Option<i64>) -> Result<Self, DbErr> {
        i64::of(number).map(Self)
    }
}

impl Number for State {
    fn of(number: Option<i64>) -> Result<Self, DbErr> {
        let number = i64::of(number)?;
        let state = i16::try_from(number).map_err(|_| DbErr::Type(format!("{number} is not a state")))?;
        Self::try_from_value(&state)
    }
}

/// Wraps `statement`, on PostgreSQL, so that it returns one row with an array for each of its `columns`.
pub fn folded(statement: &str, columns: usize) -> String {
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

/// Reads the row of a [`folded`] statement.
pub fn unfolded<T: Numbers>(row: &QueryResult) -> Result<Vec<T>, DbErr> {
    let row = row.try_as_pg_row().ok_or_else(|| DbErr::Type("only PostgreSQL folds rows".into()))?;
    let mut columns = Vec::with_capacity(T::MANY);
    for place in 0..T::MANY {
        // NULL if there are no rows.
        let column: Option<Vec<Option<i64>>> = row.try_get(place).map_err(unread)?;
        columns.push(column.unwrap_or_default());
    }
    let rows = columns.first().map_or(0, Vec::len);
    let mut numbers = Vec::with_capacity(T::MANY);
    (0..rows)
        .map(|row| {
            numbers.clear();
            numbers.extend(columns.iter().map(|column| column.get(row).copied().flatten()));
            T::of(&numbers)
        })
        .collect()
}

/// Reads ordinary rows of numbers.
pub fn one_by_one<T: Numbers>(rows: &[QueryResult]) -> Result<Vec<T>, DbErr> {
    let mut numbers = Vec::with_capacity(T::MANY);
    rows.iter()
        .map(|row| {
            numbers.clear();
            for place in 0..T::MANY {
                numbers.push(Option::<i64>::get(row, place)?);
            }
            T::of(&numbers)
        })
        .collect()
}

/// Declares [`columns!`](crate::columns) that also implement [`Numbers`].
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

        impl $crate::statement::Numbers for $name {
            const MANY: usize = <Self as $crate::statement::Columns>::MANY;

            fn of(numbers: &[Option<i64>]) -> Result<Self, $crate::statement::DbErr> {
                let mut numbers = numbers.iter().copied();
                Ok(Self { $($field: $crate::statement::Number::of(numbers.next().flatten())?),+ })
            }
        }
    };
}
