//! What is said in a call: the words typed or piped in, and files with their bytes.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use jackfield_sdk::Part;

use crate::exit::{Code, Stop};

/// What a hub takes in one message, unless it is configured otherwise.
const MESSAGE_MAX: usize = 8 << 20;
/// All files of a call: base64 makes a third more of them, and the message around them needs some room.
const FILES_MAX: usize = MESSAGE_MAX / 4 * 3 - (64 << 10);

/// What is said.
#[derive(Debug)]
pub(in crate::cmd) struct Message {
    pub(in crate::cmd) text: Option<String>,
    pub(in crate::cmd) parts: Vec<Part>,
}

/// Reads what is to be said. Blocks while somebody pipes it in.
pub(in crate::cmd) fn read(text: Option<&str>, files: &[PathBuf]) -> Result<Message, Stop> {
    let text = match text {
        Some("-") => Some(read_stdin()?),
        Some(text) => Some(text.to_owned()),
        None if !io::stdin().is_terminal() => Some(read_stdin()?),
        None => None,
    };
    let text = text.filter(|text| !text.is_empty());
    if text.is_none() && files.is_empty() {
        return Err(Stop::new(
            Code::Usage,
            "there is nothing to say",
            "give TEXT, pipe it in, or send a file with -f",
        ));
    }
    let mut room = FILES_MAX;
    let parts = files.iter().map(|file| part(file, &mut room));
    let parts = parts.collect::<Result<_, _>>()?;
    Ok(Message { text, parts })
}

pub(in crate::cmd) fn read_stdin() -> Result<String, Stop> {
    let unreadable = |error: io::Error| Stop::usage(format!("cannot read standard input: {error}"));
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock().take(MESSAGE_MAX as u64 + 1);
    stdin.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MESSAGE_MAX {
        let text = format!("standard input has more than {} MiB", MESSAGE_MAX >> 20);
        return Err(Stop::new(Code::Usage, text, "say less, or a link to it"));
    }
    String::from_utf8(bytes).map_err(|_| {
        Stop::new(
            Code::Usage,
            "standard input is not text in UTF-8",
            "save it to a file and send that with -f FILE",
        )
    })
}

fn part(path: &Path, room: &mut usize) -> Result<Part, Stop> {
    let unreadable = |error: io::Error| {
        Stop::usage(format!(
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
            "{} makes it more than the {} KiB of files that fit into one message",
            path.display(),
            FILES_MAX >> 10
        );
        Stop::new(
            Code::Usage,
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

/// The media types of what people send to agents.
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
        assert_eq!(refused.code, Code::Usage);
        assert!(refused.text.contains("a.MD"));
        assert!(part(Path::new("/not/there"), &mut room).is_err());
    }
}
