//! A replay of real activity as an external table: who changed which folder of a large open-source project, on six days
//! from 2019 to 2021.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::many;
use super::warehouse::{over, run, save};
use crate::support::{Kind, TestApp};

/// One line of `activity.csv`.
struct Activity {
    at: DateTime<Utc>,
    who: &'static str,
    folder: &'static str,
}

fn activities() -> Vec<Activity> {
    let line = |line: &'static str| {
        let mut cells = line.split(',');
        let mut next = || cells.next().expect("it has three cells");
        Activity { at: next().parse().expect("it is an instant"), who: next(), folder: next() }
    };
    include_str!("activity.csv").lines().skip(1).map(line).collect()
}

/// The number of people who changed each folder within the last hour, for folders with three or more.
fn busy(all: &[Activity], now: DateTime<Utc>) -> BTreeMap<&'static str, usize> {
    let mut people: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for activity in all.iter().filter(|activity| activity.at > now - TimeDelta::hours(1) && activity.at <= now) {
        people.entry(activity.folder).or_default().insert(activity.who);
    }
    people.into_iter().map(|(folder, people)| (folder, people.len())).filter(|(_, people)| *people >= 3).collect()
}

async fn seen(app: &TestApp) -> Vec<String> {
    let mut titles = app.user("ada").titles(json!({})).await;
    titles.sort();
    titles
}

/// The rule "three people have changed a folder within an hour": it notifies while that is so, with the current number.
async fn busy_folders_are_told(kind: Kind, of: Kind) {
    over(kind, of, json!({}), async |app, warehouse| {
        let template = json!({ "title": "{{ params.folder }}: {{ params.people }}" });
        app.admin().define(json!({ "code": "stock", "title": "Busy", "template": template })).await;
        let (instant, ago) = match of {
            Kind::Postgres => ("TIMESTAMPTZ", ":now - interval '1 hour'"),
            Kind::Mysql => ("DATETIME", ":now - INTERVAL 1 HOUR"),
            Kind::Sqlite => ("TEXT", "datetime(:now, '-1 hour')"),
        };
        warehouse.by_hand(&format!("CREATE TABLE activity (at {instant}, who VARCHAR(20), folder VARCHAR(200))")).await;
        let sql = format!(
            "SELECT folder, COUNT(DISTINCT who) AS people FROM activity WHERE at > {ago} AND at <= :now \
                GROUP BY folder HAVING COUNT(DISTINCT who) >= 3"
        );
        let scan = json!({ "source": "wms", "sql": sql, "schedule": "0 0 1 1 *" });
        save(app, json!({ "scan": scan, "key": ["folder"], "audience": { "everyone": true } })).await;
        app.user("ada").overview().await;
        let all = activities();
        // Shift the times to now.
        let later = app.now() - all[0].at;
        let later = TimeDelta::seconds(later.num_seconds());
        let (mut told, mut before) = (0, BTreeMap::new());
        for place in 0..all.len() {
            let Activity { at, who, folder } = &all[place];
            let at = *at + later;
            let text = (at).format("%Y-%m-%d %H:%M:%S").to_string();
            let zone = if of == Kind::Postgres { "+00" } else { "" };
            warehouse.by_hand(&format!("INSERT INTO activity VALUES ('{text}{zone}', '{who}', '{folder}')")).await;
            // Run after the activity, and again 61 minutes later if no other follows before.
            for now in [at, at + TimeDelta::minutes(61)] {
                if now < app.now() || all.get(place + 1).is_some_and(|next| next.at + later < now) {
                    continue;
                }
                app.advance(now - app.now());
                let (_, _, _, outcome) = run(app).await;
                assert_eq!(outcome, "COMPLETE");
                let busy = busy(&all[..=place], now - later);
                told += busy.keys().filter(|folder| !before.contains_key(*folder)).count();
                let expected: Vec<String> = busy.iter().map(|(folder, people)| format!("{folder}: {people}")).collect();
                assert_eq!(seen(app).await, expected, "at {text}");
                before = busy;
            }
        }
        assert!(told > 5, "something has happened: {told}");
        assert_eq!(many(app, "notification").await, i64::try_from(told).unwrap());
    })
    .await;
}

#[tokio::test]
async fn what_really_happened_is_told_sqlite_over_mysql() {
    busy_folders_are_told(Kind::Sqlite, Kind::Mysql).await;
}

#[tokio::test]
async fn what_really_happened_is_told_postgres_over_sqlite() {
    busy_folders_are_told(Kind::Postgres, Kind::Sqlite).await;
}

#[tokio::test]
async fn what_really_happened_is_told_mysql_over_postgres() {
    busy_folders_are_told(Kind::Mysql, Kind::Postgres).await;
}
