//! The maximum lengths of input lists.

use serde_json::{Value, json};

/// The most entries of any list.
pub const ANY: usize = 10_000;

/// More entries than two statements take.
const SEVERAL: usize = 2_500;

/// The most entries of the list of an operation at a place, as the schema states. `None` for an unknown place.
pub fn most(query: &str, place: &str) -> Option<usize> {
    let is_of = |operation: &str| query.contains(&format!(" {operation}("));
    Some(match place {
        "ids" | "keys" => 200,
        "select.ids" | "inputs" | "channels" | "resetChannels" => 1_000,
        "actions" | "types" | "resetActions" | "resetTypes" if is_of("updatePreferences") => 1_000,
        "actions" | "types" | "resetActions" | "resetTypes" if is_of("saveDefaultPreferences") => 1_000,
        "actions" | "input.what.actions" if is_of("saveSubscriptionReason") || is_of("subscribeTopic") => 100,
        "filter.actions" if is_of("auditLog") => 100,
        _ if place.ends_with("audience.groups") => 100,
        "input.key" => 8,
        "input.events" => 20,
        "input.delivery" => 10,
        _ if place.ends_with("contacts") => 5,
        _ if place.ends_with("wechat.fields") => 20,
        "users" | "representations" | "input.rows" => ANY,
        _ if place.ends_with("audience.users") || place.ends_with("clear") => ANY,
        // Names of small sets, in any operation.
        "input.what.actions"
        | "types"
        | "filter.types"
        | "filter.kinds"
        | "filter.statuses"
        | "filter.states"
        | "filter.events"
        | "select.matching.types" => ANY,
        _ => return None,
    })
}

/// A list of this many equal entries.
pub fn same(one: &Value, many: usize) -> Value {
    json!(vec![&one[0]; many])
}

/// A list of `most` entries or of several statements' worth, no two of them equal. `None` for an enumeration, which has
/// too few values.
pub fn different(one: &Value, of: &str, most: usize) -> Option<Value> {
    let different = |place: usize| match &one[0] {
        Value::Object(fields) => {
            let mut fields = fields.clone();
            let name = ["externalId", "id", "code", "type", "idempotencyKey"]
                .into_iter()
                .find(|name| fields.contains_key(*name));
            fields.insert(name.unwrap_or("idempotencyKey").into(), json!(format!("n{place}")));
            Value::Object(fields)
        }
        text => json!(format!("{}{place}", text.as_str().unwrap_or_default())),
    };
    let is_enumeration = ["Kind", "Status", "State", "Event", "Field"].iter().any(|end| of.ends_with(end));
    (!is_enumeration).then(|| (0..most.min(SEVERAL)).map(different).collect())
}
