//! What users want to hear.

use std::collections::HashSet;

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::ids::UserId;
use futures_util::FutureExt;

use super::account::Subject;
use super::context::{ADMIN, Call};
use crate::domain::preference::{self, Change};
use crate::error::Error;

/// Where a switch's position comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum PreferenceSource {
    /// The tenant's default, or on where there is none.
    Default,
    /// Set by the user.
    User,
}

/// One switch.
#[derive(SimpleObject)]
#[graphql(name = "NotificationPreference")]
pub struct Preference {
    /// An action (`comment`) or a message type's code.
    pub code: String,
    /// Whether it is on.
    pub enabled: bool,
    /// Who has set it.
    pub source: PreferenceSource,
}

/// All of a user's switches. Something reaches them only where its type and its action are both on, or its type is
/// mandatory.
#[derive(SimpleObject)]
#[graphql(name = "NotificationPreferences")]
pub struct Preferences {
    /// Every action that the tenant has a default for or the user has set, by code.
    pub actions: Vec<Preference>,
    /// Every message type, in catalogue order.
    pub types: Vec<Preference>,
}

impl Preferences {
    /// Those of a user.
    pub async fn of(call: Call<'_>, user: UserId) -> Result<Self> {
        Ok(preference::of(call.app, call.tenant, user).await?.into())
    }
}

impl From<preference::Preferences> for Preferences {
    fn from(of: preference::Preferences) -> Self {
        let switch = |of: preference::Preference| Preference {
            code: of.code,
            enabled: of.enabled,
            source: if of.is_own { PreferenceSource::User } else { PreferenceSource::Default },
        };
        Self {
            actions: of.actions.into_iter().map(switch).collect(),
            types: of.types.into_iter().map(switch).collect(),
        }
    }
}

/// A switch to set.
#[derive(InputObject)]
#[graphql(name = "NotificationPreferenceInput")]
pub struct PreferenceInput {
    /// An action or a message type's code.
    pub code: String,
    /// Whether it shall be on.
    pub enabled: bool,
}

/// First those to set, then those that go back to the default; `BAD_USER_INPUT` where one is named in both lists.
fn changes(
    set: Option<Vec<PreferenceInput>>,
    field: &str,
    reset: Option<Vec<String>>,
) -> crate::error::Result<Vec<Change>> {
    let (set, reset) = (set.unwrap_or_default(), reset.unwrap_or_default());
    let codes: HashSet<&str> = set.iter().map(|input| input.code.as_str()).collect();
    if let Some(place) = reset.iter().position(|code| codes.contains(code.as_str())) {
        let message = format!("names {:?}, which is set as well", reset[place]);
        return Err(Error::bad_input(format!("{field}[{place}]"), message));
    }
    let set = set.into_iter().map(|input| Change { code: input.code, enabled: Some(input.enabled) });
    Ok(set.chain(reset.into_iter().map(|code| Change { code, enabled: None })).collect())
}

/// What setting switches did.
#[derive(SimpleObject)]
pub struct PreferencesPayload {
    /// All of the user's, as they are now.
    pub preferences: Preferences,
    #[graphql(flatten)]
    pub subject: Subject,
}

/// What setting defaults did.
#[derive(SimpleObject)]
pub struct DefaultPreferencesPayload {
    /// Every message type, in catalogue order.
    pub types: Vec<Preference>,
    /// Every action that there is a default for, by code.
    pub actions: Vec<Preference>,
}

#[derive(Default)]
pub struct PreferenceMutation;

#[Object]
impl PreferenceMutation {
    /// Sets switches of the token's user; SERVICE and ADMIN name one by `user`. It counts for what is published from now
    /// on. At most 1,000 of each kind a call, and 1,000 actions of the user's own: `CONFLICT` beyond that, and where the
    /// tenant has 10,000 actions and this would make another one. A mandatory type cannot be switched off.
    async fn update_preferences(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Switches of actions.")] actions: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types.")] types: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Actions that go back to the default.")] reset_actions: Option<Vec<String>>,
        #[graphql(desc = "Message types that go back to the default.")] reset_types: Option<Vec<String>>,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<PreferencesPayload> {
        let call = Call::of(ctx);
        let user = call.subject("user", user.as_ref()).await?;
        let actions = changes(actions, "resetActions", reset_actions)?;
        let types = changes(types, "resetTypes", reset_types)?;
        let many = actions.iter().filter(|change| change.enabled.is_some()).count();
        call.making(ctx, many, preference::update(call.app, call.tenant, user, &actions, &types).boxed()).await?;
        Ok(PreferencesPayload { preferences: Preferences::of(call, user).await?, subject: Subject(Some(user)) })
    }

    /// The tenant's defaults. They count for whatever is not yet in an inbox. At most 1,000 of each kind a call.
    /// ADMIN.
    async fn save_default_preferences(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Switches of actions.")] actions: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types.")] types: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Actions that have no default any more: they are on.")] reset_actions: Option<Vec<String>>,
        #[graphql(desc = "Message types that have no default any more: they are on.")] reset_types: Option<Vec<String>>,
    ) -> Result<DefaultPreferencesPayload> {
        let call = Call::by(ctx, ADMIN)?;
        let actions = changes(actions, "resetActions", reset_actions)?;
        let types = changes(types, "resetTypes", reset_types)?;
        preference::save_defaults(call.app, call.tenant, &actions, &types).await?;
        let Preferences { actions, types } = preference::defaults(call.app, call.tenant).await?.into();
        Ok(DefaultPreferencesPayload { types, actions })
    }
}
