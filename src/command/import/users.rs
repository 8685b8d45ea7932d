//! Users with their profiles and groups.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash, Hasher};

use entity::ids::UserId;
use tidings::domain::channel;
use tidings::domain::lane::Kind;
use tidings::domain::tenant::Needs;
use tidings::domain::user::{self, Contact, Profile, ProfileChange};
use tidings::error::{Error, Result};
use tidings::mail;

use super::fields::Fields;
use super::table::Table;

/// Counts of the import.
#[derive(Default)]
pub struct Users {
    made: u64,
    changed: u64,
    there: u64,
    /// In a dry run: the users that earlier batches would have created, which the database does not have.
    before: Seen,
}

/// Hashes of new users' ids, with hashes of their profiles; hashes, because there may be millions.
type Seen = HashMap<u64, u64>;

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A user.
#[derive(Clone)]
pub struct User {
    profile: ProfileChange,
    groups: Vec<String>,
}

impl Users {
    /// Returns the profiles to save, and the numbers of new, changed and unchanged users.
    async fn sort<'a>(
        (app, tenant): &Needs,
        rows: &'a [User],
        seen: &mut Seen,
    ) -> Result<(Vec<&'a ProfileChange>, [u64; 3])> {
        let [mut made, mut changed, mut there] = [0; 3];
        let ids: Vec<String> = rows.iter().map(|row| row.profile.external_id.clone()).collect();
        let known: Vec<UserId> = user::find(app, tenant, &ids).await?.into_values().collect();
        let known = user::profiles(app, tenant, &known).await?;
        let known: HashMap<&String, &Profile> = known.values().map(|of| (&of.external_id, of)).collect();
        let mut new = Vec::new();
        for User { profile, .. } in rows {
            let says = hash((&profile.name, &profile.avatar_url, &profile.locale));
            let is_there = match known.get(&profile.external_id) {
                None => seen.insert(hash(&profile.external_id), says).map(|before| before == says),
                Some(known) => Some(profile.is_in(known)),
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

    fn add(&mut self, [made, changed, there]: [u64; 3]) {
        self.made += made;
        self.changed += changed;
        self.there += there;
    }
}

impl Table for Users {
    type Row = User;
    const COLUMNS: &'static [&'static str] = &["id", "name", "avatarUrl", "locale", "email", "groups"];

    fn read(&mut self, line: &mut Fields) -> Result<User> {
        let profile = ProfileChange {
            external_id: line.required("id")?,
            name: line.text("name")?.map(Some),
            avatar_url: line.text("avatarUrl")?.map(Some),
            locale: line.text("locale")?.map(Some),
            time_zone: None,
            quiet: None,
            digest: None,
            contacts: line.text("email")?.map(|address| contact(&address)).transpose()?,
        };
        profile.check()?;
        Ok(User { profile, groups: line.texts("groups")?.unwrap_or_default() })
    }

    async fn check(&mut self, (app, tenant): &Needs, rows: &[User]) -> Result<Vec<(usize, Error)>> {
        let codes: BTreeSet<String> = rows.iter().flat_map(|row| row.groups.clone()).collect();
        let known = channel::named_groups(&app.db.read, tenant, &Vec::from_iter(codes)).await?;
        let missing = |(place, row): (usize, &User)| {
            let code = row.groups.iter().find(|code| !known.contains_key(*code))?;
            Some((place, Error::bad_input("groups", format!("names no group: {code:?}; create it with saveUserGroup"))))
        };
        Ok(rows.iter().enumerate().filter_map(missing).collect())
    }

    async fn count(&mut self, needs: &Needs, rows: Vec<User>) -> Result<()> {
        let (_, counted) = Self::sort(needs, &rows, &mut self.before).await?;
        self.add(counted);
        Ok(())
    }

    async fn make(&mut self, needs: &Needs, rows: Vec<User>) -> Result<()> {
        let (app, tenant) = needs;
        let (new, counted) = Self::sort(needs, &rows, &mut Seen::new()).await?;
        let new: Vec<ProfileChange> = new.into_iter().cloned().collect();
        if !new.is_empty() {
            user::save(app, tenant, new).await?;
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
        self.add(counted);
        Ok(())
    }

    fn told(&self) -> String {
        format!("{} users created, {} changed, {} already existed", self.made, self.changed, self.there)
    }
}

/// The user's only contact: an email address.
fn contact(address: &str) -> Result<Vec<Contact>> {
    let address = mail::address(address).map_err(|error| error.within("email"))?;
    Ok(vec![Contact { kind: Kind::Email, address }])
}
