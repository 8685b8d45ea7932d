//! A row that is too large is not transferred from its source.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use sources::QueryFailureKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{on_every_source, query, sources, with};
use crate::support::Kind;

const TOO_LARGE: &str = "a row, or a value in one, is larger than 256 KiB: select less of it";

on_every_source! {
    async fn a_row_that_is_too_large_is_refused_by_words(other) {
        let text = if other.kind == Kind::Mysql { "LONGTEXT" } else { "TEXT" };
        other.by_hand(&format!("CREATE TABLE doc (id INTEGER PRIMARY KEY, body {text})")).await;
        let long = |many: usize| match other.kind {
            Kind::Sqlite => format!("replace(hex(zeroblob({many})), '00', 'x')"),
            _ => format!("repeat('x', {many})"),
        };
        other.by_hand(&format!("INSERT INTO doc VALUES (1, 'short'), (2, {}), (3, 'short')", long(8_000_000))).await;
        for sql in ["SELECT id, body FROM doc", "SELECT body FROM doc WHERE id = 2", "SELECT id, body FROM doc ORDER BY id DESC"] {
            let failure = other.scan(sql).await.unwrap_err();
            assert_eq!((failure.kind, failure.message.as_str()), (QueryFailureKind::Failed, TOO_LARGE), "{sql}");
        }
        let found = other.scan("SELECT id FROM doc ORDER BY id DESC").await.unwrap();
        assert_eq!(json!(found.rows), json!([{ "id": 3 }, { "id": 2 }, { "id": 1 }]), "what is not selected does not count");
        let found = other.scan("SELECT id, body FROM doc WHERE id <> 2 ORDER BY id DESC").await.unwrap();
        assert_eq!(json!(found.rows), json!([{ "id": 3, "body": "short" }, { "id": 1, "body": "short" }]));
        if other.kind != Kind::Sqlite {
            let found = other.scan("SELECT id, length(body) AS n FROM doc WHERE length(body) > 9").await.unwrap();
            assert_eq!(json!(found.rows), json!([{ "id": 2, "n": 8_000_000 }]));
        }
        if other.kind != Kind::Sqlite {
            let columns: Vec<_> = (0..6).map(|number| format!("{} AS c{number}", long(60_000))).collect();
            let failure = other.scan(&format!("SELECT {}", columns.join(", "))).await.unwrap_err();
            assert_eq!(failure.message, TOO_LARGE, "values that each may be are too many");
        }
    }

    async fn rows_are_in_the_order_of_the_statement(other) {
        other.by_hand("CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)").await;
        other.by_hand("INSERT INTO stock VALUES (1, 30), (2, 20), (3, 10), (4, 25)").await;
        for sql in [
            "SELECT id FROM stock ORDER BY amount",
            "SELECT id FROM stock ORDER BY amount LIMIT 9",
            "SELECT id FROM (SELECT id, amount FROM stock) AS t ORDER BY amount",
            "(SELECT id FROM stock ORDER BY amount)",
        ] {
            if other.kind == Kind::Sqlite && sql.starts_with('(') {
                continue;
            }
            let found = other.scan(sql).await.unwrap();
            assert_eq!(json!(found.rows), json!([{ "id": 3 }, { "id": 2 }, { "id": 4 }, { "id": 1 }]), "{sql}");
        }
        for sql in ["WITH t AS (SELECT id FROM stock) SELECT id FROM t ORDER BY id", "SELECT 1 AS id UNION ALL SELECT 4 ORDER BY 1"] {
            let found = other.scan(sql).await.unwrap();
            assert!([2, 4].contains(&found.rows.len()), "{sql}: {found:?}");
        }
    }
}

/// A TCP proxy that counts the bytes that the server sends.
async fn counting(to: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
            let (mut client_reads, mut client_writes) = client.into_split();
            let (mut server_reads, mut server_writes) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut client_reads, &mut server_writes).await });
            let counted = counted.clone();
            tokio::spawn(async move {
                let mut bytes = vec![0; 64 << 10];
                while let Ok(many @ 1..) = server_reads.read(&mut bytes).await {
                    counted.fetch_add(many, Ordering::Relaxed);
                    if client_writes.write_all(&bytes[..many]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (port, count)
}

/// The port in a database's URL.
fn port(url: &str) -> u16 {
    url.rsplit_once('/').unwrap().0.rsplit_once(':').unwrap().1.parse().unwrap()
}

#[tokio::test]
async fn nothing_of_a_huge_row_comes_over_the_wire() {
    for (kind, huge) in [
        (Kind::Postgres, "SELECT repeat('x', 30000000) AS a"),
        (Kind::Postgres, "SELECT 1 AS a, repeat('x', 30000000)::bytea AS b"),
        (Kind::Postgres, "SELECT array_agg(repeat('x', 1000)) AS a FROM generate_series(1, 30000)"),
        // A few bytes in PostgreSQL's storage, and millions on the wire.
        (Kind::Postgres, "SELECT jsonb_agg(('1e100000')::numeric) AS a FROM generate_series(1, 300)"),
        (Kind::Postgres, "SELECT ROW(1, repeat('x', 30000000)) AS a"),
        (
            Kind::Mysql,
            "SELECT REPEAT('x', 8000000) AS a, REPEAT('x', 8000000) AS b, REPEAT('x', 8000000) AS c, REPEAT('y', 8000000) AS d",
        ),
        (Kind::Mysql, "SELECT UNHEX(REPEAT('00', 8000000)) AS a"),
        (Kind::Mysql, "WITH t AS (SELECT REPEAT('x', 8000000) AS a) SELECT a, a AS b FROM t"),
    ] {
        with(kind, json!({}), async |other| {
            let to = port(&other.database.url);
            let (door, count) = counting(to).await;
            let url = other.database.url.replace(&format!(":{to}/"), &format!(":{door}/"));
            let own = sources(&json!([{ "name": "own", "url": url, "tenants": "*", "timeout_ms": 30_000 }]));
            let failure = own.find_for_tenant("acme", "own").unwrap().scan(query(huge)).await.unwrap_err();
            assert_eq!(failure.message, TOO_LARGE, "{huge}");
            own.close().await;
            let came = count.load(Ordering::Relaxed);
            assert!((1..64 << 10).contains(&came), "{huge}: {came} bytes came");
        })
        .await;
    }
}
