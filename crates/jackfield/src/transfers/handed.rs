//! Files that an agent hands over in its answer, as artifacts and attachments, and what is said of files that do not come.

use std::path::Path;

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::Method;
use jackfield_connect::notes;
use jackfield_core::event::{File, FileSource};
use jackfield_files::{Clash, Limits, Loose, Unpacked, save};
use jackfield_sdk::{Event, Hub};
use parking_lot::Mutex;
use serde::Deserialize as _;
use serde_json::Value;

use super::Tell;
use crate::{
    exit::{Code, Stop},
    output,
};

/// What an answer brought.
#[derive(Debug, Default)]
pub(crate) struct Handed(Mutex<Heard>);

#[derive(Debug, Default)]
struct Heard {
    files: Vec<File>,
    notes: Vec<String>,
}

impl Handed {
    /// Takes what an event brings.
    pub(crate) fn hear(&self, event: &Event) {
        let mut heard = self.0.lock();
        match event {
            Event::Chunk(chunk) if chunk.kind == "status" && notes::is_note(&chunk.text) => {
                heard.notes.push(chunk.text.clone());
            }
            Event::Artifact(artifact) => {
                let name = artifact["name"].as_str().or(artifact["id"].as_str());
                let parts = output::items(artifact, "parts").iter();
                let files = parts.filter_map(|part| file(&part["file"], name));
                heard.files.extend(files);
            }
            Event::Done(done) => {
                let attached = done.rest.get("attachments").and_then(Value::as_array);
                let files = attached.into_iter().flatten();
                heard.files.extend(files.filter_map(|it| file(it, None)));
            }
            _ => {}
        }
    }

    /// Why the agent offers nothing, if it says so.
    pub(crate) fn refusal(&self) -> Option<String> {
        let heard = self.0.lock();
        heard.notes.iter().find(|it| notes::is_refusal(it)).cloned()
    }

    /// Tells programs what does not come; people have read it.
    pub(crate) fn tell(&self, tell: &Tell) {
        for note in &self.0.lock().notes {
            tell.step_left_out(note);
        }
    }

    /// Puts the files into a folder. Those of other servers are only named.
    pub(crate) async fn save(
        &self,
        hub: &Hub,
        out: &Path,
        clash: Clash,
        tell: &Tell,
    ) -> Result<Unpacked> {
        let files = std::mem::take(&mut self.0.lock().files);
        let mut here = Vec::new();
        let mut room = Limits::default().archive;
        for file in files {
            let name = file.name.unwrap_or_default();
            let had = match &file.source {
                FileSource::Bytes(text) => STANDARD.decode(&**text).map_err(|_| BROKEN.to_owned()),
                FileSource::Uri(uri) => match hub.address().file_path(uri) {
                    Some(path) => fetched(hub, &path, room).await,
                    None => Err(format!("it is at {uri}")),
                },
            };
            let fits = had.and_then(|content| match room.checked_sub(content.len() as u64) {
                Some(left) => Ok((left, content)),
                None => Err(TOO_LARGE.to_owned()),
            });
            match fits {
                Ok((left, content)) => {
                    room = left;
                    here.push(Loose { name, content });
                }
                Err(why) => tell.elsewhere(&name, &why),
            }
        }
        if here.is_empty() {
            return Ok(Unpacked::default());
        }
        let saved = save(here, out, clash, Limits::default()).await;
        saved.map_err(|error| {
            let text = format!("{}: {error}", out.display());
            Stop::new(
                Code::Failed,
                text,
                "name another folder with --out DIR, and call again",
            )
            .into()
        })
    }
}

const BROKEN: &str = "its bytes cannot be read";
const TOO_LARGE: &str = "it is more than fits";

/// A file as the hub's API has it, under its own name or that of what it is part of.
fn file(value: &Value, of: Option<&str>) -> Option<File> {
    let File { name, mime, source } = File::deserialize(value).ok()?;
    let name = name
        .filter(|name| !name.is_empty())
        .or(of.map(str::to_owned));
    Some(match source {
        FileSource::Uri(uri) => File::from_url(uri, name, mime),
        FileSource::Bytes(_) => File { name, mime, source },
    })
}

async fn fetched(hub: &Hub, path: &str, most: u64) -> Result<Vec<u8>, String> {
    let cannot = |error: reqwest::Error| format!("it cannot be fetched: {}", error.without_url());
    let sent = hub.builder(Method::GET, path).send().await;
    let sent = sent.and_then(reqwest::Response::error_for_status);
    let mut response = sent.map_err(cannot)?;
    let mut content = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(cannot)? {
        if (content.len() + piece.len()) as u64 > most {
            return Err(TOO_LARGE.to_owned());
        }
        content.extend(piece);
    }
    Ok(content)
}
