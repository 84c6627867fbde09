//! The text of a page, with its links in place.

use std::io::Read;

use html2text::{config, render::TextDecorator};
use reqwest::Url;

/// Wider than any line that is meant to be one.
const WIDTH: usize = 10_000;

/// Returns the text of HTML that is at an address.
pub(super) fn from_html(html: impl Read, at: &Url) -> Result<String, html2text::Error> {
    let marks = Marks { at: at.clone(), open: Vec::new() };
    config::with_decorator(marks)
        .link_footnotes(false)
        .raw_mode(false)
        .no_link_wrapping()
        .allow_width_overflow()
        .do_decorate()
        .string_from_read(html, WIDTH)
}

/// Marks what has a meaning. No mark is kept with the text: a page that opens a thousand of
/// them would have them all kept with each of its words.
struct Marks {
    at: Url,
    /// Where the links lead that are open.
    open: Vec<Option<Url>>,
}

impl Marks {
    /// Returns where a link leads, if that is another page.
    fn target(&self, link: &str) -> Option<Url> {
        let target = self.at.join(link).ok()?;
        let mut page = target.clone();
        page.set_fragment(None);
        (matches!(page.scheme(), "http" | "https") && page != self.at).then_some(target)
    }
}

impl TextDecorator for Marks {
    type Annotation = ();

    fn decorate_link_start(&mut self, url: &str) -> (String, ()) {
        let target = self.target(url);
        let mark = if target.is_some() { "[" } else { "" };
        self.open.push(target);
        (mark.to_owned(), ())
    }

    fn decorate_link_end(&mut self) -> String {
        self.open.pop().flatten().map(|target| format!("]({target})")).unwrap_or_default()
    }

    fn decorate_em_start(&self) -> (String, ()) {
        Default::default()
    }

    fn decorate_em_end(&self) -> String {
        String::new()
    }

    fn decorate_strong_start(&self) -> (String, ()) {
        Default::default()
    }

    fn decorate_strong_end(&self) -> String {
        String::new()
    }

    fn decorate_strikeout_start(&self) -> (String, ()) {
        ("~~".to_owned(), ())
    }

    fn decorate_strikeout_end(&self) -> String {
        "~~".to_owned()
    }

    fn decorate_code_start(&self) -> (String, ()) {
        Default::default()
    }

    fn decorate_code_end(&self) -> String {
        String::new()
    }

    fn decorate_preformat_first(&self) {}

    fn decorate_preformat_cont(&self) {}

    fn decorate_image(&mut self, _: &str, title: &str) -> (String, ()) {
        (format!("[{title}]"), ())
    }

    fn header_prefix(&self, level: usize) -> String {
        "#".repeat(level) + " "
    }

    fn quote_prefix(&self) -> String {
        "> ".to_owned()
    }

    fn unordered_item_prefix(&self) -> String {
        "* ".to_owned()
    }

    fn ordered_item_prefix(&self, number: i64) -> String {
        format!("{number}. ")
    }

    fn make_subblock_decorator(&self) -> Self {
        Self { at: self.at.clone(), open: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        from_html(html.as_bytes(), &Url::parse("https://a.example/b/c?d").unwrap()).unwrap()
    }

    #[test]
    fn links_say_where_they_lead() {
        assert_eq!(text("<a href='/x y'>one</a>"), "[one](https://a.example/x%20y)\n");
        assert_eq!(text("<a href=e#f>two</a>"), "[two](https://a.example/b/e#f)\n");
        for nowhere in ["#top", "javascript:evil()", "mailto:a@b", "c?d#e", "http://["] {
            assert_eq!(text(&format!("<a href='{nowhere}'>words</a>")), "words\n", "{nowhere}");
        }
    }

    #[test]
    fn what_is_for_machines_is_not_shown() {
        let html = "<head><title>t</title><style>b {}</style><script>evil()</script></head>\
                    <body><!-- comment --><script>more()</script><template>x</template>\
                    <style>i {}</style><p>seen</p>";
        assert_eq!(text(html), "seen\n");
    }

    #[test]
    fn what_has_a_form_keeps_it() {
        let html = "<h2>Head</h2><p>some <b>bold</b> and <em>more</em>, <code>x = 1</code>\
                    <ul><li>one<li>two</ul><ol><li>first</ol><blockquote>said</blockquote>\
                    <pre>let  a;\n  b</pre><table><tr><th>k<th>v<tr><td>1<td>2</table>\
                    <img alt=cat src=x>";
        let expected = "## Head\n\nsome **bold** and *more*, `x = 1`\n* one\n* two\n1. first\n\n\
                        > said\n\nlet  a;\n  b\n\nk v\n1 2\n[cat]\n";
        assert_eq!(text(html), expected);
    }

    #[test]
    fn a_long_line_stays_one() {
        let words = "word ".repeat(1500);
        assert_eq!(text(&words).trim_end().lines().count(), 1);
    }
}
