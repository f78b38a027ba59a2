//! The content of a message: a text, or a list of parts. Both APIs have the same parts under different names.

use std::borrow::Cow;

use jackfield_model::{Base64, File, FileSource, Part};
use jackfield_wire::read::{self, FieldError, read_part};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::ECHO;

/// Type of a part.
#[derive(Debug, Deserialize)]
struct PartType<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
struct TextPart {
    text: String,
}

#[derive(Debug, Deserialize)]
struct RefusalPart {
    refusal: String,
}

/// An image of a chat message.
#[derive(Debug, Deserialize)]
struct ImageUrlPart {
    image_url: ImageUrl,
}

#[derive(Debug, Deserialize)]
struct ImageUrl {
    url: String,
}

/// An image of a response's input.
#[derive(Debug, Deserialize)]
struct InputImagePart {
    image_url: Option<String>,
    file_id: Option<String>,
}

/// A file of a chat message.
#[derive(Debug, Deserialize)]
struct FilePart {
    file: FileData,
}

/// A file: of a chat message inside of `file`, of a response's input the part itself.
#[derive(Debug, Default, Deserialize)]
struct FileData {
    file_data: Option<String>,
    file_url: Option<String>,
    file_id: Option<String>,
    #[serde(default, deserialize_with = "read::blank_is_absent")]
    filename: Option<String>,
}

#[derive(Debug, Deserialize)]
struct AudioPart {
    input_audio: AudioData,
}

#[derive(Debug, Deserialize)]
struct AudioData {
    data: String,
    format: String,
}

/// Reads the content of a message. An error's path begins below the content.
pub(crate) fn read_content(raw: &RawValue) -> Result<Vec<Part>, FieldError> {
    let text = raw.get();
    if text.starts_with('"') {
        return Ok(vec![Part::Text(read_part::<String>(raw)?)]);
    }
    if !text.starts_with('[') {
        return Err(FieldError::invalid(
            "",
            "must be a string or an array of content parts",
        ));
    }
    let parts: Vec<&RawValue> = read_part(raw)?;
    let parts = parts.into_iter().enumerate().map(|(index, part)| {
        let read = read_one(part);
        read.map_err(|error| error.within(&format!("[{index}]")))
    });
    parts.collect()
}

fn read_one(raw: &RawValue) -> Result<Part, FieldError> {
    let PartType { kind } = read_part(raw)?;
    match &*kind {
        "text" | "input_text" | "output_text" => Ok(Part::Text(read_part::<TextPart>(raw)?.text)),
        "refusal" => Ok(Part::Text(read_part::<RefusalPart>(raw)?.refusal)),
        "image_url" => {
            let image: ImageUrlPart = read_part(raw)?;
            file_at(image.image_url.url, None, "image_url.url")
        }
        "input_image" => match read_part::<InputImagePart>(raw)? {
            InputImagePart {
                image_url: Some(url),
                ..
            } => file_at(url, None, "image_url"),
            InputImagePart { file_id, .. } => Err(without_bytes(file_id.is_some(), "image_url")),
        },
        "file" => {
            let part: FilePart = read_part(raw)?;
            file_of(part.file).map_err(|error| error.within("file"))
        }
        "input_file" => file_of(read_part(raw)?),
        "input_audio" => {
            let AudioData { data, format } = read_part::<AudioPart>(raw)?.input_audio;
            let mime = format!("audio/{}", echo(&format));
            bytes_of(data, "input_audio.data").map(|file| Part::File(file.mime(mime)))
        }
        other => {
            let text = format!(
                "must be text, image_url, input_audio or file in a chat, input_text, input_image or input_file in a response, not {:?}",
                echo(other)
            );
            Err(FieldError::invalid("type", text))
        }
    }
}

fn file_of(data: FileData) -> Result<Part, FieldError> {
    match data {
        FileData {
            file_data: Some(data),
            filename,
            ..
        } if data.starts_with("data:") => file_at(data, filename, "file_data"),
        FileData {
            file_data: Some(data),
            filename,
            ..
        } => {
            let file = bytes_of(data, "file_data")?;
            Ok(Part::File(File {
                name: filename,
                ..file
            }))
        }
        FileData {
            file_url: Some(url),
            filename,
            ..
        } => file_at(url, filename, "file_url"),
        FileData { file_id, .. } => Err(without_bytes(file_id.is_some(), "file_data")),
    }
}

/// Returns the error for a file that is nowhere.
fn without_bytes(has_id: bool, field: &str) -> FieldError {
    if has_id {
        let text = format!("is not supported, because the hub stores no files; send {field}");
        return FieldError::invalid("file_id", text);
    }
    FieldError::missing(field)
}

/// Returns the file at a URL. A `data:` URL gives its bytes.
fn file_at(url: String, name: Option<String>, field: &str) -> Result<Part, FieldError> {
    let is_link = ["http://", "https://"].iter().any(|scheme| {
        let start = url.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let file = File::from_url(url, name, None);
    match file.source {
        FileSource::Uri(_) if !is_link => Err(FieldError::invalid(
            field,
            "must be an http or https URL, or a data: URL with valid base64",
        )),
        _ => Ok(Part::File(file)),
    }
}

fn bytes_of(base64: String, field: &str) -> Result<File, FieldError> {
    let bytes = Base64::normalize(base64);
    let bytes = bytes.ok_or_else(|| FieldError::invalid(field, "must be base64"))?;
    Ok(File {
        name: None,
        mime: None,
        source: FileSource::Bytes(bytes.into()),
    })
}

/// Returns a client's own text, short enough for a message.
pub(crate) fn echo(text: &str) -> String {
    text.chars().take(ECHO).collect()
}
