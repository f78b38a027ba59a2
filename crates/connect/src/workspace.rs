//! Folders of clients. A message that names a client is worked on in `.bridge-clients/ID/` of the project, where links lead
//! to the project's files: what the agent writes for one client is not in the way of another's, and not in the project's.
//!
//! This keeps clients apart, not agents in: a link leads to the real file, and an agent may leave its folder.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use jackfield_files::{Dir, is_made_by_tools, starts_with};
use jackfield_sdk::Failure;
use jackfield_wire::bridge::is_safe_client_id;

/// Where the folders are, as the published client of the bridge has it.
const CLIENTS: &str = ".bridge-clients";

/// What is linked though it begins with a dot: what agents read of how to behave.
const DOTTED: [&str; 2] = [".claude", ".agents"];

/// What is not linked, besides what tools make: it is only for the owner.
const LEFT_OUT: &str = "skills";

/// Why there is no folder.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The client's id is no name of a folder.
    #[error(
        "field \"client_id\" must have 1 to 128 of A-Z a-z 0-9 . _ - and not begin with a dot, to be the name of a folder"
    )]
    Name,
    /// The folder cannot be made.
    #[error("cannot make the folder of this client: {0}")]
    Folder(#[from] io::Error),
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        let code = match error {
            WorkspaceError::Name => "invalid_message",
            WorkspaceError::Folder(_) => "internal_error",
        };
        Self::new(code, error.to_string())
    }
}

/// The project, and the folders of its clients.
#[derive(Debug, Clone)]
pub struct Workspaces {
    project: PathBuf,
}

impl Workspaces {
    /// Those of this project.
    pub fn new(project: impl Into<PathBuf>) -> Self {
        Self {
            project: project.into(),
        }
    }

    /// The project itself.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Where to work for a client: its folder, made or brought up to date, or the project if none is named.
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

    /// The names of the project's entries that the folder of a client has only as links; none if it cannot be read.
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

/// Makes the folder of a client, and its links what they should be.
fn prepare(project: &Path, id: &str) -> io::Result<PathBuf> {
    let root = Dir::open(project)?;
    let clients = root.child(CLIENTS)?;
    clients.ignore()?;
    let folder = clients.child(id)?;
    let wanted: Vec<_> = root.names()?.into_iter().filter(is_linked).collect();
    for name in folder.names()? {
        // Only what we linked is ours to remove, and only where the agent has not put something else.
        if !wanted.contains(&name) && folder.link_at(&name)? == Some(target(&name)) {
            folder.remove(&name)?;
        }
    }
    for name in &wanted {
        match folder.link(&target(name), name) {
            // Ours already, or the client's own, or another request of the same client was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => done?,
        }
    }
    Ok(project.join(CLIENTS).join(id))
}

/// Whether clients see this entry of the project.
fn is_linked(name: &OsString) -> bool {
    if starts_with(name, ".") {
        DOTTED.iter().any(|it| name == *it)
    } else {
        name != LEFT_OUT && !is_made_by_tools(name)
    }
}

/// Where the link of an entry leads: relative, so that the project can be moved.
fn target(name: &OsStr) -> OsString {
    let mut target = OsString::from("../../");
    target.push(name);
    target
}
