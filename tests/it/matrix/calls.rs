//! Calls with valid input for every field of the schema, and the places of their input.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::support::Actor;

/// The schema, as introspection returns it.
pub struct Types {
    types: HashMap<String, Value>,
}

/// A field of the schema, called with its arguments.
pub struct Call {
    pub query: String,
    /// Valid variables: the required ones, and no others.
    pub variables: Value,
    pub kind: Kind,
    arguments: Vec<Value>,
    description: String,
}

/// The kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Query,
    Mutation,
    Subscription,
}

/// A place in a call's variables.
pub struct Place {
    /// The name of its type, or of its entries if it is a list.
    pub of: String,
    /// A valid list with one entry, or `None` if the place takes no list.
    pub list: Option<Value>,
    path: Vec<Step>,
}

#[derive(Clone)]
struct Step {
    name: String,
    /// The value put there before a nested value can be set.
    sample: Value,
    is_one_of: bool,
}

const INTROSPECTION: &str = "{ __schema { types { kind name isOneOf fields { ...F } inputFields { ...I } enumValues { name } } } } \
    fragment F on __Field { name description args { ...I } type { ...T } } fragment I on __InputValue { name defaultValue type { ...T } } \
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";

impl Types {
    /// Queries the schema.
    pub async fn of(actor: &Actor<'_>) -> Self {
        let mut data = actor.ask(INTROSPECTION, json!({})).await;
        let types = data["__schema"]["types"].as_array_mut().unwrap().drain(..);
        Self { types: types.map(|of| (text(&of["name"]), of)).collect() }
    }

    /// Returns every field of the first level, and every field of a user that takes arguments.
    pub fn calls(&self) -> Vec<Call> {
        let fields = |of: &str| self.types[of]["fields"].as_array().unwrap().clone();
        let mut calls: Vec<Call> = fields("Query").iter().map(|field| self.call(field, Kind::Query, "")).collect();
        for (of, within) in [("Viewer", "viewer"), ("InboxUser", "inboxUser(id: \"ada\")")] {
            calls.extend(fields(of).iter().map(|field| self.call(field, Kind::Query, within)));
        }
        calls.extend(fields("Mutation").iter().map(|field| self.call(field, Kind::Mutation, "")));
        calls.extend(fields("Subscription").iter().map(|field| self.call(field, Kind::Subscription, "")));
        calls
    }

    fn call(&self, field: &Value, kind: Kind, within: &str) -> Call {
        let arguments = field["args"].as_array().unwrap().clone();
        let name = text(&field["name"]);
        let list = |one: &dyn Fn(&Value) -> String| arguments.iter().map(one).collect::<Vec<_>>().join(", ");
        let declared = list(&|argument| format!("${}: {}", text(&argument["name"]), written(&argument["type"])));
        let passed = list(&|argument| format!("{0}: ${0}", text(&argument["name"])));
        let (declared, passed) = if arguments.is_empty() {
            (String::new(), String::new())
        } else {
            (format!("({declared})"), format!("({passed})"))
        };
        let of = text(&named(&field["type"])["kind"]);
        let below = if matches!(of.as_str(), "SCALAR" | "ENUM") { "" } else { " { __typename }" };
        let field_text = format!("{name}{passed}{below}");
        let asked = if within.is_empty() { field_text } else { format!("{within} {{ {field_text} }}") };
        let mut variables = Map::new();
        for argument in arguments.iter().filter(|argument| is_required(argument)) {
            variables.insert(text(&argument["name"]), self.sample(&argument["type"], &text(&argument["name"])));
        }
        let description = if within.is_empty() { text(&field["description"]) } else { String::new() };
        Call {
            query: format!("{}{declared} {{ {asked} }}", format!("{kind:?}").to_lowercase()),
            variables: Value::Object(variables),
            kind,
            arguments,
            description,
        }
    }

    /// Returns a valid value with the required fields only.
    fn sample(&self, of: &Value, name: &str) -> Value {
        match text(&of["kind"]).as_str() {
            "NON_NULL" => self.sample(&of["ofType"], name),
            "LIST" => json!([self.sample(&of["ofType"], name)]),
            "ENUM" => self.types[&text(&of["name"])]["enumValues"][0]["name"].clone(),
            "INPUT_OBJECT" => {
                let known = &self.types[&text(&of["name"])];
                let fields = known["inputFields"].as_array().unwrap();
                let is_one_of = known["isOneOf"] == json!(true);
                let wanted = fields.iter().filter(|field| is_required(field) || is_one_of);
                let wanted = wanted.take(if is_one_of { 1 } else { usize::MAX });
                let pairs =
                    wanted.map(|field| (text(&field["name"]), self.sample(&field["type"], &text(&field["name"]))));
                Value::Object(pairs.collect())
            }
            _ => match (text(&of["name"]).as_str(), name) {
                ("Int", _) => json!(1),
                ("Boolean", _) => json!(true),
                ("DateTime", _) => json!("2026-12-01T00:00:00Z"),
                ("JSON", _) => json!({ "a": 1 }),
                (_, "type" | "types" | "resetTypes") => json!("news"),
                (_, "user" | "users" | "ids" | "receiver" | "sender" | "follower") => json!("ben"),
                (_, "code" | "group" | "groups") => json!("team"),
                (_, "action" | "actions" | "resetActions") => json!("comment"),
                (_, "reason") => json!("cause"),
                (_, "link" | "avatarUrl") => json!("/x"),
                // No server listens there.
                (_, "url") => json!("https://127.0.0.1:1/"),
                _ => json!("x"),
            },
        }
    }

    /// Returns every place of a call's input, at any depth, required or not.
    pub fn places(&self, call: &Call) -> Vec<Place> {
        let mut places = Vec::new();
        for argument in &call.arguments {
            self.walk(argument, false, &[], &mut places);
        }
        places
    }

    fn walk(&self, input: &Value, is_one_of: bool, above: &[Step], places: &mut Vec<Place>) {
        let name = text(&input["name"]);
        let step = Step { sample: self.sample(&input["type"], &name), name, is_one_of };
        let path = [above, &[step]].concat();
        let of = named(&input["type"]);
        let (kind, type_name) = (text(&of["kind"]), text(&of["name"]));
        if kind == "INPUT_OBJECT" {
            let known = &self.types[&type_name];
            for field in known["inputFields"].as_array().unwrap() {
                self.walk(field, known["isOneOf"] == json!(true), &path, places);
            }
        }
        let list = Some(path[above.len()].sample.clone()).filter(Value::is_array);
        places.push(Place { of: type_name, list, path });
    }
}

impl Call {
    /// Whether the description names a role, or `None` if it names none at all.
    pub fn names(&self, role: &str) -> Option<bool> {
        // The code `BAD_USER_INPUT` is no role.
        let description = self.description.replace("BAD_USER_INPUT", "");
        let says = |word: &str| description.contains(word);
        if !["USER", "SERVICE", "ADMIN"].iter().any(|role| says(role)) {
            return None;
        }
        Some(says(role) || (role == "USER" && says("the token's user")))
    }
}

impl Place {
    /// The path from the outermost argument, joined with dots.
    pub fn name(&self) -> String {
        self.path.iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(".")
    }

    /// Returns the call's variables with a value here. In lists on the way, it uses the first entry.
    pub fn set(&self, call: &Call, value: Value) -> Value {
        let mut variables = call.variables.clone();
        let mut here = &mut variables;
        for step in &self.path {
            if here.is_array() {
                here = &mut here[0];
            }
            let fields = here.as_object_mut().expect("samples are objects on the way");
            if step.is_one_of {
                fields.retain(|name, _| *name == step.name);
            }
            here = fields.entry(step.name.clone()).or_insert_with(|| step.sample.clone());
        }
        *here = value;
        variables
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn is_required(input: &Value) -> bool {
    input["type"]["kind"] == "NON_NULL" && input["defaultValue"].is_null()
}

fn named(of: &Value) -> &Value {
    if of["ofType"].is_null() { of } else { named(&of["ofType"]) }
}

fn written(of: &Value) -> String {
    match text(&of["kind"]).as_str() {
        "NON_NULL" => format!("{}!", written(&of["ofType"])),
        "LIST" => format!("[{}]", written(&of["ofType"])),
        _ => text(&of["name"]),
    }
}
