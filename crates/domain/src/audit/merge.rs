//! Merges the two lists of audited acts into one, newest first.

use super::AuditRecord;
use base::clock::Millis;
use model::list_page::{ListEnd, PageRange};

/// A cut through both lists: the acts after the cut are older, with an entry id or notification id below these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditCursor {
    pub entry: i64,
    pub notification: i64,
    /// The list that holds the act directly before the cut; its id above is the id of that act. `None` without such an
    /// act.
    pub behind: Option<AuditList>,
}

/// Which of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditList {
    Log,
    Sent,
}

impl AuditCursor {
    /// Before all acts.
    pub(super) const NEWEST: Self = Self { entry: i64::MAX, notification: i64::MAX, behind: None };
    /// After all acts.
    pub(super) const OLDEST: Self = Self { entry: 0, notification: 0, behind: None };

    /// The cut directly before the act that this cut follows.
    pub(super) fn step_back(self) -> Self {
        let one = |list| i64::from(self.behind == Some(list));
        Self {
            entry: self.entry + one(AuditList::Log),
            notification: self.notification + one(AuditList::Sent),
            behind: None,
        }
    }

    fn number_mut(&mut self, list: AuditList) -> &mut i64 {
        match list {
            AuditList::Log => &mut self.entry,
            AuditList::Sent => &mut self.notification,
        }
    }
}

/// A page of the merged list.
#[derive(Debug, PartialEq, Eq)]
pub struct AuditPage {
    /// Newest first, each with the cut behind it.
    pub entries: Vec<(AuditCursor, AuditRecord)>,
    /// Where the list goes on in the direction of the read, if it does.
    pub goes_on_at: Option<AuditCursor>,
}

/// One of the two lists, read from one end of a range.
pub(super) struct ListPart {
    /// Acts with their ids, in the order of the read.
    pub entries: Vec<(i64, AuditRecord)>,
    /// The id and time where the read stopped early. `None` if it reached the end of the list.
    pub cut: Option<(i64, Millis)>,
}

/// Merges a part of each list into a page. If a read stopped early, the page ends at that time: unread acts may come
/// next.
///
/// Times decrease along each list, as ids do. If a wrong clock breaks that order, each act is still on exactly one
/// page; only the order between the lists may then depend on the end of the read.
pub(super) fn merge_lists(log: ListPart, sent: ListPart, slice: &PageRange<AuditCursor>) -> AuditPage {
    let (many, is_forwards) = (slice.many, slice.from == ListEnd::First);
    let is_beyond = |at: Millis, of: Millis| if is_forwards { at < of } else { at > of };
    let horizon = |part: &ListPart| part.cut.filter(|_| part.entries.len() <= many).map(|(_, at)| at);
    let horizons = [horizon(&log), horizon(&sent)].into_iter().flatten();
    let horizon = if is_forwards { horizons.max() } else { horizons.min() };
    let from = if is_forwards {
        slice.after.unwrap_or(AuditCursor::NEWEST)
    } else {
        slice.before.map_or(AuditCursor::OLDEST, AuditCursor::step_back)
    };
    let (mut cut, mut goes_on_at, mut entries) = (from, AuditCursor { behind: None, ..from }, Vec::new());
    let (log_cut, sent_cut) = (log.cut, sent.cut);
    let (mut log, mut sent) = (log.entries.into_iter().peekable(), sent.entries.into_iter().peekable());
    while entries.len() < many {
        let list = match (log.peek(), sent.peek()) {
            // At the same time, the log entry comes first.
            (Some((_, one)), Some((_, other))) if (one.at >= other.at) == is_forwards => AuditList::Log,
            (Some(_), None) => AuditList::Log,
            (_, Some(_)) => AuditList::Sent,
            (None, None) => break,
        };
        let next = if list == AuditList::Log { &mut log } else { &mut sent };
        let is_shown = |(_, of): &(i64, AuditRecord)| horizon.is_none_or(|horizon| !is_beyond(of.at, horizon));
        let Some((number, entry)) = next.next_if(is_shown) else { break };
        *cut.number_mut(list) = number;
        goes_on_at = AuditCursor { behind: Some(list), ..cut };
        entries.push((goes_on_at, entry));
        if !is_forwards {
            cut = goes_on_at.step_back();
        }
    }
    let (has_log, has_sent) = (log.peek().is_some(), sent.peek().is_some());
    let goes_on = has_log || has_sent || log_cut.is_some() || sent_cut.is_some();
    // The next page need not scan again what this read examined without a match.
    for (list, walked_to, has_more) in [(AuditList::Log, log_cut, has_log), (AuditList::Sent, sent_cut, has_sent)] {
        if let Some((number, _)) = walked_to.filter(|_| !has_more) {
            *cut.number_mut(list) = if is_forwards { number } else { number + 1 };
            goes_on_at = AuditCursor { behind: None, ..cut };
        }
    }
    if !is_forwards {
        entries.reverse();
    }
    AuditPage { entries, goes_on_at: goes_on.then_some(goes_on_at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::SubjectKind;
    use model::actor::StaffActor;

    fn entry(at: Millis) -> AuditRecord {
        let actor = StaffActor::parse_stored("21ops").expect("it is one");
        AuditRecord {
            at,
            actor,
            action: "act".into(),
            kind: SubjectKind::Tenant,
            subject: None,
            count: 1,
            detail: None,
        }
    }

    /// A list of acts at these times with ids that count down to 1; returns those between two ids, at most `many` + 1.
    fn part(ats: &[Millis], (above, below): (i64, i64), from: ListEnd, many: usize) -> ListPart {
        let numbers = (1..=i64::try_from(ats.len()).unwrap()).rev();
        let all = numbers.zip(ats).map(|(number, at)| (number, entry(*at)));
        let mut entries: Vec<(i64, AuditRecord)> = all.filter(|(number, _)| (above..below).contains(number)).collect();
        if from == ListEnd::Last {
            entries.reverse();
        }
        entries.truncate(many + 1);
        ListPart { entries, cut: None }
    }

    fn page(log: &[Millis], sent: &[Millis], slice: &PageRange<AuditCursor>) -> AuditPage {
        let (after, before) = (
            slice.after.unwrap_or(AuditCursor::NEWEST),
            slice.before.map_or(AuditCursor::OLDEST, AuditCursor::step_back),
        );
        let log = part(log, (before.entry, after.entry), slice.from, slice.many);
        let sent = part(sent, (before.notification, after.notification), slice.from, slice.many);
        merge_lists(log, sent, slice)
    }

    #[test]
    fn pages_of_two_lists_hold_each_entry_once_in_their_order_from_either_end() {
        let lists: [(&[Millis], &[Millis]); 5] = [
            (&[90, 70, 50, 50, 10], &[80, 70, 50, 5]),
            (&[9, 8, 7], &[]),
            (&[], &[9, 8, 7]),
            (&[5, 5, 5, 5], &[5, 5, 5]),
            (&[9, 1], &[8, 7, 6, 5, 4, 3, 2]),
        ];
        for ((log, sent), many) in lists.into_iter().flat_map(|lists| [(lists, 1), (lists, 2), (lists, 3)]) {
            let (mut forwards, mut after) = (Vec::new(), None);
            loop {
                let page = page(log, sent, &PageRange { many, from: ListEnd::First, after, before: None });
                forwards.extend(page.entries);
                let Some(next) = page.goes_on_at else { break };
                after = Some(next);
            }
            let (mut backwards, mut before) = (Vec::new(), None);
            loop {
                let page = page(log, sent, &PageRange { many, from: ListEnd::Last, after: None, before });
                backwards.splice(0..0, page.entries);
                let Some(next) = page.goes_on_at else { break };
                before = Some(next);
            }
            let ats = |all: &[(AuditCursor, AuditRecord)]| all.iter().map(|(_, of)| of.at).collect::<Vec<_>>();
            let mut sorted = [log, sent].concat();
            sorted.sort_unstable_by(|one, other| other.cmp(one));
            assert_eq!((ats(&forwards), ats(&backwards)), (sorted.clone(), sorted.clone()), "{log:?} {sent:?}");
            // Each cut is directly behind its act, from either end.
            for all in [&forwards, &backwards] {
                for (index, (place, _)) in all.iter().enumerate() {
                    let rest = page(
                        log,
                        sent,
                        &PageRange { many: 99, from: ListEnd::First, after: Some(*place), before: None },
                    );
                    assert_eq!(ats(&rest.entries), sorted[index + 1..], "after {place:?}");
                    let rest = page(
                        log,
                        sent,
                        &PageRange { many: 99, from: ListEnd::Last, after: None, before: Some(*place) },
                    );
                    assert_eq!(ats(&rest.entries), sorted[..index], "before {place:?}");
                }
            }
        }
    }

    #[test]
    fn an_act_out_of_its_time_is_on_one_page_of_a_walk_from_either_end() {
        let (log, sent): (&[Millis], &[Millis]) = (&[50, 90, 20, 80], &[60, 10, 70]);
        for from in [ListEnd::First, ListEnd::Last] {
            let (mut found, mut place) = (Vec::new(), None);
            loop {
                let (after, before) = if from == ListEnd::First { (place, None) } else { (None, place) };
                let page = page(log, sent, &PageRange { many: 2, from, after, before });
                found.extend(page.entries.iter().map(|(_, of)| of.at));
                let Some(next) = page.goes_on_at else { break };
                place = Some(next);
            }
            found.sort_unstable();
            assert_eq!(found, [10, 20, 50, 60, 70, 80, 90]);
        }
    }

    #[test]
    fn nothing_is_shown_beyond_what_a_cut_walk_may_still_find() {
        let numbered = |all: &[(i64, Millis)]| all.iter().map(|(number, at)| (*number, entry(*at))).collect();
        let log = ListPart { entries: numbered(&[(9, 90)]), cut: Some((7, 60)) };
        let sent = ListPart { entries: numbered(&[(2, 80), (1, 50)]), cut: None };
        let page = merge_lists(log, sent, &PageRange::first_page(9, None));
        assert_eq!(page.entries.iter().map(|(_, of)| of.at).collect::<Vec<_>>(), [90, 80]);
        assert_eq!(page.goes_on_at, Some(AuditCursor { entry: 7, notification: 2, behind: None }));

        let log = ListPart { entries: numbered(&[(7, 60)]), cut: Some((8, 65)) };
        let sent = ListPart { entries: numbered(&[(1, 50), (2, 80)]), cut: None };
        let page = merge_lists(log, sent, &PageRange { many: 9, from: ListEnd::Last, after: None, before: None });
        assert_eq!(page.entries.iter().map(|(_, of)| of.at).collect::<Vec<_>>(), [60, 50]);
        assert_eq!(page.goes_on_at, Some(AuditCursor { entry: 9, notification: 2, behind: None }));
    }
}
