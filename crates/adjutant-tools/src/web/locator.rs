//! Where a page is, written in the one way that is judged and fetched.

use adjutant_core::{Effect, Target, ToolError, Touch};
use reqwest::Url;

/// Reads what a model names.
pub(super) fn read(text: &str) -> Result<Url, ToolError> {
    let url = Url::parse(text).map_err(|error| error.to_string()).and_then(tidy);
    url.map_err(|why| {
        ToolError(format!("`{text}` cannot be fetched: {why}; expected one like https://docs.rs/"))
    })
}

/// Returns the one way to write an address: of two that lead to the same page, a rule must
/// not be about only one.
pub(super) fn tidy(mut url: Url) -> Result<Url, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}` is not http or https", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a name or a password in an address is not sent".to_owned());
    }
    url.set_fragment(None);
    if let Some(name) = url.domain() {
        let name = name.trim_end_matches('.').to_owned();
        url.set_host(Some(&name)).map_err(|error| error.to_string())?;
    }
    Url::parse(&unescaped(url.as_str())).map_err(|error| error.to_string())
}

/// Takes the escapes from characters that need none, and writes the others in capitals.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let rest = if code.is_some() { &piece[2..] } else { piece };
        match code {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                plain.push(byte.into());
            }
            Some(byte) => plain += &format!("%{byte:02X}"),
            None => plain.push('%'),
        }
        plain += rest;
    }
    plain
}

/// Returns what fetching a page touches.
pub(super) fn touch(url: &Url) -> Touch {
    Touch { effect: Effect::Reach, target: Target::Words(url.as_str().to_owned()) }
}

/// Reports whether one page is on the same server as another, or on its safer side.
pub(super) fn is_same_server(from: &Url, to: &Url) -> bool {
    let is_safer = from.scheme() == "http" && to.scheme() == "https";
    let usual = (from.port(), to.port()) == (None, None);
    from.host_str() == to.host_str() && (from.origin() == to.origin() || (is_safer && usual))
}

#[cfg(test)]
mod tests {
    use adjutant_core::Pattern;

    use super::*;

    fn tidied(text: &str) -> String {
        read(text).unwrap().into()
    }

    #[test]
    fn one_page_is_written_in_one_way() {
        for text in [
            "https://docs.rs/a/b?c=d",
            "HTTPS://Docs.RS:443/a/b?c=d#e",
            "https:\\\\docs.rs\\a\\b?c=d",
            "https://docs.rs./a/b?c=d",
            "https://d%6Fcs.rs/a/b?c=d",
            "https://docs.rs/x/../a/./b?c=d",
            "https://docs.rs/x/%2e%2E/%61/b?c=%64",
            " https://do\tcs.rs/\na/b?c=d ",
            "https:docs.rs/a/b?c=d",
            "https://@docs.rs/a/b?c=d",
            "https://docs。rs/a/b?c=d",
        ] {
            assert_eq!(tidied(text), "https://docs.rs/a/b?c=d", "{text}");
        }
        assert_eq!(tidied("http://a.example/%2f%c3%A9%%4"), "http://a.example/%2F%C3%A9%%4");
    }

    #[test]
    fn an_address_in_an_odd_spelling_is_written_plainly() {
        for text in [
            "2130706433",
            "0x7f.1",
            "127.1",
            "0177.0.0.1",
            "127.0.0.1.",
            "0x7f000001",
            "①②⑦.⓪.⓪.①",
            "127%2E0.0.1",
        ] {
            assert_eq!(tidied(&format!("http://{text}/")), "http://127.0.0.1/", "{text}");
        }
        assert_eq!(tidied("http://[::ffff:127.0.0.1]/"), "http://[::ffff:7f00:1]/");
        assert_eq!(tidied("http://bücher.example/"), "http://xn--bcher-kva.example/");
    }

    #[test]
    fn what_is_no_page_is_refused() {
        for text in [
            "docs.rs",
            "/etc/passwd",
            "file:///etc/passwd",
            "ftp://a.example/",
            "data:text/html,a",
            "javascript:1",
            "https://",
            "http://a b/",
            "http://user@a.example/",
            "http://:word@a.example/",
            "https://docs.rs@evil.example/",
            "http://./",
            "http://[::1/",
            "http://a.example:99999/",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rule_for_a_server_is_for_no_other() {
        let rule: Pattern = "web_fetch(https://docs.rs/*)".parse().unwrap();
        let covers =
            |text: &str| rule.covers("web_fetch", &touch(&read(text).unwrap()).target, &[]);
        assert!(covers("https://docs.rs/serde"));
        assert!(covers("HTTPS://DOCS.rs:443"));
        for text in [
            "https://docs.rs.evil.example/",
            "https://docs.rs:8443/",
            "http://docs.rs/",
            "https://evil.example/https://docs.rs/",
            "https://evil.example\\@docs.rs/",
            "https://evil.example?https://docs.rs/",
            "https://evil.example#https://docs.rs/",
        ] {
            assert!(!covers(text), "{text}");
        }
    }

    #[test]
    fn the_same_server_has_the_same_name_and_port_and_is_no_less_safe() {
        let same = |from: &str, to: &str| is_same_server(&read(from).unwrap(), &read(to).unwrap());
        assert!(same("https://a.example/x", "https://a.example:443/y"));
        assert!(same("http://a.example/", "https://a.example/"));
        assert!(!same("https://a.example/", "http://a.example/"));
        assert!(!same("http://a.example:8080/", "https://a.example/"));
        assert!(!same("http://a.example/", "https://a.example:8443/"));
        assert!(!same("http://a.example/", "http://a.example:8080/"));
        assert!(!same("https://a.example/", "https://www.a.example/"));
    }
}
