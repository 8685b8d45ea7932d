//! How many sessions tenants have open on this node.

use std::collections::HashMap;

use entity::ids::TenantId;
use parking_lot::Mutex;

/// Open sockets and event streams, a tenant.
#[derive(Debug, Default)]
pub struct Connected(Mutex<HashMap<TenantId, usize>>);

impl Connected {
    /// One more.
    pub fn comes(&self, tenant: TenantId) {
        *self.0.lock().entry(tenant).or_default() += 1;
    }

    /// One less.
    pub fn goes(&self, tenant: TenantId) {
        let mut all = self.0.lock();
        let Some(many) = all.get_mut(&tenant) else { return };
        *many -= 1;
        if *many == 0 {
            all.remove(&tenant);
        }
    }

    /// So many of one.
    pub fn of(&self, tenant: TenantId) -> usize {
        self.0.lock().get(&tenant).copied().unwrap_or_default()
    }
}
