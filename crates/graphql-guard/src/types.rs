//! The parts of the schema that the guard needs.

use std::collections::{HashMap, HashSet};

use async_graphql::parser::types::{
    BaseType, FieldDefinition, InputValueDefinition, Type, TypeKind, TypeSystemDefinition,
};
use async_graphql::parser::{self, parse_schema};

/// Types by name, without those of introspection.
#[derive(Debug, Default)]
pub struct SchemaTypes(HashMap<String, SchemaTypeKind>);

/// A type.
#[derive(Debug)]
pub enum SchemaTypeKind {
    Object(HashMap<String, FieldType>),
    /// An interface or a union, and its possible object types.
    Abstract {
        fields: HashMap<String, FieldType>,
        members: Vec<String>,
    },
    Scalar,
    Enum(HashSet<String>),
    Input {
        fields: Vec<InputField>,
        is_one_of: bool,
    },
}

/// A field of an object.
#[derive(Debug)]
pub struct FieldType {
    /// The name of its type, without list and non-null modifiers.
    pub of: String,
    pub is_list: bool,
    /// The names of its arguments.
    pub arguments: HashSet<String>,
}

/// A field of an input object.
#[derive(Debug)]
pub struct InputField {
    pub name: String,
    pub of: Type,
    pub has_default: bool,
}

impl SchemaTypes {
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
                    SchemaTypeKind::Object(of.fields.iter().map(|field| read_field(&field.node)).collect())
                }
                TypeKind::Interface(of) => SchemaTypeKind::Abstract {
                    fields: of.fields.iter().map(|field| read_field(&field.node)).collect(),
                    members: Vec::new(),
                },
                TypeKind::Union(of) => SchemaTypeKind::Abstract {
                    fields: HashMap::new(),
                    members: of.members.iter().map(|member| member.node.to_string()).collect(),
                },
                TypeKind::Scalar => SchemaTypeKind::Scalar,
                TypeKind::Enum(of) => {
                    SchemaTypeKind::Enum(of.values.iter().map(|value| value.node.value.node.to_string()).collect())
                }
                TypeKind::InputObject(of) => SchemaTypeKind::Input {
                    fields: of.fields.iter().map(|field| read_input(&field.node)).collect(),
                    is_one_of: definition.directives.iter().any(|directive| directive.node.name.node == "oneOf"),
                },
            };
            types.0.insert(name, kind);
        }
        for (interface, objects) in members {
            if let Some(SchemaTypeKind::Abstract { members, .. }) = types.0.get_mut(&interface) {
                members.extend(objects);
                members.sort_unstable();
            }
        }
        Ok(types)
    }

    /// The type with this name.
    pub fn find_type(&self, name: &str) -> Option<&SchemaTypeKind> {
        self.0.get(name)
    }

    /// The same name, with the lifetime of the types.
    pub fn type_name(&self, name: &str) -> Option<&str> {
        self.0.get_key_value(name).map(|(name, _)| name.as_str())
    }

    /// A field of an object or interface.
    pub fn find_field(&self, parent: Option<&str>, name: &str) -> Option<&FieldType> {
        match self.find_type(parent?)? {
            SchemaTypeKind::Object(fields) | SchemaTypeKind::Abstract { fields, .. } => fields.get(name),
            _ => None,
        }
    }

    /// The possible object types of an interface or a union. `None` for an object.
    pub fn possible_types(&self, name: &str) -> Option<&[String]> {
        match self.find_type(name)? {
            SchemaTypeKind::Abstract { members, .. } => Some(members),
            _ => None,
        }
    }
}

fn read_field(field: &FieldDefinition) -> (String, FieldType) {
    let of = FieldType {
        of: named_type(&field.ty.node).to_owned(),
        is_list: matches!(field.ty.node.base, BaseType::List(_)),
        arguments: field.arguments.iter().map(|argument| argument.node.name.node.to_string()).collect(),
    };
    (field.name.node.to_string(), of)
}

fn read_input(input: &InputValueDefinition) -> InputField {
    InputField {
        name: input.name.node.to_string(),
        of: input.ty.node.clone(),
        has_default: input.default_value.is_some(),
    }
}

fn named_type(of: &Type) -> &str {
    match &of.base {
        BaseType::Named(name) => name,
        BaseType::List(of) => named_type(of),
    }
}
