//! `jackfield backup`: copies the database, with or without a running hub.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result};
use clap::Args;
use jackfield_store::BackupError;
use serde_json::json;

use crate::{
    client,
    exit::{CliError, ExitKind},
    output, prompt,
    size::format_size,
};

/// Interval of progress output.
const SHOWN_EVERY: Duration = Duration::from_millis(500);

/// Back up the hub's database to a new file; the hub may be running.
#[derive(Debug, Args)]
#[command(
    after_long_help = "To restore: stop the hub, replace jackfield.db in its data directory with the copy, \
                       and start it again. The secrets beside it are not in the copy.\n\nExample:\n  jackfield backup hub-monday.db"
)]
pub(crate) struct Backup {
    /// Write to this file, which must not exist
    file: PathBuf,
    /// Back up the hub with this data directory [default: as for serve]
    #[arg(long, env = "JACKFIELD_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let data_dir = client::data_dir(self.data_dir.as_ref())?;
        let file = self.file.clone();
        let mut copying =
            tokio::task::spawn_blocking(move || jackfield_store::backup_file(&data_dir, &file));
        let is_watched = prompt::is_interactive();
        let mut beat = tokio::time::interval(SHOWN_EVERY);
        let copied = loop {
            tokio::select! {
                copied = &mut copying => break copied.context("the copy was interrupted")?,
                _ = beat.tick(), if is_watched => show_progress(&self.file),
            }
        };
        if is_watched {
            output::print_message_part("\r\u{1b}[K");
        }
        copied.map_err(|error| refused(&error))?;
        let bytes = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        if self.json {
            output::json(&json!({ "file": self.file, "bytes": bytes }))?;
        } else {
            output::print_message(&format!(
                "wrote {} ({})",
                self.file.display(),
                format_size(bytes)
            ));
        }
        Ok(ExitKind::Ok.into())
    }
}

/// Converts a [`BackupError`] of the store, whose text includes the advice.
fn refused(error: &BackupError) -> CliError {
    let code = match error {
        BackupError::Exists(_) => ExitKind::Usage,
        BackupError::NoDatabase(_) => ExitKind::Missing,
        BackupError::Unwritable { .. } | BackupError::Busy | BackupError::Sqlite(_) => {
            ExitKind::Failed
        }
    };
    CliError {
        code,
        ..CliError::usage(error)
    }
}

/// Prints the size of the temporary file beside the target, which grows during the copy.
fn show_progress(file: &Path) {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    let bytes = std::fs::metadata(file.with_file_name(name)).map_or(0, |file| file.len());
    output::print_message_part(&format!("\rcopying: {} so far\u{1b}[K", format_size(bytes)));
}
