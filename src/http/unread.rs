//! Answers that were made and are not taken yet: how many bytes of memory a caller may have in them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use entity::ids::TenantId;

use crate::auth::Role;
use crate::graphql::Viewer;

/// An answer of up to so many bytes counts for nothing.
const SMALL: usize = 16 * 1024;

/// So many of the largest answers a caller may have at the same time.
const ANSWERS: usize = 4;

type Who = (TenantId, Role, String);

/// The bytes of each caller who has any.
#[derive(Clone, Debug, Default)]
pub struct Unread(Arc<Mutex<HashMap<Who, usize>>>);

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
        let who = match viewer {
            Some(viewer) => (viewer.tenant.id, viewer.role, viewer.sub.clone()),
            None => (TenantId::default(), Role::User, String::new()),
        };
        let mut callers = self.callers();
        let bytes = callers.get(&who).copied().unwrap_or_default() + text.len();
        if bytes > ANSWERS * largest {
            return None;
        }
        callers.insert(who.clone(), bytes);
        drop(callers);
        Some(Bytes::from_owner(Answer { text, who, unread: self.clone() }))
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<Who, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut callers = self.unread.callers();
        let Some(bytes) = callers.get_mut(&self.who) else { return };
        *bytes = bytes.saturating_sub(self.text.len());
        if *bytes == 0 {
            callers.remove(&self.who);
        }
    }
}
