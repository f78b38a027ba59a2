//! Files as content blocks. A picture or a sound goes with its bytes, any other file as a link.

use jackfield_kit::files::Files;
use jackfield_model::{File, FileSource};

use crate::wire::ContentBlock;

/// Name of a file that has none.
const UNNAMED: &str = "file";

/// Converts a file of an answer. A file of bytes gets a link of the hub.
pub(super) fn file_block(file: &File, files: &Files) -> ContentBlock {
    let mime = file.mime.as_deref().unwrap_or_default();
    if let FileSource::Bytes(data) = &file.source {
        if mime.starts_with("image/") {
            return ContentBlock::Image {
                data: data.clone(),
                mime_type: mime.to_owned(),
                uri: None,
            };
        }
        if mime.starts_with("audio/") {
            return ContentBlock::Audio {
                data: data.clone(),
                mime_type: mime.to_owned(),
            };
        }
    }
    let uri = files.url(file).into_owned();
    let name = file.name.clone().or_else(|| last_segment(&uri));
    ContentBlock::ResourceLink {
        name: name.unwrap_or_else(|| UNNAMED.to_owned()),
        mime_type: file.mime.clone(),
        uri,
    }
}

/// Returns the last segment of the path of an address.
pub(super) fn last_segment(uri: &str) -> Option<String> {
    let (_, rest) = uri.split_once("://")?;
    let path = rest.split(['?', '#']).next()?;
    let (_, name) = path.rsplit_once('/')?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use jackfield_core::limits::Limits;
    use jackfield_kit::files::FileKey;
    use jackfield_model::Base64;

    use super::*;

    #[test]
    fn pictures_and_sounds_go_whole_and_other_files_as_links() {
        let files = Files::new(&Limits::default());
        files.serve_at("http://hub", FileKey::new("key"));
        let block = |file: File| file_block(&file, &files);
        let data = Base64::encode(b"hi");
        assert_eq!(
            block(File::bytes(b"hi").mime("image/png")),
            ContentBlock::Image {
                data: data.clone(),
                mime_type: "image/png".to_owned(),
                uri: None,
            }
        );
        let mime_type = "audio/ogg".to_owned();
        assert_eq!(
            block(File::bytes(b"hi").mime("audio/ogg")),
            ContentBlock::Audio { data, mime_type }
        );
        let ContentBlock::ResourceLink { uri, name, .. } =
            block(File::bytes(b"hi").name("a.txt").mime("text/plain"))
        else {
            panic!("a link");
        };
        assert!(uri.starts_with("http://hub/v1/files/"), "{uri}");
        assert_eq!(name, "a.txt");
        assert_eq!(
            block(File::at("https://x/y/b.pdf?z=1")),
            ContentBlock::ResourceLink {
                uri: "https://x/y/b.pdf?z=1".to_owned(),
                name: "b.pdf".to_owned(),
                mime_type: None,
            }
        );
    }

    #[test]
    fn a_file_without_any_name_is_called_file() {
        let files = Files::new(&Limits::default());
        let ContentBlock::ResourceLink { name, .. } = file_block(&File::at("urn:x"), &files) else {
            panic!("a link");
        };
        assert_eq!(name, "file");
    }
}
