//! A server that runs somewhere and is spoken to over HTTP.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use reqwest::{
    Client, StatusCode, Url,
    header::{HeaderName, HeaderValue},
    redirect::Policy,
};
use rmcp::transport::{
    StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
};

use super::{http_client::BoundedClient, settings::parse_url};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 5;

/// Makes the way to a server.
pub(crate) fn transport(
    url: &str,
    headers: impl IntoIterator<Item = (String, String)>,
) -> Result<StreamableHttpClientTransport<BoundedClient>, String> {
    let url = parse_url(url)?;
    let headers: Result<HashMap<_, _>, String> = headers.into_iter().map(header).collect();
    let config =
        StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers?);
    let client = client(&url).map_err(|error| format!("cannot set up connections: {error}"))?;
    Ok(StreamableHttpClientTransport::with_client(BoundedClient(client), config))
}

/// Reads a header. Its value gets into no complaint.
fn header((name, value): (String, String)) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = |what: &str| format!("has `{name}` in `headers`, {what}");
    let mut value =
        HeaderValue::from_str(&value).map_err(|_| wrong("whose value cannot be sent"))?;
    value.set_sensitive(true);
    let name = HeaderName::try_from(&name).map_err(|_| wrong("and that is no header"))?;
    Ok((name, value))
}

fn client(url: &Url) -> reqwest::Result<Client> {
    // Another part of the program may have installed one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(Policy::custom(|attempt| {
            let first = attempt.previous().first();
            let is_at_home = first.is_some_and(|first| first.origin() == attempt.url().origin());
            // Headers and the session's name would go to somebody else, and the message of
            // any other redirect would be lost.
            let is_kept = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT]
                .contains(&attempt.status());
            match attempt.previous().len() {
                ..=MOST_REDIRECTS if is_at_home && is_kept => attempt.follow(),
                _ => attempt.stop(),
            }
        }));
    if is_here(url) {
        builder = builder.no_proxy();
    }
    builder.build()
}

/// Reports whether a server is on this machine, where no proxy leads.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_this_machine_is_known() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.0.0.2/", true),
            ("http://[::1]:1/", true),
            ("http://localhost.example/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(is_here(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_refused_without_its_value() {
        let wrong = header(("A".into(), "secret\n".into())).unwrap_err();
        assert!(wrong.contains("`A`") && !wrong.contains("secret"), "{wrong}");
    }
}
