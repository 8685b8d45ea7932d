//! The limit of open files of this process. Each connection needs one.

/// Files that are open besides connections and the database.
const OTHERS: u64 = 64;

/// Files of a database connection. SQLite has three for each.
const OF_DATABASE: u64 = 3;

/// How many of the requested connections the limit of open files leaves room for. First raises that limit as far as
/// needed and allowed.
#[cfg(unix)]
pub fn room(asked: u32, database: u32) -> u32 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let others = OTHERS + OF_DATABASE * u64::from(database);
    let needed = others + u64::from(asked);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(allowed) = current.filter(|allowed| *allowed < needed) else { return asked };
    let raised = maximum.map_or(needed, |most| most.min(needed));
    let is_raised = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok();
    let room = if is_raised { raised } else { allowed }.saturating_sub(others).max(1);
    u32::try_from(room).map_or(asked, |room| room.min(asked))
}

#[cfg(not(unix))]
pub fn room(asked: u32, _database: u32) -> u32 {
    asked
}
