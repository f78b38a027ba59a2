//! Conversion of artifacts and attachments into [`MemberArtifact`].

use jackfield_kit::files::Files;
use jackfield_model::{Artifact, File, FileSource, Part};

use crate::team::event::MemberArtifact;

/// Converts an artifact, or more content of a known artifact.
pub(super) fn of_artifact(artifact: &Artifact, files: &Files) -> MemberArtifact {
    let file = artifact.parts.iter().find_map(|part| match part {
        Part::File(file) => Some(file),
        Part::Text(_) | Part::Data(_) => None,
    });
    let is_text = |part: &Part| matches!(part, Part::Text(_));
    let kind = match file {
        Some(file) => kind(file),
        None if !artifact.parts.is_empty() && artifact.parts.iter().all(is_text) => "text",
        None => "file",
    };
    let file_name = file.and_then(|file| file.name.as_ref());
    let name = [artifact.name.as_ref(), file_name]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty());
    MemberArtifact {
        id: artifact.id.clone(),
        path: name.unwrap_or(&artifact.id).clone(),
        kind,
        url: file.and_then(|file| url(file, files)),
        is_whole: artifact.last || !artifact.append,
    }
}

/// Converts a file attached to the end of the call.
pub(super) fn of_attachment(id: String, file: &File, files: &Files) -> MemberArtifact {
    let name = file.name.as_ref().filter(|name| !name.trim().is_empty());
    MemberArtifact {
        path: name.unwrap_or(&id).clone(),
        id,
        kind: kind(file),
        url: url(file, files),
        is_whole: true,
    }
}

fn kind(file: &File) -> &'static str {
    let mime = file.mime.as_deref().unwrap_or_default();
    let family = mime.split('/').next().unwrap_or_default();
    ["image", "audio", "video"]
        .into_iter()
        .find(|kind| family.eq_ignore_ascii_case(kind))
        .unwrap_or("file")
}

/// Returns the download address of a file. Never contains the file's bytes: every viewer would receive them,
/// and the ring would hold them.
fn url(file: &File, files: &Files) -> Option<String> {
    match &file.source {
        FileSource::Uri(url) => Some(url.clone()),
        FileSource::Bytes(_) => files.link(file),
    }
}
