//! The library's validation by itself, so that a document is validated once and executed often.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute};
use async_graphql::parser::types::ExecutableDocument;
use async_graphql::{ObjectType, Request, Response, Schema, SchemaBuilder, ServerError, SubscriptionType, async_trait};

/// A schema which validates and executes nothing.
pub struct Validator<Query, Mutation, Subscription> {
    plain: Schema<Query, Mutation, Subscription>,
    suggesting: Schema<Query, Mutation, Subscription>,
}

impl<Query, Mutation, Subscription> Clone for Validator<Query, Mutation, Subscription> {
    fn clone(&self) -> Self {
        Self { plain: self.plain.clone(), suggesting: self.suggesting.clone() }
    }
}

impl<Query, Mutation, Subscription> Validator<Query, Mutation, Subscription>
where
    Query: ObjectType + 'static,
    Mutation: ObjectType + 'static,
    Subscription: SubscriptionType + 'static,
{
    /// By all rules of the specification, over a schema that is built twice.
    pub fn new(builder: impl Fn() -> SchemaBuilder<Query, Mutation, Subscription>) -> Self {
        let library = || builder().extension(Stop);
        Self { plain: library().disable_suggestions().finish(), suggesting: library().finish() }
    }

    /// Validates a document with the variables of its request. `suggests` names fields that are spelt alike, which tells
    /// whoever asks what there is.
    pub async fn validate(
        &self,
        document: &ExecutableDocument,
        request: &Request,
        suggests: bool,
    ) -> Result<(), Vec<ServerError>> {
        let mut only = Request::new("").variables(request.variables.clone());
        only.operation_name.clone_from(&request.operation_name);
        only.set_parsed_query(document.clone());
        let schema = if suggests { &self.suggesting } else { &self.plain };
        let errors = schema.execute(only).await.errors;
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

/// Ends where the execution would begin.
struct Stop;

impl ExtensionFactory for Stop {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait::async_trait]
impl Extension for Stop {
    async fn execute(&self, _: &ExtensionContext<'_>, _: Option<&str>, _: NextExecute<'_>) -> Response {
        Response::default()
    }
}
