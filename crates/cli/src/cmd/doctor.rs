//! `jackfield doctor`: finds problems of a hub and suggests remedies. Changes nothing.

mod access;
mod checks;
mod machine;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use jackfield_hub::config::{HubConfig, Overrides};

use crate::{
    client::Client,
    exit::ExitKind,
    output::{self, Style},
};

/// Find problems of a hub and suggest remedies.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Checks the configuration, the data directory, the database, the secrets, the address, the file limit and the \
                       clock. Exit code 1 if anything fails.\n\nExample:\n  jackfield doctor --data-dir /var/lib/jackfield"
)]
pub(crate) struct Doctor {
    /// Check this configuration file [default: jackfield.toml in this folder, if present]
    #[arg(long, env = "JACKFIELD_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check this data directory [default: as for serve]
    #[arg(long, env = "JACKFIELD_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    client: Client,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckResult {
    Ok,
    Warn,
    Fail,
}

/// A check with its subject, result and remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    check: &'static str,
    verdict: CheckResult,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            verdict: CheckResult::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    fn warn(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            verdict: CheckResult::Warn,
            remedy: Some(remedy.into()),
            ..Self::ok(check, found)
        }
    }

    fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            verdict: CheckResult::Fail,
            ..Self::warn(check, found, remedy)
        }
    }
}

impl Doctor {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let overrides = Overrides {
            data_dir: self.data_dir.clone(),
            ..Overrides::default()
        };
        let (config, first) = checks::configuration(self.config.as_deref(), overrides);
        let mut findings = vec![first];
        // A broken file must not hide the other findings.
        let config = config.unwrap_or_else(|| HubConfig {
            data_dir: self
                .data_dir
                .clone()
                .unwrap_or_else(|| HubConfig::default().data_dir),
            ..HubConfig::default()
        });
        findings.extend(checks::data_dir(&config.data_dir));
        findings.extend(machine::disk(&config));
        findings.push(checks::database(&config.data_dir));
        findings.push(checks::secrets(&config.data_dir));
        let (hub, is_here) = checks::hub(&self.client, &config).await;
        findings.push(hub);
        findings.extend(checks::elsewhere(&config.data_dir, is_here));
        findings.push(access::look(&self.client, &config, is_here).await);
        findings.push(machine::file_limit(config.limits.connections));
        findings.push(machine::clock(&config.data_dir));
        self.report(&findings)
    }

    fn report(&self, findings: &[Finding]) -> Result<ExitCode> {
        let has_failed = findings
            .iter()
            .any(|finding| finding.verdict == CheckResult::Fail);
        if self.client.json {
            output::json(&json!({ "ok": !has_failed, "checks": findings }))?;
        } else {
            let style = Style::stdout();
            for finding in findings {
                let verdict = match finding.verdict {
                    CheckResult::Ok => style.green("ok  "),
                    CheckResult::Warn => style.yellow("warn"),
                    CheckResult::Fail => style.red("FAIL"),
                };
                output::line(&format!("{verdict} {}: {}", finding.check, finding.found))?;
                if let Some(remedy) = &finding.remedy {
                    output::line(&format!("     {remedy}"))?;
                }
            }
        }
        Ok(if has_failed {
            ExitKind::Failed
        } else {
            ExitKind::Ok
        }
        .into())
    }
}
