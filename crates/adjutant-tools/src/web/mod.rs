//! What is elsewhere on the net.
//!
//! A page is fetched from the address that was checked and from no other: names are looked
//! up here, and the connection is made to what was found (`fetch`). No proxy is used, since
//! then the address that is connected to would be the proxy's.

mod address;
mod fetch;
mod locator;
mod markdown;
mod page;
mod web_fetch;

pub use address::Permit;
pub(crate) use web_fetch::WebFetch;

/// What the tools for the net are told.
#[derive(Clone, Debug, Default)]
pub struct WebSettings {
    /// What may be reached although it is not public.
    pub allow_private: Vec<Permit>,
}
