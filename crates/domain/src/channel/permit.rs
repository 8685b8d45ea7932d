//! Whether the tenant's catalogue allows users to subscribe and follow by themselves.
//!
//! The cached catalogue decides. The transaction that creates the subscription compares the catalogue's version in the
//! statement that locks the user's row. So the check costs no statement, and an outdated catalogue never permits a
//! subscription.

use entity::target_type::SubscriptionPolicy;

use crate::catalogue::{self, Catalogue};
use crate::tenant::Tenant;
use crate::user::PerformedBy;
use base::error::{Error, Result};
use store::Store;

/// Attempts to subscribe while the catalogue keeps changing.
const TRIES: usize = 5;

/// What a user asks to listen to.
#[derive(Clone, Copy, Debug)]
pub(super) enum PermitSubject<'a> {
    /// Targets of a type.
    TargetsOf(&'a str),
    /// Actions of other users.
    Follows,
}

impl PermitSubject<'_> {
    fn is_open(self, catalogue: &Catalogue) -> bool {
        let policy = match self {
            Self::TargetsOf(code) => catalogue.subscription_policy(code),
            Self::Follows => catalogue.follow_policy,
        };
        policy == SubscriptionPolicy::Open
    }

    fn refusal_error(self) -> Error {
        Error::Forbidden(match self {
            Self::TargetsOf(code) => format!(
                "users cannot subscribe to targets of the type {code:?}: have your backend subscribe them, or an operator open the \
                 type with saveTargetType"
            ),
            Self::Follows => {
                "users cannot follow others: have your backend do it for them, or an operator open follows with \
                saveFollowPolicy"
                    .to_owned()
            }
        })
    }
}

/// Permission to subscribe, under one version of the catalogue or under any version.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubscribePermit(Option<i64>);

impl SubscribePermit {
    /// The permit of the tenant's backend, which the catalogue does not restrict.
    pub const BACKEND: Self = Self(None);

    /// Whether the permit is valid for this version of the catalogue.
    pub fn is_valid_at(self, catalogue_version: i64) -> bool {
        self.0.is_none_or(|version| version == catalogue_version)
    }
}

/// Issues permits for a subscription: a new one each time the previous one is outdated.
#[derive(Debug)]
pub(super) struct PermitIssuer<'a> {
    subject: PermitSubject<'a>,
    /// Whether a user asks, not the tenant's backend.
    is_by_user: bool,
    tries: usize,
}

impl<'a> PermitIssuer<'a> {
    pub fn new(by: PerformedBy<'_>, subject: PermitSubject<'a>) -> Self {
        Self { subject, is_by_user: matches!(by, PerformedBy::User(_)), tries: 0 }
    }

    /// The next permit. `FORBIDDEN` for a user if the catalogue does not open the subject to users.
    pub async fn issue_next(&mut self, store: &Store, tenant: &Tenant) -> Result<SubscribePermit> {
        if !self.is_by_user {
            return Ok(SubscribePermit::BACKEND);
        }
        self.tries += 1;
        if self.tries > TRIES {
            return Err(Error::Unavailable("the catalogue changes too quickly, try again in a moment".into()));
        }
        if self.tries == 1 {
            let remembered = catalogue::load_cached(store, tenant).await?;
            if self.subject.is_open(&remembered) {
                return Ok(SubscribePermit(Some(remembered.version)));
            }
        }
        let current = catalogue::load_current(store, tenant).await?;
        if self.subject.is_open(&current) {
            Ok(SubscribePermit(Some(current.version)))
        } else {
            Err(self.subject.refusal_error())
        }
    }
}
