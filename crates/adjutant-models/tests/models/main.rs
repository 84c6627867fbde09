//! What can go wrong with models that need no network.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_scripts;
mod cassette_files;
mod cassette_order;
mod cassettes;
mod finding;
mod rehearsing;
mod replies;
mod support;
