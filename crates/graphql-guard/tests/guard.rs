//! The guard with a small schema, as any server may use it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_graphql::parser::types::{DocumentOperations, ExecutableDocument};
use async_graphql::{
    ComplexObject, Context, EmptyMutation, EmptySubscription, InputObject, Object, Request, Schema, SchemaBuilder,
    SimpleObject, Value, Variables,
};
use graphql_guard::{
    CostRules, CostlyArgument, DocumentLimits, DocumentRefusal, DocumentValidator, Guard, GuardedOperation,
};

#[derive(SimpleObject)]
#[graphql(complex)]
struct Book {
    title: String,
}

#[ComplexObject]
impl Book {
    async fn similar(&self) -> Vec<Book> {
        Vec::new()
    }
}

#[derive(InputObject)]
struct BookFilter {
    author: Option<String>,
    ids: Option<Vec<i32>>,
}

struct Query;

#[Object]
impl Query {
    async fn books(&self, ctx: &Context<'_>, first: Option<i32>, filter: Option<BookFilter>) -> Vec<Book> {
        let many = first.unwrap_or(1)
            + filter.map_or(0, |of| of.ids.map_or(0, |ids| i32::try_from(ids.len()).expect("they are few")));
        if let Some(calls) = ctx.data_opt::<Arc<AtomicUsize>>() {
            calls.fetch_add(1, Ordering::Relaxed);
        }
        (0..many).map(|place| Book { title: place.to_string() }).collect()
    }
}

type Library = SchemaBuilder<Query, EmptyMutation, EmptySubscription>;

fn library() -> Library {
    Schema::build(Query, EmptyMutation, EmptySubscription)
}

fn guard(limits: DocumentLimits) -> Guard {
    let dear = vec![CostlyArgument { argument: "filter", fields: vec!["author"], cost: 100 }];
    Guard::new(&library().finish().sdl(), limits, CostRules { dear, ..CostRules::default() }, HashMap::new())
        .expect("it is a schema")
}

async fn pass(guard: &Guard, request: &Request) -> Result<GuardedOperation, DocumentRefusal> {
    let validator = DocumentValidator::new(library);
    guard.check_request(request, async |document| validator.validate(document, request, false).await).await
}

/// The code of the first error, and its limit.
fn why(refusal: DocumentRefusal) -> (String, Option<String>) {
    let error = refusal.into_response().errors.remove(0);
    let extensions = error.extensions.expect("it has a code");
    let text = |name: &str| match extensions.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    (text("code").expect("it has a code"), text("limit"))
}

/// The `Debug` output contains the number of cached documents.
#[tokio::test]
async fn a_document_is_remembered_wherever_any_may_be() {
    for (many, room, remembered) in [(0, 1 << 20, 0), (1, 1 << 20, 1), (2, 1 << 20, 1), (1000, 16 << 20, 1), (1, 0, 0)]
    {
        let guard =
            guard(DocumentLimits { cached_documents: many, cached_document_bytes: room, ..DocumentLimits::default() });
        for _ in 0..2 {
            pass(&guard, &Request::new("{ books { title } }")).await.expect("it passes");
        }
        assert_eq!(format!("{guard:?}"), format!("Guard({remembered} documents)"), "{many} in {room} bytes");
    }
}

#[tokio::test]
async fn equal_fields_are_executed_once() {
    let request = Request::new("{ books { ...A } books { title } } fragment A on Book { title again: title }");
    let passed = pass(&guard(DocumentLimits::default()), &request).await.unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let mut request = request.data(calls.clone());
    let operations = DocumentOperations::Single(passed.operation.as_ref().clone());
    request.set_parsed_query(ExecutableDocument { operations, fragments: HashMap::new() });
    let answer = library().finish().execute(request).await;
    assert_eq!(answer.data.to_string(), r#"{books: [{title: "0", again: "0"}]}"#);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn each_limit_refuses_by_its_name() {
    let few = DocumentLimits {
        document_bytes: 90,
        tokens: 30,
        nesting: 4,
        fields: 8,
        depth: 2,
        aliases: 1,
        ..DocumentLimits::default()
    };
    let guard = guard(few);
    for (query, limit) in [
        (format!("{{ books {{ title }} }}{}", " ".repeat(90)), "document_bytes"),
        ("{ books(filter: {ids: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}) { title } }".to_owned(), "tokens"),
        ("{ a { b { c { d { e } } } } }".to_owned(), "nesting"),
        ("{ ...A ...A ...A } fragment A on Query { books { title } }".to_owned(), "fields"),
        ("{ a: books { b: title } }".to_owned(), "aliases"),
        ("{ __schema { types { name } } }".to_owned(), "depth"),
    ] {
        let refusal = pass(&guard, &Request::new(&query)).await.unwrap_err();
        assert_eq!(why(refusal).1.as_deref(), Some(limit), "{query}");
    }
}

#[tokio::test]
async fn what_is_no_document_of_the_schema_is_refused_with_a_code() {
    let guard = guard(DocumentLimits::default());
    for (query, code) in [
        ("{ books { title }", "GRAPHQL_PARSE_FAILED"),
        ("{ books(filter: \"", "GRAPHQL_PARSE_FAILED"),
        ("{ films { title } }", "GRAPHQL_VALIDATION_FAILED"),
        ("query A { books { title } } query B { books { title } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ ...A } fragment A on Query { ...A }", "GRAPHQL_VALIDATION_FAILED"),
    ] {
        assert_eq!(why(pass(&guard, &Request::new(query)).await.unwrap_err()).0, code, "{query}");
    }
}

#[tokio::test]
async fn variables_are_checked_also_when_the_document_is_known() {
    let guard = guard(DocumentLimits { list_items: 2, ..DocumentLimits::default() });
    let query = "query($of: BookFilter!) { books(filter: $of) { title } }";
    for (of, passes) in [
        (variables("{\"of\": {\"ids\": [1, 2]}}"), true),
        (variables("{\"of\": {\"ids\": [1, 2, 3]}}"), false),
        (variables("{\"of\": {\"ids\": [\"x\"]}}"), false),
        (variables("{\"of\": {\"isbn\": 1}}"), false),
        (variables("{}"), false),
        (variables("{\"of\": {}}"), true),
    ] {
        let request = Request::new(query).variables(of.clone());
        let passed = pass(&guard, &request).await;
        assert_eq!(passed.is_ok(), passes, "{of:?}");
        if let Err(refusal) = passed {
            assert_eq!(why(refusal).0, "BAD_USER_INPUT", "{of:?}");
        }
    }
}

#[tokio::test]
async fn an_operation_costs_what_it_may_have_rows() {
    let guard = guard(DocumentLimits::default());
    for (query, cost) in [
        ("{ books { title } }", 1 + 20),
        ("{ books(first: 5) { title } }", 1 + 5),
        ("{ books(first: 1000) { title } }", 1 + 200),
        ("{ books(first: 5, filter: {author: \"x\"}) { title } }", 100 + 5),
        ("{ books(first: 5, filter: {author: null}) { title } }", 1 + 5),
    ] {
        let passed = pass(&guard, &Request::new(query)).await.unwrap();
        assert_eq!(passed.cost, cost, "{query}");
        assert!(passed.check_cost(cost).is_ok());
        assert_eq!(why(passed.check_cost(cost - 1).unwrap_err()).1.as_deref(), Some("complexity"));
    }
}

fn variables(text: &str) -> Variables {
    Variables::from_json(serde_json::from_str(text).expect("it is JSON"))
}

#[tokio::test]
async fn an_object_is_asked_for_within_itself_only_so_often() {
    let guard = guard(DocumentLimits { recursion: 3, ..DocumentLimits::default() });
    let nested = |levels: usize| {
        Request::new(format!("{{ books {{ {} title {} }} }}", "similar { ".repeat(levels), "} ".repeat(levels)))
    };
    assert!(pass(&guard, &nested(3)).await.is_ok());
    let refusal = pass(&guard, &nested(4)).await.expect_err("it is too deep");
    assert_eq!(why(refusal), ("GRAPHQL_VALIDATION_FAILED".into(), Some("recursion".into())));
}
