//! Lists deliveries, to find out why something did not arrive.

use std::collections::HashMap;

use entity::delivery::{Column, Entity as Deliveries};
use entity::lane;
use entity::prelude::*;
use sea_orm::Select;

use super::{Delivery, DeliveryState, Event, Kind, Lanes};
use crate::app::App;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::slice::{End, Slice};

/// The most deliveries that a filtered page scans.
const PASSED_OVER: u64 = 10_000;

/// Which deliveries to list. `None` does not filter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub lane: Option<i64>,
    /// Sent by destinations of this kind.
    pub kind: Option<Kind>,
    /// To one of these addresses.
    pub contacts: Option<Vec<i64>>,
    pub states: Option<Vec<DeliveryState>>,
    pub events: Option<Vec<Event>>,
    pub notification: Option<i64>,
}

impl Filter {
    fn is_of_all(&self) -> bool {
        let Self { lane, kind, contacts, states, events, notification } = self;
        let is_of_any = lane.is_none() && kind.is_none() && contacts.is_none();
        is_of_any && states.is_none() && events.is_none() && notification.is_none()
    }
}

/// A page of deliveries.
#[derive(Debug)]
pub struct Page {
    /// Newest first.
    pub deliveries: Vec<Delivery>,
    /// The id from which the next page continues. `None` if the list ends here.
    pub goes_on_at: Option<i64>,
    pub goes_on: bool,
}

/// The delivery with this id and the kind of its destination. `None` if there is none.
pub async fn delivery(app: &App, tenant: &Tenant, id: i64) -> Result<Option<(Kind, Delivery)>> {
    let of = Deliveries::of_tenant(tenant.id).filter(Column::Id.eq(id)).one(&app.db.read).await?;
    let Some(of) = of else { return Ok(None) };
    let kind = kinds(app, tenant).await?.remove(&of.lane_id);
    Ok(kind.map(|kind| (kind, of)))
}

/// The kinds of a tenant's destinations, by id.
pub async fn kinds(app: &App, tenant: &Tenant) -> Result<HashMap<i64, Kind>> {
    let all = Lanes::of_tenant(tenant.id).select_only().columns([lane::Column::Id, lane::Column::Kind]);
    Ok(all.into_tuple::<(i64, Kind)>().all(&app.db.read).await?.into_iter().collect())
}

/// A page of a tenant's deliveries, newest first: a scan of `delivery_tenant` until the page is full. With a filter it
/// stops after 10,000 deliveries, matching or not.
pub async fn page(app: &App, tenant: &Tenant, filter: &Filter, slice: Slice<i64>) -> Result<Page> {
    let db = &app.db.read;
    let mut found = Deliveries::of_tenant(tenant.id);
    if let Some(lane) = filter.lane {
        found = found.filter(Column::LaneId.eq(lane));
    }
    if let Some(kind) = filter.kind {
        let lanes = kinds(app, tenant).await?.into_iter().filter(|(_, of)| *of == kind).map(|(id, _)| id);
        found = found.filter(Column::LaneId.among(db, &lanes.collect::<Vec<_>>()));
    }
    if let Some(contacts) = &filter.contacts {
        found = found.filter(Column::ContactId.among(db, contacts));
    }
    if let Some(states) = &filter.states {
        found = found.filter(Column::State.among(db, &once(states)));
    }
    if let Some(events) = &filter.events {
        found = found.filter(Column::Event.among(db, &once(events)));
    }
    if let Some(notification) = filter.notification {
        found = found.filter(Column::SubjectId.eq(notification));
        found = found.filter(Column::Event.among(db, &Event::OF_NOTIFICATIONS));
    }
    let walked_to = if filter.is_of_all() { None } else { walked_to(app, tenant, slice).await? };
    if let Some(farthest) = walked_to {
        found = found.filter(match slice.from {
            End::First => Column::Id.gte(farthest),
            End::Last => Column::Id.lte(farthest),
        });
    }
    let rows = within(found, slice).limit(slice.many.saturating_add(1) as u64).all(db).await?;
    let (deliveries, is_full) = slice.page(rows);
    let farthest = match slice.from {
        End::First => deliveries.last(),
        End::Last => deliveries.first(),
    };
    let farthest = farthest.map(|of| of.id);
    let goes_on_at = if is_full { farthest } else { walked_to };
    Ok(Page { deliveries, goes_on_at, goes_on: is_full || walked_to.is_some() })
}

fn once<T: Copy + Ord>(of: &[T]) -> Vec<T> {
    let mut of = of.to_vec();
    of.sort_unstable();
    of.dedup();
    of
}

/// The id of the last delivery that a filtered page may scan. `None` if there are fewer.
async fn walked_to(app: &App, tenant: &Tenant, slice: Slice<i64>) -> Result<Option<i64>> {
    let walked = Deliveries::of_tenant(tenant.id).select_only().column(Column::Id);
    let last = within(walked, slice).offset(PASSED_OVER - 1);
    Ok(last.into_tuple().one(&app.db.read).await?)
}

/// The deliveries within the slice, from its end on. `after` means older: the list is newest first.
fn within(found: Select<Deliveries>, slice: Slice<i64>) -> Select<Deliveries> {
    let mut found = found;
    if let Some(newer) = slice.after {
        found = found.filter(Column::Id.lt(newer));
    }
    if let Some(older) = slice.before {
        found = found.filter(Column::Id.gt(older));
    }
    match slice.from {
        End::First => found.order_by_desc(Column::Id),
        End::Last => found.order_by_asc(Column::Id),
    }
}
