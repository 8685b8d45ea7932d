//! Preferences: switches that decide about notifications and channels.

use std::collections::HashSet;
use std::hash::Hash;

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::audit_entry;
use entity::ids::UserId;
use futures_util::FutureExt;

use super::account::MutationSubject;
use super::catalogue::DeliveryChannel;
use super::context::{ADMIN, CallContext, STAFF};
use base::error::Error;
use domain::preference::{self, PreferenceChange, PreferenceChanges};

/// Where the state of a switch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum PreferenceSource {
    /// The tenant's default, or on without one.
    Default,
    /// Set by the user.
    User,
}

/// A switch for an action or a message type.
#[derive(SimpleObject)]
#[graphql(name = "NotificationPreference")]
pub struct NotificationPreference {
    /// An action, such as `comment`, or a message type's code.
    pub code: String,
    /// Whether it is on.
    pub enabled: bool,
    /// Where its state comes from.
    pub source: PreferenceSource,
}

/// A switch for one type and one channel: whether the channel also delivers items of the type.
#[derive(SimpleObject)]
pub struct ChannelPreference {
    /// The message type's code.
    #[graphql(name = "type")]
    pub message_type: String,
    /// The channel.
    pub channel: DeliveryChannel,
    /// Whether it is on.
    pub enabled: bool,
    /// Where its state comes from.
    pub source: PreferenceSource,
}

/// All switches of a user. A notification reaches the user only if its type and its action are both on, or if its type
/// is mandatory. A channel delivers it only if its own switch is on, too.
#[derive(SimpleObject)]
#[graphql(name = "NotificationPreferences")]
pub struct NotificationPreferences {
    /// All actions that have a default or that the user has set, by code.
    pub actions: Vec<NotificationPreference>,
    /// Every message type, in catalogue order.
    pub types: Vec<NotificationPreference>,
    /// All message types with each channel that has a delivery rule or a switch, in catalogue order.
    pub channels: Vec<ChannelPreference>,
}

impl NotificationPreferences {
    /// The switches of a user.
    pub async fn load_for_user(call: CallContext<'_>, user: UserId) -> Result<Self> {
        Ok(preference::load_for_user(call.app, call.tenant, user).await?.into())
    }
}

impl From<preference::PreferenceSet> for NotificationPreferences {
    fn from(of: preference::PreferenceSet) -> Self {
        let source = |is_own| if is_own { PreferenceSource::User } else { PreferenceSource::Default };
        let switch = |of: preference::PreferenceSwitch| NotificationPreference {
            code: of.code,
            enabled: of.enabled,
            source: source(of.is_own),
        };
        let by_channel = |preference::ChannelPreference { kind, of }| {
            Some(ChannelPreference {
                message_type: of.code,
                channel: DeliveryChannel::for_destination(kind)?,
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

/// A switch and its new state.
#[derive(InputObject)]
#[graphql(name = "NotificationPreferenceInput")]
pub struct PreferenceInput {
    /// An action or a message type's code.
    pub code: String,
    /// Whether it is on.
    pub enabled: bool,
}

/// A switch for one type and one channel, and its new state.
#[derive(InputObject)]
pub struct ChannelPreferenceInput {
    /// The message type's code.
    #[graphql(name = "type")]
    pub message_type: String,
    /// The channel.
    pub channel: DeliveryChannel,
    /// Whether the channel also delivers items of the type.
    pub enabled: bool,
}

/// A switch for one type and one channel.
#[derive(InputObject)]
pub struct ChannelPreferenceKeyInput {
    /// The message type's code.
    #[graphql(name = "type")]
    pub message_type: String,
    /// The channel.
    pub channel: DeliveryChannel,
}

/// The arguments of a mutation.
struct PreferenceArguments {
    actions: Option<Vec<PreferenceInput>>,
    types: Option<Vec<PreferenceInput>>,
    channels: Option<Vec<ChannelPreferenceInput>>,
    reset_actions: Option<Vec<String>>,
    reset_types: Option<Vec<String>>,
    reset_channels: Option<Vec<ChannelPreferenceKeyInput>>,
}

impl PreferenceArguments {
    /// For each kind, the switches to set, then those to reset to the default.
    fn into_changes(self) -> base::error::Result<PreferenceChanges> {
        let switches = |set: Option<Vec<PreferenceInput>>, field: &str, reset: Option<Vec<String>>| {
            let set = set.unwrap_or_default().into_iter().map(|input| (input.code, input.enabled)).collect();
            let all = merge_switches(set, field, reset.unwrap_or_default(), String::as_str);
            all.map(|all| all.into_iter().map(|(code, enabled)| PreferenceChange { code, enabled }).collect::<Vec<_>>())
        };
        let set = self.channels.unwrap_or_default().into_iter();
        let set = set.map(|input| ((input.message_type, input.channel), input.enabled)).collect();
        let reset = self.reset_channels.unwrap_or_default().into_iter();
        let reset = reset.map(|input| (input.message_type, input.channel)).collect();
        let channels = merge_switches(set, "resetChannels", reset, |(code, _)| code)?.into_iter();
        Ok(PreferenceChanges {
            actions: switches(self.actions, "resetActions", self.reset_actions)?,
            types: switches(self.types, "resetTypes", self.reset_types)?,
            channels: channels.map(|((code, by), enabled)| (by.into(), PreferenceChange { code, enabled })).collect(),
        })
    }
}

/// The switches to set, then those to reset to the default; `BAD_USER_INPUT` if one is in both lists.
fn merge_switches<K: Eq + Hash>(
    set: Vec<(K, bool)>,
    field: &str,
    reset: Vec<K>,
    code: fn(&K) -> &str,
) -> base::error::Result<Vec<(K, Option<bool>)>> {
    let named: HashSet<&K> = set.iter().map(|(key, _)| key).collect();
    if let Some(place) = reset.iter().position(|key| named.contains(key)) {
        let message = format!("names {:?}, which is also set", code(&reset[place]));
        return Err(Error::bad_input(format!("{field}[{place}]"), message));
    }
    let set = set.into_iter().map(|(key, enabled)| (key, Some(enabled)));
    Ok(set.chain(reset.into_iter().map(|key| (key, None))).collect())
}

/// The result of setting switches.
#[derive(SimpleObject)]
pub struct PreferencesPayload {
    /// All switches of the user after the change.
    pub preferences: NotificationPreferences,
    #[graphql(flatten)]
    pub subject: MutationSubject,
}

/// The result of setting defaults.
#[derive(SimpleObject)]
pub struct DefaultPreferencesPayload {
    /// Every message type, in catalogue order.
    pub types: Vec<NotificationPreference>,
    /// All actions that have a default, by code.
    pub actions: Vec<NotificationPreference>,
    /// All message types with each channel that has a delivery rule or a default, in catalogue order.
    pub channels: Vec<ChannelPreference>,
}

#[derive(Default)]
pub struct PreferenceQuery;

#[Object]
impl PreferenceQuery {
    /// The tenant's defaults, as `saveDefaultPreferences` returns them. SERVICE, ADMIN.
    async fn default_preferences(&self, ctx: &Context<'_>) -> Result<NotificationPreferences> {
        let call = CallContext::with_role(ctx, STAFF)?;
        Ok(preference::load_defaults(call.app, call.tenant).await?.into())
    }
}

#[derive(Default)]
pub struct PreferenceMutation;

#[Object]
impl PreferenceMutation {
    /// Sets switches of the token's user; SERVICE and ADMIN name a `user`. Applies to notifications published from now
    /// on; switches for a channel apply to all deliveries not yet sent. At most 1,000 switches of each kind per call,
    /// and 1,000 actions per user: `CONFLICT` beyond that, or if the call would create an action beyond the tenant's
    /// 10,000. A mandatory type cannot be switched off, not even for one channel.
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the API")]
    async fn update_preferences(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Switches of actions.")] actions: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types.")] types: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types for one channel.")] channels: Option<Vec<ChannelPreferenceInput>>,
        #[graphql(desc = "Actions to reset to the default.")] reset_actions: Option<Vec<String>>,
        #[graphql(desc = "Message types to reset to the default.")] reset_types: Option<Vec<String>>,
        #[graphql(desc = "Switches for one channel to reset to the default.")] reset_channels: Option<
            Vec<ChannelPreferenceKeyInput>,
        >,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<PreferencesPayload> {
        let call = CallContext::from_context(ctx);
        // First, so that bad input creates no user.
        let changes = PreferenceArguments { actions, types, channels, reset_actions, reset_types, reset_channels }
            .into_changes()?;
        let user = call.mention_subject("user", user.as_ref()).await?;
        call.start_audit(ctx, audit_entry::SubjectKind::User, &[user]);
        let many = changes.actions.iter().filter(|change| change.enabled.is_some()).count();
        call.charge_creation(ctx, many, preference::update(call.app, call.tenant, user, &changes).boxed()).await?;
        Ok(PreferencesPayload {
            preferences: NotificationPreferences::load_for_user(call, user).await?,
            subject: MutationSubject(Some(user)),
        })
    }

    /// Sets the tenant's defaults. Applies to notifications not yet in an inbox; defaults for a channel apply to all
    /// deliveries not yet sent. At most 1,000 of each kind per call. ADMIN.
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the API")]
    async fn save_default_preferences(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Switches of actions.")] actions: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types.")] types: Option<Vec<PreferenceInput>>,
        #[graphql(desc = "Switches of message types for one channel.")] channels: Option<Vec<ChannelPreferenceInput>>,
        #[graphql(desc = "Actions that lose their default, and are then on.")] reset_actions: Option<Vec<String>>,
        #[graphql(desc = "Message types that lose their default, and are then on.")] reset_types: Option<Vec<String>>,
        #[graphql(desc = "Switches for one channel that lose their default, and are then on.")] reset_channels: Option<
            Vec<ChannelPreferenceKeyInput>,
        >,
    ) -> Result<DefaultPreferencesPayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, audit_entry::SubjectKind::Tenant, &[]);
        let changes = PreferenceArguments { actions, types, channels, reset_actions, reset_types, reset_channels }
            .into_changes()?;
        preference::save_defaults(call.app, call.tenant, &changes).await?;
        let NotificationPreferences { actions, types, channels } =
            preference::load_defaults(call.app, call.tenant).await?.into();
        Ok(DefaultPreferencesPayload { types, actions, channels })
    }
}
