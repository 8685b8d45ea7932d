//! Data of `tidings serve --demo`: a tenant with the last two weeks of a small product team's notifications.

mod chat;
mod page;
mod review;

use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::app::App;
use base::clock::{Clock, to_date_time};
use base::error::Result;
use domain::catalogue::{self, ItemTemplate, MessageType, ReadPolicy, SubscriptionPolicy, TargetType};
use domain::channel::{self, ActionTarget, ListenerId};
use domain::notification::{self, Addressees, NotificationContent, NotificationInput};
use domain::preference::{self, PreferenceChange, PreferenceChanges};
use domain::tenant::{self, Tenant};
use domain::user::{self, PerformedBy, ProfileChange};
pub use page::routes;

/// The code of the demo tenant.
pub const TENANT: &str = "orchard";
/// The user with the fullest inbox.
pub const USER: &str = "ada";

const PEOPLE: [(&str, &str, &str); 8] = [
    ("ada", "Ada Obi", "en"),
    ("ben", "Ben Weiss", "de"),
    ("chen", "Chen Li", "zh-Hans"),
    ("dara", "Dara Novak", "cs"),
    ("emil", "Emil Sand", "sv"),
    ("fay", "Fay Moreau", "fr"),
    ("gus", "Gus Romero", "es"),
    ("hana", "Hana Sato", "ja"),
];

const DOCUMENTS: [(&str, &str, &[&str]); 4] = [
    ("checkout-redesign", "Checkout redesign", &["ada", "ben", "fay"]),
    ("pricing-2027", "Pricing 2027", &["ada", "gus", "dara"]),
    ("mobile-onboarding", "Mobile onboarding", &["chen", "hana", "ada"]),
    ("incident-review", "Incident review", &["emil", "ben"]),
];

/// Events: hours ago, user, action, index of the document, text.
const HAPPENED: [(i64, &str, &str, usize, &str); 14] = [
    (310, "ben", "comment", 0, "The address form should come before payment."),
    (290, "fay", "like", 0, ""),
    (262, "gus", "comment", 1, "Can we keep the old plan for schools?"),
    (240, "dara", "update", 1, ""),
    (201, "chen", "comment", 2, "Screen three loses a third of all users."),
    (188, "hana", "update", 2, ""),
    (150, "ben", "update", 0, ""),
    (121, "emil", "comment", 3, "The alert fired eleven minutes late."),
    (97, "fay", "comment", 0, "New mock-ups are in."),
    (74, "gus", "like", 1, ""),
    (52, "hana", "comment", 2, "Tested with five people, all got through."),
    (26, "dara", "comment", 1, "Finance agrees with the new tiers."),
    (7, "ben", "comment", 0, "Shall we ship it on Thursday?"),
    (1, "chen", "update", 2, ""),
];

/// Fills the demo tenant with two weeks of data. Safe to repeat.
pub fn fill_tenant(app: &App) -> BoxFuture<'_, Result<()>> {
    Box::pin(fill_once(app))
}

async fn fill_once(app: &App) -> Result<()> {
    let clock = Clock::fixed_at(to_date_time(app.now()) - TimeDelta::days(14));
    let app = App::start_with_database(app.db.clone(), app.config.clone(), clock).await?;
    let tenant = tenant::get_or_create(&app, TENANT).await?;
    save_catalogue(&app, &tenant).await?;
    create_users(&app, &tenant).await?;
    send_samples(&app, &tenant).await?;
    chat::create_chats(&app, &tenant).await?;
    let (id, title, _) = DOCUMENTS[1];
    review::report_reviews(&app, &tenant, &document_target(id), title).await
}

async fn save_catalogue(app: &App, tenant: &Tenant) -> Result<()> {
    let text = |title: &str, body: Option<&str>, link: Option<&str>| {
        Some(ItemTemplate { title: title.into(), body: body.map(Into::into), link: link.map(Into::into) })
    };
    let who = "{{ sender.name or sender.id }}";
    let document = Some("/documents/{{ target.id }}");
    let types = [
        ("security", "Security", "alert", "Account", ReadPolicy::Manual, true, None, None),
        ("direct", "Messages", "user", "People", ReadPolicy::Manual, false, None, None),
        (
            "comment",
            "Comments",
            "comment",
            "Documents",
            ReadPolicy::Manual,
            false,
            None,
            text(&format!("{who} commented on {{{{ params.document }}}}"), Some("“{{ params.text }}”"), document),
        ),
        (
            "change",
            "Changes",
            "file",
            "Documents",
            ReadPolicy::Auto,
            false,
            Some(60 * 60 * 24 * 60),
            text(
                &format!(
                    "{who} {{% if action == 'like' %}}liked{{% else %}}changed{{% endif %}} {{{{ params.document }}}}"
                ),
                None,
                document,
            ),
        ),
        ("release", "What's new", "info", "Product", ReadPolicy::Auto, false, None, None),
        ("team", "Team news", "calendar", "People", ReadPolicy::Manual, false, None, None),
    ];
    for (place, (code, title, icon, group, read_policy, mandatory, ttl_seconds, template)) in (0..).zip(types) {
        let change = MessageType {
            code: code.into(),
            title: title.into(),
            group: Some(group.into()),
            read_policy,
            mandatory,
            ttl_seconds,
            position: place * 10,
            template,
            icon: Some(icon.into()),
            ..MessageType::default()
        };
        catalogue::save_type(app, tenant, &change).await?;
    }
    let actions = |all: &[&str]| all.iter().map(|action| (*action).to_owned()).collect();
    catalogue::save_reason(app, tenant, "write_document", actions(&["comment", "like", "update"])).await?;
    catalogue::save_reason(app, tenant, "comment_document", actions(&["comment"])).await?;
    let documents = TargetType { code: "document".into(), subscription_policy: SubscriptionPolicy::Open };
    catalogue::save_target_type(app, tenant, &documents).await?;
    catalogue::save_follow_policy(app, tenant, SubscriptionPolicy::Open).await?;
    let actions = vec![PreferenceChange { code: "like".into(), enabled: Some(false) }];
    preference::save_defaults(app, tenant, &PreferenceChanges { actions, ..PreferenceChanges::default() }).await
}

async fn create_users(app: &Arc<App>, tenant: &Arc<Tenant>) -> Result<()> {
    let profile = |(id, name, locale): (&str, &str, &str)| ProfileChange {
        external_id: id.into(),
        name: Some(Some(name.into())),
        avatar_url: None,
        locale: Some(Some(locale.into())),
        time_zone: None,
        quiet: None,
        digest: None,
        contacts: None,
    };
    user::save_profiles(app, tenant, PEOPLE.into_iter().map(profile).collect()).await?;
    for (code, title, members) in [
        ("design", "Design", &["ada", "fay", "chen"][..]),
        ("engineering", "Engineering", &["ben", "emil", "hana"]),
        ("sales", "Sales", &["gus", "dara"]),
    ] {
        channel::save_group(app, tenant, code, Some(title)).await?;
        let members: Vec<String> = members.iter().map(|id| (*id).to_owned()).collect();
        channel::add_members(app, tenant, code, &members).await?;
    }
    for (id, _, writers) in DOCUMENTS {
        let actions =
            channel::resolve_actions(app, tenant, channel::ActionChoice::Reason("write_document".into())).await?;
        for writer in writers {
            let writer = user::find_or_create_one(app, tenant, "user", writer).await?;
            channel::subscribe(
                app,
                tenant,
                PerformedBy::Backend,
                ListenerId::User(writer),
                &document_target(id),
                actions.clone(),
            )
            .await?;
        }
    }
    let design = channel::find_group(app, tenant, "design").await?.channel;
    let (document, comments) = (document_target("incident-review"), vec!["comment".into()]);
    channel::subscribe(app, tenant, PerformedBy::Backend, ListenerId::Group(design), &document, comments).await?;
    let ada = user::find_or_create_one(app, tenant, "user", "ada").await?;
    channel::follow(app, tenant, PerformedBy::Backend, ada, "chen").await?;
    let actions = vec![PreferenceChange { code: "like".into(), enabled: Some(true) }];
    preference::update(app, tenant, ada, &PreferenceChanges { actions, ..PreferenceChanges::default() }).await
}

async fn send_samples(app: &Arc<App>, tenant: &Arc<Tenant>) -> Result<()> {
    let start = app.now();
    let end = start + TimeDelta::days(14).num_milliseconds();
    let mut events: Vec<(i64, NotificationInput)> = sample_messages().into_iter().collect();
    for (hours, who, action, place, text) in HAPPENED {
        let (id, title, _) = DOCUMENTS[place];
        let addressees =
            Addressees::Subscribers { target_type: "document".into(), target_id: id.into(), action: action.into() };
        let kind = if action == "comment" { "comment" } else { "change" };
        let params = Some(json!({ "document": title, "text": text }));
        let content = NotificationContent { params, ..NotificationContent::default() };
        events.push((hours, sample_input(kind, addressees, content, Some(who), &format!("{who}-{action}-{hours}"))));
    }
    events.sort_by_key(|(hours, _)| -hours);
    for (hours, event) in events {
        let at = end - TimeDelta::hours(hours).num_milliseconds();
        app.clock.advance(TimeDelta::milliseconds(at - app.now()));
        notification::send(app, tenant, PerformedBy::Backend, &[event], |_| "event".into()).await?;
    }
    Ok(())
}

/// Messages of operators and users.
fn sample_messages() -> Vec<(i64, NotificationInput)> {
    let content = |title: &str, body: &str, link: Option<&str>| NotificationContent {
        title: Some(title.into()),
        body: Some(body.into()),
        link: link.map(Into::into),
        ..NotificationContent::default()
    };
    let welcome = content("Orchard 4 is here", "Boards, faster search and a dark theme.", Some("/changelog/4.0"));
    let patch = content("Orchard 4.1", "Search finds text in pictures.", Some("/changelog/4.1"));
    let keys = content("A new device signed in", "Chrome on Linux, in Lisbon. Was it you?", Some("/account/devices"));
    let lunch = content("Design lunch on Friday", "At noon, on the roof if it stays dry.", None);
    let on_call = content("On call next week", "Emil and Hana share the pager.", None);
    let hello = content("Coffee?", "I am in the office until six.", None);
    let numbers =
        content("The numbers that you asked for", "Attached to the pricing page.", Some("/documents/pricing-2027"));
    let groups = |code: &str| Addressees::Groups(vec![code.into()]);
    vec![
        (330, sample_input("release", Addressees::Everyone, welcome, None, "release-4.0")),
        (80, sample_input("release", Addressees::Everyone, patch, None, "release-4.1")),
        (170, sample_input("security", Addressees::Receiver("ada".into()), keys, None, "device-1")),
        (60, sample_input("team", groups("design"), lunch, Some("fay"), "lunch")),
        (44, sample_input("team", groups("engineering"), on_call, Some("ben"), "on-call")),
        (20, sample_input("direct", Addressees::Receiver("ada".into()), hello, Some("hana"), "coffee")),
        (3, sample_input("direct", Addressees::Receiver("ada".into()), numbers, Some("gus"), "numbers")),
    ]
}

fn sample_input(
    kind: &str,
    addressees: Addressees,
    content: NotificationContent,
    sender: Option<&str>,
    key: &str,
) -> NotificationInput {
    NotificationInput {
        sender: sender.map(Into::into),
        idempotency_key: Some(format!("demo-{key}")),
        ..NotificationInput::new(kind.into(), addressees, content)
    }
}

fn document_target(id: &str) -> ActionTarget {
    ActionTarget { target_type: "document".into(), id: id.into() }
}
