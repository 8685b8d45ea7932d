//! What users want to hear.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::ids::UserId;
use futures_util::FutureExt;

use super::context::{ADMIN, Call};
use crate::domain::preference::{self, Change};

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
pub struct Preference {
    /// An action (`comment`) or a message type's code.
    pub code: String,
    pub enabled: bool,
    pub source: PreferenceSource,
}

/// All of a user's switches. Something reaches them only where its type and its action are both on, or its type is
/// mandatory.
#[derive(SimpleObject)]
pub struct Preferences {
    /// Every action that the tenant has a default for or the user has set, by code.
    pub actions: Vec<Preference>,
    /// Every message type, in catalogue order.
    pub types: Vec<Preference>,
}

impl Preferences {
    /// Those of a user.
    pub async fn of(call: Call<'_>, user: UserId) -> Result<Self> {
        let of = preference::of(call.app, call.tenant, user).await?;
        let switch = |of: preference::Preference| Preference {
            code: of.code,
            enabled: of.enabled,
            source: if of.is_own { PreferenceSource::User } else { PreferenceSource::Default },
        };
        Ok(Self {
            actions: of.actions.into_iter().map(switch).collect(),
            types: of.types.into_iter().map(switch).collect(),
        })
    }
}

/// A switch to set.
#[derive(InputObject)]
pub struct PreferenceInput {
    /// An action or a message type's code.
    pub code: String,
    /// Null: back to the default.
    pub enabled: Option<bool>,
}

fn changes(inputs: Option<Vec<PreferenceInput>>) -> Vec<Change> {
    let change = |input: PreferenceInput| Change { code: input.code, enabled: input.enabled };
    inputs.unwrap_or_default().into_iter().map(change).collect()
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
        actions: Option<Vec<PreferenceInput>>,
        types: Option<Vec<PreferenceInput>>,
        user: Option<ID>,
    ) -> Result<Preferences> {
        let call = Call::of(ctx);
        let user = call.subject("user", user.as_ref()).await?;
        let (actions, types) = (changes(actions), changes(types));
        let many = actions.iter().filter(|change| change.enabled.is_some()).count();
        call.making(ctx, many, preference::update(call.app, call.tenant, user, &actions, &types).boxed()).await?;
        Preferences::of(call, user).await
    }

    /// The tenant's defaults. They count for whatever is not yet in an inbox. At most 1,000 of each kind a call.
    /// ADMIN.
    async fn save_default_preferences(
        &self,
        ctx: &Context<'_>,
        actions: Option<Vec<PreferenceInput>>,
        types: Option<Vec<PreferenceInput>>,
    ) -> Result<bool> {
        let call = Call::by(ctx, ADMIN)?;
        preference::save_defaults(call.app, call.tenant, &changes(actions), &changes(types)).await?;
        Ok(true)
    }
}
