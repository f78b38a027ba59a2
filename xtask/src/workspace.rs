//! Location of the workspace, the packages in the workspace, and cargo commands for the workspace.
//!
//! All data come from `cargo metadata --no-deps`, which needs no network and respects `CARGO_TARGET_DIR`,
//! `build.target-dir` and calls from a subdirectory. Every other file here uses [`Workspace`].

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Prefixes of variables that `cargo run` sets for this program. They must not reach the cargo commands that
/// `xtask` starts: build scripts that watch such a variable would run again each time.
const SET_BY_CARGO_RUN: [&str; 4] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_BIN_",
    "CARGO_CRATE_",
];

/// Workspace that contains this command.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Folder of the root `Cargo.toml`; every command runs there.
    pub(crate) root: PathBuf,
    /// Absolute path of cargo's target folder.
    pub(crate) target: PathBuf,
    /// Members of the workspace.
    pub(crate) packages: Vec<Package>,
}

/// A member of the workspace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Folder of the package, relative to the root, with `/` between the parts.
    pub(crate) folder: String,
    /// Package names of normal and build dependencies, including optional ones; dev-dependencies are left
    /// out.
    pub(crate) dependencies: Vec<String>,
    /// Package names of optional dependencies, a subset of `dependencies`.
    pub(crate) optional: Vec<String>,
}

impl Workspace {
    /// Finds the workspace by asking cargo, from the current folder.
    pub(crate) fn find() -> Result<Self> {
        let output = clean_cargo()
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .stderr(Stdio::inherit())
            .output()
            .context("cargo could not be started")?;
        if !output.status.success() {
            bail!("`cargo metadata` failed, see above; run this inside the repository");
        }
        let metadata = serde_json::from_slice(&output.stdout)
            .context("the output of `cargo metadata` is not JSON")?;
        Self::from_metadata(&metadata).context("the output of `cargo metadata` has an unknown form")
    }

    fn from_metadata(metadata: &Value) -> Option<Self> {
        let root = PathBuf::from(metadata["workspace_root"].as_str()?);
        let target = PathBuf::from(metadata["target_directory"].as_str()?);
        let packages = metadata["packages"]
            .as_array()?
            .iter()
            .map(|package| package_from_metadata(package, &root))
            .collect::<Option<_>>()?;
        Some(Self {
            root,
            target,
            packages,
        })
    }

    /// Returns a cargo command that runs at the root and uses the caller's target folder.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = clean_cargo();
        command.args(args).current_dir(&self.root);
        if std::env::var_os("CARGO_TARGET_DIR").is_some() {
            // A relative path would mean a different folder, because the command runs at the root.
            command.env("CARGO_TARGET_DIR", &self.target);
        }
        command
    }

    /// Returns the command of [`Workspace::cargo`] with `--locked` before the first `--`, if a lock file
    /// exists.
    pub(crate) fn cargo_locked(&self, args: &[&str]) -> Command {
        let end = args
            .iter()
            .position(|arg| *arg == "--")
            .unwrap_or(args.len());
        let mut all = args.to_vec();
        if self.root.join("Cargo.lock").is_file() {
            all.insert(end, "--locked");
        }
        self.cargo(&all)
    }

    /// Returns whether `cargo NAME` exists on this machine.
    pub(crate) fn has_cargo_command(&self, name: &str) -> bool {
        self.cargo(&[name, "--version"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

fn package_from_metadata(package: &Value, root: &Path) -> Option<Package> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let folder = manifest.parent()?.strip_prefix(root).ok()?;
    let (mut dependencies, mut optional) = (Vec::new(), Vec::new());
    for dependency in package["dependencies"].as_array()? {
        if dependency["kind"] == "dev" {
            continue;
        }
        let name = dependency["name"].as_str()?.to_owned();
        if dependency["optional"] == true {
            optional.push(name.clone());
        }
        dependencies.push(name);
    }
    Some(Package {
        name: package["name"].as_str()?.to_owned(),
        folder: folder.to_str()?.replace('\\', "/"),
        dependencies,
        optional,
    })
}

fn clean_cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        let is_ours = name
            .to_str()
            .is_some_and(|name| SET_BY_CARGO_RUN.iter().any(|start| name.starts_with(start)));
        if is_ours {
            command.env_remove(name);
        }
    }
    command
}

/// Returns the command line as typed, without the path of the program.
pub(crate) fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut line = program
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_gives_folders_libraries_and_dependencies_without_dev() {
        let metadata = serde_json::json!({
            "workspace_root": "/repo",
            "target_directory": "/elsewhere",
            "packages": [{
                "name": "jackfield-agora",
                "manifest_path": "/repo/crates/doors/agora/Cargo.toml",
                "dependencies": [
                    { "name": "jackfield-core", "kind": null },
                    { "name": "cc", "kind": "build" },
                    { "name": "jiff", "kind": null, "optional": true },
                    { "name": "jackfield-testkit", "kind": "dev" },
                ],
            }],
        });

        let workspace = Workspace::from_metadata(&metadata).unwrap();

        assert_eq!(workspace.target, Path::new("/elsewhere"));
        assert_eq!(
            workspace.packages,
            [Package {
                name: "jackfield-agora".into(),
                folder: "crates/doors/agora".into(),
                dependencies: vec!["jackfield-core".into(), "cc".into(), "jiff".into()],
                optional: vec!["jiff".into()],
            }]
        );
    }

    #[test]
    fn metadata_of_another_form_is_refused() {
        assert!(Workspace::from_metadata(&serde_json::json!({ "packages": [] })).is_none());
    }

    #[test]
    fn a_shown_command_hides_where_the_program_lies() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["fmt", "--all"]);
        assert_eq!(command_line(&command), "cargo fmt --all");
    }
}
