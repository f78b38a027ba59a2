//! Logging to standard error, as readable lines or as JSON.

use anyhow::{Context, Result};
use tracing_subscriber::{EnvFilter, fmt};

use jackfield_hub::config::LogFormat;

use crate::output::Style;

/// Filter for the crates of other authors: `--log debug` is about the hub. libp2p's info messages are for libp2p
/// developers, and rmcp logs message contents. The user's filter comes later and can enable each by its name.
const DEPENDENCIES: &str = "hyper=info,hyper_util=info,h2=info,reqwest=info,rustls=info,tungstenite=info,\
                            tokio_tungstenite=info,str0m=info,libp2p=info,yamux=info,multistream_select=info,\
                            libp2p_swarm=warn,rmcp=error";

/// Starts logging in this [`LogFormat`]. `filter` has the syntax of `tracing` filters, such as `info` or
/// `jackfield_agora=debug`.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<()> {
    let filter = EnvFilter::try_new(format!("{DEPENDENCIES},{filter}")).with_context(|| {
        format!(
            "log {filter:?} is not a log filter; use a level such as info, or a filter of tracing"
        )
    })?;
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
