//! The size of an announcement's audience, before it is sent.

use std::collections::HashSet;

use entity::ids::ChannelId;

use super::draft::check_addressees;
use super::input::Addressees;
use crate::tenant::Tenant;
use crate::{channel, user};
use base::error::{Error, Result};
use store::Store;

/// The most users, or memberships of groups, that are counted.
const COUNTED: i64 = 1_000_000;

/// A number of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudienceEstimate {
    pub users: i64,
    /// False if there may be more.
    pub is_exact: bool,
}

/// How many users an announcement would address now, regardless of preferences. Includes users that the tenant has
/// never mentioned. Fails where a send would fail.
pub async fn audience_size(store: &Store, tenant: &Tenant, addressees: &Addressees) -> Result<AudienceEstimate> {
    check_addressees(addressees)?;
    let db = &store.db.read;
    let counted = |users: i64, of: i64| AudienceEstimate { users: users.min(COUNTED), is_exact: of <= COUNTED };
    match addressees {
        Addressees::Everyone => {
            let users = user::count_users(db, tenant, COUNTED + 1).await?;
            Ok(counted(users, users))
        }
        Addressees::Groups(codes) => {
            let groups = channel::find_groups(db, tenant, codes).await?;
            if let Some(unknown) = codes.iter().find(|code| !groups.contains_key(*code)) {
                return Err(Error::not_found_at("audience.groups", "group", unknown));
            }
            let channels: Vec<ChannelId> = groups.values().map(|group| group.channel).collect();
            let members = channel::count_memberships(db, &channels, COUNTED + 1).await?;
            Ok(members.map_or(counted(0, 0), |of| counted(of.users, of.memberships)))
        }
        Addressees::Users(ids) => {
            let users = ids.iter().collect::<HashSet<_>>().len();
            Ok(AudienceEstimate { users: i64::try_from(users).map_err(Error::internal)?, is_exact: true })
        }
        Addressees::Receiver(_) | Addressees::Subscribers { .. } => {
            Err(Error::internal("only announcements have an audience"))
        }
    }
}
