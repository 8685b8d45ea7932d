//! What the system is asked for with sessions.

use futures_util::stream::{StreamExt, iter};

use crate::support::{Kind, Process, Socket, TestApp};

/// From which on there are huge pages.
const MANY: usize = 500;

#[tokio::test]
async fn huge_pages_come_with_many_sessions() {
    let (Some(database), Some(other)) = (Kind::Sqlite.migrated().await, Kind::Sqlite.migrated().await) else { return };
    // Which lets this process open as many files as it may.
    let app = TestApp::start(&other.url).await;
    drop(app.listen().await);
    let server = Process::start(&database.url).await;
    let open = async |user: usize| Socket::open(&server.address, &app.user(&format!("u{user}")).token).await;
    let sockets = iter(1..MANY).map(open).buffer_unordered(16).collect::<Vec<_>>().await;
    assert_eq!(server.status("THP_enabled"), "0", "there is no need of them yet");
    let last = open(MANY).await;
    assert_eq!(server.status("THP_enabled"), "1");
    drop((sockets, last, server));

    // Whoever starts it may want none.
    let server = Process::start_with(&database.url, &[("MIMALLOC_ALLOW_THP", "0")], None).await;
    let open = async |user: usize| Socket::open(&server.address, &app.user(&format!("u{user}")).token).await;
    let _sockets = iter(0..MANY).map(open).buffer_unordered(16).collect::<Vec<_>>().await;
    assert_eq!(server.status("THP_enabled"), "0");
    app.app.db.close().await;
}
