//! Opaque ids: what clients hold instead of our numbers.
//!
//! An id is one AES block under the tenant's own key, in base64url: 22 characters that tell nothing, not even an
//! order, and that open to nothing in another tenant. 32 of its bits are known beforehand, so that an id which was
//! made up is noticed. It is a name, not a permission: who may see what is decided after opening.

use aes::Aes128;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// How long each id is.
pub const ID_BYTES: usize = 22;

/// What an id stands for, so that a cursor is not taken for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// An inbox item: user and seq.
    Item = 1,
    /// A notification: its number.
    Notification = 2,
    /// A place in a user's inbox: user and seq.
    Cursor = 3,
    /// A place in a list of subscriptions, follows or members: the user and the other's row.
    Row = 4,
    /// A place in an export: the list and the row.
    Export = 5,
    /// A view as a user sees it: the user, 0 where it is nobody, and the view's row.
    View = 6,
    /// The token's user, first.
    Viewer = 7,
    /// A user as services and operators see them, first.
    InboxUser = 8,
    /// A message type: its row.
    MessageType = 9,
    /// A group: its channel.
    Group = 10,
    /// A subscription: the user and the channel.
    Subscription = 11,
    /// A subscription of a group: both channels.
    GroupSubscription = 12,
    /// A rule: its row.
    Rule = 13,
    /// A webhook endpoint, a relay of mail or a sender of Web Push: its row.
    Lane = 14,
    /// A delivery along one: its row.
    Delivery = 15,
    /// A link by which a user wants no more letters about a message type, or no more digests: the user's row, and the type's or 0.
    Unsubscribe = 16,
    /// A place in the audit log: twice the numbers of an entry and of a notification, each one more where the place is right behind that.
    AuditPlace = 17,
}

impl Kind {
    const ALL: [Self; 17] = [
        Self::Item,
        Self::Notification,
        Self::Cursor,
        Self::Row,
        Self::Export,
        Self::View,
        Self::Viewer,
        Self::InboxUser,
        Self::MessageType,
        Self::Group,
        Self::Subscription,
        Self::GroupSubscription,
        Self::Rule,
        Self::Lane,
        Self::Delivery,
        Self::Unsubscribe,
        Self::AuditPlace,
    ];
}

/// A tenant's key.
#[derive(Clone)]
pub struct Seal(Aes128);

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// From the 16 bytes kept with the tenant; nothing where they are not 16.
    pub fn new(key: &[u8]) -> Option<Self> {
        Aes128::new_from_slice(key).ok().map(Self)
    }

    /// The id of two numbers below 2^48, the first of them 0 where one is enough.
    pub fn close(&self, kind: Kind, first: i64, second: i64) -> String {
        // It is always ASCII.
        str::from_utf8(&self.letters(kind, first, second)).unwrap_or_default().to_owned()
    }

    /// The letters of that id.
    pub fn letters(&self, kind: Kind, first: i64, second: i64) -> [u8; ID_BYTES] {
        let mut block = [0_u8; 16];
        block[0] = kind as u8;
        block[4..10].copy_from_slice(&first.to_be_bytes()[2..]);
        block[10..].copy_from_slice(&second.to_be_bytes()[2..]);
        self.0.encrypt_block((&mut block).into());
        let mut id = [0; ID_BYTES];
        // 16 bytes are always as many characters.
        let _ = URL_SAFE_NO_PAD.encode_slice(block, &mut id);
        id
    }

    /// The two numbers of an id that `close` made for this kind and tenant; nothing for any other text.
    pub fn open(&self, kind: Kind, id: &str) -> Option<(i64, i64)> {
        let (of, first, second) = self.open_any(id)?;
        (of == kind).then_some((first, second))
    }

    /// The same for an id of any kind.
    pub fn open_any(&self, id: &str) -> Option<(Kind, i64, i64)> {
        let mut block: [u8; 16] = URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()?;
        self.0.decrypt_block((&mut block).into());
        let kind = Kind::ALL.into_iter().find(|kind| block[..4] == [*kind as u8, 0, 0, 0])?;
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte));
        Some((kind, number(&block[4..10]), number(&block[10..])))
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Seal};

    #[test]
    fn an_id_opens_to_what_it_was_closed_over() {
        let seal = Seal::new(&[7; 16]).unwrap();
        let id = seal.close(Kind::Item, 12, 281_474_976_710_655);
        assert_eq!(id.len(), 22);
        assert_eq!(seal.open(Kind::Item, &id), Some((12, 281_474_976_710_655)));
    }

    #[test]
    fn an_id_opens_to_nothing_as_another_kind_in_another_tenant_or_when_made_up() {
        let seal = Seal::new(&[7; 16]).unwrap();
        let id = seal.close(Kind::Item, 1, 2);
        assert_eq!(seal.open(Kind::Cursor, &id), None);
        assert_eq!(Seal::new(&[8; 16]).unwrap().open(Kind::Item, &id), None);
        for made_up in ["", "1", "AAAAAAAAAAAAAAAAAAAAAA", "not base64 at all!", &"A".repeat(10_000)] {
            assert_eq!(seal.open(Kind::Item, made_up), None);
        }
    }
}
