//! The preferences of a user, or the tenant's defaults.

use serde_json::{Value, json};

use super::op::{ACTIONS, Draft, MANDATORY, Switch, TYPES, To};

#[derive(Debug, Default)]
pub struct Switches {
    pub actions: [Option<bool>; ACTIONS.len()],
    pub types: [Option<bool>; TYPES.len()],
}

impl Switches {
    pub fn set(&mut self, switch: Switch, on: Option<bool>) {
        match switch {
            Switch::Action(action) => self.actions[action] = on,
            Switch::Type(of_type) => self.types[of_type] = on,
        }
    }
    /// Whether a user with these switches, over the tenant's defaults, wants a notification.
    pub fn want(&self, defaults: &Self, draft: &Draft) -> bool {
        let by_type = self.types[draft.of_type].or(defaults.types[draft.of_type]).unwrap_or(true);
        let by_action = match draft.to {
            To::Subscribers(_, action) => self.actions[action].or(defaults.actions[action]).unwrap_or(true),
            _ => true,
        };
        draft.of_type == MANDATORY || (by_type && by_action)
    }

    /// The switches as the user sees them: all types, and the actions that the user or the tenant has set.
    pub fn shown(&self, defaults: &Self) -> Value {
        let types = TYPES.iter().enumerate().map(|(place, code)| {
            let on = self.types[place].or(defaults.types[place]).unwrap_or(true);
            json!({ "code": code, "enabled": on || place == MANDATORY })
        });
        let actions = ACTIONS.iter().enumerate().filter_map(|(place, code)| {
            let on = self.actions[place].or(defaults.actions[place])?;
            Some(json!({ "code": code, "enabled": on }))
        });
        json!({ "actions": actions.collect::<Vec<_>>(), "types": types.collect::<Vec<_>>() })
    }
}
