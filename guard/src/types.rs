//! The parts of the schema that the guard needs.

use std::collections::{HashMap, HashSet};

use async_graphql::parser::types::{
    BaseType, FieldDefinition, InputValueDefinition, Type, TypeKind, TypeSystemDefinition,
};
use async_graphql::parser::{self, parse_schema};

/// Types by name, without those of introspection.
#[derive(Debug, Default)]
pub struct Types(HashMap<String, Kind>);

/// A type.
#[derive(Debug)]
pub enum Kind {
    Object(HashMap<String, Field>),
    /// An interface or a union, and its possible object types.
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
    /// The name of its type, without list and non-null modifiers.
    pub of: String,
    pub is_list: bool,
    /// The names of its arguments.
    pub arguments: HashSet<String>,
}

/// A field of an input object.
#[derive(Debug)]
pub struct Input {
    pub name: String,
    pub of: Type,
    pub has_default: bool,
}

impl Types {
    /// Parses a schema in SDL.
    pub fn parse(sdl: &str) -> Result<Self, parser::Error> {
        let document = parse_schema(sdl)?;
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
        Ok(types)
    }

    /// The type with this name.
    pub fn kind(&self, name: &str) -> Option<&Kind> {
        self.0.get(name)
    }

    /// The same name, with the lifetime of the types.
    pub fn name(&self, name: &str) -> Option<&str> {
        self.0.get_key_value(name).map(|(name, _)| name.as_str())
    }

    /// A field of an object or interface.
    pub fn field(&self, parent: Option<&str>, name: &str) -> Option<&Field> {
        match self.kind(parent?)? {
            Kind::Object(fields) | Kind::Abstract { fields, .. } => fields.get(name),
            _ => None,
        }
    }

    /// The possible object types of an interface or a union. `None` for an object.
    pub fn members(&self, name: &str) -> Option<&[String]> {
        match self.kind(name)? {
            Kind::Abstract { members, .. } => Some(members),
            _ => None,
        }
    }
}

fn field_of(field: &FieldDefinition) -> (String, Field) {
    let of = Field {
        of: named(&field.ty.node).to_owned(),
        is_list: matches!(field.ty.node.base, BaseType::List(_)),
        arguments: field.arguments.iter().map(|argument| argument.node.name.node.to_string()).collect(),
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
