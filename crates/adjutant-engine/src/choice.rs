//! Which model a child runs on.

use std::sync::Arc;

use adjutant_core::{Chosen, Model, Order, Refusal};

use crate::{Settings, seat::Seat, session::Shared};

/// Finds the model of a child, and tells who chose it. A child for which nobody did has its
/// parent's, which is always allowed.
pub(crate) fn model(above: &Seat, order: &Order) -> Result<(Arc<dyn Model>, Chosen), Refusal> {
    let Shared { models, settings, .. } = &*above.shared;
    let (wanted, chosen) = match (&order.provider, &order.model) {
        (None, None) => ((&settings.child_provider, &settings.child_model), Chosen::Configured),
        named if order.agent.is_some() => (named, Chosen::Defined),
        named => (named, Chosen::Named),
    };
    let Some(name) = name(above, wanted)? else {
        return Ok((Arc::clone(&above.model), Chosen::Inherited));
    };
    let allowed = &settings.allowed_models;
    if !allowed.allows(&name) {
        return Err(Refusal::ModelNotAllowed { name, allowed: allowed.clone() });
    }
    let model = models.find(&name).map_err(|error| Refusal::NoModel(error.to_string()))?;
    Ok((model, chosen))
}

type Named<'a> = (&'a Option<String>, &'a Option<String>);

/// Returns the full name of a model. Of a provider alone that is the configured one or the first
/// on the list; a model without a provider is one of the configured provider's or the parent's.
fn name(above: &Seat, (provider, model): Named<'_>) -> Result<Option<String>, Refusal> {
    let Shared { models, settings, .. } = &*above.shared;
    let (own, allowed) = (&*above.model.info().provider, &settings.allowed_models);
    let name = match (provider.as_deref(), model.as_deref()) {
        (None, None) => return Ok(None),
        (None, Some(model)) if model.contains('/') || models.find(model).is_ok() => {
            model.to_owned()
        }
        (None, Some(model)) => full(settings.child_provider.as_deref().unwrap_or(own), model),
        (Some(provider), Some(model)) => full(provider, model),
        (Some(provider), None) => match usual(settings, provider) {
            Some(usual) => usual,
            None if provider == own => return Ok(None),
            None if allowed.is_empty() => return Err(Refusal::WhichModel(provider.to_owned())),
            None => provider.to_owned(),
        },
    };
    Ok(Some(name))
}

/// Returns the model of a provider for calls that name none: the one that is configured, or
/// else the first on the list.
fn usual(settings: &Settings, provider: &str) -> Option<String> {
    let Settings { child_provider, child_model, allowed_models, .. } = settings;
    let is_of = |model: &&String| {
        child_provider.as_deref() == Some(provider)
            || model.split_once('/').is_some_and(|(before, _)| before == provider)
    };
    let configured = child_model.as_ref().filter(is_of).map(|model| full(provider, model));
    configured.or_else(|| allowed_models.first_of(provider).map(str::to_owned))
}

/// Puts a provider before a model, unless it stands there already.
fn full(provider: &str, model: &str) -> String {
    match model.split_once('/') {
        Some((before, _)) if before == provider => model.to_owned(),
        _ => format!("{provider}/{model}"),
    }
}
