//! The library's validation by itself, so that a document is validated once and executed often.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute};
use async_graphql::parser::types::ExecutableDocument;
use async_graphql::{Request, Response, ServerError, async_trait};

use super::{Library, builder};

/// The same schema, which validates and executes nothing.
#[derive(Clone)]
pub struct Validator {
    plain: Library,
    suggesting: Library,
}

impl Validator {
    /// By all rules of the specification.
    pub fn new() -> Self {
        let library = || builder().extension(Stop);
        Self { plain: library().disable_suggestions().finish(), suggesting: library().finish() }
    }

    /// Validates a document with the variables of its request. `suggests` names fields that are spelt alike.
    pub async fn validate(
        &self,
        document: &ExecutableDocument,
        request: &Request,
        suggests: bool,
    ) -> Result<(), Vec<ServerError>> {
        let mut only = Request::new("").variables(request.variables.clone());
        only.operation_name.clone_from(&request.operation_name);
        only.set_parsed_query(document.clone());
        let library = if suggests { &self.suggesting } else { &self.plain };
        let errors = library.execute(only).await.errors;
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
