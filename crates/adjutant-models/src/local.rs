//! Servers at work on this machine.

use std::time::Duration;

use futures_util::future::join_all;
use serde::Deserialize;

use crate::{Providers, Setup, key::KeySource, provider::Place};

/// How long a server on this machine may take to say which models it has.
const PATIENCE: Duration = Duration::from_millis(400);

/// A server at work on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The provider's name.
    pub provider: String,
    /// Its models.
    pub models: Vec<String>,
}

/// What a server says of its models.
#[derive(Deserialize)]
struct Listing {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

/// Looks for servers where local ones usually are, all at once.
pub async fn running(providers: &Providers) -> Vec<Running> {
    let local = providers.iter().filter(|setup| setup.place == Some(Place::Local));
    join_all(local.map(look)).await.into_iter().flatten().collect()
}

async fn look(setup: &Setup) -> Option<Running> {
    let models = tokio::time::timeout(PATIENCE, models(setup)).await.ok()??;
    Some(Running { provider: setup.name.clone(), models })
}

async fn models(setup: &Setup) -> Option<Vec<String>> {
    let url = setup.base_url.join("/models");
    let mut request = setup.http.client(&url).ok()?.get(url);
    for (name, value) in setup.headers.iter() {
        request = request.header(name, value);
    }
    // No command is run for the sake of a look.
    if let Some(key) = setup.key.as_ref().and_then(KeySource::known) {
        let (name, before) = setup.dialect.key_header();
        request = request.header(name, key.header(before).ok()?);
    }
    let listing = request.send().await.ok()?.bytes().await.ok()?;
    let listing: Listing = serde_json::from_slice(&listing).ok()?;
    let names = listing.data.into_iter().map(|entry| entry.id);
    // They are shown on a terminal.
    Some(names.filter(|name| !name.chars().any(char::is_control)).collect())
}
