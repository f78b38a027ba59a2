//! Message of a call: text from the arguments or standard input, and attached files.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use jackfield_sdk::Part;

use crate::exit::{CliError, ExitKind};

/// Default limit of a hub for one message, in bytes.
const MESSAGE_MAX: usize = 8 << 20;
/// Limit for all files of a call, in bytes: base64 adds a third, and the message around needs some room.
const FILES_MAX: usize = MESSAGE_MAX / 4 * 3 - (64 << 10);

/// Message of a call.
#[derive(Debug)]
pub(in crate::cmd) struct CallMessage {
    pub(in crate::cmd) text: Option<String>,
    pub(in crate::cmd) parts: Vec<Part>,
}

/// Reads the [`CallMessage`]. Blocks until the end of piped standard input.
pub(in crate::cmd) fn read(text: Option<&str>, files: &[PathBuf]) -> Result<CallMessage, CliError> {
    let text = match text {
        Some("-") => Some(read_stdin()?),
        Some(text) => Some(text.to_owned()),
        None if !io::stdin().is_terminal() => Some(read_stdin()?),
        None => None,
    };
    let text = text.filter(|text| !text.is_empty());
    if text.is_none() && files.is_empty() {
        return Err(CliError::new(
            ExitKind::Usage,
            "the message is empty",
            "give TEXT, pipe it in, or send a file with -f",
        ));
    }
    let mut room = FILES_MAX;
    let parts = files.iter().map(|file| part(file, &mut room));
    let parts = parts.collect::<Result<_, _>>()?;
    Ok(CallMessage { text, parts })
}

pub(in crate::cmd) fn read_stdin() -> Result<String, CliError> {
    let unreadable =
        |error: io::Error| CliError::usage(format!("cannot read standard input: {error}"));
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock().take(MESSAGE_MAX as u64 + 1);
    stdin.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MESSAGE_MAX {
        let text = format!("standard input has more than {} MiB", MESSAGE_MAX >> 20);
        return Err(CliError::new(
            ExitKind::Usage,
            text,
            "send a smaller message, or a link to the file",
        ));
    }
    String::from_utf8(bytes).map_err(|_| {
        CliError::new(
            ExitKind::Usage,
            "standard input is not UTF-8 text",
            "save it to a file and send that with -f FILE",
        )
    })
}

fn part(path: &Path, room: &mut usize) -> Result<Part, CliError> {
    let unreadable = |error: io::Error| {
        CliError::usage(format!(
            "cannot read {}: {error}; name a file that can be read",
            path.display()
        ))
    };
    let mut bytes = Vec::new();
    File::open(path)
        .map_err(unreadable)?
        .take(*room as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    *room = room.checked_sub(bytes.len()).ok_or_else(|| {
        let text = format!(
            "with {} the files exceed the {} KiB that fit into one message",
            path.display(),
            FILES_MAX >> 10
        );
        CliError::new(
            ExitKind::Usage,
            text,
            "send less, or put a link to the file into the text",
        )
    })?;
    let mut file = jackfield_sdk::File::bytes(bytes);
    let name = path.file_name();
    file.name = name.map(|name| name.to_string_lossy().into_owned());
    file.mime = mime(path).map(str::to_owned);
    Ok(Part::File(file))
}

/// Returns the media type of common files, by extension.
fn mime(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "txt" | "log" | "diff" | "patch" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_come_with_name_type_and_bytes_and_only_as_much_as_fits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.MD");
        std::fs::write(&path, "hi").unwrap();
        let mut room = 3;
        assert_eq!(
            serde_json::to_value(part(&path, &mut room).unwrap()).unwrap(),
            json!({"file": {"name": "a.MD", "mime": "text/markdown", "bytes": "aGk="}})
        );
        let refused = part(&path, &mut room).unwrap_err();
        assert_eq!(refused.code, ExitKind::Usage);
        assert!(refused.text.contains("a.MD"));
        assert!(part(Path::new("/not/there"), &mut room).is_err());
    }
}
