//! Rows of numbers, of which PostgreSQL tells many at once.
//!
//! What a row takes on its way is more than its numbers do: a message, and a few pieces of memory. So PostgreSQL is asked for one row with an
//! array for each column.

use std::fmt::Write;

use sea_orm::sqlx::error::BoxDynError;
use sea_orm::sqlx::postgres::{PgTypeInfo, PgValueFormat, PgValueRef};
use sea_orm::sqlx::{Decode, Postgres, Row, Type};
use sea_orm::{ActiveEnum, DbErr, QueryResult};

use super::Column;
use super::columns::unread;
use crate::ids::{Seq, UserId};
use crate::inbox_item::State;

/// What is read from a row of numbers.
pub trait Numbers: Sized {
    /// How many numbers that are.
    const MANY: usize;

    /// Reads them, each of which may be NULL.
    fn of(numbers: &[Option<i64>]) -> Result<Self, DbErr>;
}

/// One after the other.
impl<A: Numbers, B: Numbers> Numbers for (A, B) {
    const MANY: usize = A::MANY + B::MANY;

    fn of(numbers: &[Option<i64>]) -> Result<Self, DbErr> {
        let (first, second) = numbers.split_at(A::MANY);
        Ok((A::of(first)?, B::of(second)?))
    }
}

/// What a number stands for.
pub trait Number: Sized {
    /// Reads it; NULL is an error, unless it is an [`Option`].
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
        let state = i16::try_from(number).map_err(|_| DbErr::Type(format!("no state is {number}")))?;
        Self::try_from_value(&state)
    }
}

/// The statement that tells the rows of `statement`, on PostgreSQL, as an array for each of so many columns.
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

/// Reads what a [`folded`] statement tells.
pub fn unfolded<T: Numbers>(row: &QueryResult) -> Result<Vec<T>, DbErr> {
    let row = row.try_as_pg_row().ok_or_else(|| DbErr::Type("rows are folded by PostgreSQL alone".into()))?;
    let mut columns = Vec::with_capacity(T::MANY);
    for place in 0..T::MANY {
        // NULL where there are no rows.
        let column: Option<Array<'_>> = row.try_get(place).map_err(unread)?;
        columns.push(column.unwrap_or_default());
    }
    let rows = columns.first().map_or(0, |column| column.many);
    let mut numbers = Vec::with_capacity(T::MANY);
    (0..rows)
        .map(|_| {
            numbers.clear();
            for column in &mut columns {
                numbers.push(column.next()?);
            }
            T::of(&numbers)
        })
        .collect()
}

/// An array of `bigint`, read where it is. (The library takes some 160 instructions for each number.)
#[derive(Default)]
struct Array<'a> {
    many: usize,
    /// Of each number its length, which is -1 for NULL, and then itself.
    bytes: &'a [u8],
}

impl Array<'_> {
    /// The next number, if it is not NULL.
    fn next(&mut self) -> Result<Option<i64>, DbErr> {
        match i32::from_be_bytes(self.take()?) {
            -1 => Ok(None),
            8 => Ok(Some(i64::from_be_bytes(self.take()?))),
            length => Err(DbErr::Type(format!("a number has {length} bytes"))),
        }
    }

    fn take<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], DbErr> {
        let taken = self.bytes.split_first_chunk();
        let (taken, rest) = taken.ok_or_else(|| DbErr::Type("an array of numbers is cut off".into()))?;
        self.bytes = rest;
        Ok(*taken)
    }
}

impl Type<Postgres> for Array<'_> {
    fn type_info() -> PgTypeInfo {
        Vec::<i64>::type_info()
    }
}

impl<'a> Decode<'a, Postgres> for Array<'a> {
    /// How PostgreSQL sends an array (`array_send`): its dimensions, whether any of it is NULL, the type of its elements, and then their
    /// number and the place of the first.
    fn decode(value: PgValueRef<'a>) -> Result<Self, BoxDynError> {
        if value.format() == PgValueFormat::Text {
            return Err("an array of numbers is sent as text".into());
        }
        let header = value.as_bytes()?.split_first_chunk::<20>();
        let Some(([0, 0, 0, 1, _, _, _, _, _, _, _, _, many @ .., _, _, _, _], bytes)) = header else {
            return Err("an array of numbers has one dimension".into());
        };
        Ok(Self { many: u32::from_be_bytes(*many).try_into()?, bytes })
    }
}

/// Reads rows that are told one by one.
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

/// Declares [`columns!`](crate::columns) that are [`Numbers`], too.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_read_to_its_end_and_no_further() {
        let (null, seven) = ([0xff; 4], [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]);
        let minus = [0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
        let bytes = [&null[..], &seven, &minus].concat();
        let mut array = Array { many: 3, bytes: &bytes };
        assert_eq!([(); 3].map(|()| array.next()), [Ok(None), Ok(Some(7)), Ok(Some(-2))]);
        assert!(array.next().is_err());
        // Of another length, or cut off.
        for bytes in [&[0, 0, 0, 4, 0, 0, 0, 7][..], &seven[..11], &null[..3]] {
            assert!(Array { many: 1, bytes }.next().is_err());
        }
    }
}
