//! The operations in a tenant, and their frequencies.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::after::{Fate, fate};
use super::views::{Deed, deed};

pub const USERS: [&str; 5] = ["ada", "bob", "cyd", "dan", "eve"];
/// This user does nothing and is not named. Unless all are introduced, the tenant learns of them only at the end.
pub const NEWCOMER: usize = 4;
/// In catalogue order.
pub const TYPES: [&str; 3] = ["alert", "chat", "news"];
/// Its items reach all users regardless of their preferences.
pub const MANDATORY: usize = 0;
/// Its items become read by being listed.
pub const AUTO: usize = 1;
/// The hours after which notifications of a type expire, unless they state an expiry.
pub const TTLS: [Option<i64>; TYPES.len()] = [None, Some(120), None];
pub const GROUPS: [&str; 2] = ["crew", "staff"];
pub const TARGETS: [&str; 2] = ["d1", "d2"];
/// In the order of their codes.
pub const ACTIONS: [&str; 2] = ["comment", "like"];

/// The kind of histories to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Every user looks after each step, so default preferences apply to everything that follows.
    Watched,
    /// One user looks after each step, and long stretches of the log concern no user. There are no default preferences:
    /// they also apply to notifications not looked at yet, which the model does not do.
    Unwatched,
}

/// An operation, and the user who looks afterwards.
#[derive(Clone, Debug)]
pub struct Step {
    pub op: Op,
    pub looks: usize,
}

/// Users, types and so on are indexes into the lists above.
#[derive(Clone, Debug)]
pub enum Op {
    /// One notification alone, or several in a batch.
    Send(Vec<Draft>),
    /// Reminders about a target without subscribers.
    Noise(usize),
    Subscribe(Listener, usize, Vec<usize>),
    Unsubscribe(Listener, usize, Option<Vec<usize>>),
    Follow(usize, usize),
    Unfollow(usize, usize),
    Join(usize, Vec<usize>),
    Leave(usize, Vec<usize>),
    SaveGroup(usize),
    DeleteGroup(usize),
    Prefer(usize, Switch, Option<bool>),
    PreferByDefault(Switch, Option<bool>),
    Mark(usize, Change, Select),
    /// The whole inbox, or one type.
    See(usize, Option<usize>),
    /// An operation on views.
    View(Deed),
    /// A change to notifications sent before.
    After(Fate),
    /// Hours pass, and what falls due is published.
    Advance(i64),
}

#[derive(Clone, Debug)]
pub struct Draft {
    pub to: To,
    pub of_type: usize,
    pub sender: Option<usize>,
    /// Hours until publication; at once if `None`.
    pub later: Option<i64>,
    /// Hours from then until the expiry.
    pub lasts: Option<i64>,
}

#[derive(Clone, Debug)]
pub enum To {
    Everyone,
    Groups(Vec<usize>),
    Users(Vec<usize>),
    Receiver(usize),
    Subscribers(usize, usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Listener {
    User(usize),
    Group(usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Switch {
    Action(usize),
    Type(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Read,
    Unread,
    Archive,
    Unarchive,
    Delete,
}

#[derive(Clone, Debug)]
pub enum Select {
    /// Among the items that the user has ever seen.
    Ids(Vec<Index>),
    Matching {
        types: Option<Vec<usize>>,
        target: Option<usize>,
        up_to: Option<Index>,
    },
}

/// Some of the indexes of a list, at least one.
fn some_of<const N: usize>(_: &[&str; N]) -> impl Strategy<Value = Vec<usize>> + use<N> {
    subsequence((0..N).collect::<Vec<_>>(), 1..=N)
}

pub fn users() -> impl Strategy<Value = Vec<usize>> {
    subsequence((0..NEWCOMER).collect::<Vec<_>>(), 1..=NEWCOMER)
}

/// Ada more often than the others, so that more happens in one inbox.
pub fn user() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 1 => 0..NEWCOMER]
}

pub fn history(mix: Mix) -> impl Strategy<Value = Vec<Step>> {
    vec((op(mix), 0..NEWCOMER).prop_map(|(op, looks)| Step { op, looks }), 1..=50)
}

/// Hours from now: mostly a few, sometimes days.
pub fn hours() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 1..=6_i64, 1 => (1..=12_i64).prop_map(|days| 24 * days)]
}

fn op(mix: Mix) -> BoxedStrategy<Op> {
    let everybody = prop_oneof![
        10 => vec(draft(), 1..=4).prop_map(Op::Send),
        10 => hearing(),
        2 => (user(), switch(), any::<Option<bool>>()).prop_map(|(user, of, on)| Op::Prefer(user, of, on)),
        14 => (user(), change(), choice()).prop_map(|(user, change, of)| Op::Mark(user, change, of)),
        2 => (user(), option::of(0..TYPES.len())).prop_map(|(user, of)| Op::See(user, of)),
        4 => advance(),
        8 => deed().prop_map(Op::View),
        12 => fate().prop_map(Op::After),
    ];
    match mix {
        Mix::Watched => prop_oneof![
            20 => everybody,
            1 => (switch(), any::<Option<bool>>()).prop_map(|(of, on)| Op::PreferByDefault(of, on)),
        ]
        .boxed(),
        // The server reads short stretches of the log directly; beyond 256 entries it reads by channel. Beyond 1,000 it
        // also moves cursors that nothing else moves.
        Mix::Unwatched => prop_oneof![20 => everybody, 1 => select(vec![3, 300, 900]).prop_map(Op::Noise)].boxed(),
    }
}

/// Sometimes so far that older notifications are past the retention window, or nearly.
fn advance() -> impl Strategy<Value = Op> {
    prop_oneof![3 => 1..=6_i64, 1 => (1..=31_i64).prop_map(|days| 24 * days)].prop_map(Op::Advance)
}

/// Changes of subscriptions, follows and groups.
fn hearing() -> impl Strategy<Value = Op> {
    let group = || 0..GROUPS.len();
    let pair = || (user(), 1..NEWCOMER).prop_map(|(user, by)| (user, (user + by) % NEWCOMER));
    prop_oneof![
        5 => (listener(), 0..TARGETS.len(), some_of(&ACTIONS)).prop_map(|(who, on, of)| Op::Subscribe(who, on, of)),
        2 => (listener(), 0..TARGETS.len(), option::of(some_of(&ACTIONS)))
            .prop_map(|(who, on, of)| Op::Unsubscribe(who, on, of)),
        2 => pair().prop_map(|(user, other)| Op::Follow(user, other)),
        1 => pair().prop_map(|(user, other)| Op::Unfollow(user, other)),
        3 => (group(), users()).prop_map(|(group, users)| Op::Join(group, users)),
        1 => (group(), users()).prop_map(|(group, users)| Op::Leave(group, users)),
        1 => group().prop_map(Op::DeleteGroup),
        1 => group().prop_map(Op::SaveGroup),
    ]
}

fn listener() -> impl Strategy<Value = Listener> {
    prop_oneof![3 => user().prop_map(Listener::User), 1 => (0..GROUPS.len()).prop_map(Listener::Group)]
}

fn draft() -> impl Strategy<Value = Draft> {
    let to = prop_oneof![
        2 => Just(To::Everyone),
        1 => some_of(&GROUPS).prop_map(To::Groups),
        1 => users().prop_map(To::Users),
        1 => user().prop_map(To::Receiver),
        4 => (0..TARGETS.len(), 0..ACTIONS.len()).prop_map(|(target, action)| To::Subscribers(target, action)),
    ];
    let (later, lasts) = (option::weighted(0.25, hours()), option::weighted(0.25, hours()));
    (to, 0..TYPES.len(), option::of(user()), later, lasts).prop_map(|(to, of_type, sender, later, lasts)| Draft {
        to,
        of_type,
        sender,
        later,
        lasts,
    })
}

fn switch() -> impl Strategy<Value = Switch> {
    prop_oneof![(0..ACTIONS.len()).prop_map(Switch::Action), (0..TYPES.len()).prop_map(Switch::Type)]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => Just(Change::Read),
        2 => Just(Change::Unread),
        3 => Just(Change::Archive),
        2 => Just(Change::Unarchive),
        1 => Just(Change::Delete),
    ]
}

fn choice() -> impl Strategy<Value = Select> {
    let types = option::of(subsequence((0..TYPES.len()).collect::<Vec<_>>(), 0..=TYPES.len()));
    let target = option::weighted(0.3, 0..TARGETS.len());
    prop_oneof![
        vec(any::<Index>(), 0..=4).prop_map(Select::Ids),
        (types, target, option::of(any::<Index>())).prop_map(|(types, target, up_to)| Select::Matching {
            types,
            target,
            up_to
        }),
    ]
}
