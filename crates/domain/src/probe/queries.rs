//! See the documentation of the module.

use entity::ids::Seq;
use sea_orm::sea_query::ArrayType;
use sea_orm::{ConnectionTrait, DbBackend, Value};

use crate::tenant::Tenant;
use store::SqlBuilder;

/// Adds the notification `n` with the seq in `place`, a column of an earlier table. `join` is the kind of join.
pub fn push_join_at(sql: &mut SqlBuilder, join: &str, tenant: &Tenant, place: &str) {
    sql.push(join);
    if sql.backend() == DbBackend::Postgres {
        sql.push(" LATERAL (");
        push_single(sql, "*", tenant, place);
        sql.push(") n ON TRUE");
    } else {
        sql.push(" notification n ON n.tenant_id = ").bind(tenant.id).push(&format!(" AND n.seq = {place}"));
    }
}

/// Adds a query for `columns` of the notification `f` at seq `place`. `AND` may follow; [`push_query_end`] closes it.
pub fn push_query_begin(sql: &mut SqlBuilder, columns: &str, tenant: &Tenant, place: &str) {
    sql.push(&format!("SELECT f.{columns} FROM notification f WHERE f.tenant_id = ")).bind(tenant.id);
    if sql.backend() == DbBackend::Postgres {
        sql.push(&format!(" AND f.seq >= {place} AND f.seq <= {place}"));
    } else {
        sql.push(&format!(" AND f.seq = {place}"));
    }
}

/// Ends what [`push_query_begin`] began.
pub fn push_query_end(sql: &mut SqlBuilder) {
    if sql.backend() == DbBackend::Postgres {
        sql.push(" ORDER BY f.seq LIMIT 1");
    }
}

fn push_single(sql: &mut SqlBuilder, columns: &str, tenant: &Tenant, place: &str) {
    push_query_begin(sql, columns, tenant, place);
    push_query_end(sql);
}

/// Adds the notifications `n` with these seqs, as the first table after FROM.
pub fn push_by_seqs(sql: &mut SqlBuilder, tenant: &Tenant, seqs: &[Seq]) {
    if sql.backend() == DbBackend::Postgres {
        sql.push("(SELECT n.* FROM unnest(").bind(seqs_value(seqs)).push("::bigint[]) AS w(seq) JOIN LATERAL (");
        push_single(sql, "*", tenant, "w.seq");
        sql.push(") n ON TRUE) n");
    } else {
        sql.push("(SELECT f.* FROM notification f WHERE f.tenant_id = ")
            .bind(tenant.id)
            .push(" AND f.seq")
            .push_list(seqs);
        sql.push(") n");
    }
}

/// The rows of a table with these values of `key`, a text column that is unique within the tenant. At most
/// [`entity::statement::LIST`] values. The columns are of `n`.
pub fn select_by_text(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    table: &str,
    (key, columns): (&str, &str),
    texts: &[&str],
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT ").push(columns).push(" FROM ");
    if sql.backend() == DbBackend::Postgres {
        let texts = texts.iter().map(|text| Value::from(*text)).collect();
        sql.push("unnest(").bind(Value::Array(ArrayType::String, Some(Box::new(texts))));
        sql.push(&format!("::text[]) AS w(said) JOIN LATERAL (SELECT f.* FROM {table} f WHERE f.tenant_id = "))
            .bind(tenant.id);
        sql.push(&format!(" AND f.{key} >= w.said AND f.{key} <= w.said ORDER BY f.{key} LIMIT 1) n ON TRUE"));
    } else {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        sql.push(table).push(" n WHERE n.tenant_id = ").bind(tenant.id);
        sql.push(&format!(" AND n.{key}")).push_list(&texts);
    }
    sql
}

/// Adds the id of a row by its `key`, a text column that is unique within the tenant.
pub fn push_id_by_key(sql: &mut SqlBuilder, tenant: &Tenant, table: &str, key: &str, text: &str) {
    sql.push(&format!("(SELECT c.id FROM {table} c WHERE c.tenant_id = ")).bind(tenant.id);
    if sql.backend() == DbBackend::Postgres {
        sql.push(&format!(" AND c.{key} >= ")).bind(text.to_owned());
        sql.push(&format!(" AND c.{key} <= ")).bind(text.to_owned());
        sql.push(&format!(" ORDER BY c.{key} LIMIT 1)"));
    } else {
        sql.push(&format!(" AND c.{key} = ")).bind(text.to_owned()).push(")");
    }
}

fn seqs_value(seqs: &[Seq]) -> Value {
    let numbers = seqs.iter().map(|seq| Value::from(seq.0)).collect();
    Value::Array(ArrayType::BigInt, Some(Box::new(numbers)))
}
