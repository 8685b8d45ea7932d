//! A fair queue of users.

use std::collections::BTreeSet;
use std::iter::from_fn;

use entity::ids::UserId;

/// Each user is in it once. A user added again goes behind all who already wait, so busy users do not starve others.
/// Users of the same round are taken in order of id, since their rows are neighbours.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    now: BTreeSet<UserId>,
    /// Users added while others were waiting.
    next: BTreeSet<UserId>,
}

impl FairQueue {
    pub fn is_empty(&self) -> bool {
        self.now.is_empty() && self.next.is_empty()
    }

    pub fn insert(&mut self, user: UserId) {
        if !self.now.contains(&user) {
            self.next.insert(user);
        }
    }

    /// Builds a set of the new users in one go, which is cheaper than many single insertions.
    pub fn extend(&mut self, users: impl IntoIterator<Item = UserId>) {
        let mut next: BTreeSet<UserId> = users.into_iter().filter(|user| !self.now.contains(user)).collect();
        if next.len() > self.next.len() {
            std::mem::swap(&mut next, &mut self.next);
        }
        self.next.extend(next);
    }

    pub fn remove(&mut self, user: UserId) {
        self.now.remove(&user);
        self.next.remove(&user);
    }

    pub fn take_next(&mut self, most: usize) -> Vec<UserId> {
        let mut taken: Vec<UserId> = from_fn(|| self.now.pop_first()).take(most).collect();
        if self.now.is_empty() {
            std::mem::swap(&mut self.now, &mut self.next);
            taken.extend(from_fn(|| self.now.pop_first()).take(most - taken.len()));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn who_comes_again_comes_after_those_who_wait() {
        let (mut waiting, mut seen) = (FairQueue::default(), HashSet::new());
        let everybody = || (0..1_000).map(UserId);
        for round in 1..=4 {
            waiting.extend(everybody());
            let taken = waiting.take_next(250);
            assert_eq!(taken.len(), 250);
            seen.extend(taken);
            assert_eq!(seen.len(), 250 * round);
        }
        waiting.extend(everybody());
        waiting.remove(UserId(7));
        let rest = waiting.take_next(2_000);
        assert_eq!((rest.len(), rest.contains(&UserId(7)), waiting.is_empty()), (999, false, true));
    }
}
