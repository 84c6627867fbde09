//! The hosts that pages may be fetched from.

use adjutant_core::{Pattern, Rules};

use super::Fields;

/// The tool that fetches pages.
const WEB_FETCH: &str = "web_fetch";

/// How pages are fetched, and at which port where none is written.
const SCHEMES: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// Reads the hosts, and leaves of the tool that fetches pages only what is on them.
pub(super) fn read(fields: &mut Fields<'_>, rules: &mut Rules) {
    let Some(hosts) = fields.list("allowed_hosts") else { return };
    if hosts.is_empty() {
        let hint = "leave it out for any host, or put `web_fetch` into `permissions.deny` for none";
        fields.refuse("allowed_hosts", "names no host", hint);
    }
    if rules.only.iter().any(|rule| rule.is_about(WEB_FETCH)) {
        let why = "and `permissions.only` both say what `web_fetch` may fetch";
        fields.refuse("allowed_hosts", why, "say it in one of them");
    }
    for host in hosts {
        match patterns(&host) {
            Ok(patterns) => rules.only.extend(patterns),
            Err(why) => fields.wrong_item("allowed_hosts", &host, format!("has `{host}`, {why}")),
        }
    }
}

/// Returns the rules that speak of all pages on a host, at the usual port or at one that is named.
fn patterns(text: &str) -> Result<Vec<Pattern>, String> {
    let (host, port) = split(text)?;
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = host.starts_with('[');
    let fits = |c: char| match is_address {
        true => c.is_ascii_hexdigit() || c == ':' || c == '.',
        false => c.is_ascii_alphanumeric() || "-._".contains(c),
    };
    if name.is_empty() || !name.chars().all(fits) {
        return Err("which is no host; expected one like `docs.rs` or `localhost:8080`, without \
                    a star, and in its ASCII form (`xn--…`)"
            .to_owned());
    }
    // What brackets mean in a pattern is not meant here.
    let host = if is_address { format!("[[]{name}[]]") } else { name.to_owned() };
    let rule = |(scheme, usual): (&str, u16)| {
        let port = port.filter(|port| *port != usual).map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        format!("{WEB_FETCH}({scheme}://{host}{port}/*)").parse()
    };
    let rules = SCHEMES.into_iter().map(rule).collect::<Result<_, _>>();
    rules.map_err(|error: adjutant_core::BadRule| error.to_string())
}

/// Returns a host as addresses have it, and its port.
fn split(text: &str) -> Result<(String, Option<u16>), String> {
    let text = text.to_ascii_lowercase();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let number = port.parse::<u16>().ok().filter(|port| *port > 0);
            (host, Some(number.ok_or_else(|| format!("but `{port}` is no port"))?))
        }
        _ => (&*text, None),
    };
    Ok((host.trim_end_matches('.').to_owned(), port))
}

#[cfg(test)]
mod tests {
    use adjutant_core::Target;

    use super::*;

    fn covers(host: &str, url: &str) -> bool {
        let url = Target::Words(url.to_owned());
        patterns(host).unwrap().iter().any(|rule| rule.covers(WEB_FETCH, &url, &[]))
    }

    #[test]
    fn a_host_is_that_host_alone() {
        for url in ["https://docs.rs/", "http://docs.rs/a/b?c=https://x/"] {
            assert!(covers("docs.rs", url), "{url}");
            assert!(covers("Docs.RS.", url), "{url}");
        }
        for url in [
            "https://docs.rs.evil.com/",
            "https://evil.com/docs.rs/",
            "https://evil.com/?https://docs.rs/",
            "https://sub.docs.rs/",
            "https://docs.rs:8080/",
            "https://docsxrs/",
            "ftp://docs.rs/",
        ] {
            assert!(!covers("docs.rs", url), "{url}");
        }
    }

    #[test]
    fn a_port_is_that_port_alone() {
        assert!(covers("localhost:8080", "http://localhost:8080/a"));
        assert!(!covers("localhost:8080", "http://localhost/a"));
        assert!(covers("docs.rs:443", "https://docs.rs/a"));
        assert!(!covers("docs.rs:443", "http://docs.rs/a"));
        assert!(covers("[::1]:8080", "http://[::1]:8080/a"));
        assert!(covers("[::1]", "http://[::1]/a"));
        assert!(!covers("[::1]", "http://:/a"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            "*.rs",
            "https://docs.rs",
            "docs.rs/a",
            "a b",
            "a:0",
            "a:x",
            "a:99999",
            "ü.de",
            "[]",
        ] {
            assert!(patterns(text).is_err(), "{text}");
        }
    }
}
