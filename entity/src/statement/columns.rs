//! Rows that are read by column position.
//!
//! Reading a row by column name is slow: each value is looked up among the names, and each NULL first formats the text
//! of an error. So types that are read in every request list their SELECT expressions once, and are read in that order.

use sea_orm::sqlx::{self, Row, ValueRef};
use sea_orm::{DbErr, QueryResult, RuntimeErr};

use crate::ids::{Seq, TypeId, UserId};
use crate::inbox_item::ItemState;
use crate::notification::NotificationKind;

/// A type that is read from consecutive columns.
pub trait FromColumns: Sized {
    /// The number of columns.
    const MANY: usize;

    /// Adds the columns to a SELECT.
    fn push_columns(text: &mut String);

    /// Reads the columns, starting at index `from`.
    fn read_columns(row: &QueryResult, from: usize) -> Result<Self, DbErr>;
}

/// `None` if the first column is NULL, as in a LEFT JOIN without a match.
impl<T: FromColumns> FromColumns for Option<T> {
    const MANY: usize = T::MANY;

    fn push_columns(text: &mut String) {
        T::push_columns(text);
    }

    fn read_columns(row: &QueryResult, from: usize) -> Result<Self, DbErr> {
        if is_null(row, from)? { Ok(None) } else { T::read_columns(row, from).map(Some) }
    }
}

/// The columns of both, one after the other.
impl<A: FromColumns, B: FromColumns> FromColumns for (A, B) {
    const MANY: usize = A::MANY + B::MANY;

    fn push_columns(text: &mut String) {
        A::push_columns(text);
        text.push_str(", ");
        B::push_columns(text);
    }

    fn read_columns(row: &QueryResult, from: usize) -> Result<Self, DbErr> {
        Ok((A::read_columns(row, from)?, B::read_columns(row, from + A::MANY)?))
    }
}

/// A type that is read from one column.
pub trait FromColumn: Sized {
    /// Reads the column. NULL is an error unless the type is an [`Option`].
    fn read_column(row: &QueryResult, place: usize) -> Result<Self, DbErr>;
}

impl<T: FromColumn> FromColumn for Option<T> {
    fn read_column(row: &QueryResult, place: usize) -> Result<Self, DbErr> {
        if is_null(row, place)? { Ok(None) } else { T::read_column(row, place).map(Some) }
    }
}

macro_rules! read {
    ($($of:ty),+) => {$(
        impl FromColumn for $of {
            fn read_column(row: &QueryResult, place: usize) -> Result<Self, DbErr> {
                row.try_get_by_index(place)
            }
        }
    )+};
}

read!(i32, i64, String, NotificationKind, Seq, ItemState, TypeId, UserId);

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
    is_null.map_err(unreadable_column)
}

/// The error for an unreadable column.
pub(super) fn unreadable_column(cause: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(cause.into()))
}

/// Declares a struct that implements [`FromColumns`]: each field with its SELECT expression.
#[macro_export]
macro_rules! columns {
    ($(#[$about:meta])* $sees:vis struct $name:ident {
        $($(#[$what:meta])* $shows:vis $field:ident: $of:ty = $text:literal),+ $(,)?
    }) => {
        $(#[$about])*
        $sees struct $name {
            $($(#[$what])* $shows $field: $of),+
        }

        impl $crate::statement::FromColumns for $name {
            const MANY: usize = [$($text),+].len();

            fn push_columns(text: &mut String) {
                text.push_str(concat!($(", ", $text),+).trim_start_matches(", "));
            }

            fn read_columns(row: &$crate::statement::QueryResult, from: usize) -> Result<Self, $crate::statement::DbErr> {
                let mut places = from..;
                Ok(Self { $($field: $crate::statement::FromColumn::read_column(row, places.next().unwrap_or(from))?),+ })
            }
        }
    };
}
