//! The notifications in log order, the same in each run.

use super::{GROUPS, SPECIAL, Scene, TYPES};

#[derive(Clone, Copy)]
pub enum Event {
    /// The `number`th announcement: to everyone, or to a group.
    Announcement { number: i64, group: Option<i64> },
    /// To one user, by index.
    Message { to: i64 },
}

/// Unread items of each user `unread-…`, and all items of each user `items-…`.
const UNREAD: i64 = 10_000;
const ITEMS: i64 = 28_000;

/// A prime: multiples of it scatter the messages over the log.
const STREWN: i64 = 7_919;

impl Event {
    /// The index of its type in the catalogue.
    pub fn kind(self, seq: i64) -> usize {
        let number = match self {
            Self::Announcement { number, .. } => number / 2,
            Self::Message { .. } => seq,
        };
        usize::try_from(number).expect("there are no negative ones") % TYPES
    }

    pub fn title(self, seq: i64) -> String {
        match self {
            Self::Announcement { number, .. } => format!("Announcement {number} of what is new"),
            Self::Message { .. } => format!("Message {seq} for you alone"),
        }
    }
}

/// All events: announcements, spread evenly among the messages.
pub fn events(scene: &Scene) -> Vec<Event> {
    let receivers = receivers(scene);
    let (messages, announcements) = (receivers.len() as i64, scene.announcements);
    let total = messages + announcements;
    let (mut all, mut sent, mut number) = (Vec::with_capacity(receivers.len()), 0, 0);
    for place in 0..total {
        if (place + 1) * announcements / total > number {
            let group = (number % 2 == 1).then_some(number / 2 % GROUPS);
            all.push(Event::Announcement { number, group });
            number += 1;
        } else {
            let to = receivers[usize::try_from(sent * STREWN % messages).expect("it is below their number")];
            all.push(Event::Message { to });
            sent += 1;
        }
    }
    all
}

/// The receivers of all messages. Their number is not a multiple of [`STREWN`], so that scattering takes each of them
/// once.
fn receivers(scene: &Scene) -> Vec<i64> {
    let busy = scene.users / 100;
    let one = |place: i64| if place % 2 == 0 { place / 2 % busy * 100 + 7 } else { place / 2 % scene.users };
    let mut all: Vec<i64> = (0..scene.messages).map(one).collect();
    if scene.has_special {
        for special in 0..SPECIAL {
            let first = scene.users + SPECIAL + special;
            all.extend((0..UNREAD).map(|_| first));
            all.extend((0..ITEMS).map(|_| first + SPECIAL));
        }
    }
    if all.len() as i64 % STREWN == 0 {
        all.pop();
    }
    all
}

/// One item in ten is unread; for users `unread-…` all items are, for users `items-…` about a hundred.
pub fn is_read(scene: &Scene, place: i64, seq: i64) -> bool {
    let mixed = (seq * 31 + place).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()).cast_unsigned() >> 40;
    match (place - scene.users) / SPECIAL {
        _ if place < scene.users + SPECIAL => !mixed.is_multiple_of(10),
        1 => false,
        _ => !mixed.is_multiple_of(280),
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, ITEMS, UNREAD, events, is_read, receivers};
    use crate::data::{SPECIAL, Scene};

    const SCENE: Scene =
        Scene { code: "main", users: 1000, present: 10, announcements: 100, messages: 5000, has_special: true };

    #[test]
    fn every_message_is_sent_once_and_announcements_come_evenly() {
        let all = events(&SCENE);
        let mut sent: Vec<i64> =
            all.iter().filter_map(|event| if let Event::Message { to } = event { Some(*to) } else { None }).collect();
        let mut expected = receivers(&SCENE);
        sent.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sent, expected);
        assert_eq!(all.len() - sent.len(), 100);
        let announced = |event: &&Event| matches!(event, Event::Announcement { .. });
        assert_eq!(all[..all.len() / 2].iter().filter(announced).count(), 50);
    }

    #[test]
    fn users_have_what_their_names_say() {
        let all = events(&SCENE);
        let unread = |place: i64| {
            let seqs = all.iter().zip(1..).filter(|(event, _)| matches!(event, Event::Message { to } if *to == place));
            let read: Vec<bool> = seqs.map(|(_, seq)| is_read(&SCENE, place, seq)).collect();
            (read.len() as i64, read.iter().filter(|read| !**read).count())
        };
        assert_eq!(unread(SCENE.users + SPECIAL), (UNREAD, 10_000));
        let (items, fresh) = unread(SCENE.users + 2 * SPECIAL);
        assert!(items >= ITEMS - 1 && (50..200).contains(&fresh), "{items} items, {fresh} unread");
    }
}
