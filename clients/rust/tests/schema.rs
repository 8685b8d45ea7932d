//! Checks the client's types: samples generated from `schema.graphql` must round-trip through them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_graphql_parser::types::{
    BaseType, DocumentOperations, ExecutableDocument, FieldDefinition, Selection, SelectionSet, Type, TypeKind,
    TypeSystemDefinition,
};
use async_graphql_parser::{Positioned, parse_query, parse_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use tidings_client::operations::{self, Operation};
use tidings_client::*;

/// At least the number of values of any enum.
const PICKS: usize = 16;

/// Which of the values that fit a type a sample uses.
#[derive(Clone, Copy)]
struct Sample {
    /// Whether nullable fields are null and optional ones are missing.
    bare: bool,
    /// Selects a value of enums, and a field of `@oneOf` inputs.
    pick: usize,
}

struct Schema {
    types: BTreeMap<String, TypeKind>,
    /// Inputs with exactly one field (`@oneOf`).
    one_of: BTreeSet<String>,
}

impl Schema {
    fn read() -> Self {
        let text = fs::read_to_string(folder("../../schema.graphql")).expect("it is in the repository");
        let scalars = ["Boolean", "ID", "Int", "String"].map(|name| (name.into(), TypeKind::Scalar));
        let mut schema = Self { types: BTreeMap::from(scalars), one_of: BTreeSet::new() };
        for definition in parse_schema(text).expect("it is a schema").definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let name = definition.node.name.node.to_string();
            if definition.node.directives.iter().any(|directive| directive.node.name.node == "oneOf") {
                schema.one_of.insert(name.clone());
            }
            schema.types.insert(name, definition.node.kind);
        }
        schema
    }

    fn fields(&self, object: &str) -> &[Positioned<FieldDefinition>] {
        match &self.types[object] {
            TypeKind::Object(object) => &object.fields,
            _ => panic!("{object} is no object"),
        }
    }

    fn sample(&self, of: &Type, selected: Option<(&SelectionSet, &ExecutableDocument)>, sample: Sample) -> Value {
        if of.nullable && sample.bare {
            return Value::Null;
        }
        let name = match &of.base {
            BaseType::List(of) => return json!([self.sample(of, selected, sample)]),
            BaseType::Named(name) => name.as_str(),
        };
        match &self.types[name] {
            TypeKind::Enum(one) => json!(one.values[sample.pick % one.values.len()].node.value.node),
            TypeKind::InputObject(_) => self.input(name, sample),
            TypeKind::Object(_) => {
                let (set, document) = selected.expect("fields of an object are selected");
                let mut values = Map::new();
                self.select(name, set, document, sample, &mut values);
                Value::Object(values)
            }
            _ => match name {
                "Boolean" => json!(true),
                "Int" => json!(7),
                "DateTime" => json!("2026-11-21T08:30:00.123Z"),
                "JSON" => json!({ "some": [1, null] }),
                _ => json!("some"),
            },
        }
    }

    fn select(
        &self,
        object: &str,
        set: &SelectionSet,
        document: &ExecutableDocument,
        sample: Sample,
        values: &mut Map<String, Value>,
    ) {
        for selection in &set.items {
            match &selection.node {
                Selection::Field(field) => {
                    let name = field.node.name.node.as_str();
                    let found = self.fields(object).iter().find(|field| field.node.name.node == name);
                    let of = &found.unwrap_or_else(|| panic!("{object} has no {name}")).node.ty.node;
                    let selected = Some((&field.node.selection_set.node, document));
                    values.insert(name.into(), self.sample(of, selected, sample));
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = &document.fragments[&spread.node.fragment_name.node].node;
                    assert_eq!(fragment.type_condition.node.on.node, object);
                    self.select(object, &fragment.selection_set.node, document, sample, values);
                }
                Selection::InlineFragment(_) => panic!("there are none"),
            }
        }
    }

    fn input(&self, name: &str, sample: Sample) -> Value {
        let TypeKind::InputObject(input) = &self.types[name] else { panic!("{name} is no input") };
        let is_one_of = self.one_of.contains(name);
        let fields = input.fields.iter().map(|field| &field.node).enumerate();
        let fields = fields.filter(|(index, field)| {
            if is_one_of {
                *index == sample.pick % input.fields.len()
            } else {
                !(sample.bare && (field.ty.node.nullable || field.default_value.is_some()))
            }
        });
        fields
            .map(|(_, field)| {
                let of = Type { nullable: false, base: field.ty.node.base.clone() };
                (field.name.node.to_string(), self.sample(&of, None, sample))
            })
            .collect()
    }

    /// Inputs round-trip through our type, and fail without a required field.
    fn takes<Ours: Serialize + DeserializeOwned>(&self, name: &str) {
        for sample in samples() {
            let input = self.input(name, sample);
            same::<Ours>(name, &input);
            for field in input.as_object().expect("it is one").keys().filter(|_| sample.bare) {
                let mut less = input.clone();
                less.as_object_mut().expect("it is one").remove(field);
                assert!(serde_json::from_value::<Ours>(less).is_err(), "{name} needs {field}");
            }
        }
    }

    /// Responses round-trip through our type.
    fn answers<Ours: Serialize + DeserializeOwned>(&self, operation: &Operation<Ours>) {
        let document = parse_query(operation.document).expect("it is a document");
        let DocumentOperations::Multiple(all) = &document.operations else { panic!("it has a name") };
        let (name, only) = all.iter().next().expect("there is one");
        assert_eq!((name.as_str(), all.len()), (operation.name, 1));
        let root = if only.node.ty.to_string() == "query" { "Query" } else { "Mutation" };
        for sample in samples() {
            let mut values = Map::new();
            self.select(root, &only.node.selection_set.node, &document, sample, &mut values);
            assert_eq!(values.len(), 1, "{} has one root field", operation.name);
            same::<Ours>(operation.name, &values.into_iter().next().expect("there is one").1);
        }
    }
}

fn samples() -> impl Iterator<Item = Sample> {
    [false, true].into_iter().flat_map(|bare| (0..PICKS).map(move |pick| Sample { bare, pick }))
}

fn same<Ours: Serialize + DeserializeOwned>(name: &str, sample: &Value) {
    let ours: Ours =
        serde_json::from_value(sample.clone()).unwrap_or_else(|error| panic!("{name}: {error} in {sample}"));
    assert_eq!(&json!(ours), sample, "{name}");
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn files(name: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder(name)).expect("it is there").map(|entry| entry.expect("it is readable"));
    let read = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).expect("it is text");
        (entry.file_name().into_string().expect("it is text"), text)
    };
    entries.map(read).collect()
}

#[test]
fn what_goes_in_is_what_the_schema_takes() {
    let schema = Schema::read();
    schema.takes::<InboxFilter>("InboxFilter");
    schema.takes::<InboxItemSelector>("InboxItemSelector");
    schema.takes::<MessageTypeInput>("MessageTypeInput");
    schema.takes::<NotificationFilter>("NotificationFilter");
    schema.takes::<NotificationPatch>("NotificationPatch");
    schema.takes::<SendNotificationInput>("SendNotificationInput");
    schema.takes::<SendAnnouncementInput>("SendAnnouncementInput");
    schema.takes::<SendMessageInput>("SendMessageInput");
    schema.takes::<SendReminderInput>("SendReminderInput");
    schema.takes::<SubscribeTopicInput>("SubscribeTopicInput");
    schema.takes::<UserProfileInput>("UserProfileInput");
    schema.takes::<CreateWebhookEndpointInput>("CreateWebhookEndpointInput");
    schema.takes::<UpdateWebhookEndpointInput>("UpdateWebhookEndpointInput");
    schema.takes::<MailRelayInput>("MailRelayInput");
    schema.takes::<OutboundDeliveryFilter>("OutboundDeliveryFilter");
    schema.takes::<OutboundDeliverySelector>("OutboundDeliverySelector");
}

#[test]
fn what_comes_out_is_what_the_documents_ask_for() {
    let schema = Schema::read();
    schema.answers(&operations::SEND_ANNOUNCEMENT);
    schema.answers(&operations::SEND_REMINDER);
    schema.answers(&operations::SEND_MESSAGE);
    schema.answers(&operations::SEND_NOTIFICATIONS);
    schema.answers(&operations::UPDATE_SENT_NOTIFICATION);
    schema.answers(&operations::RETRACT_SENT_NOTIFICATION);
    schema.answers(&operations::SAVE_USER_PROFILES);
    schema.answers(&operations::SAVE_USER_GROUP);
    schema.answers(&operations::ADD_USER_GROUP_MEMBERS);
    schema.answers(&operations::REMOVE_USER_GROUP_MEMBERS);
    schema.answers(&operations::SAVE_MESSAGE_TYPE);
    schema.answers(&operations::SUBSCRIBE_TOPIC);
    schema.answers(&operations::MARK_READ);
    schema.answers(&operations::MARK_UNREAD);
    schema.answers(&operations::MARK_SEEN);
    schema.answers(&operations::ARCHIVE_ITEMS);
    schema.answers(&operations::UNARCHIVE_ITEMS);
    schema.answers(&operations::DELETE_ITEMS);
    schema.answers(&operations::INBOX_USER_OVERVIEW);
    schema.answers(&operations::INBOX_USER_INBOX);
    schema.answers(&operations::SENT_NOTIFICATIONS);
    schema.answers(&operations::WEBHOOK_ENDPOINTS);
    schema.answers(&operations::CREATE_WEBHOOK_ENDPOINT);
    schema.answers(&operations::UPDATE_WEBHOOK_ENDPOINT);
    schema.answers(&operations::ROTATE_WEBHOOK_SECRET);
    schema.answers(&operations::PAUSE_WEBHOOK_ENDPOINT);
    schema.answers(&operations::RESUME_WEBHOOK_ENDPOINT);
    schema.answers(&operations::DELETE_WEBHOOK_ENDPOINT);
    schema.answers(&operations::TEST_WEBHOOK_ENDPOINT);
    schema.answers(&operations::MAIL_RELAY);
    schema.answers(&operations::SAVE_MAIL_RELAY);
    schema.answers(&operations::SWITCH_MAIL_RELAY);
    schema.answers(&operations::DELETE_MAIL_RELAY);
    schema.answers(&operations::OUTBOUND_DELIVERIES);
    schema.answers(&operations::REPLAY_OUTBOUND_DELIVERIES);
}

#[test]
fn codes_of_errors_are_those_of_the_schema() {
    let schema = Schema::read();
    let TypeKind::Enum(codes) = &schema.types["ErrorCode"] else { panic!("it is an enum") };
    for code in &codes.values {
        same::<ErrorCode>("ErrorCode", &json!(code.node.value.node));
    }
    let later: ErrorCode = serde_json::from_value(json!("OF_A_LATER_SERVER")).expect("it is taken");
    assert_eq!(later, ErrorCode::Internal);
}

#[test]
fn the_documents_are_those_of_the_python_client() {
    let (ours, theirs) = (files("operations"), files("../python/operations"));
    assert!(ours.keys().eq(theirs.keys()), "{:?}, {:?}", ours.keys(), theirs.keys());
    for (name, document) in ours {
        assert_eq!(document, theirs[&name], "{name}");
    }
}

#[test]
fn a_token_has_three_parts() {
    let token = sign("a secret of at least thirty-two bytes", "acme", "shop", "service", Duration::ZERO);
    let parts: Vec<_> = token.split('.').collect();
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[0], "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9");
}
