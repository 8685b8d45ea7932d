//! What a kind of file is to the import.

use tidings::domain::tenant::Needs;
use tidings::error::{Error, Result};

use super::fields::Fields;

/// What a file may have.
pub trait Table: Default {
    /// What a line says.
    type Row: Clone;
    const COLUMNS: &'static [&'static str];
    /// Reads a line, and finds what is wrong with it in itself, or beside the one before it.
    fn read(&mut self, line: &mut Fields) -> Result<Self::Row>;
    /// What else is wrong with lines, with the place of each.
    async fn check(&mut self, needs: &Needs, rows: &[Self::Row]) -> Result<Vec<(usize, Error)>>;
    /// Counts what would come of lines.
    async fn count(&mut self, needs: &Needs, rows: Vec<Self::Row>) -> Result<()>;
    /// Brings lines over, and counts what came of them. Those that are there already stay.
    async fn make(&mut self, needs: &Needs, rows: Vec<Self::Row>) -> Result<()>;
    /// What was counted.
    fn told(&self) -> String;
}

/// An error that blames a column, where the domain blames what it calls otherwise.
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
