//! Gets an answer, from an address that may be reached.

use std::{net::SocketAddr, sync::Arc};

use adjutant_core::ToolError;
use reqwest::{
    Client, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::LOCATION,
    redirect::Policy,
};

use super::{
    address::{Permit, may_reach},
    locator,
};
use crate::{blocking, gate::Gate};

/// The most redirects that are followed.
const MOST_REDIRECTS: usize = 10;
/// The most bytes that are downloaded.
pub(super) const MOST_BYTES: usize = 5 * 1024 * 1024;

/// Where an address led.
pub(super) enum Reached {
    /// To an answer.
    Answer { url: Url, response: Response },
    /// To somewhere else, which was not what was judged.
    Elsewhere { from: Url, to: Url },
}

/// Asks for a page and follows redirects, as long as they stay with the server and are judged
/// no more strictly than the page.
pub(super) async fn reach(
    mut url: Url,
    permits: &Arc<[Permit]>,
    gate: &Gate,
) -> Result<Reached, ToolError> {
    let mut client = find(&url, permits).await?;
    for _ in 0..=MOST_REDIRECTS {
        let sent = client.get(url.clone()).send().await;
        let response = sent.map_err(|error| broken(&url, &error))?;
        let Some(next) = redirect(&url, &response)? else {
            return Ok(Reached::Answer { url, response });
        };
        if !locator::is_same_server(&url, &next) || !gate.admits(&locator::touch(&next)) {
            return Ok(Reached::Elsewhere { from: url, to: next });
        }
        if next.scheme() != url.scheme() {
            client = find(&next, permits).await?;
        }
        url = next;
    }
    Err(ToolError(format!("it redirects more than {MOST_REDIRECTS} times, last to {url}")))
}

/// Finds a page's server and makes ready to connect to it.
async fn find(url: &Url, permits: &Arc<[Permit]>) -> Result<Client, ToolError> {
    let (url, permits) = (url.clone(), Arc::clone(permits));
    blocking::run(move || client(addresses(&url, &permits)?)).await
}

/// Looks up where a page's server is, and leaves out what may not be reached.
fn addresses(url: &Url, permits: &[Permit]) -> Result<Vec<SocketAddr>, ToolError> {
    let found = url.socket_addrs(|| None);
    let mut found = found.map_err(|error| ToolError(format!("cannot find {url}: {error}")))?;
    found.retain(|address| may_reach(url.domain(), *address, permits));
    if found.is_empty() {
        return Err(ToolError(format!(
            "{url} is at a private address, which is not allowed (`web.allow_private` in the \
             user's configuration allows it)"
        )));
    }
    Ok(found)
}

/// Makes connections to one of these addresses and to no other.
fn client(addresses: Vec<SocketAddr>) -> Result<Client, ToolError> {
    // Another part of the program may have installed one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .pool_max_idle_per_host(0)
        .redirect(Policy::none())
        .dns_resolver(Arc::new(Found(addresses)))
        .build()
        .map_err(|error| ToolError(format!("cannot set up connections: {}", why(&error))))
}

/// Knows where one server is. Whoever asks again is told the same.
struct Found(Vec<SocketAddr>);

impl Resolve for Found {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(async { Ok(addresses) })
    }
}

/// Returns where an answer says the page is, if that is all it says.
fn redirect(url: &Url, response: &Response) -> Result<Option<Url>, ToolError> {
    let location = response.headers().get(LOCATION);
    let Some(location) = location.filter(|_| response.status().is_redirection()) else {
        return Ok(None);
    };
    let location = String::from_utf8_lossy(location.as_bytes());
    let next = url.join(&location).map_err(|error| error.to_string()).and_then(locator::tidy);
    let refused = |why| ToolError(format!("{url} redirects to `{location}`: {why}"));
    next.map(Some).map_err(refused)
}

/// What came of an answer.
pub(super) struct Download {
    pub(super) bytes: Vec<u8>,
    /// Whether there was more.
    pub(super) is_cut: bool,
}

/// Downloads an answer, as far as is allowed.
pub(super) async fn download(url: &Url, mut response: Response) -> Result<Download, ToolError> {
    let mut bytes = Vec::new();
    while let Some(more) = response.chunk().await.map_err(|error| broken(url, &error))? {
        bytes.extend_from_slice(&more);
        if bytes.len() > MOST_BYTES {
            bytes.truncate(MOST_BYTES);
            return Ok(Download { bytes, is_cut: true });
        }
    }
    Ok(Download { bytes, is_cut: false })
}

fn broken(url: &Url, error: &reqwest::Error) -> ToolError {
    ToolError(format!("cannot read {url}: {}", why(error)))
}

/// Returns what is at the bottom of an error.
fn why(error: &reqwest::Error) -> String {
    let mut why = error as &dyn std::error::Error;
    while let Some(source) = why.source() {
        why = source;
    }
    why.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_leads_elsewhere_by_now_is_not_followed() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let checked = server.local_addr().unwrap();
        for name in ["rebound.example", "localhost"] {
            let url = format!("http://{name}:{}/", checked.port());
            tokio::select! {
                reached = server.accept() => drop(reached.unwrap()),
                answer = client(vec![checked]).unwrap().get(url).send() => panic!("{answer:?}"),
            }
        }
    }

    #[test]
    fn what_is_private_is_not_connected_to_by_any_name() {
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://0/",
            "http://localhost./",
            "http://169.254.169.254/latest/meta-data/",
            "http://LOCALHOST:8080/",
        ] {
            let url = locator::read(url).unwrap();
            assert!(addresses(&url, &[]).unwrap_err().0.contains("private address"), "{url}");
            let permit = "localhost".parse().unwrap();
            assert_eq!(
                addresses(&url, &[permit]).is_ok(),
                url.domain() == Some("localhost"),
                "{url}"
            );
        }
    }
}
