//! Statements with which an admin of one tenant tries to reach other data: another database, files, settings, writes,
//! time.
//!
//! Each is refused, or harmless: it shows no canary, changes nothing, and ends in time. These sources use the most
//! powerful role, so that the refusal does not depend on the role.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use sea_orm::{ConnectionTrait, Database};
use serde_json::{Value, json};
use sources::{QueryFailure, QueryFailureKind, QueryRows, SourceQuery};

use super::{Other, query, with};
use crate::support::Kind;

/// A text in places that no scan may read.
const CANARY: &str = "canary_7f3a";

/// The time limit of a statement in these tests.
const ALLOWED: Duration = Duration::from_millis(400);

impl Other {
    async fn attack(&self, sql: &str) -> Result<QueryRows, QueryFailure> {
        let began = Instant::now();
        let found = self.source().scan(SourceQuery { timeout: ALLOWED, ..query(sql) }).await;
        assert!(began.elapsed() < Duration::from_secs(20), "{sql} took {:?}", began.elapsed());
        assert!(!format!("{found:?}").contains(CANARY), "{sql} shows what is not its own: {found:?}");
        found
    }

    async fn is_whole(&self) {
        assert_eq!(self.number("SELECT COUNT(*) FROM stock").await, 3);
    }
}

/// The server's database in attacks on SQLite, next to the source.
struct Secret {
    folder: tempfile::TempDir,
}

impl Secret {
    async fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}?mode=rwc", folder.path().join("server.db").display());
        let owner = Database::connect(&url).await.unwrap();
        owner.execute_unprepared("CREATE TABLE canary (word TEXT)").await.unwrap();
        owner.execute_unprepared(&format!("INSERT INTO canary VALUES ('{CANARY}')")).await.unwrap();
        owner.close().await.unwrap();
        Self { folder }
    }

    fn file(&self) -> String {
        self.folder.path().join("server.db").display().to_string()
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut all: Vec<_> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.display().to_string(), std::fs::read(path).unwrap()))
            .collect();
        all.sort();
        all
    }
}

/// Characters that some parsers treat as blanks, letters or quotes, and others do not.
const ODD: [&str; 14] = [
    "\u{feff}", "\u{a0}", "\u{85}", "\u{2028}", "\u{3000}", "\u{200b}", "\u{b}", "\u{c}", "\u{1c}", "\r", "\u{ff07}",
    "\u{ff1b}", "\u{2019}", "\u{d7}",
];

/// On SQLite; `{file}` is the database of the server.
const ON_SQLITE: [&str; 103] = [
    "ATTACH '{file}' AS s",
    "ATTACH DATABASE 'file:{file}?mode=ro' AS s",
    "attach '{file}' as s; select word from s.canary",
    "SELECT 1 AS a; ATTACH '{file}' AS s; SELECT word FROM s.canary",
    "SELECT 1 AS a;ATTACH '{file}' AS s",
    "SELECT 'a' AS a;;;ATTACH '{file}' AS s",
    "WITH a AS (SELECT 1) SELECT 1 AS b; ATTACH '{file}' AS s",
    "SELECT 1 AS a -- '\n; ATTACH '{file}' AS s",
    "SELECT 1 AS a /* ' */; ATTACH '{file}' AS s --'",
    "SELECT 1 AS [a;]; ATTACH '{file}' AS s",
    "SELECT 1 AS `a`; ATTACH '{file}' AS s",
    "SELECT 1 AS \"a\"\";\"; ATTACH '{file}' AS s",
    "SELECT 1 AS a\0; ATTACH '{file}' AS s",
    "DETACH main",
    "DETACH DATABASE temp",
    "SELECT word FROM s.canary",
    "SELECT word FROM canary",
    "SELECT * FROM temp.canary",
    "SELECT * FROM sqlite_temp_schema",
    "PRAGMA query_only = off",
    "PRAGMA database_list",
    "PRAGMA trusted_schema = 1",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA data_store_directory = '/tmp'",
    "PRAGMA writable_schema = 1",
    "PRAGMA journal_mode = wal",
    "PRAGMA hard_heap_limit = 1",
    "PRAGMA soft_heap_limit = 1",
    "PRAGMA mmap_size = 1000000000",
    "PRAGMA busy_timeout = 1000000",
    "PRAGMA user_version = 7",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA optimize",
    "SELECT * FROM pragma_database_list",
    "SELECT file FROM pragma_database_list()",
    "SELECT * FROM pragma_table_list",
    "SELECT * FROM pragma_query_only(0)",
    "SELECT * FROM pragma_user_version",
    "SELECT * FROM pragma_module_list",
    "SELECT * FROM pragma_function_list",
    "SELECT name FROM pragma_table_info('stock')",
    "EXPLAIN SELECT 1",
    "EXPLAIN QUERY PLAN SELECT 1",
    "EXPLAIN ATTACH '{file}' AS s",
    "VACUUM",
    "VACUUM INTO '{file}2'",
    "VACUUM main INTO '{file}3'",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "BEGIN EXCLUSIVE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT a",
    "ANALYZE",
    "REINDEX",
    "INSERT INTO stock VALUES (4, 4)",
    "INSERT INTO stock VALUES (4, 4) RETURNING id",
    "REPLACE INTO stock VALUES (1, 4) RETURNING id",
    "UPDATE stock SET amount = 0 RETURNING id",
    "DELETE FROM stock RETURNING id",
    "WITH a AS (SELECT 1) DELETE FROM stock RETURNING id",
    "WITH a AS (SELECT 9 AS n) INSERT INTO stock SELECT n, n FROM a RETURNING id",
    "CREATE TABLE mine (a)",
    "CREATE TEMP TABLE mine AS SELECT 1 AS a",
    "CREATE TEMP TRIGGER t AFTER INSERT ON stock BEGIN SELECT 1; END",
    "CREATE TEMP VIEW v AS SELECT 1",
    "CREATE VIRTUAL TABLE v USING fts5(a)",
    "CREATE VIRTUAL TABLE temp.v USING dbstat(main)",
    "ALTER TABLE stock ADD COLUMN b",
    "ALTER TABLE stock RENAME TO other",
    "DROP TABLE stock",
    "DROP VIEW odd",
    "SELECT load_extension('{file}') AS a",
    "SELECT LOAD_EXTENSION('{file}', 'f') AS a",
    "SELECT \"load_extension\"('{file}') AS a",
    "SELECT word FROM odd",
    "SELECT readfile('{file}') AS a",
    "SELECT writefile('{file}4', 'a') AS a",
    "SELECT edit('a', 'sh') AS a",
    "SELECT fts3_tokenizer('simple') AS a",
    "SELECT sqlite_log(1, 'a') AS a",
    "SELECT * FROM fsdir('/')",
    "SELECT * FROM csv('{file}')",
    "SELECT * FROM zipfile('{file}')",
    "SELECT * FROM sqlite_dbpage",
    "SELECT * FROM bytecode('SELECT 1')",
    "SELECT * FROM sqlite_stmt",
    "SELECT ?1 AS a",
    "SELECT @a AS a, $b AS b, :c AS c",
    "SELECT zeroblob(1000000000) AS a",
    "SELECT hex(randomblob(1000000000)) AS a",
    "SELECT printf('%.*c', 2000000000, 'x') AS a",
    "SELECT replace(printf('%.*c', 200000, 'x'), 'x', printf('%.*c', 200000, 'y')) AS a",
    "SELECT group_concat(printf('%.*c', 200000, 'x')) AS a FROM stock, stock AS b",
    "SELECT instr(zeroblob(262144), zeroblob(131072) || x'01') AS a",
    "SELECT sum(instr(zeroblob(262144), zeroblob(131072) || x'01')) AS a FROM stock, stock AS b, stock AS c, stock AS d",
    "SELECT sum(printf('%.*c', 200000, 'a') LIKE printf('%%%.*c', 900, 'a') || 'b') AS a FROM stock, stock AS b, stock AS c",
    "SELECT sum(printf('%.*c', 200000, 'a') GLOB '*a*a*a*a*a*b') AS a FROM stock, stock AS b, stock AS c",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS c FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n ORDER BY i DESC",
    "WITH RECURSIVE n(i, t) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, t || t FROM n) SELECT max(t) AS t FROM n",
    "SELECT count(*) AS c FROM json_each('[' || substr(replace(hex(zeroblob(100000)), '00', ',1'), 2) || ']')",
    "VALUES (1); ATTACH '{file}' AS s",
];

/// On PostgreSQL.
const ON_POSTGRES: [&str; 83] = [
    "INSERT INTO stock VALUES (4, 4)",
    "INSERT INTO stock VALUES (4, 4) RETURNING id",
    "UPDATE stock SET amount = 0 RETURNING id",
    "DELETE FROM stock RETURNING id",
    "TRUNCATE stock",
    "WITH g AS (DELETE FROM stock RETURNING id) SELECT id FROM g",
    "WITH g AS (INSERT INTO stock VALUES (9, 9) RETURNING id) SELECT id FROM g",
    "WITH g AS (SELECT 1) UPDATE stock SET amount = 0 RETURNING id",
    "SELECT id INTO mine FROM stock",
    "SELECT id INTO TEMP mine FROM stock",
    "SELECT id FROM stock FOR UPDATE",
    "SELECT id FROM stock FOR NO KEY UPDATE SKIP LOCKED",
    "SELECT id FROM (SELECT id FROM stock FOR SHARE) AS a",
    "CREATE TABLE mine AS SELECT 1 AS a",
    "CREATE TEMP TABLE mine (a int)",
    "DROP TABLE stock",
    "ALTER TABLE stock RENAME TO other",
    "COPY stock TO STDOUT",
    "COPY stock TO '/tmp/tidings_attack'",
    "COPY stock TO PROGRAM 'touch /tmp/tidings_attack'",
    "COPY (SELECT 1) TO PROGRAM 'touch /tmp/tidings_attack'",
    "COPY stock FROM PROGRAM 'echo 4,4'",
    "DO $$ BEGIN DELETE FROM stock; END $$",
    "DO $$ BEGIN PERFORM pg_sleep(60); END $$",
    "CALL empty()",
    "EXECUTE a",
    "PREPARE a AS SELECT 1",
    "DEALLOCATE ALL",
    "DECLARE c CURSOR FOR SELECT 1",
    "FETCH ALL FROM c",
    "LISTEN a",
    "NOTIFY a, 'b'",
    "SET transaction_read_only = off",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "SET LOCAL statement_timeout = 0",
    "RESET ALL",
    "DISCARD ALL",
    "COMMIT",
    "ROLLBACK",
    "ROLLBACK AND CHAIN",
    "BEGIN READ WRITE",
    "COMMIT; DELETE FROM stock",
    "SELECT 1 AS a; COMMIT; DELETE FROM stock",
    "SELECT 1 AS a;DELETE FROM stock",
    "SELECT E'a\\\\' AS a; DELETE FROM stock",
    "SELECT '\\' AS a; DELETE FROM stock --'",
    "SELECT $a$ AS a; DELETE FROM stock",
    "SELECT $é$ $é$ AS a; DELETE FROM stock",
    "SELECT U&'!0027' UESCAPE '!' AS a; DELETE FROM stock",
    "SELECT 1 AS a /* /* */; DELETE FROM stock",
    "SELECT 1 AS a --\r; DELETE FROM stock",
    "SELECT 1 AS a) AS t; DELETE FROM stock; SELECT * FROM (SELECT 1",
    "SELECT 1 AS a) AS t UNION ALL SELECT 0, repeat('x', 30000000) FROM (SELECT 1",
    "SELECT 1 AS a) AS t --",
    "SELECT 1 AS a) AS t /*",
    "SELECT nextval('numbers') AS a",
    "SELECT setval('numbers', 9) AS a",
    "SELECT empty() AS a",
    "SELECT set_config('transaction_read_only', 'off', true) AS a, empty() AS b",
    "SELECT set_config('transaction_read_only', 'off', false) AS a",
    "SELECT lo_export(4711, '/tmp/tidings_attack') AS a",
    "SELECT query_to_xml('DELETE FROM stock', true, true, '')::text AS a",
    "SELECT * FROM query_to_xml('DELETE FROM stock RETURNING id', true, true, '')",
    "SELECT pg_sleep(60)::text AS a",
    "SELECT pg_sleep_for('1 minute')::text AS a",
    "SELECT (SELECT count(*) FROM generate_series(1, 10000000000)) AS a",
    "SELECT pg_advisory_lock(1)::text AS a, pg_sleep(60)::text AS b",
    "SELECT $1 AS a",
    "SELECT 1 AS a WHERE $2 > 0",
    "EXPLAIN ANALYZE SELECT empty()",
    "EXPLAIN (ANALYZE) DELETE FROM stock",
    "ANALYZE stock",
    "VACUUM stock",
    "REFRESH MATERIALIZED VIEW stock",
    "LOCK TABLE stock",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "GRANT ALL ON stock TO PUBLIC",
    "SECURITY LABEL ON TABLE stock IS 'a'",
    "REINDEX TABLE stock",
    "CLUSTER",
    "CHECKPOINT",
    "LOAD 'plpgsql'",
    "IMPORT FOREIGN SCHEMA a FROM SERVER b INTO public",
];

/// On MySQL and MariaDB.
const ON_MYSQL: [&str; 78] = [
    "INSERT INTO stock VALUES (4, 4)",
    "INSERT INTO stock VALUES (4, 4) RETURNING id",
    "REPLACE INTO stock VALUES (1, 4) RETURNING id",
    "UPDATE stock SET amount = 0",
    "DELETE FROM stock",
    "DELETE FROM stock RETURNING id",
    "TRUNCATE stock",
    "WITH a AS (SELECT 1 AS id) DELETE FROM stock",
    "SELECT id FROM stock INTO OUTFILE '/tmp/tidings_attack'",
    "SELECT id FROM stock INTO DUMPFILE '/tmp/tidings_attack'",
    "SELECT id INTO OUTFILE '/tmp/tidings_attack' FROM stock",
    "SELECT id INTO @a FROM stock LIMIT 1",
    "SELECT id FROM stock LIMIT 1 INTO @a",
    "SELECT id FROM stock /*! INTO OUTFILE '/tmp/tidings_attack' */",
    "SELECT id FROM stock /*M! INTO OUTFILE '/tmp/tidings_attack' */",
    "SELECT id FROM stock --x\n INTO OUTFILE '/tmp/tidings_attack'",
    "SELECT id FROM stock #\n INTO OUTFILE '/tmp/tidings_attack'",
    "SELECT 1.5into OUTFILE '/tmp/tidings_attack'",
    "SELECT 1 AS a INTO\u{a0}OUTFILE '/tmp/tidings_attack'",
    "SELECT id FROM stock FOR UPDATE",
    "SELECT id FROM stock FOR /* a */ SHARE",
    "SELECT id FROM stock LOCK IN SHARE MODE",
    "SELECT id FROM stock PROCEDURE analyse()",
    "HANDLER stock OPEN",
    "HANDLER stock READ FIRST",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE stock",
    "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE stock",
    "CALL empty()",
    "DO SLEEP(60)",
    "DO GET_LOCK('a', 60)",
    "SET @a = 1",
    "SET STATEMENT max_statement_time = 0 FOR SELECT 1 AS a",
    "SET SESSION TRANSACTION READ WRITE",
    "START TRANSACTION READ WRITE",
    "COMMIT",
    "ROLLBACK",
    "COMMIT; DELETE FROM stock",
    "SELECT 1 AS a; DELETE FROM stock",
    "SELECT 1 AS a;DELETE FROM stock",
    "SELECT 'a\\' AS a; DELETE FROM stock",
    "SELECT 'a\\\\' AS a; DELETE FROM stock",
    "SELECT \"a\\\\\" AS a; DELETE FROM stock",
    "SELECT 1 AS `a`; DELETE FROM stock",
    "SELECT 1 AS a --x\n; DELETE FROM stock",
    "SELECT 1 AS a #'\n; DELETE FROM stock",
    "SELECT 1 AS a /*!50000 ; DELETE FROM stock */",
    "SELECT 1 AS a /*M!100100 ; DELETE FROM stock */",
    "SELECT 1 AS a /* ' */; DELETE FROM stock -- '",
    "SELECT 1 AS a) LIMIT 1) AS t; DELETE FROM stock; SELECT * FROM ((SELECT 1",
    "SELECT 1 AS a) LIMIT 1) AS t UNION ALL SELECT 0, REPEAT('x', 9000000) FROM ((SELECT 1",
    "SELECT 1 AS a) LIMIT 1) AS t -- ",
    "SELECT 1 AS a) LIMIT 1) AS t /*",
    "PREPARE a FROM 'DELETE FROM stock'",
    "EXECUTE a",
    "EXECUTE IMMEDIATE 'DELETE FROM stock'",
    "BEGIN NOT ATOMIC DELETE FROM stock; END",
    "CREATE TABLE mine AS SELECT 1 AS a",
    "CREATE TEMPORARY TABLE mine (a INT)",
    "CREATE TEMPORARY TABLE mine SELECT 1 AS a",
    "DROP TABLE stock",
    "RENAME TABLE stock TO other",
    "ALTER TABLE stock ADD COLUMN b INT",
    "LOCK TABLES stock WRITE",
    "UNLOCK TABLES",
    "XA START 'a'",
    "ANALYZE SELECT 1 AS a",
    "ANALYZE TABLE stock",
    "EXPLAIN DELETE FROM stock",
    "DESCRIBE stock",
    "SHOW TABLES",
    "SHOW GRANTS",
    "USE mysql",
    "HELP 'a'",
    "SELECT ? AS a",
    "SELECT SLEEP(60) AS a",
    "SELECT BENCHMARK(1000000000000, SHA2('a', 512)) AS a",
    "SELECT SLEEP(60) AS a FROM stock",
    "SELECT GET_LOCK('tidings_attack', 1) AS a, SLEEP(60) AS b",
];

#[tokio::test]
async fn a_file_of_sqlite_shows_itself_and_nothing_else() {
    let secret = Secret::make().await;
    let before = secret.files();
    let file = secret.file();
    with(Kind::Sqlite, json!({}), async |other| {
        other.by_hand("CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)").await;
        other.by_hand("INSERT INTO stock VALUES (1, 10), (2, 20), (3, 30)").await;
        other.by_hand("CREATE VIEW odd AS SELECT load_extension('x') AS word").await;
        let mut attacks: Vec<String> = ON_SQLITE.map(|sql| sql.replace("{file}", &file)).to_vec();
        // The attack of the report, and its variants: a quote opens for one parser where it closes for the other.
        for odd in ODD {
            attacks.push(format!("SELECT 1 AS a{odd}; ATTACH '{file}' AS s"));
            attacks.push(format!("SELECT 1 {odd}AS a;{odd}ATTACH '{file}' AS s"));
            attacks.push(format!("SELECT 1 AS \"a{odd}'\" ; ATTACH '{file}' AS s; SELECT '\"'"));
            attacks.push(format!("SELECT 1 AS a, {odd}'b' AS b -- {odd}\n;ATTACH '{file}' AS s"));
            attacks.push(format!("SELECT 1 AS a{odd}[; ATTACH '{file}' AS s --]"));
            attacks.push(format!("SELECT{odd}*{odd}FROM{odd}pragma_database_list"));
        }
        assert!(attacks.len() > 60);
        for sql in &attacks {
            let refused = other.attack(sql).await;
            let may_end = ["instr", "LIKE", "GLOB", "json_each"].iter().any(|word| sql.contains(word));
            let is_empty = |found: &QueryRows| found.rows.iter().all(|row| row.values().all(Value::is_null));
            let is_harmless = may_end || refused.as_ref().map_or(true, is_empty);
            let is_odd = ODD.iter().any(|odd| sql.contains(odd));
            assert!(is_harmless || is_odd, "{sql} is run: {refused:?}");
            assert!(refused.is_err() || !sql.contains("pragma_"), "{sql} is run: {refused:?}");
            let planned = other.source().plan(SourceQuery { timeout: ALLOWED, ..query(sql) }).await;
            assert!(!format!("{planned:?}").contains(CANARY), "{sql}");
        }
        other.is_whole().await;
        assert_eq!(secret.files(), before);
        assert_eq!(other.row("SELECT COUNT(*) AS many FROM stock").await, json!({ "many": 3 }));
    })
    .await;
}

/// The server's own schema next to the source's schema, with a role that owns both.
#[tokio::test]
async fn postgres_runs_one_select_whatever_its_role_may() {
    with(Kind::Postgres, json!({}), async |other| {
        other.by_hand("CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)").await;
        other.by_hand("INSERT INTO stock VALUES (1, 10), (2, 20), (3, 30)").await;
        other.by_hand("CREATE SEQUENCE numbers").await;
        other.by_hand("CREATE FUNCTION empty() RETURNS int LANGUAGE sql AS 'DELETE FROM stock; SELECT 1'").await;
        for sql in ON_POSTGRES {
            let refused = other.attack(sql).await;
            assert!(refused.is_err(), "{sql} is run: {refused:?}");
            let _ = other.source().plan(SourceQuery { timeout: ALLOWED, ..query(sql) }).await;
            other.is_whole().await;
        }
        for odd in ODD {
            for sql in [
                format!("SELECT 1 AS a{odd}; DELETE FROM stock"),
                format!("SELECT 1 AS a;{odd}DELETE FROM stock"),
                format!("SELECT 1 AS \"a{odd}'\"; DELETE FROM stock; SELECT '\"'"),
                format!("SELECT{odd}1 AS a --{odd}\n; DELETE FROM stock"),
                format!("SELECT{odd}E{odd}'\\'; DELETE FROM stock --'"),
            ] {
                let _ = other.attack(&sql).await;
            }
        }
        other.is_whole().await;
        assert_eq!(other.number("SELECT last_value FROM numbers").await, 1);
        assert!(!std::path::Path::new("/tmp/tidings_attack").exists());
        assert_eq!(other.row("SELECT COUNT(*) AS many FROM stock").await, json!({ "many": 3 }));
    })
    .await;
}

#[tokio::test]
async fn mysql_runs_one_select_whatever_its_user_may() {
    with(Kind::Mysql, json!({}), async |other| {
        other.by_hand("CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)").await;
        other.by_hand("INSERT INTO stock VALUES (1, 10), (2, 20), (3, 30)").await;
        for sql in ON_MYSQL {
            let refused = other.attack(sql).await;
            assert!(refused.is_err(), "{sql} is run: {refused:?}");
            other.is_whole().await;
        }
        for odd in ODD {
            for sql in [
                format!("SELECT 1 AS a{odd}; DELETE FROM stock"),
                format!("SELECT 1 AS a;{odd}DELETE FROM stock"),
                format!("SELECT 1 AS `a{odd}'`; DELETE FROM stock; SELECT '`'"),
                format!("SELECT 1 AS a --{odd}\n; DELETE FROM stock"),
                format!("SELECT 1 AS a FROM stock{odd}INTO{odd}OUTFILE '/tmp/tidings_attack'"),
                format!("SELECT 1.5{odd}INTO{odd}OUTFILE '/tmp/tidings_attack'"),
            ] {
                let _ = other.attack(&sql).await;
            }
        }
        other.is_whole().await;
        assert!(!std::path::Path::new("/tmp/tidings_attack").exists());
        assert_eq!(other.row("SELECT COUNT(*) AS many FROM stock").await, json!({ "many": 3 }));
    })
    .await;
}

/// The number of random statements for each kind of source.
const RANDOM: usize = 300;

/// The pieces of random statements, separated by `¦`.
const PIECES: &str = concat!(
    "[¦SELECT¦1¦AS¦a¦b¦,¦;¦'¦''¦\"¦`¦]¦(¦)¦--¦-- ¦#¦/*¦*/¦/*!¦/*M!100100¦\n¦\r¦ ¦$$¦$a$¦$1¦?¦@x¦:now¦:since¦",
    "::¦:=¦E¦U&¦\\¦\\'¦\u{feff}¦\u{a0}¦\u{85}¦\u{2028}¦ATTACH¦'{file}'¦s.canary¦canary¦word¦FROM¦stock¦",
    "DELETE¦UPDATE¦INSERT INTO¦VALUES (9, 9)¦SET amount = 0¦RETURNING id¦WITH x AS (¦COMMIT¦PRAGMA¦",
    "pragma_database_list¦UNION ALL¦INTO OUTFILE '/tmp/tidings_attack'¦FOR UPDATE¦LOCK IN SHARE MODE¦LIMIT 1¦",
    "EXPLAIN¦load_extension('{file}')¦1.5lock¦TABLE stock¦* ",
);

/// Generates a random statement.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES.split('¦').collect::<Vec<_>>());
    prop::collection::vec((piece, prop::bool::weighted(0.8)), 1..24).prop_map(|pieces| {
        let text = pieces.iter().flat_map(|(piece, blank)| [*piece, if *blank { " " } else { "" }]).collect::<String>();
        if text.trim_start().to_lowercase().starts_with("select") { text } else { format!("SELECT {text}") }
    })
}

/// Any statement shows only its own data, and writes nothing.
#[tokio::test]
async fn no_random_statement_reads_or_writes_what_is_not_its_own() {
    let secret = Secret::make().await;
    let (before, file) = (secret.files(), secret.file());
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mysql] {
        with(kind, json!({}), async |other| {
            other.by_hand("CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)").await;
            other.by_hand("INSERT INTO stock VALUES (1, 10), (2, 20), (3, 30)").await;
            let mut runner = TestRunner::new(Config::default());
            let strategy = pieces();
            for _ in 0..RANDOM {
                let sql = strategy.new_tree(&mut runner).unwrap().current().replace("{file}", &file);
                if let Err(failure) = other.attack(&sql).await {
                    assert_ne!(failure.kind, QueryFailureKind::Unreachable, "{failure:?} of {sql}");
                }
                let _ = other.source().plan(SourceQuery { timeout: ALLOWED, ..query(&sql) }).await;
            }
            assert_eq!(other.number("SELECT COUNT(*) FROM stock").await, 3);
            assert_eq!(other.number("SELECT COUNT(*) FROM stock WHERE amount IN (10, 20, 30)").await, 3);
        })
        .await;
    }
    assert_eq!(secret.files(), before);
    assert!(!std::path::Path::new("/tmp/tidings_attack").exists());
}
