//! What users want to hear.

use entity::audit_entry;
use std::collections::HashSet;
use std::hash::Hash;

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::ids::UserId;
use futures_util::FutureExt;

use super::account::Subject;
use super::catalogue::DeliveryChannel;
use super::context::{ADMIN, Call, STAFF};
use crate::domain::preference::{self, Change, Changes};
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

/// A switch for one channel: whether what comes into the inbox goes out by it as well.
#[derive(SimpleObject)]
pub struct ChannelPreference {
    /// The message type's code.
    #[graphql(name = "type")]
    pub message_type: String,
    /// By what.
    pub channel: DeliveryChannel,
    /// Whether it is on.
    pub enabled: bool,
    /// Who has set it.
    pub source: PreferenceSource,
}

/// All of a user's switches. Something reaches them only where its type and its action are both on, or its type is
/// mandatory; it goes out by a channel only where that is on, too.
#[derive(SimpleObject)]
#[graphql(name = "NotificationPreferences")]
pub struct Preferences {
    /// Every action that the tenant has a default for or the user has set, by code.
    pub actions: Vec<Preference>,
    /// Every message type, in catalogue order.
    pub types: Vec<Preference>,
    /// Every message type by each channel that it has a rule of delivery for, or that somebody has switched, in catalogue order.
    pub channels: Vec<ChannelPreference>,
}

impl Preferences {
    /// Those of a user.
    pub async fn of(call: Call<'_>, user: UserId) -> Result<Self> {
        Ok(preference::of(call.app, call.tenant, user).await?.into())
    }
}

impl From<preference::Preferences> for Preferences {
    fn from(of: preference::Preferences) -> Self {
        let source = |is_own| if is_own { PreferenceSource::User } else { PreferenceSource::Default };
        let switch =
            |of: preference::Preference| Preference { code: of.code, enabled: of.enabled, source: source(of.is_own) };
        let by_channel = |preference::ChannelPreference { kind, of }| {
            Some(ChannelPreference {
                message_type: of.code,
                channel: DeliveryChannel::of(kind)?,
                enabled: of.enabled,
                source: source(of.is_own),
            })
        };
        Self {
            actions: of.actions.into_iter().map(switch).collect(),
            types: of.types.into_iter().map(switch).collect(),
            channels: of.channels.into_iter().filter_map(by_channel).collect(),
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

/// A switch to set for one channel.
#[derive(InputObject)]
pub struct ChannelPreferenceInput {
    /// The message type's code.
    #[graphql(name = "type")]
    pub message_type: String,
    /// By what.
    pub channel: DeliveryChannel,
    /// Whether what comes into the inbox shall go out by it as well.
    pub enabled: bool,
}

/// A switch for one channel.
#[derive(InputObject)]
pub struct ChannelPreferenceKeyInput {
    /// The message type's code.
    #[graphql(name = "type")]
    pub message_type: String,
    /// By what.
    pub channel: DeliveryChannel,
}

/// What a mutation is given.
struct Given {
    actions: Option<Vec<PreferenceInput>>,
    types: Option<Vec<PreferenceInput>>,
    channels: Option<Vec<ChannelPreferenceInput>>,
    reset_actions: Option<Vec<String>>,
    reset_types: Option<Vec<String>>,
    reset_channels: Option<Vec<ChannelPreferenceKeyInput>>,
}

impl Given {
    /// Of each kind first those to set, then those that go back to the default.
    fn read(self) -> crate::error::Result<Changes> {
        let switches = |set: Option<Vec<PreferenceInput>>, field: &str, reset: Option<Vec<String>>| {
            let set = set.unwrap_or_default().into_iter().map(|input| (input.code, input.enabled)).collect();
            let all = both(set, field, reset.unwrap_or_default(), String::as_str);
            all.map(|all| all.into_iter().map(|(code, enabled)| Change { code, enabled }).collect::<Vec<_>>())
        };
        let set = self.channels.unwrap_or_default().into_iter();
        let set = set.map(|input| ((input.message_type, input.channel), input.enabled)).collect();
        let reset = self.reset_channels.unwrap_or_default().into_iter();
        let reset = reset.map(|input| (input.message_type, input.channel)).collect();
        let channels = both(set, "resetChannels", reset, |(code, _)| code)?.into_iter();
        Ok(Changes {
            actions: switches(self.actions, "resetActions", self.reset_actions)?,
            types: switches(self.types, "resetTypes", self.reset_types)?,
            channels: channels.map(|((code, by), enabled)| (by.into(), Change { code, enabled })).collect(),
        })
    }
}

/// First those to set, then those that go back to the default; `BAD_USER_INPUT` where one is named in both lists.
fn both<K: Eq + Hash>(
    set: Vec<(K, bool)>,
    field: &str,
    reset: Vec<K>,
    code: fn(&K) -> &str,
) -> crate::error::Result<Vec<(K, Option<bool>)>> {
    let named: HashSet<&K> = set.iter().map(|(key, _)| key).collect();
    if let Some(place) = reset.iter().position(|key| named.contains(key)) {
        let message = format!("names {:?}, which is set as well", code(&reset[place]));
        return Err(Error::bad_input(format!("{field}[{place}]"), message));
    }
    let set = set.into_iter().map(|(key, enabled)| (key, Some(enabled)));
    Ok(set.chain(reset.into_iter().map(|key| (key, None))).collect())
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
    /// Every message type by each channel that it has a rule of delivery for, or that there is a default for, in catalogue order.
    pub channels: Vec<ChannelPreference>,
}

#[derive(Default)]
pub struct PreferenceQuery;

#[Object]
impl PreferenceQuery {
    /// The tenant's defaults, as `saveDefaultPreferences` answers with them. SERVICE, ADMIN.
    async fn default_preferences(&self, ctx: &Context<'_>) -> Result<Preferences> {
        let call = Call::by(ctx, STAFF)?;
        Ok(preference::defaults(call.app, call.tenant).await?.into())
    }
}

#[derive(Default)]
pub struct PreferenceMutation;

#[Object]
impl PreferenceMutation {
    /// Sets switches of the token's user; SERVICE and ADMIN name one by `user`. It counts for what is published from now
    /// on. At most 1,000 of each kind a call, and 1,000 actions of the user's own: `CONFLICT` beyond that, and where the
    /// tenant has 10,000 actions and this would make another one. A mandatory type cannot be switched off, for
    /// no channel either. A switch for a channel counts for what has not gone out yet.
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the API")]
    async fn update_preferences(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Switches of actions.")] actions: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types.")] types: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types for one channel.")] channels: Option<Vec<ChannelPreferenceInput>>,
        #[graphql(desc = "Actions that go back to the default.")] reset_actions: Option<Vec<String>>,
        #[graphql(desc = "Message types that go back to the default.")] reset_types: Option<Vec<String>>,
        #[graphql(desc = "Switches for one channel that go back to the default.")] reset_channels: Option<
            Vec<ChannelPreferenceKeyInput>,
        >,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<PreferencesPayload> {
        let call = Call::of(ctx);
        // First, so that bad input makes no user.
        let changes = Given { actions, types, channels, reset_actions, reset_types, reset_channels }.read()?;
        let user = call.subject("user", user.as_ref()).await?;
        call.audits(ctx, audit_entry::Subject::User, &[user]);
        let many = changes.actions.iter().filter(|change| change.enabled.is_some()).count();
        call.making(ctx, many, preference::update(call.app, call.tenant, user, &changes).boxed()).await?;
        Ok(PreferencesPayload { preferences: Preferences::of(call, user).await?, subject: Subject(Some(user)) })
    }

    /// The tenant's defaults. They count for whatever is not yet in an inbox, and those for channels for what has not gone out yet. At most 1,000 of each kind a call.
    /// ADMIN.
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the API")]
    async fn save_default_preferences(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Switches of actions.")] actions: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types.")] types: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types for one channel.")] channels: Option<Vec<ChannelPreferenceInput>>,
        #[graphql(desc = "Actions that have no default any more: they are on.")] reset_actions: Option<Vec<String>>,
        #[graphql(desc = "Message types that have no default any more: they are on.")] reset_types: Option<Vec<String>>,
        #[graphql(desc = "Switches for one channel that have no default any more: they are on.")]
        reset_channels: Option<Vec<ChannelPreferenceKeyInput>>,
    ) -> Result<DefaultPreferencesPayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, audit_entry::Subject::Tenant, &[]);
        let changes = Given { actions, types, channels, reset_actions, reset_types, reset_channels }.read()?;
        preference::save_defaults(call.app, call.tenant, &changes).await?;
        let Preferences { actions, types, channels } = preference::defaults(call.app, call.tenant).await?.into();
        Ok(DefaultPreferencesPayload { types, actions, channels })
    }
}
