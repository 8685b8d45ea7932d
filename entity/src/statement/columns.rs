//! Rows that are read by column position.
//!
//! Reading a row by column name is slow: each value is looked up among the names, and each NULL first formats the text
//! of an error. So types that are read in every request list their SELECT expressions once, and are read in that order.

use sea_orm::sqlx::{self, Row, ValueRef};
use sea_orm::{DbErr, QueryResult, RuntimeErr};

use crate::ids::{Seq, TypeId, UserId};
use crate::inbox_item::State;
use crate::notification::Kind;

/// A type that is read from consecutive columns.
pub trait Columns: Sized {
    /// The number of columns.
    const MANY: usize;

    /// Adds the columns to a SELECT.
    fn write(text: &mut String);

    /// Reads the columns, starting at index `from`.
    fn read(row: &QueryResult, from: usize) -> Result<Self, DbErr>;
}

/// `None` if the first column is NULL, as in a LEFT JOIN without a match.
impl<T: Columns> Columns for Option<T> {
    const MANY: usize = T::MANY;

    fn write(text: &mut String) {
        T::write(text);
    }

    fn read(row: &QueryResult, from: usize) -> Result<Self, DbErr> {
        if is_null(row, from)? { Ok(None) } else { T::read(row, from).map(Some) }
    }
}

/// The columns of both, one after the other.
impl<A: Columns, B: Columns> Columns for (A, B) {
    const MANY: usize = A::MANY + B::MANY;

    fn write(text: &mut String) {
        A::write(text);
        text.push_str(", ");
        B::write(text);
    }

    fn read(row: &QueryResult, from: usize) -> Result<Self, DbErr> {
        Ok((A::read(row, from)?, B::read(row, from + A::MANY)?))
    }
}

/// A type that is read from one column.
pub trait Column: Sized {
    /// Reads the column. NULL is an error unless the type is an [`Option`].
    fn get(row: &QueryResult, place: usize) -> Result<Self, DbErr>;
}

impl<T: Column> Column for Option<T> {
    fn get(row: &QueryResult, place: usize) -> Result<Self, DbErr> {
        if is_null(row, place)? { Ok(None) } else { T::get(row, place).map(Some) }
    }
}

macro_rules! read {
    ($($of:ty),+) => {$(
        impl Column for $of {
            fn get(row: &QueryResult, place: usize) -> Result<Self, DbErr> {
                row.try_get_by_index(place)
            }
        }
    )+};
}

read!(i32, i64, String, Kind, Seq, State, TypeId, UserId);

fn is_null(row: &QueryResult, place: usize) -> Result<bool, DbErr> {
    let is_null = if let Some(row) = row.try_as_pg_row() {
        row.try_get_raw(place).map(|value| value.is_null())
    } else if let Some(row) = row.try_as_sqlite_row() {
        row.try_get_raw(place).map(|value| value.is_null())
    } else if let Some(row) = row.try_as_mysql_row() {
        row.try_get_raw(place).map(|value| value.is_null())
    } else {
        Ok(true)
    };
    is_null.map_err(unread)
}

/// The error for an unreadable column.
pub(super) fn unread(cause: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(cause.into()))
}

/// Declares a struct that implements [`Columns`]: each field with its SELECT expression.
#[macro_export]
macro_rules! columns {
    ($(#[$about:meta])* $sees:vis struct $name:ident {
        $($(#[$what:meta])* $shows:vis $field:ident: $of:ty = $text:literal),+ $(,)?
    }) => {
        $(#[$about])*
        $sees struct $name {
            $($(#[$what])* $shows $field: $of),+
        }

        impl $crate::statement::Columns for $name {
            const MANY: usize = [$($text),+].len();

            fn write(text: &mut String) {
                text.push_str(concat!($(", ", $text),+).trim_start_matches(", "));
            }

            fn read(row: &$crate::statement::QueryResult, from: usize) -> Result<Self, $crate::statement::DbErr> {
                let mut places = from..;
                Ok(Self { $($field: $crate::statement::Column::get(row, places.next().unwrap_or(from))?),+ })
            }
        }
    };
}
