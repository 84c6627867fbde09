//! Which model a child runs on.

use std::sync::Arc;

use adjutant_core::{Chosen, Model, Models, Order, Refusal};

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
    let found = find(&**models, settings, &above.model.info().provider, wanted)?;
    Ok(match found {
        Some(model) => (model, chosen),
        None => (Arc::clone(&above.model), Chosen::Inherited),
    })
}

/// Finds the model of children whose calls name none, if it is not the model of their parent,
/// which is one of the provider `own`.
pub fn usual_child_model(
    models: &dyn Models,
    settings: &Settings,
    own: &str,
) -> Result<Option<Arc<dyn Model>>, Refusal> {
    find(models, settings, own, (&settings.child_provider, &settings.child_model))
}

type Named<'a> = (&'a Option<String>, &'a Option<String>);

fn find(
    models: &dyn Models,
    settings: &Settings,
    own: &str,
    wanted: Named<'_>,
) -> Result<Option<Arc<dyn Model>>, Refusal> {
    let Some(name) = name(models, settings, own, wanted) else { return Ok(None) };
    let allowed = &settings.allowed_models;
    if !allowed.allows(&name) {
        return Err(Refusal::ModelNotAllowed { name, allowed: allowed.clone() });
    }
    models.find(&name).map(Some).map_err(|error| Refusal::NoModel(error.to_string()))
}

/// Returns the full name of a model. Of a provider alone that is the configured one or the first
/// on the list; a model without a provider is one of the configured provider's or the parent's.
fn name(
    models: &dyn Models,
    settings: &Settings,
    own: &str,
    (provider, model): Named<'_>,
) -> Option<String> {
    match (provider.as_deref(), model.as_deref()) {
        (None, None) => None,
        (None, Some(model)) if model.contains('/') || models.find(model).is_ok() => {
            Some(model.to_owned())
        }
        (None, Some(model)) => Some(full(settings.child_provider.as_deref().unwrap_or(own), model)),
        (Some(provider), Some(model)) => Some(full(provider, model)),
        (Some(provider), None) => match usual(settings, provider) {
            Some(usual) => Some(usual),
            None if provider == own => None,
            // No name either, but whoever knows the models can say what is missing.
            None if settings.allowed_models.is_empty() => Some(format!("{provider}/")),
            None => Some(provider.to_owned()),
        },
    }
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
