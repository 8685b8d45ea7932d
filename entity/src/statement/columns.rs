//! Rows that are read by the places of their columns.
//!
//! By the names of its columns a row is read slowly: each value is looked for among them, and each that is NULL makes the text of an error
//! first. So what is read with every request says once what a statement selects for it, and is read in that order.

use sea_orm::sqlx::{self, Row, ValueRef};
use sea_orm::{DbErr, QueryResult, RuntimeErr};

use crate::ids::{Seq, TypeId, UserId};
use crate::inbox_item::State;
use crate::notification::Kind;

/// What a statement selects, and what is read from that.
pub trait Columns: Sized {
    /// How many columns it has.
    const MANY: usize;

    /// Adds them to a SELECT.
    fn write(text: &mut String);

    /// Reads them, of which the first has this place.
    fn read(row: &QueryResult, from: usize) -> Result<Self, DbErr>;
}

/// Nothing where the first column is NULL: a LEFT JOIN has found nothing.
impl<T: Columns> Columns for Option<T> {
    const MANY: usize = T::MANY;

    fn write(text: &mut String) {
        T::write(text);
    }

    fn read(row: &QueryResult, from: usize) -> Result<Self, DbErr> {
        if is_null(row, from)? { Ok(None) } else { T::read(row, from).map(Some) }
    }
}

/// One after the other.
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

/// What is in one column.
pub trait Column: Sized {
    /// Reads it; NULL is an error, unless it is an [`Option`].
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

/// What it means that a column cannot be read.
pub(super) fn unread(cause: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(cause.into()))
}

/// Declares [`Columns`] as a struct: each field with what a statement selects for it.
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
