//! How the tables come to be: one file a change, each with its way back, on SQLite, PostgreSQL and MySQL.
//!
//! The files are applied in the order of the list below and never edited once released.
#![expect(elided_lifetimes_in_paths, reason = "the trait to implement elides it, and the two must agree")]

pub use sea_orm_migration::prelude::MigratorTrait;
use sea_orm_migration::prelude::*;

mod dialect;
mod m20261121_000001_tenant_and_users;
mod m20261121_000002_catalogue;
mod m20261121_000003_channel;
mod m20261121_000004_notification;
mod m20261121_000005_inbox;
mod m20261121_000006_server;
mod m20261121_000010_view;
mod m20261121_000011_after_sending;
mod m20261121_000012_remembered_overviews;
mod m20261122_000013_jobs;
mod m20261122_000016_profile_version;
mod m20261122_000017_used_actions;

/// All migrations, oldest first.
pub struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m20261121_000001_tenant_and_users::Migration),
            Box::new(m20261121_000002_catalogue::Migration),
            Box::new(m20261121_000003_channel::Migration),
            Box::new(m20261121_000004_notification::Migration),
            Box::new(m20261121_000005_inbox::Migration),
            Box::new(m20261121_000006_server::Migration),
            Box::new(m20261121_000010_view::Migration),
            Box::new(m20261121_000011_after_sending::Migration),
            Box::new(m20261121_000012_remembered_overviews::Migration),
            Box::new(m20261122_000013_jobs::Migration),
            Box::new(m20261122_000016_profile_version::Migration),
            Box::new(m20261122_000017_used_actions::Migration),
        ]
    }
}
