//! `jackfield watch TEAM`: as JSON, in lines, or on a screen.

mod describe;
mod feed;
mod lines;
#[cfg(feature = "tui")]
mod screen;
mod team_event;

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use jackfield_sdk::Hub;
use serde_json::{Value, json};

use self::{
    feed::{TeamFeed, TeamFeedItem},
    lines::TeamLines,
};
use crate::{
    client::Client,
    output::{self, Style},
};

/// Pause after which the replay of earlier events counts as finished: its last event may be hidden from this
/// user.
const REPLAY_PAUSE: Duration = Duration::from_secs(1);

/// Shows a team until the team is removed or the user quits.
#[cfg_attr(
    not(feature = "tui"),
    expect(unused_variables, reason = "without a screen there are only lines")
)]
pub(super) async fn watch(
    hub: &Hub,
    team: &str,
    is_plain: bool,
    has_history: bool,
    client: &Client,
) -> Result<ExitCode> {
    let mut feed = TeamFeed::open(hub, team).await?;
    #[cfg(feature = "tui")]
    if !is_plain && !client.json && screen::is_possible() {
        return screen::run(feed, hub, team, &client.flags()).await;
    }
    let mut lines = (!client.json)
        .then(|| TeamLines::new(Style::stdout(), team, &client.flags()).with_history(has_history));
    output::print_message("watching; ctrl-c ends it");
    let mut is_back = false;
    loop {
        let is_holding = lines.as_ref().is_some_and(TeamLines::is_holding);
        let told = tokio::select! {
            told = feed.next() => told,
            () = tokio::time::sleep(REPLAY_PAUSE), if is_holding => {
                print(&lines.as_mut().map(TeamLines::held).unwrap_or_default())?;
                continue;
            }
        };
        let told = match told {
            Ok(told) => told,
            Err(stop) => {
                print(&lines.as_mut().map(TeamLines::rest).unwrap_or_default())?;
                return Err(stop.into());
            }
        };
        match told {
            TeamFeedItem::Lost => {
                output::print_message("lost the connection to the hub; reconnecting")
            }
            TeamFeedItem::Back => is_back = true,
            // The snapshot shows whether the same run continues.
            TeamFeedItem::Snapshot(ref snapshot) if std::mem::take(&mut is_back) => {
                let rest = lines.as_mut().map(|lines| lines.broken_off(snapshot));
                print(&rest.unwrap_or_default())?;
                output::print_message("reconnected");
            }
            _ => {}
        }
        match &mut lines {
            Some(lines) => print(&lines.of(&told))?,
            None => as_json(told)?,
        }
    }
}

fn print(lines: &[String]) -> Result<()> {
    if !lines.is_empty() {
        output::line(&lines.join("\n"))?;
    }
    Ok(())
}

/// Prints an item ([`TeamFeedItem`]) as one object per line: envelopes unchanged, other events with their name.
fn as_json(told: TeamFeedItem) -> Result<()> {
    let named = |name: &str, mut data: Value| {
        if let Some(data) = data.as_object_mut() {
            data.insert("event".to_owned(), name.into());
        }
        data
    };
    match told {
        TeamFeedItem::Snapshot(data) => output::json(&named("snapshot", data))?,
        TeamFeedItem::Gap(data) => output::json(&named("gap", data))?,
        TeamFeedItem::Envelope { envelope, .. } => output::json(&envelope)?,
        TeamFeedItem::Now => output::json(&json!({"event": "now"}))?,
        TeamFeedItem::Earlier | TeamFeedItem::Lost | TeamFeedItem::Back => {}
    }
    Ok(())
}
