//! Answers that were made and are not taken yet: how many bytes of memory a caller may have in them.

use std::sync::Arc;

use axum::body::Bytes;
use entity::ids::TenantId;
use parking_lot::Mutex;

use super::counts::Counts;
use crate::auth::Role;
use crate::graphql::{Viewer, Who};

/// An answer of up to so many bytes counts for nothing.
const SMALL: usize = 16 * 1024;

/// So many of the largest answers a caller may have at the same time.
const ANSWERS: usize = 4;

/// The bytes of each caller who has any.
#[derive(Clone, Debug, Default)]
pub struct Unread(Arc<Mutex<Counts<Who>>>);

/// One answer, until nobody keeps any part of it.
struct Answer {
    text: String,
    who: Who,
    unread: Unread,
}

impl Unread {
    /// An answer of at most `largest` bytes as it goes out; nothing where its caller has too many that they do not take.
    pub fn kept(&self, viewer: Option<&Viewer>, text: String, largest: usize) -> Option<Bytes> {
        if text.len() <= SMALL {
            return Some(text.into());
        }
        let who = viewer.map_or_else(|| (TenantId::default(), Role::User, String::new()), Viewer::who);
        let mut callers = self.0.lock();
        if callers.of(&who) + text.len() > ANSWERS * largest {
            return None;
        }
        callers.add(who.clone(), text.len());
        drop(callers);
        Some(Bytes::from_owner(Answer { text, who, unread: self.clone() }))
    }
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.unread.0.lock().remove(&self.who, self.text.len());
    }
}
