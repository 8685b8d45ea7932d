//! Users whose rows somebody holds, and who are therefore left out for a moment: nobody else in the room waits for them.

use std::time::Duration;

use entity::ids::UserId;
use tokio::time::Instant;

use super::Members;

/// After which their rows are tried again.
const AGAIN: Duration = Duration::from_millis(250);

impl Members {
    /// There is news for them a moment later, and no overview before that.
    pub fn hold(&mut self, users: &[UserId], now: Instant) {
        for &user in users {
            let Some(member) = self.users.get_mut(&user) else { continue };
            member.rests_until = Some(now + AGAIN);
            self.held.insert(user, now + AGAIN);
        }
    }

    /// When the first of them are tried again.
    pub fn next_held(&self) -> Option<Instant> {
        self.held.values().min().copied()
    }

    /// Tries those again whose moment has come.
    pub fn release(&mut self, now: Instant) {
        self.named.extend(self.held.extract_if(|_, at| *at <= now).map(|(user, _)| user));
    }
}
