//! Checks that cached overviews take about as much memory as the cache counts for them.

use std::sync::Arc;

use domain::overview::{self, OverviewRequest};
use domain::tenant::{self, Tenant};
use domain::user;
use sea_orm::ConnectionTrait;
use tidings::app::App;

use super::{Weighed, allocated};

/// The number of users with overviews to read.
const USERS: usize = 2000;

/// Reads overviews for the first time. Returns the bytes counted for them and the bytes allocated.
async fn read(app: &Arc<App>, tenant: &Arc<Tenant>, names: &[String], wish: &OverviewRequest) -> (usize, usize) {
    let users = user::find_or_create(app, tenant, "users", names).await.unwrap();
    let (counted, before) = (app.caches.overviews.weight(), allocated());
    for users in users.chunks(200) {
        assert_eq!(overview::load_overviews(app, tenant, users, wish).await.unwrap().len(), users.len());
    }
    let counted = usize::try_from(app.caches.overviews.weight() - counted).unwrap();
    (counted, allocated() - before)
}

fn names(of: &str) -> Vec<String> {
    (0..USERS).map(|place| format!("{of} {place}")).collect()
}

#[tokio::test]
async fn remembered_overviews_take_about_as_much_memory_as_is_counted() {
    let server = Weighed::start().await;
    let app = &server.app;
    let tenant = tenant::get_or_create(app, "acme").await.unwrap();
    let txn = app.db.begin().await.unwrap();
    for place in 0..100 {
        txn.execute_unprepared(&format!(
            "INSERT INTO message_type (tenant_id, code, title, read_policy, mandatory, position) SELECT t.id, 't{place}', 'T', 0, \
             FALSE, 0 FROM tenant t"
        ))
        .await
        .unwrap();
    }
    txn.execute_unprepared("UPDATE tenant SET catalogue_version = catalogue_version + 1").await.unwrap();
    txn.commit().await.unwrap();
    let all = OverviewRequest::default();
    let some = OverviewRequest {
        types: Some((0..100).map(|place| format!("t{place}")).collect()),
        ..OverviewRequest::default()
    };
    // Fill pools, caches and prepared statements first.
    read(app, &tenant, &names("warm"), &all).await;

    let empty = read(app, &tenant, &names("empty"), &all).await;
    let wishing = read(app, &tenant, &names("wishing"), &some).await;
    let busy = names("busy");
    user::find_or_create(app, &tenant, "users", &busy).await.unwrap();
    let txn = app.db.begin().await.unwrap();
    for kind in 0..3 {
        let seq = format!("u.id * 3 + {kind}");
        txn.execute_unprepared(&format!(
            "INSERT INTO notification (tenant_id, id, seq, kind, type_id, title, body, audience, created_at, published_at, \
             fingerprint) SELECT u.tenant_id, {seq}, {seq}, 1, (SELECT m.id FROM message_type m WHERE m.code = 't{kind}'), \
             'a title of some length', 'a body of a few more words than the title has', '{{}}', 1, 1, 0 FROM users u WHERE \
             u.external_id LIKE 'busy%'"
        ))
        .await
        .unwrap();
        txn.execute_unprepared(&format!(
            "INSERT INTO inbox_item (user_id, seq, type_id, state) SELECT u.id, {seq}, (SELECT m.id FROM message_type m WHERE \
             m.code = 't{kind}'), 0 FROM users u WHERE u.external_id LIKE 'busy%'"
        ))
        .await
        .unwrap();
    }
    txn.execute_unprepared("UPDATE tenant SET last_seq = 1000000").await.unwrap();
    txn.execute_unprepared("UPDATE users SET cursor_seq = 1000000").await.unwrap();
    txn.commit().await.unwrap();
    let busy = read(app, &tenant, &busy, &all).await;
    for (what, (counted, allocated)) in [("empty", empty), ("wishing", wishing), ("busy", busy)] {
        let each = (counted / USERS, allocated / USERS);
        assert!(counted > 0 && allocated < counted * 13 / 10 && counted < allocated * 13 / 10, "{what}: {each:?}");
    }
}
