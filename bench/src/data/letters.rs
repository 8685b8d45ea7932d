//! The tables of the designs that Tidings is compared with.

/// Includes the best indexes for their queries.
pub const TABLES: [&str; 6] = [
    "CREATE TABLE letter_record (id BIGINT PRIMARY KEY, tenant_id BIGINT NOT NULL, type_id BIGINT NOT NULL, \
     receiver_kind SMALLINT NOT NULL, receiver_id BIGINT NOT NULL, sender_id BIGINT, title TEXT NOT NULL, \
     content TEXT NOT NULL, created_at BIGINT NOT NULL)",
    "CREATE INDEX letter_record_receiver ON letter_record (tenant_id, receiver_kind, receiver_id, type_id, id)",
    "CREATE INDEX letter_record_type ON letter_record (tenant_id, type_id, receiver_kind, receiver_id, id)",
    "CREATE TABLE letter_read (user_id BIGINT NOT NULL, letter_id BIGINT NOT NULL, read_at BIGINT NOT NULL, \
     PRIMARY KEY (user_id, letter_id))",
    "CREATE TABLE letter_role (user_id BIGINT NOT NULL, role_id BIGINT NOT NULL, PRIMARY KEY (user_id, role_id))",
    "CREATE TABLE letter_type (tenant_id BIGINT NOT NULL, id BIGINT NOT NULL, code TEXT NOT NULL, title TEXT NOT NULL)",
];
