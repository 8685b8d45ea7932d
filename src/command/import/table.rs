//! What the import needs to know about a kind of file.

use tidings::domain::tenant::Needs;
use tidings::error::{Error, Result};

use super::fields::Fields;

/// A kind of file.
pub trait Table: Default {
    /// A parsed line.
    type Row: Clone;
    const COLUMNS: &'static [&'static str];
    /// Parses a line. Fails if the line is invalid by itself or does not fit the line before it.
    fn read(&mut self, line: &mut Fields) -> Result<Self::Row>;
    /// Checks lines against the database; returns each error with the index of its row.
    async fn check(&mut self, needs: &Needs, rows: &[Self::Row]) -> Result<Vec<(usize, Error)>>;
    /// Counts what an import of these rows would do.
    async fn count(&mut self, needs: &Needs, rows: Vec<Self::Row>) -> Result<()>;
    /// Imports rows and counts the results. Rows that exist already stay as they are.
    async fn make(&mut self, needs: &Needs, rows: Vec<Self::Row>) -> Result<()>;
    /// The counts, for output.
    fn told(&self) -> String;
}

/// Renames the field of an error to the column of the file.
pub fn by_column(error: Error) -> Error {
    let Error::BadInput { field, message } = error else { return error };
    let column = match field.as_str() {
        "idempotencyKey" => "key",
        "target.type" => "targetType",
        "target.externalId" => "target",
        field => field.strip_prefix("content.").unwrap_or(field),
    };
    Error::bad_input(column, message)
}
