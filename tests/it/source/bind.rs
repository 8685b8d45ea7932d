//! Parameters are bound as values, and nothing else is mistaken for one.

use serde_json::json;

use super::{SourceQuery, instant, on_every_source, query};
use crate::support::Kind;

on_every_source! {
    async fn now_and_since_are_instants(other) {
        let at = if other.kind == Kind::Postgres { "TIMESTAMPTZ" } else { "DATETIME" };
        other.by_hand(&format!("CREATE TABLE pallet (id INTEGER NOT NULL, moved_at {at})")).await;
        other
            .by_hand(
                "INSERT INTO pallet VALUES (1, '1970-01-01 00:00:00'), (2, '2026-11-20 07:00:00'), (3, '2026-11-21 06:59:00'), \
                 (4, '2026-11-21 09:00:00')",
            )
            .await;
        let sql = "SELECT id FROM pallet WHERE moved_at >= :since AND moved_at < :now AND :now >= :since ORDER BY id";
        let found = other.scan(sql).await.unwrap();
        assert_eq!(json!(found.rows), json!([{ "id": 1 }, { "id": 2 }, { "id": 3 }]), "the first time");
        let since = Some(instant("2026-11-21T00:00:00Z"));
        let found = other.source().scan(SourceQuery { since, ..query(sql) }).await.unwrap();
        assert_eq!(json!(found.rows), json!([{ "id": 3 }]));
        let hour = match other.kind {
            Kind::Sqlite => "datetime(:now, '-1 hour')",
            Kind::Postgres => "(:now - interval '1 hour')",
            Kind::Mysql => ":now - INTERVAL 1 HOUR",
        };
        let found = other.scan(&format!("SELECT id FROM pallet WHERE moved_at < {hour} ORDER BY id")).await.unwrap();
        assert_eq!(json!(found.rows), json!([{ "id": 1 }, { "id": 2 }, { "id": 3 }]));
    }

    async fn now_is_what_the_caller_says(other) {
        let (sql, expected) = match other.kind {
            Kind::Sqlite => ("SELECT :now AS n, :since AS s", json!({ "n": "2026-11-21 08:00:00", "s": "1970-01-01 00:00:00" })),
            Kind::Postgres => (
                "SELECT :now AS n, :since::date AS s, pg_typeof(:now)::text AS t",
                json!({ "n": "2026-11-21T08:00:00.123456Z", "s": "1970-01-01", "t": "timestamp with time zone" }),
            ),
            Kind::Mysql => (
                "SELECT :now AS n, :since AS s",
                json!({ "n": "2026-11-21T08:00:00.123456", "s": "1970-01-01T00:00:00" }),
            ),
        };
        assert_eq!(other.row(sql).await, expected);
    }

    async fn what_is_quoted_or_a_comment_is_no_parameter(other) {
        let row = other
            .row("SELECT ':now' AS a, 'it''s :since' AS b -- not :other, and it's open\n /* nor :this '*/, ' ; ' AS c")
            .await;
        assert_eq!(row, json!({ "a": ":now", "b": "it's :since", "c": " ; " }));
        match other.kind {
            Kind::Sqlite => {
                let row = other.row("SELECT 1 AS \":now\", 2 AS `:b`, 3 AS [:c;], '\\' AS d, ':e' AS e").await;
                assert_eq!(row, json!({ ":now": 1, ":b": 2, ":c;": 3, "d": "\\", "e": ":e" }));
            }
            Kind::Postgres => {
                let row = other
                    .row(
                        "SELECT 1::int AS \":now\", E'\\':b' AS b, $$:c'$$ AS c, $q$ :d $$ $q$ AS d, '\\' AS e, ':f' AS f, \
                         (ARRAY[1,2])[1:2]::text AS g /* a /* :nested */ :one */, '{\"a\":1}'::jsonb ? 'a' AS h, 1 AS a$b$c, \
                         ':i' AS i, $ä$:j$ä$ AS j",
                    )
                    .await;
                let expected = json!({
                    ":now": 1, "b": "':b", "c": ":c'", "d": " :d $$ ", "e": "\\", "f": ":f", "g": "{1,2}", "h": true, "a$b$c": 1,
                    "i": ":i", "j": ":j",
                });
                assert_eq!(row, expected);
            }
            Kind::Mysql => {
                let row = other
                    .row(
                        "SELECT 1 AS `:now`, \"it's :b\" AS b, 'a\\':c' AS c, '\\\\' AS d, ':e' AS e, @x := 5 AS f, 5--1 AS g, \
                         1 AS `a``:b` # :h '\n",
                    )
                    .await;
                let expected = json!({
                    ":now": 1, "b": "it's :b", "c": "a':c", "d": "\\", "e": ":e", "f": 5, "g": 6, "a`:b": 1,
                });
                assert_eq!(row, expected);
            }
        }
    }

    async fn there_are_no_other_parameters(other) {
        let failure = other.refuses("SELECT 'é', :then AS t").await;
        assert_eq!(failure.position, Some(13));
        other.refuses("SELECT :nowhere AS t").await;
        other.refuses("SELECT 1 AS a\0b").await;
        match other.kind {
            Kind::Sqlite => {
                for sql in ["SELECT ? AS a", "SELECT ?1 AS a", "SELECT @a AS a", "SELECT $a AS a"] {
                    other.refuses(sql).await;
                }
            }
            Kind::Postgres => drop(other.refuses("SELECT $1 AS a").await),
            Kind::Mysql => drop(other.refuses("SELECT ? AS a").await),
        }
    }

    async fn a_mistake_is_shown_where_it_was_written(other) {
        let failure = other.scan("SELECT :now AS é, :since AS s, missing FROM nowhere").await.unwrap_err();
        let expected = match other.kind {
            Kind::Sqlite => (Some("1"), None),
            Kind::Postgres => (Some("42P01"), Some(45)),
            Kind::Mysql => (Some("1146"), None),
        };
        assert_eq!((failure.code.as_deref(), failure.position), expected, "{failure:?}");
        assert!(failure.message.contains("nowhere"), "{failure:?}");
    }
}

/// Pieces of texts that look like anything but a text.
const PIECES: [&str; 30] = [
    "'", "\"", "`", "[", "]", "$", "$$", "$1", ":", ":now", ":since", "::", ":=", ";", "\\", "\\'", "--", "-- ", "/",
    "/*", "#", "e", "E", "?", "?1", "@a", "é", "(", "\n", " ",
];

/// Generates texts from a seed.
struct Texts(u64);

impl Texts {
    fn pick(&mut self, of: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % of
    }

    fn next(&mut self) -> String {
        let many = self.pick(7);
        (0..many).map(|_| PIECES[self.pick(PIECES.len())]).collect()
    }

    /// Quotes a text in one of the ways that this kind of database accepts.
    fn quoted(&mut self, kind: Kind, text: &str) -> String {
        let doubled = text.replace('\'', "''");
        let escaped = text.replace('\\', "\\\\");
        match (kind, self.pick(3)) {
            (Kind::Postgres, 1) => format!("E'{}'", escaped.replace('\'', "\\'")),
            (Kind::Postgres, 2) => format!("$q${text}$q$"),
            (Kind::Mysql, 1) => format!("'{}'", escaped.replace('\'', "\\'")),
            (Kind::Mysql, 2) => format!("\"{}\"", escaped.replace('"', "\"\"")),
            (Kind::Mysql, _) => format!("'{}'", escaped.replace('\'', "''")),
            _ => format!("'{doubled}'"),
        }
    }

    fn name(&mut self, kind: Kind, name: &str) -> String {
        match (kind, self.pick(3)) {
            (Kind::Mysql, _) | (Kind::Sqlite, 1) => format!("`{}`", name.replace('`', "``")),
            (Kind::Sqlite, 2) if !name.contains(']') => format!("[{name}]"),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    fn comment(&mut self) -> String {
        let text = self.next();
        if self.pick(2) == 0 {
            format!("/* {} */", text.replace("/*", ""))
        } else {
            format!("-- {}\n", text.replace('\n', ""))
        }
    }
}

on_every_source! {
    /// The source returns the texts that we parsed. If it did not, something in them would have been bound as a
    /// parameter.
    async fn texts_names_and_comments_end_where_the_source_says(other) {
        let mut texts = Texts(20);
        for round in 0..8 {
            let (mut sql, mut expected) = (String::from("SELECT :now AS n"), serde_json::Map::new());
            for column in 0..40 {
                let (text, name) = (texts.next(), format!("c{}{column}", texts.next()));
                let (quoted, named) = (texts.quoted(other.kind, &text), texts.name(other.kind, &name));
                sql += &[", ", &texts.comment(), &quoted, " ", &texts.comment(), "AS ", &named].concat();
                expected.insert(name, text.into());
            }
            let mut row = other.row(&sql).await;
            let now = row.as_object_mut().unwrap().remove("n").unwrap();
            assert!(now.as_str().unwrap().starts_with("2026-11-21"), "{now}");
            assert_eq!(row, serde_json::Value::Object(expected), "round {round}: {sql}");
            let failure = other.refuses(&format!("{sql};{}SELECT 1", texts.comment())).await;
            assert_eq!(failure.message, "only one statement may be run");
        }
    }
}
