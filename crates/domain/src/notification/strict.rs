//! Strict sends: the server refuses an input if the template of its type fails on it.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::draft::find_message_type;
use super::input::{Addressees, NotificationInput};
use crate::catalogue::Catalogue;
use crate::tenant::Tenant;
use crate::user::{self, UserProfile};
use base::error::{Error, Result};
use model::reader::ReaderLocale;
use model::template::{TargetVariables, TemplateVariables, TextKind, render_template};
use store::Store;

/// The template errors of strict inputs that are not in `refused`, each with the input's position. Two statements if
/// one of them has a sender, none otherwise.
pub(super) async fn check_templates(
    store: &Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
    inputs: &[NotificationInput],
    refused: &[(usize, Error)],
) -> Result<Vec<(usize, Error)>> {
    let mut strict: BTreeMap<usize, &NotificationInput> =
        inputs.iter().enumerate().filter(|(_, input)| input.is_strict).collect();
    for (place, _) in refused {
        strict.remove(place);
    }
    let senders: Vec<String> = strict.values().filter_map(|input| input.sender.clone()).collect();
    let senders = load_profiles(store, tenant, &senders).await?;
    let mut flawed = Vec::new();
    for (place, input) in strict {
        let flaws = template_errors(catalogue, input, &senders)?;
        if !flaws.is_empty() {
            let (code, flaws) = (&input.message_type, flaws.join("; "));
            let what = format!("makes the template of {code:?} fail: {flaws}: fix it, or send without strict");
            flawed.push((place, Error::bad_input("content", what)));
        }
    }
    Ok(flawed)
}

/// By the backend's ids.
async fn load_profiles(store: &Store, tenant: &Tenant, ids: &[String]) -> Result<HashMap<String, UserProfile>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = user::find_existing(store, tenant, ids).await?.into_values().collect::<Vec<_>>();
    let profiles = user::load_profiles(store, tenant, &rows).await?;
    Ok(profiles.into_values().map(|of| (of.external_id.clone(), of)).collect())
}

fn template_errors(
    catalogue: &Catalogue,
    input: &NotificationInput,
    senders: &HashMap<String, UserProfile>,
) -> Result<Vec<String>> {
    let kind = find_message_type(catalogue, &input.message_type)?;
    let Some(template) = &kind.template else { return Ok(Vec::new()) };
    let sender = |id: &String| {
        let known = senders.get(id);
        json!({ "id": id, "name": known.and_then(|of| of.name.as_ref()),
                "avatarUrl": known.and_then(|of| of.avatar_url.as_ref()), "locale": known.and_then(|of| of.locale.as_ref()) })
    };
    let (target, action) = match &input.addressees {
        Addressees::Subscribers { target_type, target_id, action } => {
            (Some(TargetVariables { r#type: target_type, id: target_id }), Some(action.as_str()))
        }
        _ => (None, None),
    };
    let scene = TemplateVariables {
        params: input.content.params.as_ref().unwrap_or(&Value::Null),
        data: input.content.data.as_ref().unwrap_or(&Value::Null),
        sender: input.sender.as_ref().map(sender).unwrap_or_default(),
        target,
        action,
        shown: None,
        reader: ReaderLocale::UNKNOWN,
    };
    let flaw = |text| render_template(template, text, &scene).err();
    Ok([TextKind::Title, TextKind::Body, TextKind::Link].into_iter().filter_map(flaw).collect())
}
