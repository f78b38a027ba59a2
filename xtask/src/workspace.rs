//! Where the workspace lies, which packages it has, and how cargo is called in it.
//!
//! Everything comes from `cargo metadata --no-deps`, which needs no network and knows about `CARGO_TARGET_DIR`,
//! `build.target-dir` and being called from a subdirectory. Used by every other file here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Variables that `cargo run` sets for this program. They are not meant for the cargo commands we start: build
/// scripts that watch one of them would run again each time.
const SET_BY_CARGO_RUN: [&str; 4] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_BIN_",
    "CARGO_CRATE_",
];

/// The workspace this command belongs to.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the root `Cargo.toml`; every command runs there.
    pub(crate) root: PathBuf,
    /// Where cargo builds, absolute.
    pub(crate) target: PathBuf,
    /// The member packages.
    pub(crate) packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Its folder, relative to the root, with `/` between the parts.
    pub(crate) folder: String,
    pub(crate) has_library: bool,
    /// Package names of its normal and build dependencies, optional ones too; dev-dependencies are left out.
    pub(crate) dependencies: Vec<String>,
    /// Those of them that only a feature brings.
    pub(crate) optional: Vec<String>,
}

impl Workspace {
    /// Asks cargo, from the folder this command was started in.
    pub(crate) fn find() -> Result<Self> {
        let output = bare_cargo()
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

    /// A cargo command that runs at the root and builds where the caller builds.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = bare_cargo();
        command.args(args).current_dir(&self.root);
        if std::env::var_os("CARGO_TARGET_DIR").is_some() {
            // A relative one would mean another folder, now that the command runs at the root.
            command.env("CARGO_TARGET_DIR", &self.target);
        }
        command
    }

    /// The same, with `--locked` before the arguments that follow `--`, where there is a lock file to keep to.
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

    /// Whether `cargo NAME` exists on this machine.
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
    let has_library = package["targets"].as_array()?.iter().any(|target| {
        let kinds = target["kind"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib"))
    });
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
        has_library,
        dependencies,
        optional,
    })
}

fn bare_cargo() -> Command {
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

/// The command as one would type it, without the path of the program.
pub(crate) fn shown(command: &Command) -> String {
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
                "targets": [{ "kind": ["lib"] }, { "kind": ["test"] }],
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
                has_library: true,
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
        assert_eq!(shown(&command), "cargo fmt --all");
    }
}
