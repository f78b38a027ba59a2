//! Folders of clients. A message that names a client is worked on in the project's folder
//! `.bridge-clients/ID/`, which contains links to the project's files. The agent's files for one client stay
//! separate from other clients and from the project.
//!
//! The folders separate clients; they are no sandbox for agents. A link leads to the real file, and an agent
//! may leave its folder.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use jackfield_sdk::AgentFailure;
use jackfield_transfer::{Dir, is_build_output, starts_with};
use jackfield_wire::bridge::is_safe_client_id;

/// Parent of the client folders, named as in the published bridge client.
const CLIENTS: &str = ".bridge-clients";

/// Dot entries that are linked: instructions for agents.
const DOTTED: [&str; 2] = [".claude", ".agents"];

/// Entry that is not linked, besides build output: meant for the owner only.
const LEFT_OUT: &str = "skills";

/// Why [`Workspaces::folder`] has no folder for a client.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The client id is not valid as a folder name.
    #[error(
        "field \"client_id\" must have 1 to 128 of A-Z a-z 0-9 . _ - and not begin with a dot, to be the name of a folder"
    )]
    Name,
    /// The folder cannot be created.
    #[error("cannot make the folder of this client: {0}")]
    Folder(#[from] io::Error),
}

impl From<WorkspaceError> for AgentFailure {
    fn from(error: WorkspaceError) -> Self {
        let code = match error {
            WorkspaceError::Name => "invalid_message",
            WorkspaceError::Folder(_) => "internal_error",
        };
        Self::new(code, error.to_string())
    }
}

/// A project and the folders of its clients.
#[derive(Debug, Clone)]
pub struct Workspaces {
    project: PathBuf,
}

impl Workspaces {
    /// Creates the workspaces of a project.
    pub fn new(project: impl Into<PathBuf>) -> Self {
        Self {
            project: project.into(),
        }
    }

    /// Returns the project's folder.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Returns the working folder for a client, created or brought up to date; the project itself if
    /// `client_id` is `None`.
    pub async fn folder(&self, client_id: Option<&str>) -> Result<PathBuf, WorkspaceError> {
        let Some(id) = client_id else {
            return Ok(self.project.clone());
        };
        if !is_safe_client_id(id) {
            return Err(WorkspaceError::Name);
        }
        let (project, id) = (self.project.clone(), id.to_owned());
        let made = tokio::task::spawn_blocking(move || prepare(&project, &id)).await;
        Ok(made.map_err(io::Error::other)??)
    }

    /// Returns the names of project entries that are links in a client's folder; empty if the folder cannot
    /// be read.
    pub(crate) async fn links(&self, folder: &Path) -> Vec<OsString> {
        let folder = folder.to_owned();
        let found = tokio::task::spawn_blocking(move || linked(&folder)).await;
        found.ok().and_then(Result::ok).unwrap_or_default()
    }
}

fn linked(folder: &Path) -> io::Result<Vec<OsString>> {
    let folder = Dir::open(folder)?;
    let mut names = folder.names()?;
    let is_ours =
        |name: &OsString| matches!(folder.link_at(name), Ok(Some(to)) if to == target(name));
    names.retain(is_ours);
    Ok(names)
}

/// Creates the folder of a client and updates its links.
fn prepare(project: &Path, id: &str) -> io::Result<PathBuf> {
    let root = Dir::open(project)?;
    let clients = root.child(CLIENTS)?;
    clients.ignore()?;
    let folder = clients.child(id)?;
    let wanted: Vec<_> = root.names()?.into_iter().filter(is_linked).collect();
    for name in folder.names()? {
        // Remove only our own links, and only if the agent has not replaced them.
        if !wanted.contains(&name) && folder.link_at(&name)? == Some(target(&name)) {
            folder.remove(&name)?;
        }
    }
    for name in &wanted {
        match folder.link(&target(name), name) {
            // Our own link, the client's own file, or a concurrent request of the same client.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => done?,
        }
    }
    Ok(project.join(CLIENTS).join(id))
}

/// Returns whether a project entry is linked into client folders.
fn is_linked(name: &OsString) -> bool {
    if starts_with(name, ".") {
        DOTTED.iter().any(|it| name == *it)
    } else {
        name != LEFT_OUT && !is_build_output(name)
    }
}

/// Returns the target of an entry's link: relative, so that the project can be moved.
fn target(name: &OsStr) -> OsString {
    let mut target = OsString::from("../../");
    target.push(name);
    target
}
