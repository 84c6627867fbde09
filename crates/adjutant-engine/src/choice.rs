//! Which model a child runs on.

use std::sync::Arc;

use adjutant_core::{Model, Order, Refusal};

use crate::{seat::Seat, session::Shared};

/// Finds the model an order names. A child whose order names none has its parent's, which
/// is always allowed.
pub(crate) fn model(above: &Seat, order: &Order) -> Result<Arc<dyn Model>, Refusal> {
    let Some(name) = name(above, order)? else { return Ok(Arc::clone(&above.model)) };
    let Shared { models, settings, .. } = &*above.shared;
    let allowed = &settings.allowed_models;
    if !allowed.allows(&name) {
        return Err(Refusal::ModelNotAllowed { name, allowed: allowed.clone() });
    }
    models.find(&name).map_err(|error| Refusal::NoModel(error.to_string()))
}

/// Returns the full name of the model an order names. Of a provider alone that is the first
/// on the list; a model without a provider is one of the parent's.
fn name(above: &Seat, order: &Order) -> Result<Option<String>, Refusal> {
    let Shared { models, settings, .. } = &*above.shared;
    let (own, allowed) = (&*above.model.info().provider, &settings.allowed_models);
    let name = match (order.provider.as_deref(), order.model.as_deref()) {
        (None, None) => return Ok(None),
        (None, Some(model)) if model.contains('/') || models.find(model).is_ok() => {
            model.to_owned()
        }
        (None, Some(model)) => full(own, model),
        (Some(provider), Some(model)) => full(provider, model),
        (Some(provider), None) => match allowed.first_of(provider) {
            Some(first) => first.to_owned(),
            None if provider == own => return Ok(None),
            None if allowed.is_empty() => return Err(Refusal::WhichModel(provider.to_owned())),
            None => provider.to_owned(),
        },
    };
    Ok(Some(name))
}

/// Puts a provider before a model, unless it stands there already.
fn full(provider: &str, model: &str) -> String {
    match model.split_once('/') {
        Some((before, _)) if before == provider => model.to_owned(),
        _ => format!("{provider}/{model}"),
    }
}
