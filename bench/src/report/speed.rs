//! What is asked of the speed, and what was measured.

use std::fmt::Write as _;

use super::All;
use crate::figures::{Case, named, number};

/// How a case is judged.
enum Judged {
    /// One contender's figure against another's in the same round.
    Ratio { figure: &'static str, of: &'static str, to: &'static str },
    /// The slowest hundredth of a contender's requests against the median one.
    Tail { of: &'static str },
    /// A figure as it is.
    Value { figure: &'static str, of: &'static str },
}

enum Better {
    More,
    Less,
}

struct Row {
    title: &'static str,
    what: &'static str,
    database: &'static str,
    case: &'static str,
    judged: Judged,
    better: Better,
    must: f64,
    aim: f64,
}

const OURS: &str = "Tidings";
const LIMIT: &str = "limit";
const MANY: &str = "2000 announcements, 64 clients";
const SOME: &str = "199 announcements, 64 clients";
const PG: &str = "postgresql";

const fn rate(
    title: &'static str,
    (what, database, case): (&'static str, &'static str, &'static str),
    to: &'static str,
    (must, aim): (f64, f64),
) -> Row {
    let judged = Judged::Ratio { figure: named::RATE, of: OURS, to };
    Row { title, what, database, case, judged, better: Better::More, must, aim }
}

const fn latency(
    title: &'static str,
    (what, case): (&'static str, &'static str),
    (of, to): (&'static str, &'static str),
    (must, aim): (f64, f64),
) -> Row {
    let judged = Judged::Ratio { figure: named::HALF, of, to };
    Row { title, what, database: PG, case, judged, better: Better::Less, must, aim }
}

const LARGE: (&str, &str) = ("large", "overview, capped at 99");
const EXACT: (&str, &str) = ("large", "overview, exact");
const SOCKETS: &str = "5000 sockets";

const ROWS: [Row; 21] = [
    rate("overview, 64 clients, against the limit, requests/s", ("overview", PG, MANY), LIMIT, (0.45, 0.7)),
    Row {
        title: "CPU of server and PostgreSQL an overview, against the limit",
        what: "overview",
        database: PG,
        case: MANY,
        judged: Judged::Ratio { figure: named::CPU, of: OURS, to: LIMIT },
        better: Better::Less,
        must: 2.2,
        aim: 1.5,
    },
    rate("overview against v3, 199 announcements", ("overview", PG, SOME), "v3: one batched query", (2.0, 2.0)),
    rate("overview against v2, 199 announcements", ("overview", PG, SOME), "v2: queries at once", (5.0, 5.0)),
    rate("overview against v1, 199 announcements", ("overview", PG, SOME), "v1: a loop", (10.0, 10.0)),
    rate("overview against v3, 2,000 announcements", ("overview", PG, MANY), "v3: one batched query", (3.0, 3.0)),
    rate("overview against v1, 2,000 announcements", ("overview", PG, MANY), "v1: a loop", (30.0, 30.0)),
    latency(
        "overview with 5,000 subscriptions, against an ordinary one",
        LARGE,
        ("5,000 subscriptions", "ordinary"),
        (1.5, 1.1),
    ),
    latency("overview with 10,000 unread", LARGE, ("10,000 unread", "ordinary"), (1.5, 1.1)),
    latency("overview with 10,000 unread, counted exactly", EXACT, ("10,000 unread", "ordinary"), (1.5, 1.1)),
    latency("overview with 28,000 items", LARGE, ("28,000 items", "ordinary"), (1.5, 1.1)),
    rate("overview on SQLite, against the limit over SQLite", ("overview", "sqlite", MANY), LIMIT, (0.45, 0.7)),
    rate("list of 20, against its limit", ("list", PG, "list of 20, 64 clients"), LIMIT, (0.5, 0.7)),
    rate("list of 20 on SQLite, against its limit", ("list", "sqlite", "list of 20, 64 clients"), LIMIT, (0.5, 0.7)),
    latency(
        "send to everyone, 1,000,000 users against 1,000",
        ("send", "one after the other"),
        ("to everyone, 1,000,000 users", "to everyone, 1,000 users"),
        (1.2, 1.0),
    ),
    latency(
        "mark all of 10,000 unread against mark one",
        ("mark", "mark read"),
        ("all of 10,000 unread", "one"),
        (3.0, 1.5),
    ),
    rate(
        "64 clients sending messages, against 64 of pgbench inserting the rows",
        ("send", PG, "messages, 64 clients"),
        "pgbench, bare INSERTs",
        (0.5, 1.0),
    ),
    Row {
        title: "p99 of the overview at 200 clients, against its p50",
        what: "overview",
        database: PG,
        case: "2000 announcements, 200 clients",
        judged: Judged::Tail { of: OURS },
        better: Better::Less,
        must: 4.0,
        aim: 2.5,
    },
    socket("5,000 sockets: CPU of an item's delivery, µs", "CPU µs a delivery", (25.0, 12.0), "items"),
    socket("5,000 sockets: CPU of an overview's delivery, µs", "CPU µs a delivery", (25.0, 12.0), "overviews"),
    socket("5,000 sockets: memory a socket, KiB", "KiB a socket", (20.0, 10.0), "items and overviews"),
];

const fn socket(title: &'static str, figure: &'static str, (must, aim): (f64, f64), of: &'static str) -> Row {
    let judged = Judged::Value { figure, of };
    Row { title, what: "live", database: PG, case: SOCKETS, judged, better: Better::Less, must, aim }
}

impl Row {
    fn measured(&self, case: &Case) -> Option<f64> {
        match self.judged {
            Judged::Ratio { figure, of, to } => case.ratio(figure, of, to),
            Judged::Tail { of } => {
                let of = case.contender(of)?;
                Some(of.median(named::MOST)? / of.median(named::HALF)?)
            }
            Judged::Value { figure, of } => case.contender(of)?.median(figure),
        }
    }

    fn verdict(&self, measured: f64) -> &'static str {
        let reaches = |bound: f64| match self.better {
            Better::More => measured >= bound,
            Better::Less => measured <= bound,
        };
        match (reaches(self.aim), reaches(self.must)) {
            (true, _) => "aim",
            (_, true) => "must",
            _ => "**missed**",
        }
    }
}

/// As a Markdown table.
pub fn table(all: &All) -> String {
    let mut text = String::from("| what | must | aim | measured | |\n| --- | ---: | ---: | ---: | --- |");
    for row in &ROWS {
        let measured = all.case(row.what, row.database, row.case).and_then(|case| row.measured(case));
        let (value, verdict) = measured.map_or(("not measured".into(), ""), |of| (number(of), row.verdict(of)));
        let _ = write!(text, "\n| {} | {} | {} | {value} | {verdict} |", row.title, number(row.must), number(row.aim));
    }
    text
}
