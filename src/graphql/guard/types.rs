//! What the guard must know of the schema, read from its own definition once.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{
    BaseType, FieldDefinition, InputValueDefinition, Type, TypeKind, TypeSystemDefinition,
};

use crate::graphql::Schema;

/// The types of the schema; those of introspection are not among them.
pub static TYPES: LazyLock<Types> = LazyLock::new(|| Types::parse(&Schema::sdl()));

/// Types by name.
#[derive(Debug, Default)]
pub struct Types(HashMap<String, Kind>);

/// A type.
#[derive(Debug)]
pub enum Kind {
    Object(HashMap<String, Field>),
    /// An interface or a union, and the objects that may stand for it.
    Abstract {
        fields: HashMap<String, Field>,
        members: Vec<String>,
    },
    Scalar,
    Enum(HashSet<String>),
    Input {
        fields: Vec<Input>,
        is_one_of: bool,
    },
}

/// A field of an object.
#[derive(Debug)]
pub struct Field {
    /// The name of its type, without brackets and exclamation marks.
    pub of: String,
    pub is_list: bool,
    /// Whether it takes `first` or `last`.
    pub is_paged: bool,
    /// The argument that names what it returns one by one.
    pub counted: Option<&'static str>,
}

/// A field of an input.
#[derive(Debug)]
pub struct Input {
    pub name: String,
    pub of: Type,
    pub has_default: bool,
}

/// Arguments whose entries each have a row in the answer.
const COUNTED: [&str; 3] = ["ids", "inputs", "representations"];

impl Types {
    fn parse(sdl: &str) -> Self {
        let document = parse_schema(sdl).expect("our own schema is one");
        let mut types = Self::default();
        let mut members: HashMap<String, Vec<String>> = HashMap::new();
        for definition in document.definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let definition = definition.node;
            let name = definition.name.node.to_string();
            let kind = match definition.kind {
                TypeKind::Object(of) => {
                    for interface in &of.implements {
                        members.entry(interface.node.to_string()).or_default().push(name.clone());
                    }
                    Kind::Object(of.fields.iter().map(|field| field_of(&field.node)).collect())
                }
                TypeKind::Interface(of) => Kind::Abstract {
                    fields: of.fields.iter().map(|field| field_of(&field.node)).collect(),
                    members: Vec::new(),
                },
                TypeKind::Union(of) => Kind::Abstract {
                    fields: HashMap::new(),
                    members: of.members.iter().map(|member| member.node.to_string()).collect(),
                },
                TypeKind::Scalar => Kind::Scalar,
                TypeKind::Enum(of) => {
                    Kind::Enum(of.values.iter().map(|value| value.node.value.node.to_string()).collect())
                }
                TypeKind::InputObject(of) => Kind::Input {
                    fields: of.fields.iter().map(|field| input_of(&field.node)).collect(),
                    is_one_of: definition.directives.iter().any(|directive| directive.node.name.node == "oneOf"),
                },
            };
            types.0.insert(name, kind);
        }
        for (interface, objects) in members {
            if let Some(Kind::Abstract { members, .. }) = types.0.get_mut(&interface) {
                members.extend(objects);
                members.sort_unstable();
            }
        }
        types
    }

    /// The type called `name`.
    pub fn kind(&self, name: &str) -> Option<&Kind> {
        self.0.get(name)
    }

    /// The same name for as long as the program runs.
    pub fn name(&'static self, name: &str) -> Option<&'static str> {
        self.0.get_key_value(name).map(|(name, _)| name.as_str())
    }

    /// A field of an object or interface.
    pub fn field(&self, parent: Option<&str>, name: &str) -> Option<&Field> {
        match self.kind(parent?)? {
            Kind::Object(fields) | Kind::Abstract { fields, .. } => fields.get(name),
            _ => None,
        }
    }

    /// The objects that may stand for an interface or a union; nothing for an object.
    pub fn members(&self, name: &str) -> Option<&[String]> {
        match self.kind(name)? {
            Kind::Abstract { members, .. } => Some(members),
            _ => None,
        }
    }
}

fn field_of(field: &FieldDefinition) -> (String, Field) {
    let has = |name: &str| field.arguments.iter().any(|argument| argument.node.name.node == name);
    let of = Field {
        of: named(&field.ty.node).to_owned(),
        is_list: matches!(field.ty.node.base, BaseType::List(_)),
        is_paged: has("first") || has("last"),
        counted: COUNTED.into_iter().find(|name| has(name)),
    };
    (field.name.node.to_string(), of)
}

fn input_of(input: &InputValueDefinition) -> Input {
    Input { name: input.name.node.to_string(), of: input.ty.node.clone(), has_default: input.default_value.is_some() }
}

fn named(of: &Type) -> &str {
    match &of.base {
        BaseType::Named(name) => name,
        BaseType::List(of) => named(of),
    }
}
