//! Differences between the three databases in creating tables.

use sea_orm::sea_query::{ColumnDef, Index, IndexCreateStatement, Table, TableCreateStatement};
use sea_orm::{DbBackend, DbErr};

use crate::migrator::SchemaManager;

/// Starts a table with text that compares byte by byte, as ids must. MySQL's default collation treats `Ada` and `ada`
/// as equal.
pub fn new_table(manager: &SchemaManager<'_>, name: &'static str) -> TableCreateStatement {
    let mut table = Table::create();
    table.table(name);
    if manager.backend() == DbBackend::MySql {
        table.character_set("utf8mb4").collate("utf8mb4_bin");
    }
    table
}

/// Starts a table with its rows stored in the primary key.
///
/// MySQL always stores tables this way. SQLite needs `WITHOUT ROWID`; otherwise it stores rows separately and writes
/// the key twice.
pub fn new_clustered_table(manager: &SchemaManager<'_>, name: &'static str) -> TableCreateStatement {
    let mut table = new_table(manager, name);
    if manager.backend() == DbBackend::Sqlite {
        table.extra("WITHOUT ROWID");
    }
    table
}

/// A generated 64-bit primary key.
pub fn id() -> ColumnDef {
    ColumnDef::new("id").big_integer().not_null().auto_increment().primary_key().take()
}

/// A required id, seq, count or time.
pub fn number(name: &'static str) -> ColumnDef {
    ColumnDef::new(name).big_integer().not_null().take()
}

/// The same with a default value.
pub fn number_from(name: &'static str, first: i64) -> ColumnDef {
    number(name).default(first).take()
}

/// A small enumeration, documented at its entity.
pub fn small_number(name: &'static str) -> ColumnDef {
    ColumnDef::new(name).small_integer().not_null().take()
}

/// A boolean.
pub fn boolean(name: &'static str) -> ColumnDef {
    ColumnDef::new(name).boolean().not_null().take()
}

/// An optional id, seq or time.
pub fn number_or_none(name: &'static str) -> ColumnDef {
    ColumnDef::new(name).big_integer().take()
}

/// Required text with a maximum length in characters.
pub fn string(name: &'static str, len: u32) -> ColumnDef {
    ColumnDef::new(name).string_len(len).not_null().take()
}

/// Optional text with a maximum length in characters.
pub fn string_or_none(name: &'static str, len: u32) -> ColumnDef {
    ColumnDef::new(name).string_len(len).take()
}

/// Optional text, which the application limits to 16 KiB.
pub fn text_or_none(name: &'static str) -> ColumnDef {
    ColumnDef::new(name).text().take()
}

/// A unique key over `columns`.
pub fn unique_key(name: &'static str, columns: &[&'static str]) -> IndexCreateStatement {
    add_index_columns(Index::create().name(name).unique(), columns)
}

/// A primary key over several columns.
pub fn primary_key(columns: &[&'static str]) -> IndexCreateStatement {
    add_index_columns(&mut Index::create(), columns)
}

/// Creates an index over `columns`.
pub async fn create_index(
    manager: &SchemaManager<'_>,
    name: &'static str,
    table: &'static str,
    columns: &[&'static str],
) -> Result<(), DbErr> {
    manager.execute(add_index_columns(Index::create().name(name).table(table), columns)).await
}

/// Drops tables in the given order: newest first.
pub async fn drop_tables(manager: &SchemaManager<'_>, tables: &[&'static str]) -> Result<(), DbErr> {
    for table in tables {
        manager.execute(Table::drop().table(*table).take()).await?;
    }
    Ok(())
}

fn add_index_columns(index: &mut IndexCreateStatement, columns: &[&'static str]) -> IndexCreateStatement {
    for column in columns {
        index.col(*column);
    }
    index.take()
}
