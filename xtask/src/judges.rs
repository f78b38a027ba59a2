//! Outside judges: published programs of other authors that the tests run against the hub.
//!
//! `prepare` puts them under `judges/` in the target folder, pinned, and writes a stamp there; with the same pins it
//! is done at once the next time. A judge that cannot be prepared (no Python, no network) is no error: the tests that
//! need it leave it out, and the closing list of `cargo xtask test` says so with the reason. What is ready is given
//! to the tests by environment variables.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time for creating a folder of packages; a network that hangs must not hang the tests.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);
/// Longest time for one call of the system's package manager.
const SYSTEM_LIMIT: Duration = Duration::from_secs(420);
/// How often a running command is looked at.
const POLL: Duration = Duration::from_millis(50);

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
    /// The Debian packages that bring the language.
    system_packages: &'static [&'static str],
    /// Fills the empty folder with the packages named.
    install: fn(&Path, &[String]) -> Result<(), String>,
}

/// Python's. Adding a package is adding a pin.
pub(crate) const PYTHON: Judge = Judge {
    name: "Python",
    // Schemathesis makes up its test cases with hypothesis: another version of that makes up others.
    pins: &[
        ("websockets", "17.4"),
        ("proxy.py", "2.4.10"),
        ("schemathesis", "4.32.5"),
        ("hypothesis", "6.170.15"),
    ],
    folder: "venv",
    entry: "bin/python",
    variable: "JACKFIELD_JUDGE_PYTHON",
    pin_sign: "==",
    runtime: python_is_here,
    system_packages: &["python3", "python3-venv"],
    install: install_python,
};

const NODE: Judge = Judge {
    name: "Node",
    pins: &[("ws", "8.22.2")],
    folder: "npm",
    entry: "node_modules",
    variable: "JACKFIELD_JUDGE_NODE_PATH",
    pin_sign: "@",
    runtime: node_is_here,
    system_packages: &["nodejs", "npm"],
    install: install_node,
};

/// The A2A clients and servers of the protocol's own project, and Agno's. Each version of each has a folder of its own:
/// two versions of one package do not live in one.
const A2A_PYTHON_1: Judge = Judge {
    name: "A2A 1.0 in Python",
    pins: &[
        ("a2a-sdk[grpc,signing]", "1.3.0"),
        ("cryptography", "50.0.2"),
        ("grpcio", "1.85.1"),
        ("httpx", "0.28.1"),
        ("pyjwt", "2.15.1"),
        ("sse-starlette", "3.7.0"),
        ("starlette", "1.10.0"),
        ("uvicorn", "0.54.0"),
    ],
    folder: "a2a-python-1",
    variable: "JACKFIELD_JUDGE_A2A_PYTHON_1",
    ..PYTHON
};

const A2A_PYTHON_03: Judge = Judge {
    name: "A2A 0.3 in Python",
    pins: &[
        ("a2a-sdk[signing]", "0.3.26"),
        ("agno", "3.1.10"),
        ("cryptography", "50.0.2"),
        ("fastapi", "0.162.4"),
        ("httpx", "0.28.1"),
        ("pyjwt", "2.15.1"),
        // Agno's server does not load without it.
        ("python-multipart", "0.0.33"),
        ("sse-starlette", "3.7.0"),
        ("uvicorn", "0.54.0"),
    ],
    folder: "a2a-python-03",
    variable: "JACKFIELD_JUDGE_A2A_PYTHON_03",
    ..PYTHON
};

const A2A_NODE_1: Judge = Judge {
    name: "A2A 1.0 in Node",
    pins: &[("@a2a-js/sdk", "1.3.0"), ("express", "5.3.0")],
    folder: "a2a-npm-1",
    variable: "JACKFIELD_JUDGE_A2A_NODE_1",
    ..NODE
};

const A2A_NODE_03: Judge = Judge {
    name: "A2A 0.3 in Node",
    pins: &[("@a2a-js/sdk", "0.3.14"), ("express", "5.3.0")],
    folder: "a2a-npm-03",
    variable: "JACKFIELD_JUDGE_A2A_NODE_03",
    ..NODE
};

/// Frameworks that offer their agents by A2A.
const A2A_ADK: Judge = Judge {
    name: "A2A of Google ADK",
    pins: &[
        ("a2a-sdk", "1.3.0"),
        ("google-adk[a2a]", "2.13.0"),
        ("google-genai", "2.34.0"),
        ("uvicorn", "0.54.0"),
    ],
    folder: "a2a-adk",
    variable: "JACKFIELD_JUDGE_A2A_ADK",
    ..PYTHON
};

const A2A_LANGGRAPH: Judge = Judge {
    name: "A2A of LangGraph",
    pins: &[
        ("langchain-core", "1.7.2"),
        ("langgraph", "1.2.20"),
        ("langgraph-api", "0.16.7"),
        ("langgraph-cli[inmem]", "0.4.40"),
        ("langgraph-runtime-inmem", "0.36.7"),
        ("uvicorn", "0.54.0"),
    ],
    folder: "a2a-langgraph",
    variable: "JACKFIELD_JUDGE_A2A_LANGGRAPH",
    ..PYTHON
};

/// libp2p as others wrote it: the peers of the p2p door.
const P2P_PYTHON: Judge = Judge {
    name: "libp2p in Python",
    pins: &[
        ("libp2p", "0.8.1"),
        ("multiaddr", "0.2.0"),
        ("trio", "0.35.0"),
    ],
    folder: "p2p-python",
    variable: "JACKFIELD_JUDGE_P2P_PYTHON",
    ..PYTHON
};

const P2P_NODE: Judge = Judge {
    name: "libp2p in Node",
    pins: &[
        ("libp2p", "3.3.11"),
        ("@chainsafe/libp2p-noise", "17.0.0"),
        ("@chainsafe/libp2p-yamux", "8.0.1"),
        ("@libp2p/circuit-relay-v2", "4.2.13"),
        ("@libp2p/crypto", "5.1.23"),
        ("@libp2p/identify", "4.1.14"),
        ("@libp2p/ping", "3.1.13"),
        ("@libp2p/tcp", "11.0.28"),
        ("@multiformats/multiaddr", "13.0.3"),
    ],
    folder: "p2p-npm",
    variable: "JACKFIELD_JUDGE_P2P_NODE",
    ..NODE
};

/// WebRTC as others wrote it: the peers that files go to. The second is what the bridge's published client uses.
const RTC_PYTHON: Judge = Judge {
    name: "WebRTC in Python",
    pins: &[("aiortc", "1.16.0")],
    folder: "rtc-python",
    variable: "JACKFIELD_JUDGE_RTC_PYTHON",
    ..PYTHON
};

const RTC_NODE: Judge = Judge {
    name: "WebRTC in Node",
    pins: &[("node-datachannel", "0.33.4")],
    folder: "rtc-npm",
    variable: "JACKFIELD_JUDGE_RTC_NODE",
    ..NODE
};

/// The clients of MCP's own project, both editions: the first begins with a handshake, the second may do without.
const MCP_PYTHON_1: Judge = Judge {
    name: "MCP 1 in Python",
    pins: &[("mcp", "1.30.0")],
    folder: "mcp-python-1",
    variable: "JACKFIELD_JUDGE_MCP_PYTHON_1",
    ..PYTHON
};

const MCP_PYTHON_2: Judge = Judge {
    name: "MCP 2 in Python",
    pins: &[("mcp", "2.3.0")],
    folder: "mcp-python-2",
    variable: "JACKFIELD_JUDGE_MCP_PYTHON_2",
    ..PYTHON
};

/// All judges.
pub(crate) const JUDGES: [Judge; 14] = [
    PYTHON,
    NODE,
    A2A_PYTHON_1,
    A2A_PYTHON_03,
    A2A_NODE_1,
    A2A_NODE_03,
    A2A_ADK,
    A2A_LANGGRAPH,
    P2P_PYTHON,
    P2P_NODE,
    RTC_PYTHON,
    RTC_NODE,
    MCP_PYTHON_1,
    MCP_PYTHON_2,
];

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
        fs::write(folder.join(STAMP), self.stamp())
            .map_err(|error| format!("its stamp cannot be written: {error}"))
    }

    fn folder_in(&self, target: &Path) -> PathBuf {
        target.join("judges").join(self.folder)
    }

    fn is_ready(&self, folder: &Path) -> bool {
        folder.join(self.entry).exists()
            && fs::read_to_string(folder.join(STAMP)).is_ok_and(|stamp| stamp == self.stamp())
    }

    fn pinned(&self) -> Vec<String> {
        self.pins
            .iter()
            .map(|(package, version)| format!("{package}{}{version}", self.pin_sign))
            .collect()
    }

    fn stamp(&self) -> String {
        self.pinned().join("\n") + "\n"
    }
}

/// Written last into a judge's folder: the pins that are installed there.
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
    run_quietly(apt().arg("update"), SYSTEM_LIMIT)?;
    run_quietly(
        apt()
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages),
        SYSTEM_LIMIT,
    )
}

/// Whether a program starts and is content.
fn answers(program: &str, args: &[&str]) -> Result<(), ()> {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(()),
    }
}

/// Runs a command without showing its output, and ends it when `limit` has passed.
fn run_quietly(command: &mut Command, limit: Duration) -> Result<(), String> {
    let name = crate::workspace::shown(command);
    let name: Vec<_> = name
        .split(' ')
        .take_while(|word| !word.starts_with('/'))
        .take(4)
        .collect();
    let name = name.join(" ");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{name}` cannot be started: {error}"))?;
    let complaints = child.stderr.take().map(|mut stream| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).ok();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    });
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(None) => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("`{name}` took longer than {} s", limit.as_secs()));
            }
            Err(error) => return Err(format!("`{name}` was lost: {error}")),
        }
    };
    if status.success() {
        return Ok(());
    }
    let complaints = complaints
        .and_then(|thread| thread.join().ok())
        .unwrap_or_default();
    let complaint = telling_line(&complaints).unwrap_or("it gave no reason");
    Err(format!("`{name}` failed: {complaint}"))
}

/// The line that tells most: the first that calls itself an error, else the last.
fn telling_line(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines()
        .find(|line| line.to_lowercase().contains("error"))
        .or_else(|| lines().next_back())
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

    #[test]
    fn a_command_that_hangs_is_ended() {
        let problem = run_quietly(Command::new("sleep").arg("60"), Duration::ZERO);
        assert_eq!(problem, Err("`sleep 60` took longer than 0 s".to_owned()));
    }

    #[test]
    fn a_failed_command_tells_its_reason() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo working >&2; echo ERROR: no such package >&2; echo see the log >&2; exit 1",
        ]);
        let problem = run_quietly(&mut command, INSTALL_LIMIT).unwrap_err();
        assert!(
            problem.ends_with("failed: ERROR: no such package"),
            "{problem}"
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let mut command = Command::new("jackfield-no-such-program");
        let problem = run_quietly(&mut command, INSTALL_LIMIT).unwrap_err();
        assert!(
            problem.starts_with("`jackfield-no-such-program` cannot be started"),
            "{problem}"
        );
    }
}
