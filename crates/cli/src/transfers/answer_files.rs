//! Files in an agent's answer, as artifacts and attachments, and notes about files that were not sent.

use std::path::Path;

use anyhow::Result;
use http::Method;
use jackfield_connect::notes;
use jackfield_sdk::{ChunkKind, Event, File, FileSource, Hub, Part};
use jackfield_transfer::{ArchiveLimits, ConflictPolicy, SingleFile, Unpacked, save};
use parking_lot::Mutex;

use super::TransferProgress;
use crate::exit::{CliError, ExitKind};

/// Files and notes of an answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerFiles(Mutex<CollectedFiles>);

#[derive(Debug, Default)]
struct CollectedFiles {
    files: Vec<File>,
    notes: Vec<String>,
}

impl AnswerFiles {
    /// Collects the files and notes of an [`Event`].
    pub(crate) fn collect(&self, event: &Event) {
        let mut heard = self.0.lock();
        match event {
            Event::Chunk(chunk)
                if chunk.kind == ChunkKind::Status && notes::is_note(&chunk.text) =>
            {
                heard.notes.push(chunk.text.clone());
            }
            Event::Artifact(artifact) => {
                let name = artifact.name.as_ref().unwrap_or(&artifact.id);
                let files = artifact.parts.iter().filter_map(|part| match part {
                    Part::File(file) => Some(named(file, Some(name))),
                    Part::Text(_) | Part::Data(_) => None,
                });
                heard.files.extend(files);
            }
            Event::Done(done) => {
                let files = done.attachments.iter();
                heard.files.extend(files.map(|file| named(file, None)));
            }
            _ => {}
        }
    }

    /// Returns why the agent offers no files, if it gave a reason.
    pub(crate) fn refusal(&self) -> Option<String> {
        let heard = self.0.lock();
        heard.notes.iter().find(|it| notes::is_refusal(it)).cloned()
    }

    /// Reports the notes to programs; people have read them already.
    pub(crate) fn tell(&self, tell: &TransferProgress) {
        for note in &self.0.lock().notes {
            tell.step_left_out(note);
        }
    }

    /// Saves the files into a folder. Files on other servers are only named.
    pub(crate) async fn save(
        &self,
        hub: &Hub,
        out: &Path,
        clash: ConflictPolicy,
        tell: &TransferProgress,
    ) -> Result<Unpacked> {
        let files = std::mem::take(&mut self.0.lock().files);
        let mut here = Vec::new();
        let mut room = ArchiveLimits::default().archive;
        for file in files {
            let name = file.name.unwrap_or_default();
            let had = match &file.source {
                FileSource::Bytes(base64) => base64.decode().map_err(|error| error.to_string()),
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
                    here.push(SingleFile { name, content });
                }
                Err(why) => tell.elsewhere(&name, &why),
            }
        }
        if here.is_empty() {
            return Ok(Unpacked::default());
        }
        let saved = save(here, out, clash, ArchiveLimits::default()).await;
        saved.map_err(|error| {
            let text = format!("{}: {error}", out.display());
            CliError::new(
                ExitKind::Failed,
                text,
                "name another folder with --out DIR, and call again",
            )
            .into()
        })
    }
}

const TOO_LARGE: &str = "it is too large";

/// Returns a [`File`] with its own name, or with the name of its artifact. The bytes in a `data:` URL become the
/// file's content.
fn named(file: &File, artifact: Option<&String>) -> File {
    let File { name, mime, source } = file.clone();
    let name = name.filter(|name| !name.is_empty());
    let name = name.or_else(|| artifact.cloned());
    match source {
        FileSource::Uri(uri) => File::from_url(uri, name, mime),
        FileSource::Bytes(_) => File { name, mime, source },
    }
}

async fn fetched(hub: &Hub, path: &str, most: u64) -> Result<Vec<u8>, String> {
    let cannot =
        |error: reqwest::Error| format!("it cannot be downloaded: {}", error.without_url());
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
