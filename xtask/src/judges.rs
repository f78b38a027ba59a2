//! Outside judges: published third-party programs that the tests run against the hub. The modules [`list`]
//! and [`quiet`] define the judges and the installation commands.
//!
//! [`OutsideJudge::prepare`] installs a judge under `judges/` in the target folder, with pinned versions, and writes
//! a stamp there; a folder with the same stamp is reused. A judge that cannot be prepared (no Python, no
//! network) is no error: the tests that need the judge skip it, and the closing list of `cargo xtask test`
//! gives the reason. Tests receive the paths of ready judges in environment variables.

mod list;
mod quiet;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) use list::{A2A_NODE_1, A2A_PYTHON_1, JUDGES, LITELLM, PYTHON};
use quiet::{run_quietly, runs_successfully, version_of};

/// Time limit for installing the packages of a judge; a hanging network must not hang the tests.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);
/// Time limit for one call of the system's package manager.
const SYSTEM_LIMIT: Duration = Duration::from_secs(420);

/// Packages of one language that belong together, with their location.
#[derive(Debug)]
pub(crate) struct OutsideJudge {
    /// Name for the closing list.
    pub(crate) name: &'static str,
    /// Exact versions: (package, version).
    pins: &'static [(&'static str, &'static str)],
    /// Folder below `judges/`.
    folder: &'static str,
    /// Path in the folder that must exist; the variable points to this path.
    entry: &'static str,
    /// Environment variable by which the tests find the judge.
    variable: &'static str,
    /// Sign between package and version in this language: `websockets==17.4`, `ws@8.22.2`.
    pin_sign: &'static str,
    /// Checks that the language is installed; the error names the missing part.
    runtime: fn() -> Result<(), String>,
    /// Program of the language. The program's version is part of the stamp, because packages belong to the
    /// version that installed them.
    program: &'static str,
    /// Debian packages of the language.
    system_packages: &'static [&'static str],
    /// Installs the given packages into the empty folder.
    install: fn(&Path, &[String]) -> Result<(), String>,
}

impl OutsideJudge {
    /// Returns the display name with the pins: `Python (websockets 17.4)`.
    pub(crate) fn title(&self) -> String {
        let pins: Vec<_> = self
            .pins
            .iter()
            .map(|(package, version)| format!("{package} {version}"))
            .collect();
        format!("{} ({})", self.name, pins.join(", "))
    }

    /// Returns the name of the environment variable, whether or not the judge is ready.
    pub(crate) fn variable_name(&self) -> &'static str {
        self.variable
    }

    /// Returns the environment variable with the value for the tests, if the judge is ready.
    pub(crate) fn variable(&self, target: &Path) -> Option<(&'static str, PathBuf)> {
        let folder = self.folder_in(target);
        self.is_ready(&folder)
            .then(|| (self.variable, folder.join(self.entry)))
    }

    /// Installs the judge, unless ready already. The error is a reason for people.
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

/// Name of the stamp file, written last into a judge's folder: the language version and the installed pins.
const STAMP: &str = ".jackfield-stamp";

fn python_is_here() -> Result<(), String> {
    runs_successfully("python3", &["--version"])
        .map_err(|()| "python3 is not installed".to_owned())?;
    // Debian ships Python without these two; `python3-venv` brings them.
    runs_successfully("python3", &["-c", "import venv, ensurepip"])
        .map_err(|()| "python3 has no module venv".to_owned())
}

fn node_is_here() -> Result<(), String> {
    runs_successfully("node", &["--version"]).map_err(|()| "node is not installed".to_owned())?;
    runs_successfully("npm", &["--version"]).map_err(|()| "npm is not installed".to_owned())
}

fn browser_is_here() -> Result<(), String> {
    node_is_here()?;
    runs_successfully("/usr/bin/chromium", &["--version"])
        .map_err(|()| "/usr/bin/chromium is not installed".to_owned())
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
    // Without a manifest here, npm would climb up and install into a package above.
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

/// Installs programs without which tests fail: those in the documentation's commands, and those of our
/// stand-ins for local agents.
pub(crate) fn prepare_programs() -> Result<(), String> {
    for program in ["curl", "python3"] {
        if version_of(program).is_none() {
            install_system_packages(&[program])
                .map_err(|reason| format!("{program} is not installed; {reason}"))?;
        }
    }
    Ok(())
}

/// Installs missing Debian packages, but only as root on a system with apt-get, as in a container.
fn install_system_packages(packages: &[&str]) -> Result<(), String> {
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !is_root || runs_successfully("apt-get", &["--version"]).is_err() {
        return Err("install it to run these tests too".to_owned());
    }
    println!("    installing {} with apt-get", packages.join(", "));
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        command
    };
    // Update once: otherwise every judge would wait for a missing network.
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

    /// A folder that is removed at the end of the test.
    struct TempFolder(PathBuf);

    impl TempFolder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    fn judge(pins: &'static [(&'static str, &'static str)]) -> OutsideJudge {
        OutsideJudge {
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

    fn installed(target: &TempFolder) -> String {
        fs::read_to_string(target.0.join("judges/shell/installed")).unwrap()
    }

    #[test]
    fn a_prepared_judge_is_given_to_the_tests() {
        let target = TempFolder::new("prepared");
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
        let target = TempFolder::new("twice");
        judge(&[("one", "1.0")]).prepare(&target.0).unwrap();
        let mut again = judge(&[("one", "1.0")]);
        again.install = |_, _| Err("installed again".to_owned());
        assert_eq!(again.prepare(&target.0), Ok(()));
    }

    #[test]
    fn new_pins_replace_the_old_folder() {
        let target = TempFolder::new("pins");
        judge(&[("one", "1.0")]).prepare(&target.0).unwrap();
        fs::write(target.0.join("judges/shell/left-over"), "").unwrap();

        judge(&[("one", "1.1")]).prepare(&target.0).unwrap();

        assert_eq!(installed(&target), "one==1.1");
        assert!(!target.0.join("judges/shell/left-over").exists());
    }

    #[test]
    fn a_judge_whose_language_is_gone_is_not_ready() {
        let target = TempFolder::new("gone");
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
        let target = TempFolder::new("failed");
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
