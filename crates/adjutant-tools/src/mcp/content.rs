//! What a server's tool answered, as the model is given it.

use adjutant_core::{Host, Image, ToolError};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// The pictures every provider takes.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The largest picture a provider takes, in base64.
const LARGEST_PICTURE: usize = 5 << 20;
/// How many pictures one call may show.
const MOST_PICTURES: usize = 10;

/// Puts a result into words, and shows its pictures.
pub(crate) fn tell(result: CallToolResult, host: &dyn Host) -> Result<String, ToolError> {
    let CallToolResult { content, structured_content, is_error, .. } = result;
    let has_text = content.iter().any(|block| block.as_text().is_some());
    let mut pictures = 0;
    let mut parts: Vec<_> =
        content.into_iter().map(|block| part(block, &mut pictures, host)).collect();
    if let (Some(structured), false) = (structured_content, has_text) {
        parts.push(structured.to_string());
    }
    let text = if parts.is_empty() { "[no content]".to_owned() } else { parts.join("\n") };
    if is_error == Some(true) { Err(ToolError(text)) } else { Ok(text) }
}

fn part(block: ContentBlock, pictures: &mut usize, host: &dyn Host) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => {
            let kind = image.mime_type.escape_debug().to_string();
            match unfit(&image.mime_type, &image.data, *pictures) {
                Some(why) => format!("[a picture, {kind}, left out: {why}]"),
                None => {
                    *pictures += 1;
                    host.attach(Image { media_type: image.mime_type, data: image.data.into() });
                    format!("[a picture, {kind}]")
                }
            }
        }
        ContentBlock::Audio(audio) => {
            format!("[sound, {}, left out]", audio.mime_type.escape_debug())
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                format!("[{uri}: {} bytes in base64, left out]", blob.len())
            }
            _ => "[something of an unknown kind, left out]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            let about = link.description.or(link.title).unwrap_or(link.name);
            format!("[see {}: {about}]", link.uri)
        }
        _ => "[something of an unknown kind, left out]".to_owned(),
    }
}

/// Returns why a picture cannot be shown. A provider that is given one it cannot read refuses
/// the whole conversation.
fn unfit(kind: &str, data: &str, before: usize) -> Option<String> {
    if !PICTURES.contains(&kind) {
        return Some(format!("only {} can be shown", PICTURES.join(", ")));
    }
    if data.len() > LARGEST_PICTURE {
        return Some(format!("it has more than {} MiB", LARGEST_PICTURE >> 20));
    }
    if before >= MOST_PICTURES {
        return Some(format!("a call may show {MOST_PICTURES}"));
    }
    (!is_base64(data)).then(|| "it is not base64".to_owned())
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let is_digit = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/');
    let padding = data.len() - digits.len();
    !digits.is_empty()
        && data.len().is_multiple_of(4)
        && padding <= 2
        && digits.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_base64_is_a_picture() {
        for good in ["aGk=", "aA==", "aGkh", "+/+/"] {
            assert!(is_base64(good), "{good}");
        }
        for bad in ["", "====", "aGk", "a===", "aG k", "aG-_", "=aGk"] {
            assert!(!is_base64(bad), "{bad}");
        }
    }

    #[test]
    fn a_picture_a_provider_would_choke_on_is_left_out() {
        assert_eq!(unfit("image/png", "aGkh", 9), None);
        assert!(unfit("image/svg+xml", "aGkh", 0).is_some());
        assert!(unfit("image/png", "aGkh", 10).is_some());
        assert!(unfit("image/png", &"a".repeat(LARGEST_PICTURE + 4), 0).is_some());
        assert!(unfit("image/png", "!", 0).is_some());
    }
}
