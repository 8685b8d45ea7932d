//! Opaque ids that clients see instead of database ids.
//!
//! An id is one AES block under the tenant's own key, in base64url: 22 characters that reveal nothing, not even an
//! order, and that are invalid in other tenants. 32 of its bits are fixed, so that a forged id is detected. An id is a
//! name, not a permission: access is checked after decoding.

use aes::Aes128;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Characters of an id.
pub const ID_BYTES: usize = 22;

/// The kind of object, so that for example a cursor is not accepted as an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum IdKind {
    /// An inbox item: user and seq.
    Item = 1,
    /// A notification: its number.
    Notification = 2,
    /// A position in a user's inbox: user and seq.
    Cursor = 3,
    /// A position in a list of subscriptions, follows or members: the user and the other's row.
    Row = 4,
    /// A position in an export: the list and the row.
    Export = 5,
    /// A view as a user sees it: the user (0 for no user) and the view's row.
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
    /// A destination (webhook endpoint, mail relay or Web Push sender): its row.
    Destination = 14,
    /// A delivery to a destination: its row.
    Delivery = 15,
    /// A link to unsubscribe from emails of a message type, or from digests: the user's row, and the type's or 0.
    Unsubscribe = 16,
    /// A position in the audit log: twice the number of an entry and twice that of a notification; each plus 1 if the
    /// position is after it.
    AuditPlace = 17,
}

impl IdKind {
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
        Self::Destination,
        Self::Delivery,
        Self::Unsubscribe,
        Self::AuditPlace,
    ];
}

/// A tenant's id cipher.
#[derive(Clone)]
pub struct IdCipher(Aes128);

impl std::fmt::Debug for IdCipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdCipher")
    }
}

impl IdCipher {
    /// From the 16 bytes stored with the tenant; `None` for another length.
    pub fn new(key: &[u8]) -> Option<Self> {
        Aes128::new_from_slice(key).ok().map(Self)
    }

    /// Encodes two numbers below 2^48; the first is 0 if one number is enough.
    pub fn encode(&self, kind: IdKind, first: i64, second: i64) -> String {
        // Always ASCII.
        str::from_utf8(&self.encode_bytes(kind, first, second)).unwrap_or_default().to_owned()
    }

    /// The characters of the id.
    pub fn encode_bytes(&self, kind: IdKind, first: i64, second: i64) -> [u8; ID_BYTES] {
        let mut block = [0_u8; 16];
        block[0] = kind as u8;
        block[4..10].copy_from_slice(&first.to_be_bytes()[2..]);
        block[10..].copy_from_slice(&second.to_be_bytes()[2..]);
        self.0.encrypt_block((&mut block).into());
        let mut id = [0; ID_BYTES];
        // 16 bytes always encode to this length.
        let _ = URL_SAFE_NO_PAD.encode_slice(block, &mut id);
        id
    }

    /// Decodes an id made by `encode` for this kind and tenant; `None` for any other text.
    pub fn decode(&self, kind: IdKind, id: &str) -> Option<(i64, i64)> {
        let (of, first, second) = self.decode_any(id)?;
        (of == kind).then_some((first, second))
    }

    /// Decodes an id of any kind.
    pub fn decode_any(&self, id: &str) -> Option<(IdKind, i64, i64)> {
        let mut block: [u8; 16] = URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()?;
        self.0.decrypt_block((&mut block).into());
        let kind = IdKind::ALL.into_iter().find(|kind| block[..4] == [*kind as u8, 0, 0, 0])?;
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte));
        Some((kind, number(&block[4..10]), number(&block[10..])))
    }
}

#[cfg(test)]
mod tests {
    use super::{IdCipher, IdKind};

    #[test]
    fn an_id_opens_to_what_it_was_closed_over() {
        let seal = IdCipher::new(&[7; 16]).unwrap();
        let id = seal.encode(IdKind::Item, 12, 281_474_976_710_655);
        assert_eq!(id.len(), 22);
        assert_eq!(seal.decode(IdKind::Item, &id), Some((12, 281_474_976_710_655)));
    }

    #[test]
    fn an_id_opens_to_nothing_as_another_kind_in_another_tenant_or_when_made_up() {
        let seal = IdCipher::new(&[7; 16]).unwrap();
        let id = seal.encode(IdKind::Item, 1, 2);
        assert_eq!(seal.decode(IdKind::Cursor, &id), None);
        assert_eq!(IdCipher::new(&[8; 16]).unwrap().decode(IdKind::Item, &id), None);
        for made_up in ["", "1", "AAAAAAAAAAAAAAAAAAAAAA", "not base64 at all!", &"A".repeat(10_000)] {
            assert_eq!(seal.decode(IdKind::Item, made_up), None);
        }
    }
}
