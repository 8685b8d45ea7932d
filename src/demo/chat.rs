//! Chat messages of the demo's last hour.

use chrono::TimeDelta;
use serde_json::json;

use crate::app::App;
use base::error::Result;
use domain::catalogue::{self, ViewCode};
use domain::tenant::Tenant;
use domain::view::{self, MembershipCaller, ViewActivity, ViewKey};

const CHATS: [(&str, &str, &[&str]); 3] = [
    ("chat", "design", &["ada", "fay", "chen"]),
    ("chat", "launch", &["ada", "ben", "gus", "hana"]),
    ("feed", "orchard", &["ada", "ben", "chen", "dara", "emil", "fay", "gus", "hana"]),
];

/// Messages: user, index of the chat, text.
const SAID: [(&str, usize, &str); 9] = [
    ("fay", 0, "Which green do we take for the buttons?"),
    ("ada", 0, "The one of the leaves."),
    ("ben", 1, "Thursday it is."),
    ("gus", 1, "I tell the customers tomorrow."),
    ("hana", 2, "The onboarding video is up."),
    ("chen", 0, "It is hard to read on white."),
    ("fay", 0, "A shade darker, then."),
    ("hana", 1, "The stores have approved the build."),
    ("dara", 2, "We are hiring: two engineers, one designer."),
];

/// Creates the chats; any user may join the feed. Safe to repeat.
pub(super) async fn create_chats(app: &App, tenant: &Tenant) -> Result<()> {
    for (code, is_open) in [("chat", false), ("feed", true)] {
        catalogue::save_view_code(app, tenant, &ViewCode { code: code.into(), is_open }).await?;
    }
    let key = |place: usize| ViewKey { code: CHATS[place].0.into(), id: CHATS[place].1.into() };
    for (place, (_, _, members)) in CHATS.iter().enumerate() {
        let members: Vec<String> = members.iter().map(|id| (*id).to_owned()).collect();
        view::join(app, tenant, MembershipCaller::Backend, &key(place), &members).await?;
    }
    for (line, (who, place, text)) in SAID.into_iter().enumerate() {
        app.clock.advance(TimeDelta::minutes(5));
        let activity = ViewActivity {
            view: key(place),
            actor: Some(who.into()),
            preview: Some(json!({ "from": who, "text": text })),
            idempotency_key: Some(format!("demo-{line}")),
        };
        view::record_activities(app, tenant, &[activity]).await?;
    }
    Ok(())
}
