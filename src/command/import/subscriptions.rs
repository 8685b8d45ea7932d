//! Subscriptions of users to actions on targets.

use tidings::domain::channel::{self, Choice, Subscriber, Target};
use tidings::domain::tenant::Needs;
use tidings::error::{Error, Result};

use super::fields::Fields;
use super::table::{Table, by_column};

/// Counts of the import.
#[derive(Default)]
pub struct Subscriptions {
    made: u64,
    there: u64,
}

/// A user, and the actions of a target to subscribe to.
#[derive(Clone)]
pub struct Subscription {
    /// Its `actions` are filled in once the choice is resolved.
    subscriber: Subscriber,
    what: Choice,
}

impl Subscriptions {
    async fn resolved((app, tenant): &Needs, rows: Vec<Subscription>) -> Result<Vec<Subscriber>> {
        let mut resolved = Vec::with_capacity(rows.len());
        for Subscription { subscriber, what } in rows {
            let actions = channel::resolve_actions(app, tenant, what).await?;
            resolved.push(Subscriber { actions, ..subscriber });
        }
        Ok(resolved)
    }

    fn add(&mut self, wanted: &[Subscriber], made: u64) {
        self.made += made;
        self.there += wanted.iter().map(|of| of.actions.len() as u64).sum::<u64>() - made;
    }
}

impl Table for Subscriptions {
    type Row = Subscription;
    const COLUMNS: &'static [&'static str] = &["user", "targetType", "target", "actions", "reason"];

    fn read(&mut self, line: &mut Fields) -> Result<Subscription> {
        let target = Target { target_type: line.required("targetType")?, id: line.required("target")? };
        let subscriber = Subscriber { user: line.required("user")?, target, actions: Vec::new() };
        subscriber.check().map_err(by_column)?;
        let what = match (line.texts("actions")?, line.text("reason")?) {
            (Some(actions), None) => Choice::Actions(actions),
            (None, Some(reason)) => Choice::Reason(reason),
            _ => return Err(Error::bad_input("actions", "or `reason` must be given, but not both")),
        };
        Ok(Subscription { subscriber, what })
    }

    async fn check(&mut self, (app, tenant): &Needs, rows: &[Subscription]) -> Result<Vec<(usize, Error)>> {
        let mut bad = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            match channel::resolve_actions(app, tenant, row.what.clone()).await {
                Err(error @ Error::BadInput { .. }) => bad.push((place, error)),
                resolved => drop(resolved?),
            }
        }
        Ok(bad)
    }

    async fn count(&mut self, needs: &Needs, rows: Vec<Subscription>) -> Result<()> {
        let wanted = Self::resolved(needs, rows).await?;
        let made = channel::would_subscribe(&needs.0, &needs.1, &wanted).await?;
        self.add(&wanted, made);
        Ok(())
    }

    async fn make(&mut self, needs: &Needs, rows: Vec<Subscription>) -> Result<()> {
        let wanted = Self::resolved(needs, rows).await?;
        let made = channel::subscribe_all(&needs.0, &needs.1, &wanted).await?;
        self.add(&wanted, made);
        Ok(())
    }

    fn told(&self) -> String {
        format!("{} subscriptions created, {} already existed", self.made, self.there)
    }
}
