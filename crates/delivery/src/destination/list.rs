//! Lists deliveries, to find out why something did not arrive.

use std::collections::HashMap;

use entity::delivery::{Column, Entity as Deliveries};
use entity::destination;
use entity::prelude::*;
use sea_orm::Select;

use super::{Delivery, DeliveryEvent, DeliveryState, DestinationKind, Destinations};
use base::error::Result;
use domain::tenant::Tenant;
use model::list_page::{ListEnd, PageRange};
use store::Store;

/// The most deliveries that a filtered page scans.
const PASSED_OVER: u64 = 10_000;

/// Which deliveries to list. `None` does not filter.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    pub destination: Option<i64>,
    /// Sent by destinations of this kind.
    pub kind: Option<DestinationKind>,
    /// To one of these addresses.
    pub contacts: Option<Vec<i64>>,
    pub states: Option<Vec<DeliveryState>>,
    pub events: Option<Vec<DeliveryEvent>>,
    pub notification: Option<i64>,
}

impl DeliveryFilter {
    fn is_unfiltered(&self) -> bool {
        let Self { destination, kind, contacts, states, events, notification } = self;
        let is_of_any = destination.is_none() && kind.is_none() && contacts.is_none();
        is_of_any && states.is_none() && events.is_none() && notification.is_none()
    }
}

/// A page of deliveries.
#[derive(Debug)]
pub struct DeliveryPage {
    /// Newest first.
    pub deliveries: Vec<Delivery>,
    /// The id from which the next page continues. `None` if the list ends here.
    pub goes_on_at: Option<i64>,
    pub goes_on: bool,
}

/// The delivery with this id and the kind of its destination. `None` if there is none.
pub async fn find_delivery(store: &Store, tenant: &Tenant, id: i64) -> Result<Option<(DestinationKind, Delivery)>> {
    let of = Deliveries::of_tenant(tenant.id).filter(Column::Id.eq(id)).one(&store.db.read).await?;
    let Some(of) = of else { return Ok(None) };
    let kind = load_kinds(store, tenant).await?.remove(&of.lane_id);
    Ok(kind.map(|kind| (kind, of)))
}

/// The kinds of a tenant's destinations, by id.
pub async fn load_kinds(store: &Store, tenant: &Tenant) -> Result<HashMap<i64, DestinationKind>> {
    let all =
        Destinations::of_tenant(tenant.id).select_only().columns([destination::Column::Id, destination::Column::Kind]);
    Ok(all.into_tuple::<(i64, DestinationKind)>().all(&store.db.read).await?.into_iter().collect())
}

/// A page of a tenant's deliveries, newest first: a scan of `delivery_tenant` until the page is full. With a filter it
/// stops after 10,000 deliveries, matching or not.
pub async fn list_deliveries(
    store: &Store,
    tenant: &Tenant,
    filter: &DeliveryFilter,
    slice: PageRange<i64>,
) -> Result<DeliveryPage> {
    let db = &store.db.read;
    let mut found = Deliveries::of_tenant(tenant.id);
    if let Some(destination) = filter.destination {
        found = found.filter(Column::LaneId.eq(destination));
    }
    if let Some(kind) = filter.kind {
        let destinations = load_kinds(store, tenant).await?.into_iter().filter(|(_, of)| *of == kind).map(|(id, _)| id);
        found = found.filter(Column::LaneId.is_in_list(db, &destinations.collect::<Vec<_>>()));
    }
    if let Some(contacts) = &filter.contacts {
        found = found.filter(Column::ContactId.is_in_list(db, contacts));
    }
    if let Some(states) = &filter.states {
        found = found.filter(Column::State.is_in_list(db, &sorted_unique(states)));
    }
    if let Some(events) = &filter.events {
        found = found.filter(Column::Event.is_in_list(db, &sorted_unique(events)));
    }
    if let Some(notification) = filter.notification {
        found = found.filter(Column::SubjectId.eq(notification));
        found = found.filter(Column::Event.is_in_list(db, &DeliveryEvent::OF_NOTIFICATIONS));
    }
    let walked_to = if filter.is_unfiltered() { None } else { scan_limit(store, tenant, slice).await? };
    if let Some(farthest) = walked_to {
        found = found.filter(match slice.from {
            ListEnd::First => Column::Id.gte(farthest),
            ListEnd::Last => Column::Id.lte(farthest),
        });
    }
    let rows = select_slice(found, slice).limit(slice.many.saturating_add(1) as u64).all(db).await?;
    let (deliveries, is_full) = slice.make_page(rows);
    let farthest = match slice.from {
        ListEnd::First => deliveries.last(),
        ListEnd::Last => deliveries.first(),
    };
    let farthest = farthest.map(|of| of.id);
    let goes_on_at = if is_full { farthest } else { walked_to };
    Ok(DeliveryPage { deliveries, goes_on_at, goes_on: is_full || walked_to.is_some() })
}

fn sorted_unique<T: Copy + Ord>(of: &[T]) -> Vec<T> {
    let mut of = of.to_vec();
    of.sort_unstable();
    of.dedup();
    of
}

/// The id of the last delivery that a filtered page may scan. `None` if there are fewer.
async fn scan_limit(store: &Store, tenant: &Tenant, slice: PageRange<i64>) -> Result<Option<i64>> {
    let walked = Deliveries::of_tenant(tenant.id).select_only().column(Column::Id);
    let last = select_slice(walked, slice).offset(PASSED_OVER - 1);
    Ok(last.into_tuple().one(&store.db.read).await?)
}

/// The deliveries within the slice, from its end on. `after` means older: the list is newest first.
fn select_slice(found: Select<Deliveries>, slice: PageRange<i64>) -> Select<Deliveries> {
    let mut found = found;
    if let Some(newer) = slice.after {
        found = found.filter(Column::Id.lt(newer));
    }
    if let Some(older) = slice.before {
        found = found.filter(Column::Id.gt(older));
    }
    match slice.from {
        ListEnd::First => found.order_by_desc(Column::Id),
        ListEnd::Last => found.order_by_asc(Column::Id),
    }
}
