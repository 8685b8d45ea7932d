//! The migrations: one file per schema change, each reversible, for SQLite, PostgreSQL and MySQL.
//!
//! The files are applied in the order of the list below and never edited once released.
pub use migrator::{applied_names, apply_missing, revert_applied};

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
mod m20261123_000018_look_of_types;
mod m20261123_000019_rules;
mod m20261123_000020_lanes;
mod m20261123_000021_mail;
mod m20261123_000022_wechat;
mod m20261123_000023_push;
mod m20261123_000024_letters;
mod m20261123_000025_events_of_items;
mod m20261124_000026_digests;
mod m20261124_000027_folded_names;
mod m20261125_000028_audit;
mod m20261125_000029_tally_hours;
mod m20261126_000030_kept_unread;
mod m20261130_000100_first_tries;
mod m20261130_000300_audit_detail;
mod m20261130_000500_target_types;
mod m20261130_000501_types_for_users;
mod m20261130_000502_ended_sessions;
mod m20261130_000600_departures;
mod m20261130_000700_gap;
mod migrator;

use migrator::MigrationTrait;

macro_rules! migrations {
    ($($name:ident,)*) => { &[$((stringify!($name), &$name::Migration),)*] };
}

/// All migrations and their names, oldest first.
const MIGRATIONS: &[(&str, &dyn MigrationTrait)] = migrations![
    m20261121_000001_tenant_and_users,
    m20261121_000002_catalogue,
    m20261121_000003_channel,
    m20261121_000004_notification,
    m20261121_000005_inbox,
    m20261121_000006_server,
    m20261121_000010_view,
    m20261121_000011_after_sending,
    m20261121_000012_remembered_overviews,
    m20261122_000013_jobs,
    m20261122_000016_profile_version,
    m20261122_000017_used_actions,
    m20261123_000018_look_of_types,
    m20261123_000019_rules,
    m20261123_000020_lanes,
    m20261123_000021_mail,
    m20261123_000022_wechat,
    m20261123_000023_push,
    m20261123_000024_letters,
    m20261123_000025_events_of_items,
    m20261124_000026_digests,
    m20261124_000027_folded_names,
    m20261125_000028_audit,
    m20261125_000029_tally_hours,
    m20261126_000030_kept_unread,
    m20261130_000100_first_tries,
    m20261130_000300_audit_detail,
    m20261130_000500_target_types,
    m20261130_000501_types_for_users,
    m20261130_000502_ended_sessions,
    m20261130_000600_departures,
    m20261130_000700_gap,
];

/// The names of all migrations, oldest first.
pub fn migration_names() -> impl DoubleEndedIterator<Item = &'static str> {
    MIGRATIONS.iter().map(|(name, _)| *name)
}
