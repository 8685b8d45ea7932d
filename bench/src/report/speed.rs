//! What is asked of the speed, and what was measured.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::All;
use crate::figures::{Case, named, number};
use crate::work::poll::called::{BOARD, NEAR, UNCHANGED};
use crate::work::{ALONE, ANEW, BARE, LIMIT, TIDINGS as OURS, delivery, rules, start};

/// How a case is judged.
enum Judged {
    /// One contender's figure against another's in the same round.
    Ratio { figure: &'static str, of: &'static str, to: &'static str },
    /// What one contender's figure is more than another's in the same round.
    More { figure: &'static str, of: &'static str, to: &'static str },
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
    title: Cow<'static, str>,
    what: &'static str,
    database: &'static str,
    case: &'static str,
    judged: Judged,
    better: Better,
    must: f64,
    aim: f64,
}

const ORDINARY: &str = "ordinary";
const V1: &str = "v1: a loop";
const V2: &str = "v2: queries at once";
const V3: &str = "v3: one batched query";
const PG: &str = "postgresql";
const SQLITE: &str = "sqlite";
const MANY: &str = "2000 announcements, 64 clients";
const SOME: &str = "199 announcements, 64 clients";
const LIST: &str = "list of 20, 64 clients";
const MARK: &str = "mark one, 64 clients";
const SEND: &str = "messages, 64 clients";
const LARGE: &str = "overview, capped at 99";
const LARGE_ANEW: &str = "overview, capped at 99, each read anew";
const EXACT: &str = "overview, exact";
const EXACT_ANEW: &str = "overview, exact, each read anew";

/// Where a case stands: what was measured, over which database, and its name.
type Where = (&'static str, &'static str, &'static str);

/// A title, the two contenders, and what must and should come of it.
type Asked = (&'static str, (&'static str, &'static str), (f64, f64));

const fn more((what, database, case): Where, figure: &'static str, (title, (of, to), (must, aim)): Asked) -> Row {
    let title = Cow::Borrowed(title);
    Row { title, what, database, case, judged: Judged::Ratio { figure, of, to }, better: Better::More, must, aim }
}

const fn less((what, database, case): Where, figure: &'static str, (title, (of, to), (must, aim)): Asked) -> Row {
    let title = Cow::Borrowed(title);
    Row { title, what, database, case, judged: Judged::Ratio { figure, of, to }, better: Better::Less, must, aim }
}

const fn socket(title: &'static str, figure: &'static str, of: &'static str, (must, aim): (f64, f64)) -> Row {
    let (title, judged) = (Cow::Borrowed(title), Judged::Value { figure, of });
    Row { title, what: "live", database: PG, case: "5000 sockets", judged, better: Better::Less, must, aim }
}

/// What is asked of rules.
fn of_rules(database: &'static str) -> Vec<Row> {
    use named::{CORE, MOST, PEAK, TIME};
    use rules::called::{self, RUN, WITH, WITHOUT};
    let place = if database == SQLITE { "rules on SQLite" } else { "rules" };
    let row = |title: &str, case, judged, bound| {
        let (title, better) = (format!("{place}: {title}").into(), Better::Less);
        Row { title, what: "rules", database, case, judged, better, must: bound, aim: bound }
    };
    let (rest, large) = (
        Judged::More { figure: CORE, of: WITH, to: WITHOUT },
        Judged::More { figure: TIME, of: RUN, to: called::SELECT },
    );
    let many = Judged::Ratio { figure: TIME, of: RUN, to: called::BATCH };
    let value = |figure, of| Judged::Value { figure, of };
    let mut rows = vec![
        row("1,000 of which 100 run a minute, more CPU than without, % of a core", called::REST, rest, 1.0),
        row("10,000 rows with 10 changes, more ms than their SELECT", called::LARGE, large, 150.0),
        row("the same, more memory at the peak, MB", called::LARGE, value(PEAK, RUN), 20.0),
        row("500 new rows against one batch of 500 messages", called::MANY, many, 3.0),
        row(
            "from a change to a socket, period of 10 s, p99 ms",
            called::SOCKET,
            value(MOST, called::BY_PERIOD),
            11_000.0,
        ),
    ];
    if database == PG {
        let judged = value(MOST, called::BY_NOTIFY);
        rows.push(row("from a change to a socket, NOTIFY, p99 ms", called::SOCKET, judged, 1000.0));
    }
    rows
}

/// What is asked of webhooks.
fn of_delivery(database: &'static str) -> Vec<Row> {
    use delivery::called::{self, ALONE, GOOD, HOLED, LATER, RECEIVER, WITHOUT};
    use named::{MOST, RATE, SERVER};
    let place = if database == SQLITE { "webhooks on SQLite" } else { "webhooks" };
    let row = |title: &str, case, judged, (better, bound)| {
        let title = format!("{place}: {title}").into();
        Row { title, what: "delivery", database, case, judged, better, must: bound, aim: bound }
    };
    let ratio = |figure, of, to| Judged::Ratio { figure, of, to };
    let value = |figure, of| Judged::Value { figure, of };
    let rate = value(called::RATE, RECEIVER);
    vec![
        row(
            "sends with three endpoints that are paused meanwhile against none, requests/s",
            called::SENDS,
            ratio(RATE, LATER, WITHOUT),
            (Better::More, 0.97),
        ),
        row("to one receiver, webhooks/s", called::MANY, rate, (Better::More, 1500.0)),
        row("the same, CPU of the server a webhook, µs", called::MANY, value(SERVER, RECEIVER), (Better::Less, 200.0)),
        row("from a send to its webhook, p99 ms", called::IDLE, value(MOST, ALONE), (Better::Less, 300.0)),
        row(
            "49 beside one that never answers against without it, p99",
            called::LANES,
            ratio(MOST, HOLED, GOOD),
            (Better::Less, 1.1),
        ),
    ]
}

/// What is asked of processor time, of server and database, against the limit.
fn of_limit(database: &'static str) -> Vec<Row> {
    let place = if database == SQLITE { "CPU against the limit on SQLite" } else { "CPU against the limit" };
    let against = |to, title: &str, (what, case), of, (must, aim)| {
        let judged = Judged::Ratio { figure: named::CPU, of, to };
        let title = format!("{place}: {title}").into();
        Row { title, what, database, case, judged, better: Better::Less, must, aim }
    };
    let row = |title: &str, case, of, bounds| against(LIMIT, title, case, of, bounds);
    let mut rows = Vec::new();
    if database == PG {
        let case = ("overview", MANY);
        rows.push(against(ALONE, "an overview, a statement a request there", case, OURS, (1.5, 1.0)));
        rows.push(against(ALONE, "the same, read anew", case, ANEW, (3.0, 2.0)));
    }
    rows.extend([
        row("an overview", ("overview", MANY), OURS, (1.5, 1.0)),
        row("an overview, read anew", ("overview", MANY), ANEW, (3.0, 2.0)),
        row("a list of 20", ("list", LIST), OURS, (3.0, 2.0)),
        row("a list of 20, read anew", ("list", LIST), ANEW, (3.0, 2.0)),
        row("a mark of one", ("mark", MARK), OURS, (3.0, 2.0)),
        row("a message to one", ("send", SEND), OURS, (3.0, 2.0)),
    ]);
    rows
}

/// What is asked of polls.
fn of_polls() -> Vec<Row> {
    let row = |title: &'static str, database, case, of, (must, aim)| {
        let judged = Judged::Value { figure: named::SERVER, of };
        Row { title: title.into(), what: "poll", database, case, judged, better: Better::Less, must, aim }
    };
    let statements = Judged::Value { figure: named::STATEMENTS, of: OURS };
    vec![
        row("304 for an overview, CPU of the server, µs", PG, NEAR, UNCHANGED, (60.0, 40.0)),
        row("304 for an overview on SQLite, CPU of the server, µs", SQLITE, NEAR, UNCHANGED, (60.0, 40.0)),
        row("an overview from the board, CPU of the server, µs", PG, BOARD, OURS, (110.0, 90.0)),
        Row {
            must: 0.001,
            aim: 0.0,
            judged: statements,
            ..row("an overview from the board, statements", PG, BOARD, OURS, (0.0, 0.0))
        },
        row("304 from the board, CPU of the server, µs", PG, BOARD, UNCHANGED, (60.0, 40.0)),
    ]
}

/// What is asked of a server that does nothing.
fn of_rest() -> Vec<Row> {
    let row = |title: &'static str, figure, (must, aim)| {
        let judged = Judged::Value { figure, of: start::called::AGAIN };
        let (title, case) = (title.into(), start::called::START);
        Row { title, what: "start", database: PG, case, judged, better: Better::Less, must, aim }
    };
    vec![
        row("idle memory, MiB", named::MEMORY, (25.0, 18.0)),
        row("the binary (`dist`), MB", start::called::SIZE, (28.0, 22.0)),
    ]
}

/// The rows that say "anew" are without what Tidings remembers of overviews.
fn rows() -> Vec<Row> {
    use named::{CPU, HALF, RATE};
    let (many, some) = (("overview", PG, MANY), ("overview", PG, SOME));
    let delivery = "CPU µs a delivery";
    vec![
        more(many, RATE, ("overview, 64 clients, against our statement, bare, requests/s", (OURS, BARE), (0.45, 0.7))),
        more(many, RATE, ("the same, read anew", (ANEW, BARE), (0.45, 0.7))),
        less(many, CPU, ("CPU of server and PostgreSQL an overview, against the same", (OURS, BARE), (2.2, 1.5))),
        less(many, CPU, ("the same, read anew", (ANEW, BARE), (2.2, 1.5))),
        more(some, RATE, ("overview against v3, 199 announcements", (OURS, V3), (2.0, 2.0))),
        more(some, RATE, ("the same, read anew", (ANEW, V3), (2.0, 2.0))),
        more(some, RATE, ("overview against v2, 199 announcements", (OURS, V2), (5.0, 5.0))),
        more(some, RATE, ("overview against v1, 199 announcements", (OURS, V1), (10.0, 10.0))),
        more(many, RATE, ("overview against v3, 2,000 announcements", (OURS, V3), (3.0, 3.0))),
        more(many, RATE, ("the same, read anew", (ANEW, V3), (3.0, 3.0))),
        more(many, RATE, ("overview against v1, 2,000 announcements", (OURS, V1), (30.0, 30.0))),
        less(
            ("large", PG, LARGE),
            HALF,
            (
                "overview with 5,000 subscriptions, against an ordinary one",
                ("5,000 subscriptions", ORDINARY),
                (1.5, 1.1),
            ),
        ),
        less(("large", PG, LARGE_ANEW), HALF, ("the same, read anew", ("5,000 subscriptions", ORDINARY), (1.5, 1.1))),
        less(("large", PG, LARGE), HALF, ("overview with 10,000 unread", ("10,000 unread", ORDINARY), (1.5, 1.1))),
        less(("large", PG, LARGE_ANEW), HALF, ("the same, read anew", ("10,000 unread", ORDINARY), (1.5, 1.1))),
        less(("large", PG, EXACT), HALF, ("the same, counted exactly", ("10,000 unread", ORDINARY), (1.5, 1.1))),
        less(
            ("large", PG, EXACT_ANEW),
            HALF,
            ("the same, counted exactly and read anew", ("10,000 unread", ORDINARY), (1.5, 1.1)),
        ),
        less(("large", PG, LARGE), HALF, ("overview with 28,000 items", ("28,000 items", ORDINARY), (1.5, 1.1))),
        less(("large", PG, LARGE_ANEW), HALF, ("the same, read anew", ("28,000 items", ORDINARY), (1.5, 1.1))),
        more(
            ("overview", SQLITE, MANY),
            RATE,
            ("overview on SQLite, against our statement, bare", (OURS, BARE), (0.45, 0.7)),
        ),
        more(("overview", SQLITE, MANY), RATE, ("the same, read anew", (ANEW, BARE), (0.45, 0.7))),
        more(("list", PG, LIST), RATE, ("list of 20, against our statement, bare", (OURS, BARE), (0.5, 0.7))),
        more(
            ("list", SQLITE, LIST),
            RATE,
            ("list of 20 on SQLite, against our statement, bare", (OURS, BARE), (0.5, 0.7)),
        ),
        less(
            ("send", PG, "one after the other"),
            HALF,
            (
                "send to everyone, 1,000,000 users against 1,000",
                ("to everyone, 1,000,000 users", "to everyone, 1,000 users"),
                (1.2, 1.0),
            ),
        ),
        less(
            ("mark", PG, "mark read"),
            HALF,
            ("mark all of 10,000 unread against mark one", ("the same, not counted", "one"), (3.0, 1.5)),
        ),
        less(
            ("mark", PG, "mark read"),
            HALF,
            ("the same where `changedCount` is asked for", ("all of 10,000 unread", "one"), (3.0, 1.5)),
        ),
        more(
            ("send", PG, SEND),
            RATE,
            (
                "64 clients sending messages, against 64 of pgbench inserting the rows",
                (OURS, "pgbench, bare INSERTs"),
                (0.7, 1.0),
            ),
        ),
        Row {
            title: "p99 of the overview at 200 clients, against its p50".into(),
            what: "overview",
            database: PG,
            case: "2000 announcements, 200 clients",
            judged: Judged::Tail { of: OURS },
            better: Better::Less,
            must: 4.0,
            aim: 2.5,
        },
        socket("5,000 sockets: CPU of an item's delivery, µs", delivery, "items", (14.0, 10.0)),
        socket("5,000 sockets: CPU of an overview's delivery, µs", delivery, "overviews", (14.0, 10.0)),
        socket(
            "5,000 sockets: CPU of a delivery where both are wanted, µs",
            delivery,
            "items and overviews",
            (14.0, 10.0),
        ),
        socket("5,000 sockets: memory a socket, KiB", "KiB a socket", "items and overviews", (12.0, 9.0)),
    ]
}

impl Row {
    fn measured(&self, case: &Case) -> Option<f64> {
        match self.judged {
            Judged::Ratio { figure, of, to } => case.ratio(figure, of, to),
            Judged::More { figure, of, to } => case.more(figure, of, to),
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

fn all_rows() -> impl Iterator<Item = Row> {
    rows()
        .into_iter()
        .chain([PG, SQLITE].into_iter().flat_map(of_limit))
        .chain(of_polls())
        .chain(of_rest())
        .chain([PG, SQLITE].into_iter().flat_map(of_rules))
        .chain([PG, SQLITE].into_iter().flat_map(of_delivery))
}

/// As a Markdown table.
pub fn table(all: &All) -> String {
    let mut text = String::from("| what | must | aim | measured | |\n| --- | ---: | ---: | ---: | --- |");
    for row in all_rows() {
        let measured = all.case(row.what, row.database, row.case).and_then(|case| row.measured(case));
        let (value, verdict) = measured.map_or(("not measured".into(), ""), |of| (number(of), row.verdict(of)));
        let _ = write!(text, "\n| {} | {} | {} | {value} | {verdict} |", row.title, number(row.must), number(row.aim));
    }
    text
}
