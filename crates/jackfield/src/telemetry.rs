//! Logs: to standard error, as lines for people or as JSON for machines.

use anyhow::{Context, Result};
use tracing_subscriber::{EnvFilter, fmt};

use jackfield_hub::config::LogFormat;

use crate::output::Style;

/// Starts logging. `filter` is in the syntax of tracing's filters, such as `info` or `jackfield_agora=debug`.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<()> {
    // What libp2p tells at the level of news is for its own developers, and rmcp's tells what peers say; whoever wants it
    // names it after this.
    let filter = EnvFilter::try_new(format!("libp2p_swarm=warn,rmcp=error,{filter}"))
        .with_context(|| format!("log {filter:?} is not a log filter"))?;
    let builder = fmt()
        .with_env_filter(filter)
        .with_ansi(Style::stderr().is_coloured())
        .with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    // A second start in one process (tests) keeps the first.
    started.or(Ok(()))
}
