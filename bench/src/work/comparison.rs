//! The same work for Tidings and its contenders.

use std::fmt::Debug;

use serde_json::{Value, json};

use crate::contest::{Contender, Work, hold};
use crate::figures::Case;
use crate::load::Load;
use crate::{Place, Plan, Result};

/// Concurrent clients.
pub const CLIENTS: usize = 64;

/// Responses compared before measuring.
pub const SAMPLE: usize = 20;

pub struct Comparison<'a> {
    pub name: String,
    pub contenders: Vec<Contender<'a>>,
    /// Statements that restore the data before each turn and at the end.
    pub reset: Vec<String>,
}

impl Comparison<'_> {
    pub async fn hold(&self, place: &Place, plan: &Plan) -> Result<Case> {
        let load = Load::Sustained { clients: CLIENTS, seconds: plan.seconds };
        hold(place, plan, Work { name: &self.name, load, reset: &self.reset }, &self.contenders).await
    }
}

/// Fails unless all contenders give equal responses to their first requests; `said` extracts the compared parts.
pub async fn agree<T: PartialEq + Debug>(all: &[Contender<'_>], said: impl Fn(&Value) -> Vec<T>) -> Result<()> {
    let (first, others) = all.split_first().ok_or("nobody is compared")?;
    let expected: Vec<Vec<T>> = first.answers(SAMPLE).await?.iter().map(&said).collect();
    if expected.iter().all(Vec::is_empty) {
        return Err(format!("{} says nothing that could be compared", first.name()).into());
    }
    for contender in others {
        for (answer, expected) in contender.answers(SAMPLE).await?.iter().map(&said).zip(&expected) {
            if answer != *expected {
                let (own, first) = (contender.name(), first.name());
                return Err(format!("{own} says {answer:?}, and {first} {expected:?}").into());
            }
        }
    }
    Ok(())
}

/// The compared fields of an item.
pub fn item(of: &Value) -> Value {
    json!([of["title"], of["body"], of["link"], of["isRead"], of["sender"]["id"], of["sender"]["name"]])
}
