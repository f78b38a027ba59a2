//! Media types by file extension, for the few kinds that drivers treat specially.

use std::path::Path;

/// Returns the media type of a file, if its extension is one of the known kinds.
pub(super) fn of(file: &Path) -> Option<&'static str> {
    let ending = file.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "md" => "text/markdown",
        "txt" | "log" => "text/plain",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_read_in_either_case() {
        assert_eq!(of(Path::new("/a/b.PNG")), Some("image/png"));
        assert_eq!(of(Path::new("/a/b.rs")), None);
        assert_eq!(of(Path::new("/a/png")), None);
    }
}
