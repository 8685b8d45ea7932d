//! What the import needs to know about a kind of file.

use super::fields::LineFields;
use base::error::{Error, Result};
use domain::tenant::TenantContext;

/// A kind of file.
pub trait ImportTable: Default {
    /// A parsed line.
    type Row: Clone;
    const COLUMNS: &'static [&'static str];
    /// Parses a line. Fails if the line is invalid by itself or does not fit the line before it.
    fn parse_line(&mut self, line: &mut LineFields) -> Result<Self::Row>;
    /// Checks lines against the database; returns each error with the index of its row.
    async fn check_rows(&mut self, needs: &TenantContext, rows: &[Self::Row]) -> Result<Vec<(usize, Error)>>;
    /// Counts what an import of these rows would do.
    async fn count_rows(&mut self, needs: &TenantContext, rows: Vec<Self::Row>) -> Result<()>;
    /// Imports rows and counts the results. Rows that exist already stay as they are.
    async fn import_rows(&mut self, needs: &TenantContext, rows: Vec<Self::Row>) -> Result<()>;
    /// The counts, for output.
    fn format_counts(&self) -> String;
}

/// Renames the field of an error to the column of the file.
pub fn rename_field(error: Error) -> Error {
    let Error::BadInput { field, message } = error else { return error };
    let column = match field.as_str() {
        "idempotencyKey" => "key",
        "target.type" => "targetType",
        "target.externalId" => "target",
        field => field.strip_prefix("content.").unwrap_or(field),
    };
    Error::bad_input(column, message)
}
