//! Two lists of what was done as one, newest first.

use super::Entry;
use crate::clock::Millis;

/// Behind which entry a page ends: the numbers, in the log and among the notifications, that all further ones are below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub entry: i64,
    pub notification: i64,
}

/// A part of what was done.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// Newest first, each with the place behind it.
    pub entries: Vec<(Place, Entry)>,
    /// Where it goes on, if it does.
    pub goes_on_at: Option<Place>,
}

/// One of the two lists, from a place on.
pub(super) struct Part {
    /// By their numbers, which fall.
    pub entries: Vec<(i64, Entry)>,
    /// Where the walk over it was ended, with the instant of what stands there; nothing where it came to its end.
    pub cut: Option<(i64, Millis)>,
}

/// A page of at most so many, behind a place. Nothing is shown that is older than what a walk that was cut may still find.
pub(super) fn merged(log: Part, sent: Part, many: usize, after: Place) -> Page {
    let horizon = |part: &Part| part.cut.filter(|_| part.entries.len() <= many).map(|(_, at)| at);
    let horizon = [horizon(&log), horizon(&sent)].into_iter().flatten().max();
    let (mut place, mut entries) = (after, Vec::new());
    let (log_cut, sent_cut) = (log.cut, sent.cut);
    let (mut log, mut sent) = (log.entries.into_iter().peekable(), sent.entries.into_iter().peekable());
    while entries.len() < many {
        let is_of_log = match (log.peek(), sent.peek()) {
            (Some((_, one)), Some((_, other))) => one.at >= other.at,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => break,
        };
        let next = if is_of_log { &mut log } else { &mut sent };
        let Some((number, entry)) = next.next_if(|(_, of)| horizon.is_none_or(|horizon| of.at >= horizon)) else {
            break;
        };
        *(if is_of_log { &mut place.entry } else { &mut place.notification }) = number;
        entries.push((place, entry));
    }
    let (has_log, has_sent) = (log.peek().is_some(), sent.peek().is_some());
    let goes_on = has_log || has_sent || log_cut.is_some() || sent_cut.is_some();
    // What was walked over in vain is not walked over again.
    if let Some((number, _)) = log_cut.filter(|_| !has_log) {
        place.entry = number;
    }
    if let Some((number, _)) = sent_cut.filter(|_| !has_sent) {
        place.notification = number;
    }
    Page { entries, goes_on_at: goes_on.then_some(place) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::audit::Subject;
    use crate::model::actor::Actor;

    const START: Place = Place { entry: i64::MAX, notification: i64::MAX };

    fn entry(at: Millis) -> Entry {
        let actor = Actor::read("21ops").expect("it is one");
        Entry { at, actor, action: "act".into(), kind: Subject::Tenant, subject: None, count: 1, detail: None }
    }

    fn part(ats: &[Millis], after: i64, cut: Option<(i64, Millis)>) -> Part {
        let all = (1..).zip(ats.iter().rev()).map(|(number, at)| (number, entry(*at))).collect::<Vec<_>>();
        Part { entries: all.into_iter().rev().filter(|(number, _)| *number < after).collect(), cut }
    }

    #[test]
    fn pages_of_two_lists_hold_each_entry_once_in_their_order() {
        let (log, sent) = ([90, 70, 50, 50, 10], [80, 70, 50, 5]);
        let (mut place, mut found) = (START, Vec::new());
        loop {
            let page = merged(part(&log, place.entry, None), part(&sent, place.notification, None), 2, place);
            found.extend(page.entries.iter().map(|(_, of)| of.at));
            let Some(next) = page.goes_on_at else { break };
            place = next;
        }
        assert_eq!(found, [90, 80, 70, 70, 50, 50, 50, 10, 5]);
    }

    #[test]
    fn nothing_is_shown_before_what_a_cut_walk_may_still_find() {
        let page = merged(part(&[90], i64::MAX, Some((7, 60))), part(&[80, 50], i64::MAX, None), 9, START);
        assert_eq!(page.entries.iter().map(|(_, of)| of.at).collect::<Vec<_>>(), [90, 80]);
        assert_eq!(page.goes_on_at, Some(Place { entry: 7, notification: 2 }));
    }
}
