//! The validation of async-graphql without execution, so that a document is validated once and executed often.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute};
use async_graphql::parser::types::ExecutableDocument;
use async_graphql::{ObjectType, Request, Response, Schema, SchemaBuilder, ServerError, SubscriptionType, async_trait};

/// A schema that validates documents but does not execute them.
pub struct DocumentValidator<Query, Mutation, Subscription> {
    plain: Schema<Query, Mutation, Subscription>,
    suggesting: Schema<Query, Mutation, Subscription>,
}

impl<Query, Mutation, Subscription> Clone for DocumentValidator<Query, Mutation, Subscription> {
    fn clone(&self) -> Self {
        Self { plain: self.plain.clone(), suggesting: self.suggesting.clone() }
    }
}

impl<Query, Mutation, Subscription> DocumentValidator<Query, Mutation, Subscription>
where
    Query: ObjectType + 'static,
    Mutation: ObjectType + 'static,
    Subscription: SubscriptionType + 'static,
{
    /// A validator with all rules of the specification. Calls `builder` twice.
    pub fn new(builder: impl Fn() -> SchemaBuilder<Query, Mutation, Subscription>) -> Self {
        let library = || builder().extension(SkipExecution);
        Self { plain: library().disable_suggestions().finish(), suggesting: library().finish() }
    }

    /// Validates a document with the variables of its request. With `suggests`, errors name similar fields, which
    /// reveals parts of the schema.
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

/// An extension that returns an empty response instead of executing.
struct SkipExecution;

impl ExtensionFactory for SkipExecution {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait::async_trait]
impl Extension for SkipExecution {
    async fn execute(&self, _: &ExtensionContext<'_>, _: Option<&str>, _: NextExecute<'_>) -> Response {
        Response::default()
    }
}
