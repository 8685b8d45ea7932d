//! A tenant's catalogue: message types, reasons, view codes, target types, the follow policy and default preferences.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use entity::delivery_rule::SendCondition;
use entity::destination;
use entity::ids::TypeId;
use entity::message_type::ReadPolicy;
use entity::preference::PreferenceScope;
use entity::target_type::SubscriptionPolicy;
use serde_json::Value;

use super::template::{self, CatalogueTemplates, EmailTemplate, ItemTemplate, TemplateSource};
use super::validate;
use super::wechat::WeChatTemplate;
use base::error::{Error, Result};

/// A version of a tenant's catalogue.
#[derive(Debug)]
pub struct Catalogue {
    /// `tenant.catalogue_version`, read before or with the rest.
    pub version: i64,
    /// In catalogue order: by position, then by code.
    pub types: Vec<Arc<MessageType>>,
    /// Reason → the actions it subscribes to.
    pub reasons: BTreeMap<String, Vec<String>>,
    /// (scope, action or type) → on or off.
    pub defaults: BTreeMap<(PreferenceScope, i64), bool>,
    /// View code → whether users may join and leave such views by themselves. Other view codes are allowed; they are
    /// closed.
    pub view_codes: BTreeMap<String, bool>,
    /// Target type → whether users may subscribe to such targets by themselves. Other target types are allowed; only
    /// backends can subscribe users to them.
    pub target_types: BTreeMap<String, SubscriptionPolicy>,
    /// Whether users may follow others by themselves.
    pub follow_policy: SubscriptionPolicy,
    /// The templates of all types.
    pub templates: CatalogueTemplates,
    by_id: HashMap<TypeId, Arc<MessageType>>,
}

/// The contents of a catalogue, besides its version.
#[derive(Debug)]
pub struct CatalogueParts {
    pub types: Vec<MessageType>,
    pub reasons: BTreeMap<String, Vec<String>>,
    pub defaults: BTreeMap<(PreferenceScope, i64), bool>,
    pub view_codes: BTreeMap<String, bool>,
    pub target_types: BTreeMap<String, SubscriptionPolicy>,
    pub follow_policy: SubscriptionPolicy,
}

impl Catalogue {
    /// Sorts the types into catalogue order.
    pub fn new(version: i64, parts: CatalogueParts) -> Self {
        let CatalogueParts { mut types, reasons, defaults, view_codes, target_types, follow_policy } = parts;
        types.sort_by(|a, b| (a.position, &a.code).cmp(&(b.position, &b.code)));
        let types: Vec<Arc<MessageType>> = types.into_iter().map(Arc::new).collect();
        let codes = types.iter().filter(|kind| kind.template_sources().next().is_some()).map(|kind| kind.code.clone());
        let templates = CatalogueTemplates::for_types(codes);
        let by_id = types.iter().map(|kind| (kind.id, kind.clone())).collect();
        Self { version, types, reasons, defaults, view_codes, target_types, follow_policy, templates, by_id }
    }

    /// The type with this code.
    pub fn message_type(&self, code: &str) -> Option<&Arc<MessageType>> {
        self.types.iter().find(|kind| kind.code == code)
    }

    /// The types with these codes in catalogue order, or all types for `None`. Fails on `field` for an unknown code or
    /// more codes than a tenant may have types.
    pub fn select_types(&self, field: &str, codes: Option<&[String]>) -> Result<Vec<Arc<MessageType>>> {
        let Some(codes) = codes else { return Ok(self.types.clone()) };
        validate::at_most(field, codes.len(), TYPES)?;
        if let Some(place) = codes.iter().position(|code| self.message_type(code).is_none()) {
            return Err(unknown_type(&format!("{field}[{place}]"), &codes[place]));
        }
        Ok(self.types.iter().filter(|kind| codes.contains(&kind.code)).cloned().collect())
    }

    /// Whether users may join and leave views of this code by themselves.
    pub fn is_open_view(&self, view_code: &str) -> bool {
        self.view_codes.get(view_code).copied().unwrap_or_default()
    }

    /// Whether users may subscribe themselves to targets of this type.
    pub fn subscription_policy(&self, target_type: &str) -> SubscriptionPolicy {
        self.target_types.get(target_type).copied().unwrap_or_default()
    }

    /// What is wrong with a template of this type; `None` if nothing is.
    pub fn template_flaw(&self, code: &str) -> Option<String> {
        self.message_type(code)?.template_sources().find_map(|source| self.templates.flaw(code, source))
    }

    /// The type with this row.
    pub fn type_by_id(&self, id: TypeId) -> Option<&Arc<MessageType>> {
        self.by_id.get(&id)
    }
}

/// Maximum types of a tenant: every overview lists them all, and SQLite allows only 500 terms in a compound select.
pub const TYPES: usize = 100;

/// Maximum bytes of a type's `ui`, as JSON.
const UI_BYTES: usize = 4 * 1024;

/// Maximum delivery rules of a type.
const DELIVERY_RULES: usize = 10;

/// Maximum delay in seconds from publication to delivery.
const DELAY_SECONDS: i64 = 2_592_000;

/// A category of notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageType {
    pub id: TypeId,
    pub code: String,
    pub title: String,
    /// Label that user interfaces group types by.
    pub group: Option<String>,
    pub read_policy: ReadPolicy,
    /// Users cannot switch it off.
    pub mandatory: bool,
    /// Whether users may send messages of this type, if the server lets the tenant's users send at all.
    pub users_may_send: bool,
    /// Seconds from publication to expiry.
    pub ttl_seconds: Option<i64>,
    /// Order in overviews.
    pub position: i32,
    pub template: Option<ItemTemplate>,
    /// An icon name known to user interfaces, or an https URL.
    pub icon: Option<String>,
    /// For user interfaces; the server does not read it.
    pub ui: Option<Value>,
    /// How notifications are delivered outside the inbox; at most one rule per kind.
    pub delivery: Vec<DeliveryRule>,
}

/// A rule for delivering notifications of a type outside the inbox, by one kind of destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRule {
    pub kind: destination::DestinationKind,
    pub condition: SendCondition,
    /// Seconds from publication to delivery.
    pub delay_seconds: i64,
    /// Email only: unread notifications are collected into one email, sent at the user's digest time.
    pub digest: bool,
    /// Email only.
    pub letter: Option<EmailTemplate>,
    /// The message template; WeChat only, and required there.
    pub wechat: Option<WeChatTemplate>,
}

impl DeliveryRule {
    fn check(&self) -> Result<()> {
        if !(0..=DELAY_SECONDS).contains(&self.delay_seconds) {
            let must = format!("must be 0 to {DELAY_SECONDS} (30 days)");
            return Err(Error::bad_input("delaySeconds", must));
        }
        if self.digest {
            self.check_digest()?;
        }
        match (self.kind, &self.letter) {
            (destination::DestinationKind::Email, Some(letter)) => template::check_sources(letter.sources())?,
            (_, Some(_)) => return Err(Error::bad_input("letter", "is only for the channel EMAIL")),
            (_, None) => {}
        }
        match (self.kind, &self.wechat) {
            (destination::DestinationKind::WeChat, Some(template)) => {
                template.check().map_err(|error| error.with_field_prefix("wechat"))
            }
            (destination::DestinationKind::WeChat, None) => {
                Err(Error::bad_input("wechat", "is required for the channel WECHAT"))
            }
            (_, Some(_)) => Err(Error::bad_input("wechat", "is only for the channel WECHAT")),
            (_, None) => Ok(()),
        }
    }
}

impl DeliveryRule {
    fn check_digest(&self) -> Result<()> {
        if self.kind != destination::DestinationKind::Email {
            return Err(Error::bad_input("digest", "is only for the channel EMAIL"));
        }
        if self.condition != SendCondition::IfUnread {
            return Err(Error::bad_input("condition", "must be IF_UNREAD: a digest lists unread items"));
        }
        if self.delay_seconds != 0 {
            return Err(Error::bad_input("delaySeconds", "must be 0: a digest is sent at the user's digest time"));
        }
        if self.letter.is_some() {
            return Err(Error::bad_input("letter", "is not for digests, which list the texts of their items"));
        }
        Ok(())
    }
}

impl MessageType {
    /// The delivery rule for a kind of destination.
    pub fn delivery_rule(&self, kind: destination::DestinationKind) -> Option<&DeliveryRule> {
        self.delivery.iter().find(|rule| rule.kind == kind)
    }

    /// Whether its items are included in digests.
    pub fn is_in_digests(&self) -> bool {
        self.delivery.iter().any(|rule| rule.digest)
    }

    /// Templates for emails that replace those of the item.
    pub fn email_template(&self) -> Option<&EmailTemplate> {
        self.delivery_rule(destination::DestinationKind::Email)?.letter.as_ref()
    }

    /// Its own templates and those of its emails.
    fn template_sources(&self) -> impl Iterator<Item = TemplateSource<'_>> {
        let own = self.template.iter().flat_map(ItemTemplate::sources);
        own.chain(self.email_template().into_iter().flat_map(EmailTemplate::sources))
    }

    /// Fails if the type is invalid.
    pub fn check(&self) -> Result<()> {
        validate::identifier("code", &self.code)?;
        validate::title("title", &self.title)?;
        if let Some(group) = &self.group {
            validate::identifier("group", group)?;
        }
        if self.ttl_seconds.is_some_and(|ttl| ttl < 1) {
            return Err(Error::bad_input("ttlSeconds", "must be at least 1"));
        }
        if self.users_may_send && self.mandatory {
            return Err(Error::bad_input(
                "usersMaySend",
                "must be false if `mandatory` is true, because users cannot switch such a type off",
            ));
        }
        if let Some(icon) = &self.icon {
            validate::icon("icon", icon)?;
        }
        if let Some(ui) = &self.ui {
            validate::body("ui", &ui.to_string(), UI_BYTES)?;
        }
        validate::at_most("delivery", self.delivery.len(), DELIVERY_RULES)?;
        for (place, rule) in self.delivery.iter().enumerate() {
            rule.check().map_err(|error| error.with_field_prefix(&format!("delivery[{place}]")))?;
            if self.delivery[..place].iter().any(|before| before.kind == rule.kind) {
                return Err(Error::bad_input(format!("delivery[{place}].channel"), "already has a rule"));
            }
        }
        template::check_sources(self.template.iter().flat_map(ItemTemplate::sources))
            .map_err(|error| error.with_field_prefix("template"))
    }
}

/// The error for a `field` that names an unknown type.
pub fn unknown_type(field: &str, code: &str) -> Error {
    Error::bad_input(field, format!("names no message type: {code:?}; create it with saveMessageType"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_of_mail_alone() {
        let rule = |kind| DeliveryRule {
            kind,
            condition: SendCondition::IfUnread,
            delay_seconds: 0,
            digest: false,
            letter: Some(EmailTemplate { subject: Some("x".into()), ..EmailTemplate::default() }),
            wechat: None,
        };
        let save = |kind| {
            let delivery = vec![rule(kind)];
            MessageType { code: "order".into(), title: "Orders".into(), delivery, ..MessageType::default() }.check()
        };
        assert!(save(destination::DestinationKind::Email).is_ok());
        let refused = save(destination::DestinationKind::Webhook).expect_err("only emails have their own text");
        assert!(matches!(&refused, Error::BadInput { field, .. } if field == "delivery[0].letter"), "{refused:?}");
    }
}
