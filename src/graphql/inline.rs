//! Objects and lists that are resolved inline.

use std::borrow::Cow;
use std::pin::pin;
use std::task::Poll;

use async_graphql::indexmap::IndexMap;
use async_graphql::parser::types::{Field, Selection};
use async_graphql::registry::Registry;
use async_graphql::resolver_utils::resolve_container;
use async_graphql::{ContainerType, ContextSelectionSet, OutputType, Positioned, ServerResult, Value};
use futures_util::future::try_join_all;
use futures_util::poll;

use super::response_budget::ResponseBudget;

/// An object with fields that are resolved inline, one after the other.
///
/// The library boxes the future of each field, and of everything below it, so that all of them can wait at once. An
/// overview of 8 types has 130 fields, and none of them waits. Here the future of an object contains the futures of its
/// fields, so rare and large ones must be boxed at their beginning.
#[derive(Clone)]
pub struct InlineObject<T>(pub T);

impl<T: ContainerType> OutputType for InlineObject<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn introspection_type_name(&self) -> Cow<'static, str> {
        self.0.introspection_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, _field: &Positioned<Field>) -> ServerResult<Value> {
        let selections = &ctx.item.node.items;
        let budget = ctx.data_opt::<ResponseBudget>();
        let mut object = IndexMap::with_capacity(selections.len());
        for selection in selections {
            // The guard has merged equal fields, and expanded fragments unless their type is only known at run time.
            let Selection::Field(field) = &selection.node else { return resolve_container(ctx, &self.0).await };
            let key = field.node.response_key().node.clone();
            let value = match field.node.name.node.as_str() {
                "__typename" => Value::from(self.0.introspection_type_name()),
                _ => self.0.resolve_field(&ctx.with_field(field)).await?.unwrap_or_default(),
            };
            if let Some(budget) = budget.filter(|_| field.node.selection_set.node.items.is_empty()) {
                let room = budget.charge_field(&key, &value);
                room.map_err(|error| {
                    ctx.set_error_path(async_graphql::Error::from(error).into_server_error(field.pos))
                })?;
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// A list of items that are resolved inline, one after the other, until one of them has to wait. The remaining items
/// then run concurrently.
pub struct InlineList<T>(pub Vec<T>);

impl<T: OutputType> OutputType for InlineList<T> {
    fn type_name() -> Cow<'static, str> {
        Vec::<T>::type_name()
    }

    fn qualified_type_name() -> String {
        Vec::<T>::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        Vec::<T>::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        let resolved = async |(place, item): (usize, &T)| {
            let ctx = ctx.with_index(place);
            item.resolve(&ctx, field).await.map_err(|error| ctx.set_error_path(error))
        };
        let mut values = Vec::with_capacity(self.0.len());
        let mut items = self.0.iter().enumerate();
        for item in items.by_ref() {
            let mut work = pin!(resolved(item));
            match poll!(work.as_mut()) {
                Poll::Ready(value) => values.push(value?),
                Poll::Pending => {
                    values.push(work.await?);
                    break;
                }
            }
        }
        values.extend(try_join_all(items.map(resolved)).await?);
        Ok(Value::List(values))
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::Context;

    use super::*;
    use crate::graphql::inbox::InboxItem;
    use crate::graphql::overview::TypeOverview;
    use crate::graphql::user::User;

    /// Size in bytes of the future of any of its fields.
    fn room<'a, T: ContainerType + 'a, Work>(_resolve: impl Fn(&'a T, &'a Context<'a>) -> Work) -> usize {
        size_of::<Work>()
    }

    /// Pages have hundreds of items, each with a sender. The bytes moved and cleared for each dominate their cost.
    #[test]
    fn the_work_of_a_field_is_small() {
        assert!(room(|of: &User, ctx| of.resolve_field(ctx)) <= 2048);
        assert!(room(|of: &InboxItem, ctx| of.resolve_field(ctx)) <= 2560);
        assert!(room(|of: &TypeOverview<'_>, ctx| of.resolve_field(ctx)) <= 3072);
    }
}
