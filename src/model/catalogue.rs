//! The catalogue of a tenant: message types, reasons, codes of views, target types, the follow policy and default preferences.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use entity::delivery_rule::Condition;
use entity::ids::TypeId;
use entity::lane;
use entity::message_type::ReadPolicy;
use entity::preference::Scope;
use entity::target_type::SubscriptionPolicy;
use serde_json::Value;

use super::check;
use super::template::{self, LetterTemplate, Source, Template, Templates};
use super::wechat::WeChatTemplate;
use crate::error::{Error, Result};

/// All of a tenant's catalogue, at one version.
#[derive(Debug)]
pub struct Catalogue {
    /// `tenant.catalogue_version` when it was read, or before.
    pub version: i64,
    /// In catalogue order: by position, then by code.
    pub types: Vec<Arc<MessageType>>,
    /// Reason → the actions it subscribes to.
    pub reasons: BTreeMap<String, Vec<String>>,
    /// (scope, action or type) → on or off.
    pub defaults: BTreeMap<(Scope, i64), bool>,
    /// Code of views → whether users may join and leave them by themselves. Views may have other codes, which are closed.
    pub view_codes: BTreeMap<String, bool>,
    /// Target type → whether users may subscribe to targets of it by themselves. Targets may have other types, which only backends
    /// subscribe to.
    pub target_types: BTreeMap<String, SubscriptionPolicy>,
    /// Whether users may follow others by themselves.
    pub follow_policy: SubscriptionPolicy,
    /// Those of the types.
    pub templates: Templates,
    by_id: HashMap<TypeId, Arc<MessageType>>,
}

/// What a catalogue is made of, besides its version.
#[derive(Debug)]
pub struct Parts {
    pub types: Vec<MessageType>,
    pub reasons: BTreeMap<String, Vec<String>>,
    pub defaults: BTreeMap<(Scope, i64), bool>,
    pub view_codes: BTreeMap<String, bool>,
    pub target_types: BTreeMap<String, SubscriptionPolicy>,
    pub follow_policy: SubscriptionPolicy,
}

impl Catalogue {
    /// Of types in any order.
    pub fn new(version: i64, parts: Parts) -> Self {
        let Parts { mut types, reasons, defaults, view_codes, target_types, follow_policy } = parts;
        types.sort_by(|a, b| (a.position, &a.code).cmp(&(b.position, &b.code)));
        let types: Vec<Arc<MessageType>> = types.into_iter().map(Arc::new).collect();
        let codes = types.iter().filter(|kind| kind.sources().next().is_some()).map(|kind| kind.code.clone());
        let templates = Templates::of(codes);
        let by_id = types.iter().map(|kind| (kind.id, kind.clone())).collect();
        Self { version, types, reasons, defaults, view_codes, target_types, follow_policy, templates, by_id }
    }

    /// The type with this code.
    pub fn message_type(&self, code: &str) -> Option<&Arc<MessageType>> {
        self.types.iter().find(|kind| kind.code == code)
    }

    /// The types with these codes, in catalogue order; all of them where no codes are given. `field` is blamed where there is no such
    /// type, and where there are more codes than a tenant may have types.
    pub fn chosen(&self, field: &str, codes: Option<&[String]>) -> Result<Vec<Arc<MessageType>>> {
        let Some(codes) = codes else { return Ok(self.types.clone()) };
        check::count(field, codes.len(), TYPES)?;
        if let Some(place) = codes.iter().position(|code| self.message_type(code).is_none()) {
            return Err(no_type(&format!("{field}[{place}]"), &codes[place]));
        }
        Ok(self.types.iter().filter(|kind| codes.contains(&kind.code)).cloned().collect())
    }

    /// Whether users may join and leave views of this code by themselves.
    pub fn is_open(&self, view_code: &str) -> bool {
        self.view_codes.get(view_code).copied().unwrap_or_default()
    }

    /// Who may subscribe users to targets of this type.
    pub fn subscription_policy(&self, target_type: &str) -> SubscriptionPolicy {
        self.target_types.get(target_type).copied().unwrap_or_default()
    }

    /// What is wrong with a template of the type with this code, if anything is.
    pub fn template_flaw(&self, code: &str) -> Option<String> {
        self.message_type(code)?.sources().find_map(|source| self.templates.flaw(code, source))
    }

    /// The type with this row.
    pub fn type_by_id(&self, id: TypeId) -> Option<&Arc<MessageType>> {
        self.by_id.get(&id)
    }
}

/// The most types of a tenant: every overview lists them all, and SQLite takes no more than 500 branches of a list.
pub const TYPES: usize = 100;

/// The most bytes of what a type has for user interfaces, written as JSON.
const UI_BYTES: usize = 4 * 1024;

/// The most rules of delivery in one list of them.
const DELIVERY_RULES: usize = 10;

/// The longest time from publication until something leaves the inbox.
const DELAY_SECONDS: i64 = 2_592_000;

/// A category of notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageType {
    pub id: TypeId,
    pub code: String,
    pub title: String,
    /// Free label under which a UI groups types.
    pub group: Option<String>,
    pub read_policy: ReadPolicy,
    /// Users cannot switch it off.
    pub mandatory: bool,
    /// Users may send messages of it, where the server lets the tenant's users send at all.
    pub users_may_send: bool,
    /// Seconds from publication to expiry.
    pub ttl_seconds: Option<i64>,
    /// Order in overviews.
    pub position: i32,
    pub template: Option<Template>,
    /// A name that user interfaces know, or an https URL.
    pub icon: Option<String>,
    /// For user interfaces, untouched.
    pub ui: Option<Value>,
    /// How what is sent under it leaves the inbox; one of each kind.
    pub delivery: Vec<DeliveryRule>,
}

/// How what is sent under a type leaves the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRule {
    pub kind: lane::Kind,
    pub condition: Condition,
    /// From publication on.
    pub delay_seconds: i64,
    /// Of mail alone: what is unread goes into one letter, at an hour of the user's own, whenever it was published.
    pub digest: bool,
    /// Of mail alone.
    pub letter: Option<LetterTemplate>,
    /// What is written, by WeChat, and by nothing else.
    pub wechat: Option<WeChatTemplate>,
}

impl DeliveryRule {
    fn check(&self) -> Result<()> {
        if !(0..=DELAY_SECONDS).contains(&self.delay_seconds) {
            let must = format!("must be from 0 to {DELAY_SECONDS}, which are 30 days");
            return Err(Error::bad_input("delaySeconds", must));
        }
        if self.digest {
            self.check_digest()?;
        }
        match (self.kind, &self.letter) {
            (lane::Kind::Email, Some(letter)) => template::check(letter.sources())?,
            (_, Some(_)) => return Err(Error::bad_input("letter", "is for the channel EMAIL alone")),
            (_, None) => {}
        }
        match (self.kind, &self.wechat) {
            (lane::Kind::WeChat, Some(template)) => template.check().map_err(|error| error.within("wechat")),
            (lane::Kind::WeChat, None) => Err(Error::bad_input("wechat", "must say what the message is made of")),
            (_, Some(_)) => Err(Error::bad_input("wechat", "is for the channel WECHAT alone")),
            (_, None) => Ok(()),
        }
    }
}

impl DeliveryRule {
    fn check_digest(&self) -> Result<()> {
        if self.kind != lane::Kind::Email {
            return Err(Error::bad_input("digest", "is for the channel EMAIL alone"));
        }
        if self.condition != Condition::IfUnread {
            return Err(Error::bad_input("condition", "must be IF_UNREAD: a digest is of what is unread"));
        }
        if self.delay_seconds != 0 {
            return Err(Error::bad_input("delaySeconds", "must be 0: a digest goes out at its user's hour"));
        }
        if self.letter.is_some() {
            return Err(Error::bad_input("letter", "is not for digests, which list what their items show"));
        }
        Ok(())
    }
}

impl MessageType {
    /// The rule for a kind of lane, where it has one.
    pub fn delivered_by(&self, kind: lane::Kind) -> Option<&DeliveryRule> {
        self.delivery.iter().find(|rule| rule.kind == kind)
    }

    /// Whether its items go into their users' digests.
    pub fn is_in_digests(&self) -> bool {
        self.delivery.iter().any(|rule| rule.digest)
    }

    /// What its letters say instead of what its items do.
    pub fn letter(&self) -> Option<&LetterTemplate> {
        self.delivered_by(lane::Kind::Email)?.letter.as_ref()
    }

    /// Those of its templates, and of its letters'.
    fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        let own = self.template.iter().flat_map(Template::sources);
        own.chain(self.letter().into_iter().flat_map(LetterTemplate::sources))
    }

    /// Refuses what is no type.
    pub fn check(&self) -> Result<()> {
        check::code("code", &self.code)?;
        check::title("title", &self.title)?;
        if let Some(group) = &self.group {
            check::code("group", group)?;
        }
        if self.ttl_seconds.is_some_and(|ttl| ttl < 1) {
            return Err(Error::bad_input("ttlSeconds", "must be at least 1"));
        }
        if self.users_may_send && self.mandatory {
            return Err(Error::bad_input(
                "usersMaySend",
                "must be false where `mandatory` is true: users cannot switch the type off",
            ));
        }
        if let Some(icon) = &self.icon {
            check::icon("icon", icon)?;
        }
        if let Some(ui) = &self.ui {
            check::body("ui", &ui.to_string(), UI_BYTES)?;
        }
        check::count("delivery", self.delivery.len(), DELIVERY_RULES)?;
        for (place, rule) in self.delivery.iter().enumerate() {
            rule.check().map_err(|error| error.within(&format!("delivery[{place}]")))?;
            if self.delivery[..place].iter().any(|before| before.kind == rule.kind) {
                return Err(Error::bad_input(format!("delivery[{place}].channel"), "has a rule already"));
            }
        }
        template::check(self.template.iter().flat_map(Template::sources)).map_err(|error| error.within("template"))
    }
}

/// A `field` names a type that there is not.
pub fn no_type(field: &str, code: &str) -> Error {
    Error::bad_input(field, format!("names no message type: {code:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_of_mail_alone() {
        let rule = |kind| DeliveryRule {
            kind,
            condition: Condition::IfUnread,
            delay_seconds: 0,
            digest: false,
            letter: Some(LetterTemplate { subject: Some("x".into()), ..LetterTemplate::default() }),
            wechat: None,
        };
        let save = |kind| {
            let delivery = vec![rule(kind)];
            MessageType { code: "order".into(), title: "Orders".into(), delivery, ..MessageType::default() }.check()
        };
        assert!(save(lane::Kind::Email).is_ok());
        let refused = save(lane::Kind::Webhook).expect_err("there are no letters to a server");
        assert!(matches!(&refused, Error::BadInput { field, .. } if field == "delivery[0].letter"), "{refused:?}");
    }
}
