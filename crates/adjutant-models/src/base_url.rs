//! Where a server is.

use std::fmt;

use reqwest::Url;

/// The address that the paths of a server's interface are added to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Reads an address, or returns what is wrong with it as the end of a sentence. The
    /// address is not repeated there: it may hold what it should not.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = address(text)?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must end with its path, without `?` or `#`".to_owned());
        }
        Ok(Self(url))
    }

    /// Adds the path that is usual there, if there is none. People leave it out.
    pub(crate) fn with_usual_path(mut self, usual: &str) -> Self {
        if self.0.path() == "/"
            && let Ok(usual) = Url::parse(usual)
        {
            self.0.set_path(usual.path());
        }
        self
    }

    /// Returns the address of something below it.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0.as_str().trim_end_matches('/'))
    }

    /// Reports whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.0.host_str().is_some_and(|host| {
            let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// Reads an address that can be shown to anybody.
pub(crate) fn address(text: &str) -> Result<Url, String> {
    const WANTED: &str = "must be an address that begins with `http://` or `https://`";
    let url = Url::parse(text.trim()).map_err(|error| format!("{WANTED} ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(WANTED.to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not have a name or a password in it".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> BaseUrl {
        BaseUrl::parse(text).unwrap()
    }

    #[test]
    fn a_slash_at_the_end_makes_no_difference() {
        for text in ["http://a.example/v1", "http://a.example/v1/", " http://a.example/v1// "] {
            assert_eq!(base(text).join("/models"), "http://a.example/v1/models");
            assert_eq!(base(text).to_string(), "http://a.example/v1");
        }
    }

    #[test]
    fn the_usual_path_is_added_where_there_is_none() {
        let usual = "https://api.anthropic.com/v1";
        for (given, full) in [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/x"),
            ("https://api.anthropic.com/", "https://api.anthropic.com/v1/x"),
            ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1/x"),
            ("http://gateway.example/claude", "http://gateway.example/claude/x"),
        ] {
            assert_eq!(base(given).with_usual_path(usual).join("/x"), full);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_a_word_of_it() {
        for text in [
            "secret.example/v1",
            "ftp://secret.example",
            "https://",
            "https://me:secret@a.example",
            "https://secret@a.example",
            "https://a.example/v1?key=secret",
            "https://a.example/v1#secret",
        ] {
            let wrong = BaseUrl::parse(text).unwrap_err();
            assert!(wrong.starts_with("must ") && !wrong.contains("secret"), "{text}: {wrong}");
        }
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        for host in ["localhost:1", "127.0.0.1:1", "127.9.9.9", "[::1]:1"] {
            assert!(base(&format!("http://{host}/v1")).is_loopback(), "{host}");
        }
        for host in ["a.example", "10.0.0.1", "localhost.example", "0.0.0.0"] {
            assert!(!base(&format!("http://{host}/v1")).is_loopback(), "{host}");
        }
    }
}
