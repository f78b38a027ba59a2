//! Files as the bridge names them, which knows only links: both ways.

use jackfield_core::files::Files;
use jackfield_model::File;
use jackfield_wire::bridge::Attachment;

/// A link to a file. One that came as bytes gets a link of the hub's own.
pub(crate) fn attachment_from_file<'a>(file: &'a File, files: &Files) -> Attachment<'a> {
    Attachment::new(
        file.name.as_deref().unwrap_or_default(),
        files.url(file),
        file.mime.as_deref().unwrap_or_default(),
    )
}

/// The file that somebody names.
pub(crate) fn file_from_attachment(attachment: &Attachment<'_>) -> File {
    File::from_url(
        attachment.url.to_string(),
        Some(attachment.name.to_string()),
        Some(attachment.media_type.to_string()),
    )
}
