//! The prompt of an editor as a message to the agent, and a message as the blocks of a replayed prompt.
//!
//! What an editor embeds as text (a mentioned file, a selection) stays text, because every agent reads text. A link that only
//! the editor's machine can open stays text, too: the agent would take it for a file that it can fetch.

use jackfield_kit::files::Files;
use jackfield_model::{Base64, File, FileSource, Message, Part};

use super::file::{file_block, last_segment};
use crate::wire::{ContentBlock, Resource};

/// Converts the blocks of a prompt into a message.
pub(crate) fn message(blocks: Vec<ContentBlock>) -> Message {
    Message {
        parts: blocks.into_iter().map(part).collect(),
        ..Message::default()
    }
}

fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text { text } => Part::Text(text),
        ContentBlock::Image {
            data,
            mime_type,
            uri,
        } => bytes(data, Some(mime_type), uri.as_deref()),
        ContentBlock::Audio { data, mime_type } => bytes(data, Some(mime_type), None),
        ContentBlock::ResourceLink {
            uri,
            name,
            mime_type,
        } => {
            if is_fetchable(&uri) {
                Part::File(File::from_url(uri, Some(name), mime_type))
            } else {
                Part::Text(format!("[{name}]({uri})"))
            }
        }
        ContentBlock::Resource {
            resource: Resource::Text { uri, text },
        } => {
            let uri = uri.replace('"', "%22");
            Part::Text(format!("<context ref=\"{uri}\">\n{text}\n</context>"))
        }
        ContentBlock::Resource {
            resource:
                Resource::Blob {
                    uri,
                    blob,
                    mime_type,
                },
        } => bytes(blob, mime_type, Some(&uri)),
    }
}

fn bytes(data: Base64, mime: Option<String>, uri: Option<&str>) -> Part {
    Part::File(File {
        name: uri.and_then(last_segment),
        mime,
        source: FileSource::Bytes(data),
    })
}

/// Whether an agent elsewhere may be able to open an address.
fn is_fetchable(uri: &str) -> bool {
    let scheme = uri.split(':').next().unwrap_or_default();
    ["http", "https", "data"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Converts a message into the blocks of a prompt.
pub(crate) fn user_blocks(parts: &[Part], files: &Files) -> Vec<ContentBlock> {
    let block = |part: &Part| match part {
        Part::Text(text) => ContentBlock::text(text),
        Part::Data(json) => ContentBlock::text(json.get()),
        Part::File(file) => file_block(file, files),
    };
    parts.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use jackfield_core::limits::Limits;

    use super::*;

    fn link(uri: &str) -> ContentBlock {
        ContentBlock::ResourceLink {
            uri: uri.to_owned(),
            name: "a.rs".to_owned(),
            mime_type: Some("text/x-rust".to_owned()),
        }
    }

    #[test]
    fn each_block_is_the_part_that_most_agents_can_use() {
        let data = Base64::encode(b"hi");
        let blocks = vec![
            ContentBlock::text("look"),
            ContentBlock::Image {
                data: data.clone(),
                mime_type: "image/png".to_owned(),
                uri: Some("file:///tmp/p.png".to_owned()),
            },
            ContentBlock::Audio {
                data: data.clone(),
                mime_type: "audio/wav".to_owned(),
            },
            link("https://x/a.rs"),
            link("file:///home/ann/a.rs"),
            ContentBlock::Resource {
                resource: Resource::Text {
                    uri: "file:///a \"b\".rs".to_owned(),
                    text: "fn a() {}".to_owned(),
                },
            },
            ContentBlock::Resource {
                resource: Resource::Blob {
                    uri: "file:///x/a.pdf".to_owned(),
                    blob: data,
                    mime_type: Some("application/pdf".to_owned()),
                },
            },
        ];
        let file = |mime: &str| File::bytes(b"hi").mime(mime);
        assert_eq!(
            message(blocks).parts,
            [
                Part::Text("look".to_owned()),
                Part::File(file("image/png").name("p.png")),
                Part::File(file("audio/wav")),
                Part::File(File::at("https://x/a.rs").name("a.rs").mime("text/x-rust")),
                Part::Text("[a.rs](file:///home/ann/a.rs)".to_owned()),
                Part::Text(
                    "<context ref=\"file:///a %22b%22.rs\">\nfn a() {}\n</context>".to_owned()
                ),
                Part::File(file("application/pdf").name("a.pdf")),
            ]
        );
    }

    #[test]
    fn a_message_is_replayed_as_the_blocks_that_it_was_made_of() {
        let blocks = vec![
            ContentBlock::text("look"),
            ContentBlock::Image {
                data: Base64::encode(b"hi"),
                mime_type: "image/png".to_owned(),
                uri: None,
            },
            link("https://x/a.rs"),
        ];
        let files = Files::new(&Limits::default());
        assert_eq!(user_blocks(&message(blocks.clone()).parts, &files), blocks);
    }
}
