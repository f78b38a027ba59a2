//! Files in Agora's payloads.

use std::borrow::Cow;

use jackfield_kit::files::Files;
use jackfield_model::{File, FileSource};
use jackfield_wire::json::{RawMembers, elements};
use serde_json::value::RawValue;

use super::raw_from;

/// Reads files in the format of Agora and the bridge: `{name, url, type}`, with `bytes` in place of a missing
/// URL.
pub(super) fn files_from_raw(raw: &RawValue) -> Vec<File> {
    let Some(elements) = elements(raw) else {
        return Vec::new();
    };
    let file = |raw: &RawValue| {
        let members = RawMembers::of(raw)?;
        let text = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| members.text(name))
                .map(String::from)
        };
        let (name, mime) = (text(&["name"]), text(&["type", "mime", "mimeType"]));
        Some(match text(&["url", "uri"]) {
            Some(url) => File::from_url(url, name, mime),
            None => File {
                name,
                mime,
                source: FileSource::Bytes(text(&["bytes"])?.into()),
            },
        })
    };
    elements.into_iter().filter_map(file).collect()
}

/// Writes files in the same format: every file becomes a link.
pub(super) fn raw_from_files<'a>(
    files: impl IntoIterator<Item = &'a File>,
    links: &Files,
) -> Option<Box<RawValue>> {
    #[derive(serde::Serialize)]
    struct Wire<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        url: Cow<'a, str>,
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        mime: Option<&'a str>,
    }
    let wire: Vec<_> = files
        .into_iter()
        .map(|file| Wire {
            name: file.name.as_deref(),
            url: links.url(file),
            mime: file.mime.as_deref(),
        })
        .collect();
    raw_from(&wire)
}
