//! The memory of a server that has just started and has no agents.

use anyhow::Result;
use tokio::time::{Duration, sleep};

use crate::{
    proc::Pages,
    report::{Section, at_most, plain, spread},
    rows::{Plan, progress},
    server::{Kind, Server},
    stats::median,
};

/// Delay before the memory is read; everything that starts in the background has started by then.
const SETTLE: Duration = Duration::from_secs(2);

impl Plan {
    /// Measures the row `empty`.
    pub(crate) async fn empty(&self) -> Result<Section> {
        let rounds = if self.is_quick { 1 } else { 3 };
        let mut section = section();
        for kind in [Kind::Jackfield, Kind::Bare] {
            let (mut anon, mut file) = (Vec::new(), Vec::new());
            for round in 0..rounds {
                let server = Server::start(kind, &self.programs).await?;
                sleep(SETTLE).await;
                let pages = Pages::of(server.pid)?;
                server.stop().await?;
                anon.push(pages.anon_kib as f64 / 1024.0);
                file.push(pages.file_kib as f64 / 1024.0);
                progress(
                    kind.name(),
                    round,
                    &[("MiB", pages.anon_kib as f64 / 1024.0)],
                );
            }
            section.line([
                kind.name().to_owned(),
                spread(&anon),
                plain(median(&file)),
                match kind {
                    Kind::Jackfield => at_most(median(&anon), 16.0, 10.0),
                    Kind::Bare | Kind::Nats => String::new(),
                },
            ]);
        }
        Ok(section)
    }
}

fn section() -> Section {
    Section::new(
        "An empty hub",
        &format!(
            "Memory {} s after the start in an empty folder, without agents. Its own are the anonymous pages (`RssAnon` of `/proc/PID/status`): \
             heap and stacks.\nPages of files (`RssFile`) are mostly the program itself; processes share them, and the kernel can drop them.",
            SETTLE.as_secs()
        ),
        &[
            "server",
            "its own, MiB (min–max)",
            "of files, MiB",
            "goal ≤ 16, aim ≤ 10",
        ],
    )
}
