//! `jackfield p2p delegate`: the whole flow in one command: discover peers, fetch their cards, select a
//! skill, hand off the work, stream the result. An unusable peer is skipped, as long as no work was sent to
//! any peer.

use std::process::ExitCode;

use anyhow::Result;
use clap::{ArgGroup, Args};
use jackfield_core::units::Span;
use jackfield_peer::wire::{Data, HandOff, PathParams, PeerSkill};
use jackfield_peer::{
    delegate::{Delegation, to_skill, unreachable},
    inquire::fetch_card,
};
use jackfield_sdk::Hub;
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    command_node::{CommandNode, IdentityArgs},
    input,
    peer::ResolvedPeer,
    registry::{self, RegistryEntry, RegistryQuery},
    select::{self, SkillQuery},
    work::{self, TIMEOUT, WorkOutput},
};
use crate::{
    client::Client,
    exit::{CliError, ExitKind},
    output::{self, clean, text},
};

/// Advice for an empty path parameter.
const REMEDY: &str = "give it with --params NAME=VALUE";

/// Find a peer with a skill and hand off work to it: asks the hub's registry, fetches cards, selects the skill, and
/// streams the result to standard output. Each step is printed to standard error.
#[derive(Debug, Args)]
#[group(skip)]
#[command(
    group = ArgGroup::new("wanted").required(true),
    after_long_help = "A peer that is offline, or whose card lacks the skill, is skipped; work that was sent is never sent again.\nCtrl-c cancels the work. Exit codes: 3 no peer found, 4 not allowed, 5 timeout, 6 the peer failed.\n\nExamples:\n  jackfield p2p delegate --skill translate \"good morning\"\n  jackfield p2p delegate --goal \"weather in Paris\"\n  cat poem.txt | jackfield p2p delegate --skill translate --params lang=fr"
)]
pub(crate) struct Delegate {
    /// Find a peer with this skill, by its id or name
    #[arg(long, value_name = "SKILL", group = "wanted")]
    skill: Option<String>,
    /// Find a peer for this goal, described in text
    #[arg(long, value_name = "TEXT", group = "wanted")]
    goal: Option<String>,
    /// Send this text; - or no text reads standard input, and with --goal no text sends the goal
    text: Option<String>,
    /// Fill in parameters of the skill's path: name=value, or a JSON object; may be repeated
    #[arg(long, value_name = "JSON|NAME=VALUE")]
    params: Vec<String>,
    /// Fail after this time, such as 30s [default: 1h]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show status of the peer on standard error even if standard error is not a terminal
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    identified: IdentityArgs,
    #[command(flatten)]
    client: Client,
}

/// A peer that may do the work.
#[derive(Debug)]
struct PeerCandidate {
    listed: RegistryEntry,
    wanted: SkillQuery,
}

/// Reason for skipping a peer.
#[derive(Debug)]
enum SkipReason {
    /// The peer shows no skills to this command.
    Hidden,
    /// Any other reason.
    Else(String),
}

impl From<String> for SkipReason {
    fn from(why: String) -> Self {
        Self::Else(why)
    }
}

/// Text and parameters of the work.
#[derive(Debug)]
struct DelegatedWork {
    words: String,
    params: PathParams,
}

impl Delegate {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let work = DelegatedWork {
            words: match (&self.text, &self.goal) {
                (None, Some(goal)) => goal.clone(),
                (typed, _) => input::words(typed.as_deref())?,
            },
            params: input::params(&self.params)?,
        };
        let candidates = self.discover(&self.client.connect().await?).await?;
        let station = CommandNode::start(&self.identified).await?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let done = tokio::select! {
            done = self.delegate(&station, candidates, &work) => done.map(|()| ExitKind::Ok),
            _ = interrupt.recv() => {
                output::print_message("cancelled");
                Ok(ExitKind::Interrupted)
            }
        };
        station.stop().await;
        Ok(done?.into())
    }

    /// Returns the [`PeerCandidate`]s that the registry suggests, best first.
    async fn discover(&self, hub: &Hub) -> Result<Vec<PeerCandidate>> {
        let mut candidates = Vec::new();
        if let Some(goal) = &self.goal {
            for found in registry::find_for(hub, goal).await? {
                let listed = registry::find_id(hub, text(&found, "peer_id")).await?;
                candidates.extend(listed.map(|listed| PeerCandidate {
                    listed,
                    wanted: SkillQuery::Goal {
                        goal: goal.clone(),
                        name: text(&found, "name").to_owned(),
                    },
                }));
            }
        } else {
            let sought = RegistryQuery {
                skill: self.skill.as_deref(),
                ..RegistryQuery::default()
            };
            let skill = self.skill.clone().unwrap_or_default();
            let found = registry::find(hub, &sought).await?.into_iter();
            candidates.extend(found.map(|listed| PeerCandidate {
                listed,
                wanted: SkillQuery::Skill(skill.clone()),
            }));
        }
        if candidates.is_empty() {
            let next = format!(
                "jackfield p2p peers{} lists the peers and their skills",
                self.client.flags()
            );
            return Err(CliError::new(
                ExitKind::Missing,
                "the registry has no matching peer",
                next,
            )
            .into());
        }
        output::print_message(&match candidates.len() {
            1 => "the registry has one matching peer".to_owned(),
            many => format!("the registry has {many} matching peers"),
        });
        Ok(candidates)
    }

    async fn delegate(
        &self,
        station: &CommandNode,
        candidates: Vec<PeerCandidate>,
        work: &DelegatedWork,
    ) -> Result<()> {
        let mut is_hidden = false;
        for candidate in candidates {
            let listed = &candidate.listed;
            let who = format!("{} ({})", clean(listed.name()), clean(listed.peer_id()));
            output::print_message(&format!("asking {who} for its card"));
            match self.open(station, &candidate, work).await? {
                Ok((delegation, hand_off, skill)) => {
                    let (id, path) = (clean(&skill.id), clean(&skill.path));
                    output::print_message(&format!(
                        "handing off: {id}, {} {path}",
                        hand_off.method
                    ));
                    if self.client.json {
                        let (name, peer) = (listed.name(), listed.peer_id());
                        output::json(
                            &json!({"type": "delegated", "name": name, "peer_id": peer, "skill": skill.id, "path": skill.path}),
                        )?;
                    }
                    let told = WorkOutput {
                        json: self.client.json,
                        verbose: self.verbose,
                    };
                    let timeout = self.timeout.unwrap_or(TIMEOUT);
                    return work::run(station, delegation, &hand_off, timeout, told).await;
                }
                Err(SkipReason::Hidden) => {
                    is_hidden = true;
                    output::print_message(&format!("  skipped: {}", station.hidden()));
                }
                Err(SkipReason::Else(why)) => {
                    output::print_message(&format!("  skipped: {}", clean(&why)))
                }
            }
        }
        if is_hidden {
            let next = "its operator must allow you; --key FILE uses a key that the peer knows";
            return Err(CliError::new(ExitKind::Auth, station.hidden(), next).into());
        }
        Err(CliError::new(
            ExitKind::Missing,
            "none of these peers could be used",
            format!(
                "jackfield p2p peers{} lists the peers; jackfield p2p card PEER shows their skills",
                self.client.flags()
            ),
        )
        .into())
    }

    /// Opens a [`Delegation`] to a peer with the skill, without sending anything; or returns why not.
    async fn open(
        &self,
        station: &CommandNode,
        candidate: &PeerCandidate,
        work: &DelegatedWork,
    ) -> Result<Result<(Delegation, HandOff, PeerSkill), SkipReason>> {
        let peer = match ResolvedPeer::of(&candidate.listed) {
            Ok(peer) => peer,
            Err(why) => return Ok(Err(why.to_string().into())),
        };
        let card = match fetch_card(&station.node, peer.id, &peer.addresses).await {
            Ok(card) => card,
            Err(failure) => return Ok(Err(failure.text.into_owned().into())),
        };
        if card.skills.is_empty() {
            return Ok(Err(SkipReason::Hidden));
        }
        let skill = match select::skill(&station.node, &peer, &card, &candidate.wanted).await {
            Ok(skill) => skill,
            Err(why) => return Ok(Err(why.into())),
        };
        let hand_off = work.hand_off(&skill);
        let hand_off = hand_off.map_err(|failure| station.stop_for(&failure))?;
        match Delegation::open(&station.node, peer.id, &peer.addresses, true).await {
            Ok(delegation) => Ok(Ok((delegation, hand_off, skill))),
            Err(error) => Ok(Err(unreachable(&error).text.into_owned().into())),
        }
    }
}

impl DelegatedWork {
    fn hand_off(&self, skill: &PeerSkill) -> Result<HandOff, jackfield_model::Failure> {
        let fields: Map<String, Value> = serde_json::from_str(&self.words).unwrap_or_default();
        let given = |name: &str| {
            let typed = self.params.get(name).cloned();
            typed.or_else(|| fields.get(name).and_then(input::param))
        };
        let input = Data::from_text(self.words.as_str());
        to_skill(skill, given, || self.words.clone(), input, REMEDY)
    }
}
