//! Client folders.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use jackfield_connect::workspace::Workspaces;
use jackfield_sdk::AgentFailure;

/// A project with a file of every kind.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in [
        "src",
        ".claude",
        ".agents",
        ".git",
        ".vscode",
        "node_modules",
        "target",
        "dist",
        "build",
        "skills",
    ] {
        fs::create_dir(dir.path().join(folder)).unwrap();
    }
    for file in [
        "CLAUDE.md",
        "package.json",
        "b\u{fc}cher.txt",
        ".env",
        ".env.local",
    ] {
        fs::write(dir.path().join(file), file).unwrap();
    }
    dir
}

async fn folder(project: &Path, id: &str) -> PathBuf {
    Workspaces::new(project).folder(Some(id)).await.unwrap()
}

/// Names of the entries of a folder, sorted.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_client_sees_the_project_by_relative_links_but_not_what_tools_made_or_the_owner_hides() {
    let project = project();
    let ann = folder(project.path(), "ann").await;
    assert_eq!(ann, project.path().join(".bridge-clients/ann"));
    let seen = [
        ".agents",
        ".claude",
        "CLAUDE.md",
        "b\u{fc}cher.txt",
        "package.json",
        "src",
    ];
    assert_eq!(names(&ann), seen);
    for name in seen {
        let target = fs::read_link(ann.join(name)).unwrap();
        assert_eq!(target, Path::new("../..").join(name));
    }
    assert_eq!(
        fs::read_to_string(ann.join("CLAUDE.md")).unwrap(),
        "CLAUDE.md"
    );
    let ignored = project.path().join(".bridge-clients/.gitignore");
    assert_eq!(fs::read_to_string(ignored).unwrap(), "*\n");
}

#[tokio::test]
async fn without_a_client_the_project_itself_is_the_folder() {
    let project = project();
    let dir = Workspaces::new(project.path()).folder(None).await.unwrap();
    assert_eq!(dir, project.path());
    assert!(!project.path().join(".bridge-clients").exists());
}

#[tokio::test]
async fn a_folder_is_used_again_and_each_client_has_its_own() {
    let project = project();
    let ann = folder(project.path(), "ann").await;
    fs::write(ann.join("report.md"), "hers").unwrap();
    let bob = folder(project.path(), "bob").await;
    assert!(!bob.join("report.md").exists());
    assert!(!project.path().join("report.md").exists());
    let again = folder(project.path(), "ann").await;
    assert_eq!(fs::read_to_string(again.join("report.md")).unwrap(), "hers");
}

#[tokio::test]
async fn what_comes_to_the_project_appears_and_what_goes_vanishes() {
    let project = project();
    let ann = folder(project.path(), "ann").await;
    fs::write(project.path().join("new.txt"), "new").unwrap();
    fs::remove_file(project.path().join("package.json")).unwrap();
    // A client's own link stays, dangling or not.
    symlink("nowhere", ann.join("own")).unwrap();
    folder(project.path(), "ann").await;
    assert_eq!(fs::read_to_string(ann.join("new.txt")).unwrap(), "new");
    assert!(ann.join("package.json").symlink_metadata().is_err());
    assert!(ann.join("own").symlink_metadata().is_ok());
}

#[tokio::test]
async fn what_a_client_put_in_place_of_a_link_is_the_clients() {
    let project = project();
    let ann = folder(project.path(), "ann").await;
    fs::remove_file(ann.join("package.json")).unwrap();
    fs::write(ann.join("package.json"), "hers").unwrap();
    folder(project.path(), "ann").await;
    fs::remove_file(project.path().join("package.json")).unwrap();
    folder(project.path(), "ann").await;
    assert_eq!(
        fs::read_to_string(ann.join("package.json")).unwrap(),
        "hers"
    );
}

#[tokio::test]
async fn names_that_are_no_names_of_folders_are_refused() {
    let project = project();
    let workspaces = Workspaces::new(project.path());
    let long = "x".repeat(129);
    for bad in [
        "", ".", "..", ".git", "../x", "a/b", "a b", "\u{fc}", "a\0", &long,
    ] {
        let failure = AgentFailure::from(workspaces.folder(Some(bad)).await.unwrap_err());
        assert_eq!(failure.code, "invalid_message", "{bad:?}");
        assert!(failure.message.contains("client_id"));
    }
    assert!(!project.path().join(".bridge-clients").exists());
}

#[tokio::test]
async fn a_link_in_place_of_a_folder_leads_nowhere() {
    let elsewhere = tempfile::tempdir().unwrap();
    let project = project();
    symlink(elsewhere.path(), project.path().join(".bridge-clients")).unwrap();
    let refused = Workspaces::new(project.path()).folder(Some("ann")).await;
    assert_eq!(
        AgentFailure::from(refused.unwrap_err()).code,
        "internal_error"
    );
    fs::remove_file(project.path().join(".bridge-clients")).unwrap();
    folder(project.path(), "bob").await;
    symlink(elsewhere.path(), project.path().join(".bridge-clients/ann")).unwrap();
    let refused = Workspaces::new(project.path()).folder(Some("ann")).await;
    assert_eq!(
        AgentFailure::from(refused.unwrap_err()).code,
        "internal_error"
    );
    assert_eq!(names(elsewhere.path()), [""; 0]);
}

#[tokio::test]
async fn many_requests_of_one_client_at_once_get_the_same_folder() {
    let project = project();
    let workspaces = Workspaces::new(project.path());
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let workspaces = workspaces.clone();
        requests.spawn(async move { workspaces.folder(Some("ann")).await.unwrap() });
    }
    let folders = requests.join_all().await;
    assert!(folders.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(names(&folders[0]).len(), 6);
}
