//! Users with their profiles and groups.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash, Hasher};

use entity::ids::UserId;

use super::fields::LineFields;
use super::table::ImportTable;
use base::error::{Error, Result};
use delivery::destination::DestinationKind;
use domain::channel;
use domain::tenant::TenantContext;
use domain::user::{self, ContactAddress, ProfileChange, UserProfile};
use outside::mail;

/// Counts of the import.
#[derive(Default)]
pub struct UserImport {
    made: u64,
    changed: u64,
    there: u64,
    /// In a dry run: the users that earlier batches would have created, which the database does not have.
    before: SeenProfiles,
}

/// Hashes of new users' ids, with hashes of their profiles; hashes, because there may be millions.
type SeenProfiles = HashMap<u64, u64>;

fn hash_value(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A user.
#[derive(Clone)]
pub struct UserRow {
    profile: ProfileChange,
    groups: Vec<String>,
}

impl UserImport {
    /// Returns the profiles to save, and the numbers of new, changed and unchanged users.
    async fn classify_rows<'a>(
        (app, tenant): &TenantContext,
        rows: &'a [UserRow],
        seen: &mut SeenProfiles,
    ) -> Result<(Vec<&'a ProfileChange>, [u64; 3])> {
        let [mut made, mut changed, mut there] = [0; 3];
        let ids: Vec<String> = rows.iter().map(|row| row.profile.external_id.clone()).collect();
        let known: Vec<UserId> = user::find_existing(app, tenant, &ids).await?.into_values().collect();
        let known = user::load_profiles(app, tenant, &known).await?;
        let known: HashMap<&String, &UserProfile> = known.values().map(|of| (&of.external_id, of)).collect();
        let mut new = Vec::new();
        for UserRow { profile, .. } in rows {
            let says = hash_value((&profile.name, &profile.avatar_url, &profile.locale));
            let is_there = match known.get(&profile.external_id) {
                None => seen.insert(hash_value(&profile.external_id), says).map(|before| before == says),
                Some(known) => Some(profile.is_already_in(known)),
            };
            match is_there {
                None => made += 1,
                Some(true) => {
                    there += 1;
                    continue;
                }
                Some(false) => changed += 1,
            }
            new.push(profile);
        }
        Ok((new, [made, changed, there]))
    }

    fn add_counts(&mut self, [made, changed, there]: [u64; 3]) {
        self.made += made;
        self.changed += changed;
        self.there += there;
    }
}

impl ImportTable for UserImport {
    type Row = UserRow;
    const COLUMNS: &'static [&'static str] = &["id", "name", "avatarUrl", "locale", "email", "groups"];

    fn parse_line(&mut self, line: &mut LineFields) -> Result<UserRow> {
        let profile = ProfileChange {
            external_id: line.required_text("id")?,
            name: line.optional_text("name")?.map(Some),
            avatar_url: line.optional_text("avatarUrl")?.map(Some),
            locale: line.optional_text("locale")?.map(Some),
            time_zone: None,
            quiet: None,
            digest: None,
            contacts: line.optional_text("email")?.map(|address| email_contact(&address)).transpose()?,
        };
        profile.check()?;
        Ok(UserRow { profile, groups: line.text_list("groups")?.unwrap_or_default() })
    }

    async fn check_rows(&mut self, (app, tenant): &TenantContext, rows: &[UserRow]) -> Result<Vec<(usize, Error)>> {
        let codes: BTreeSet<String> = rows.iter().flat_map(|row| row.groups.clone()).collect();
        let known = channel::find_groups(&app.db.read, tenant, &Vec::from_iter(codes)).await?;
        let missing = |(place, row): (usize, &UserRow)| {
            let code = row.groups.iter().find(|code| !known.contains_key(*code))?;
            Some((place, Error::bad_input("groups", format!("names no group: {code:?}; create it with saveUserGroup"))))
        };
        Ok(rows.iter().enumerate().filter_map(missing).collect())
    }

    async fn count_rows(&mut self, needs: &TenantContext, rows: Vec<UserRow>) -> Result<()> {
        let (_, counted) = Self::classify_rows(needs, &rows, &mut self.before).await?;
        self.add_counts(counted);
        Ok(())
    }

    async fn import_rows(&mut self, needs: &TenantContext, rows: Vec<UserRow>) -> Result<()> {
        let (app, tenant) = needs;
        let (new, counted) = Self::classify_rows(needs, &rows, &mut SeenProfiles::new()).await?;
        let new: Vec<ProfileChange> = new.into_iter().cloned().collect();
        if !new.is_empty() {
            user::save_profiles(app, tenant, new).await?;
        }
        let mut members: BTreeMap<&String, Vec<String>> = BTreeMap::new();
        for row in &rows {
            for group in &row.groups {
                members.entry(group).or_default().push(row.profile.external_id.clone());
            }
        }
        for (group, members) in members {
            channel::add_members(app, tenant, group, &members).await?;
        }
        self.add_counts(counted);
        Ok(())
    }

    fn format_counts(&self) -> String {
        format!("{} users created, {} changed, {} already existed", self.made, self.changed, self.there)
    }
}

/// The user's only contact: an email address.
fn email_contact(address: &str) -> Result<Vec<ContactAddress>> {
    let address = mail::normalize_address(address).map_err(|error| error.with_field_prefix("email"))?;
    Ok(vec![ContactAddress { kind: DestinationKind::Email, address }])
}
