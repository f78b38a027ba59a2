//! Outside judges: published programs of other authors that the tests run against the hub; which ones is in [`list`].
//!
//! `prepare` puts them under `judges/` in the target folder, pinned, and writes a stamp there; with the same pins it
//! is done at once the next time. A judge that cannot be prepared (no Python, no network) is no error: the tests that
//! need it leave it out, and the closing list of `cargo xtask test` says so with the reason. What is ready is given
//! to the tests by environment variables.

mod list;
mod quiet;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) use list::{JUDGES, PYTHON};
use quiet::{answers, run_quietly, version_of};

/// Longest time for creating a folder of packages; a network that hangs must not hang the tests.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);
/// Longest time for one call of the system's package manager.
const SYSTEM_LIMIT: Duration = Duration::from_secs(420);

/// Packages of one language that go together: what they are and where they live.
#[derive(Debug)]
pub(crate) struct Judge {
    /// What the closing list shows.
    pub(crate) name: &'static str,
    /// Exact versions: (package, version).
    pins: &'static [(&'static str, &'static str)],
    /// The folder below `judges/`.
    folder: &'static str,
    /// What must exist in that folder, and what the variable points to.
    entry: &'static str,
    /// The variable by which the tests find it.
    variable: &'static str,
    /// How pins are written in this language: `websockets==17.4`, `ws@8.22.2`.
    pin_sign: &'static str,
    /// Whether the language itself is here; the error says what is missing.
    runtime: fn() -> Result<(), String>,
    /// The program of the language; its version is part of the stamp, because packages belong to the one that took them.
    program: &'static str,
    /// The Debian packages that bring the language.
    system_packages: &'static [&'static str],
    /// Fills the empty folder with the packages named.
    install: fn(&Path, &[String]) -> Result<(), String>,
}

impl Judge {
    /// The judge with its pins, for people: `Python (websockets 17.4)`.
    pub(crate) fn title(&self) -> String {
        let pins: Vec<_> = self
            .pins
            .iter()
            .map(|(package, version)| format!("{package} {version}"))
            .collect();
        format!("{} ({})", self.name, pins.join(", "))
    }

    /// The name of its variable, ready or not.
    pub(crate) fn variable_name(&self) -> &'static str {
        self.variable
    }

    /// The variable for the tests, when the judge is ready.
    pub(crate) fn variable(&self, target: &Path) -> Option<(&'static str, PathBuf)> {
        let folder = self.folder_in(target);
        self.is_ready(&folder)
            .then(|| (self.variable, folder.join(self.entry)))
    }

    /// Makes the judge ready; at once when it is already. The error is the reason for people.
    pub(crate) fn prepare(&self, target: &Path) -> Result<(), String> {
        let folder = self.folder_in(target);
        if self.is_ready(&folder) {
            return Ok(());
        }
        if let Err(missing) = (self.runtime)() {
            install_system_packages(self.system_packages)
                .map_err(|reason| format!("{missing}; {reason}"))?;
            (self.runtime)()?;
        }
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .map_err(|error| format!("the old folder cannot be removed: {error}"))?;
        }
        fs::create_dir_all(&folder)
            .map_err(|error| format!("its folder cannot be created: {error}"))?;
        (self.install)(&folder, &self.pinned())?;
        let stamp = self.stamp().ok_or("its language went away")?;
        fs::write(folder.join(STAMP), stamp)
            .map_err(|error| format!("its stamp cannot be written: {error}"))
    }

    fn folder_in(&self, target: &Path) -> PathBuf {
        target.join("judges").join(self.folder)
    }

    fn is_ready(&self, folder: &Path) -> bool {
        folder.join(self.entry).exists()
            && self
                .stamp()
                .is_some_and(|stamp| fs::read_to_string(folder.join(STAMP)).ok() == Some(stamp))
    }

    fn pinned(&self) -> Vec<String> {
        self.pins
            .iter()
            .map(|(package, version)| format!("{package}{}{version}", self.pin_sign))
            .collect()
    }

    fn stamp(&self) -> Option<String> {
        let version = version_of(self.program)?;
        Some(format!("{version}\n{}\n", self.pinned().join("\n")))
    }
}

/// Written last into a judge's folder: the language and the pins that are installed there.
const STAMP: &str = ".jackfield-stamp";

fn python_is_here() -> Result<(), String> {
    answers("python3", &["--version"]).map_err(|()| "python3 is not installed".to_owned())?;
    // Debian ships Python without these two; `python3-venv` brings them.
    answers("python3", &["-c", "import venv, ensurepip"])
        .map_err(|()| "python3 has no module venv".to_owned())
}

fn node_is_here() -> Result<(), String> {
    answers("node", &["--version"]).map_err(|()| "node is not installed".to_owned())?;
    answers("npm", &["--version"]).map_err(|()| "npm is not installed".to_owned())
}

fn install_python(folder: &Path, pinned: &[String]) -> Result<(), String> {
    run_quietly(
        Command::new("python3").args(["-m", "venv"]).arg(folder),
        INSTALL_LIMIT,
    )?;
    run_quietly(
        Command::new(folder.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--retries", "2"])
            .args(pinned),
        INSTALL_LIMIT,
    )
}

fn install_node(folder: &Path, pinned: &[String]) -> Result<(), String> {
    // A manifest of its own, or npm would climb up and install into a package above.
    fs::write(folder.join("package.json"), "{ \"private\": true }\n")
        .map_err(|error| format!("package.json cannot be written: {error}"))?;
    run_quietly(
        Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--save-exact"])
            .args(["--prefer-offline", "--fetch-retries=1"])
            .args(pinned)
            .current_dir(folder),
        INSTALL_LIMIT,
    )
}

/// Programs without which tests fail: those that the documentation's commands use, and our stand-ins for local agents.
pub(crate) fn prepare_programs() -> Result<(), String> {
    for program in ["curl", "python3"] {
        if version_of(program).is_none() {
            install_system_packages(&[program])
                .map_err(|reason| format!("{program} is not installed; {reason}"))?;
        }
    }
    Ok(())
}

/// Installs a missing language where that is ours to do: as root on a system with apt-get, as in a container.
fn install_system_packages(packages: &[&str]) -> Result<(), String> {
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !is_root || answers("apt-get", &["--version"]).is_err() {
        return Err("install it to run these tests too".to_owned());
    }
    println!("    installing {} with apt-get", packages.join(", "));
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        command
    };
    // Once: a network that is not there would be waited for by every judge.
    static UPDATED: OnceLock<Result<(), String>> = OnceLock::new();
    UPDATED
        .get_or_init(|| run_quietly(apt().arg("update"), SYSTEM_LIMIT))
        .clone()?;
    run_quietly(
        apt()
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages),
        SYSTEM_LIMIT,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that goes away with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    fn judge(pins: &'static [(&'static str, &'static str)]) -> Judge {
        Judge {
            name: "Shell",
            pins,
            folder: "shell",
            entry: "installed",
            variable: "JACKFIELD_JUDGE_SHELL",
            pin_sign: "==",
            runtime: || Ok(()),
            program: "cargo",
            system_packages: &[],
            install: |folder, pinned| {
                fs::write(folder.join("installed"), pinned.join(" ")).map_err(|e| e.to_string())
            },
        }
    }

    fn installed(target: &Folder) -> String {
        fs::read_to_string(target.0.join("judges/shell/installed")).unwrap()
    }

    #[test]
    fn a_prepared_judge_is_given_to_the_tests() {
        let target = Folder::new("prepared");
        let judge = judge(&[("one", "1.0"), ("two", "2.0")]);
        assert_eq!(judge.variable(&target.0), None);

        judge.prepare(&target.0).unwrap();

        assert_eq!(installed(&target), "one==1.0 two==2.0");
        let entry = target.0.join("judges/shell/installed");
        assert_eq!(
            judge.variable(&target.0),
            Some(("JACKFIELD_JUDGE_SHELL", entry))
        );
    }

    #[test]
    fn the_same_pins_are_not_installed_twice() {
        let target = Folder::new("twice");
        judge(&[("one", "1.0")]).prepare(&target.0).unwrap();
        let mut again = judge(&[("one", "1.0")]);
        again.install = |_, _| Err("installed again".to_owned());
        assert_eq!(again.prepare(&target.0), Ok(()));
    }

    #[test]
    fn new_pins_replace_the_old_folder() {
        let target = Folder::new("pins");
        judge(&[("one", "1.0")]).prepare(&target.0).unwrap();
        fs::write(target.0.join("judges/shell/left-over"), "").unwrap();

        judge(&[("one", "1.1")]).prepare(&target.0).unwrap();

        assert_eq!(installed(&target), "one==1.1");
        assert!(!target.0.join("judges/shell/left-over").exists());
    }

    #[test]
    fn a_judge_whose_language_is_gone_is_not_ready() {
        let target = Folder::new("gone");
        judge(&[("one", "1.0")]).prepare(&target.0).unwrap();
        let mut without = judge(&[("one", "1.0")]);
        without.program = "no-such-program-anywhere";
        without.runtime = || Err("it is not installed".to_owned());
        assert_eq!(without.variable(&target.0), None);
        let refused = without.prepare(&target.0).unwrap_err();
        assert!(refused.starts_with("it is not installed"), "{refused}");
    }

    #[test]
    fn a_failed_install_is_not_taken_for_ready() {
        let target = Folder::new("failed");
        let mut judge = judge(&[("one", "1.0")]);
        judge.install = |folder, _| {
            fs::write(folder.join("installed"), "half").map_err(|e| e.to_string())?;
            Err("the network is gone".to_owned())
        };
        assert_eq!(
            judge.prepare(&target.0),
            Err("the network is gone".to_owned())
        );
        assert_eq!(judge.variable(&target.0), None);
    }
}
