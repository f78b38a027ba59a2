//! Checks of a hub: configuration, data directory, database, secrets, address.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use http::Method;
use jackfield_sdk::{Error, Hub};
use jackfield_store::{CheckError, DatabaseRefusal};
use rustix::fs::{Access, access};

use super::Finding;
use jackfield_a2a::CARD_KEY;
use jackfield_hub::{
    assembly::ADMIN_TOKEN,
    callbacks::CALLBACK_KEY,
    config::{DEFAULT_FILE, HubConfig, Overrides},
    files::FILE_KEY,
    platform::{OLD_PLATFORM_SECRET, PLATFORM_SECRET},
};

use crate::{
    client::{self, Client},
    config_file,
    exit::{CliError, ErrorSubject},
    local,
    output::text,
    size::format_size,
};

/// Time limit for a hub to report that it is ready.
const PROBE: Duration = Duration::from_secs(5);

/// Checks that the configuration is valid.
pub(super) fn configuration(
    file: Option<&Path>,
    overrides: Overrides,
) -> (Option<HubConfig>, Finding) {
    let check = "configuration";
    match config_file::load(file, overrides) {
        Ok(config) => {
            let found = match file {
                Some(file) => format!("{} is valid", file.display()),
                None if Path::new(DEFAULT_FILE).exists() => format!("{DEFAULT_FILE} is valid"),
                None => format!("no {DEFAULT_FILE} here; the defaults apply"),
            };
            (Some(config), Finding::ok(check, found))
        }
        Err(error) => {
            if let Some(stop) = error.downcast_ref::<CliError>() {
                let remedy = stop.next.clone().unwrap_or_default();
                return (None, Finding::fail(check, &stop.text, remedy));
            }
            let found = format!("{error:#}");
            let remedy = "correct or remove the named key; jackfield.example.toml shows all keys";
            (None, Finding::fail(check, found.trim_end(), remedy))
        }
    }
}

/// Checks that the data directory exists, is writable, and is private.
pub(super) fn data_dir(data_dir: &Path) -> Vec<Finding> {
    let check = "data directory";
    let shown = data_dir.display();
    let meta = match fs::metadata(data_dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let found = format!("{shown} does not exist yet; a hub creates it at its first start");
            return vec![Finding::ok(check, found)];
        }
        Err(error) => {
            let found = format!("{shown} cannot be read: {error}");
            let remedy = "run this as the user that runs the hub, or name another with --data-dir";
            return vec![Finding::fail(check, found, remedy)];
        }
        Ok(meta) => meta,
    };
    if !meta.is_dir() {
        let remedy = "move it away, or name another with --data-dir";
        return vec![Finding::fail(
            check,
            format!("{shown} is not a directory"),
            remedy,
        )];
    }
    let mut findings = Vec::new();
    if access(
        data_dir,
        Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK,
    )
    .is_err()
    {
        let remedy = format!("chown it to the user that runs the hub: chown -R USER {shown}");
        findings.push(Finding::fail(
            check,
            format!("{shown} cannot be written"),
            remedy,
        ));
    }
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let found = format!("{shown} is open to other users (mode {mode:o})");
        findings.push(Finding::warn(check, found, format!("chmod 700 {shown}")));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(check, format!("{shown}, for its owner only")));
    }
    findings
}

/// Checks that the database is sound and has a known version.
pub(super) fn database(data_dir: &Path) -> Finding {
    let check = "database";
    let report = match jackfield_store::check(data_dir) {
        Ok(report) => report,
        Err(CheckError::NoDatabase(_)) => {
            return Finding::ok(check, "none yet; a hub creates it at its first start");
        }
        Err(error) => {
            return Finding::fail(
                check,
                error.to_string(),
                "restore a copy made by jackfield backup",
            );
        }
    };
    if let Some(problem) = report.problems.first() {
        let found = format!("{} is damaged: {problem}", report.path.display());
        let remedy = "stop the hub and put a copy made by jackfield backup in its place";
        return Finding::fail(check, found, remedy);
    }
    if let Some(refused) = report.refused {
        let (found, known) = (report.schema, report.known_schema);
        let (why, remedy) = match refused {
            DatabaseRefusal::TooOld(first) => (
                format!(
                    "it has schema version {found}, from before the first release; this program reads {first} and later"
                ),
                "move jackfield.db, jackfield.db-wal and jackfield.db-shm away to start anew, or run the Jackfield that wrote it",
            ),
            DatabaseRefusal::TooNew(needed) => (
                format!(
                    "it has schema version {found} and needs a program that knows {needed}; this one knows {known}"
                ),
                "run the newer Jackfield that wrote it",
            ),
            DatabaseRefusal::Foreign => (
                format!("{} is not a Jackfield database", report.path.display()),
                "move it away, or choose another directory with --data-dir",
            ),
        };
        return Finding::fail(check, why, remedy);
    }
    let mut found = format!(
        "sound, {}, schema {}",
        format_size(report.size),
        report.schema
    );
    if report.schema < report.known_schema {
        found += "; the next start upgrades it, after a copy";
    } else if report.schema > report.known_schema {
        found += ", written by a newer Jackfield, which this one can use";
    }
    if let Some(counts) = report.counts {
        found += &format!(
            "; {} agents, {} tokens, {} tasks ({} unfinished)",
            counts.agents, counts.tokens, counts.tasks, counts.unfinished
        );
    }
    Finding::ok(check, found)
}

/// Checks that only the owner can read the secrets.
pub(super) fn secrets(data_dir: &Path) -> Finding {
    let check = "secrets";
    let mut known = Vec::new();
    for name in [
        PLATFORM_SECRET,
        OLD_PLATFORM_SECRET,
        CALLBACK_KEY,
        FILE_KEY,
        CARD_KEY,
        ADMIN_TOKEN,
    ] {
        match jackfield_store::secrets::load(data_dir, name) {
            Ok(Some(_)) => known.push(name),
            Ok(None) => {}
            // The error names file and remedy.
            Err(error) => {
                return Finding::fail(check, error.to_string(), "then start the hub again");
            }
        }
    }
    #[cfg(feature = "p2p")]
    {
        use jackfield_peer::identity::{FILE, Identity};
        match Identity::load(&data_dir.join(FILE)) {
            Ok(Some(_)) => known.push(FILE),
            Ok(None) => {}
            Err(error) => {
                return Finding::fail(check, error.to_string(), "then start the hub again");
            }
        }
    }
    match known.as_slice() {
        [] => Finding::ok(check, "none yet; a hub creates them at its first start"),
        known => Finding::ok(check, format!("{}: for their owner only", known.join(", "))),
    }
}

/// Warns if a hub runs on this machine and this directory has no database: the user may check the wrong
/// directory.
pub(super) fn elsewhere(data_dir: &Path, is_here: bool) -> Option<Finding> {
    let is_empty = matches!(
        jackfield_store::check(data_dir),
        Err(CheckError::NoDatabase(_))
    );
    (is_here && is_empty).then(|| {
        let found = format!(
            "a hub runs on this machine, and {} has no database: its data is elsewhere",
            data_dir.display()
        );
        let remedy =
            "name the directory that the hub was started with: jackfield doctor --data-dir DIR";
        Finding::warn("data directory", found, remedy)
    })
}

/// Checks that a hub answers, or that one could be started. Also returns whether a hub is ready on this
/// machine.
pub(super) async fn hub(client: &Client, config: &HubConfig) -> (Finding, bool) {
    let hub = match client.connect_or_local(config).await {
        Ok(hub) => hub,
        Err(error) => return (unusable(&error), false),
    };
    let is_here = client::is_loopback_url(hub.address().base());
    match probe(&hub, client, config).await {
        Ok(finding) => (finding, is_here),
        Err(finding) => (finding, false),
    }
}

/// Builds the [`Finding`] for a hub that cannot be asked.
fn unusable(error: &anyhow::Error) -> Finding {
    let stop = error.downcast_ref::<Error>();
    let stop = stop.map(|error| CliError::from_hub(error, ErrorSubject::Agent));
    match stop {
        Some(stop) => Finding::fail("hub", stop.text, stop.next.unwrap_or_default()),
        None => Finding::fail("hub", format!("{error:#}"), "see jackfield help doctor"),
    }
}

/// Asks a hub whether it is ready. The error is a [`Finding`] that describes the obstacle.
async fn probe(hub: &Hub, client: &Client, config: &HubConfig) -> Result<Finding, Finding> {
    let check = "hub";
    let url = hub.address().base().to_owned();
    let probe = client::request(hub, Method::GET, "/readyz", None);
    let Ok(answer) = tokio::time::timeout(PROBE, probe).await else {
        let found = format!("{url} accepts connections and does not answer");
        let remedy = "is it a Jackfield hub? If so, its log may show the cause";
        return Err(Finding::fail(check, found, remedy));
    };
    match answer {
        Ok(ready) => {
            let version = text(&ready, "version");
            let found = format!("{url} is ready, version {version}");
            let ours = env!("CARGO_PKG_VERSION");
            if version == ours {
                return Ok(Finding::ok(check, found));
            }
            let found = format!("{found}, and this program is {ours}");
            Ok(Finding::warn(check, found, "use the same version for both"))
        }
        Err(error @ Error::Unreachable { .. }) if client.named().is_none() => {
            let why = CliError::from_hub(&error, ErrorSubject::Agent).text;
            Err(free(config, &why))
        }
        // The listener is not the hub of this configuration, so do not advise to use it.
        Err(error @ Error::Tls { .. }) if client.named().is_none() => Err(Finding::fail(
            check,
            format!("another program listens there: {error}"),
            "stop it, or choose another address with serve --listen; if it is the hub you mean, name it with --hub URL",
        )),
        Err(error) => Err(refused(hub, &error).await),
    }
}

/// Checks whether the configured address is free, after no hub answered there.
fn free(config: &HubConfig, why: &str) -> Finding {
    let check = "hub";
    match TcpListener::bind(config.listen) {
        Ok(_) => {
            let free = format!("no hub is running; {} is free", config.listen);
            Finding::ok(
                check,
                match local::killed_hub_address() {
                    Some(left) => {
                        format!("the hub at {left} is not running (was it killed?); {free}")
                    }
                    None => free,
                },
            )
        }
        Err(error) => Finding::fail(
            check,
            format!("{why}, and {} cannot be used: {error}", config.listen),
            "stop the program that listens there, or choose another address with serve --listen",
        ),
    }
}

async fn refused(hub: &Hub, error: &Error) -> Finding {
    let check = "hub";
    let url = hub.address().base().to_owned();
    let stop = CliError::from_hub(error, ErrorSubject::Agent);
    let remedy = stop.next.unwrap_or_default();
    match error.code() {
        Some("unauthorized") => {
            // `/healthz` answers without a token.
            let lives = client::request(hub, Method::GET, "/healthz", None).await;
            let found = format!("{url} refuses access: {}", stop.text);
            match lives {
                Ok(_) => Finding::warn(check, found, remedy),
                Err(_) => Finding::fail(check, found, remedy),
            }
        }
        Some("stopping") => Finding::warn(check, format!("{url} is stopping"), remedy),
        _ => Finding::fail(check, format!("{url}: {}", stop.text), remedy),
    }
}
