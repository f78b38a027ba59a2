//! Conversion between files of the core and attachments of the bridge, which supports only links.

use jackfield_kit::files::Files;
use jackfield_model::File;
use jackfield_wire::bridge::Attachment;

/// Returns a link to a file. A file given as bytes gets a link served by the hub.
pub(crate) fn attachment_from_file<'a>(file: &'a File, files: &Files) -> Attachment<'a> {
    Attachment::new(
        file.name.as_deref().unwrap_or_default(),
        files.url(file),
        file.mime.as_deref().unwrap_or_default(),
    )
}

/// Returns the file behind an [`Attachment`].
pub(crate) fn file_from_attachment(attachment: &Attachment<'_>) -> File {
    File::from_url(
        attachment.url.to_string(),
        Some(attachment.name.to_string()),
        Some(attachment.media_type.to_string()),
    )
}
