//! The remotes of the hub in the form of the door contract: [`Remotes`] is the [`Dialler`] of the door.

use futures_util::future::BoxFuture;
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::invalid,
    dial::{
        AddedRemote, DialError, DialTarget, Dialler, DiscoveredRemote, DiscoveredState, Discovery,
        RemoteErrorView, RemoteProtocol, RemoteState, RemoteView,
    },
};
use jackfield_model::{AgentId, Failure, Reason};

use super::{
    agent_ids::{NamedRemote, ids_of},
    discover::{DiscoveredAgent, DiscoveredAgents},
    find::CardFetchError,
    remote::{self, Remote},
    remotes::{AddRemote, Remotes},
    serve::RemoteDetails,
    settings::{self, A2aServers},
};
use crate::DOOR;

impl Dialler for Remotes {
    fn protocol(&self) -> &'static dyn RemoteProtocol {
        &A2aServers
    }

    fn add<'a>(
        &'a self,
        by: &'a Principal,
        target: DialTarget,
        keep: bool,
    ) -> BoxFuture<'a, Result<AddedRemote, DialError>> {
        Box::pin(async move {
            let wanted = AddRemote {
                spec: settings::spec(&target)?,
                id: target.id,
                keep,
            };
            let remote = self.add_remote(by, wanted).await?;
            Ok(AddedRemote {
                remote: view(&remote),
                is_new: true,
            })
        })
    }

    fn discover<'a>(&'a self, target: DialTarget) -> BoxFuture<'a, Result<Discovery, DialError>> {
        Box::pin(async move {
            let access = self.card_access(&settings::spec(&target)?)?;
            match access.discover().await {
                Ok(found) => Ok(self.discovery(&target, found)),
                Err(nothing) => match nothing.card {
                    CardFetchError::Itself { .. } => Err(invalid(nothing.to_string()).into()),
                    _ => Err(Failure::new(Reason::Offline, nothing.to_string()).into()),
                },
            }
        })
    }

    fn list(&self) -> Vec<RemoteView> {
        self.all().iter().map(|remote| view(remote)).collect()
    }

    fn find(&self, name: &str) -> Option<RemoteView> {
        let id = AgentId::parse(name).ok();
        if let Some(remote) = id.and_then(|id| self.get(&id)) {
            return Some(view(&remote));
        }
        let all = self.all();
        let mut same = all.iter().filter(|remote| is_at(remote, name));
        same.next().map(|remote| view(remote))
    }

    fn remove<'a>(
        &'a self,
        by: &'a Principal,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), DialError>> {
        Box::pin(async move {
            let id = AgentId::parse(name).ok();
            if let Some(remote) = id.and_then(|id| self.get(&id)) {
                return Ok(self.remove_remote(by, &remote).await?);
            }
            let mut same = self.all();
            same.retain(|remote| is_at(remote, name));
            match &same[..] {
                [] => {
                    let text = format!("no server at {name:?} was added");
                    Err(Failure::new(Reason::NotFound, text).into())
                }
                [remote] => Ok(self.remove_remote(by, remote).await?),
                several => {
                    let ids: Vec<_> = several.iter().map(|it| it.id.as_str()).collect();
                    let ids = ids.join(", ");
                    let text = format!("{name} was added as {ids}; name the agent to remove");
                    Err(Failure::new(Reason::Conflict, text).into())
                }
            }
        })
    }
}

impl Remotes {
    /// Returns the agents of a server in the form of the door contract: with the ids that they have or would get.
    fn discovery(&self, target: &DialTarget, found: DiscoveredAgents) -> Discovery {
        let known = self.all();
        let agents = found.agents;
        let names: Vec<_> = agents
            .iter()
            .map(|DiscoveredAgent { name, key, .. }| NamedRemote { name, key })
            .collect();
        let free = ids_of(&names, |id| self.is_taken(id));
        let remotes = agents.into_iter().zip(free).map(|(agent, free)| {
            let same = known.iter().find(|remote| is_at(remote, &agent.url));
            let (facts, error) = match agent.card {
                Ok(facts) => (Some(facts), None),
                Err(why) => (None, Some(why)),
            };
            let (description, speaks) =
                facts.map(|facts| (facts.description, facts.speaks)).unzip();
            DiscoveredRemote {
                state: match (same, &error) {
                    (Some(_), _) => DiscoveredState::Added,
                    (None, None) => DiscoveredState::New,
                    (None, Some(_)) => DiscoveredState::Unusable,
                },
                id: Some(same.map_or(free, |remote| remote.id.clone())),
                url: agent.url,
                name: agent.name,
                description: description.flatten(),
                speaks,
                error,
            }
        });
        Discovery {
            protocol: DOOR,
            url: target.address.clone(),
            server: found.server,
            remotes: remotes.collect(),
            truncated: found.is_cut,
            hint: found.hint,
        }
    }
}

/// Returns whether the operator typed this URL for the remote, give or take a slash at its end.
fn is_at(remote: &Remote, url: &str) -> bool {
    remote.spec.url.trim_end_matches('/') == url.trim_end_matches('/')
}

fn view(remote: &Remote) -> RemoteView {
    let known = remote.known();
    let error = known.last_error.clone();
    RemoteView {
        owner: Some(remote.owner.clone()),
        configured: remote.is_configured,
        state: match known.state {
            remote::RemoteState::Trying => RemoteState::Trying,
            remote::RemoteState::Online => RemoteState::Online,
            remote::RemoteState::Offline(_) => RemoteState::Offline,
            remote::RemoteState::Refused(_) => RemoteState::Refused,
        },
        error: error.map(|(at, message)| RemoteErrorView { message, at }),
        agents: vec![remote.id.clone()],
        ..RemoteView::new(DOOR, remote.id.as_str(), &remote.spec.url)
            .with_details(&RemoteDetails::of(remote, &known))
    }
}
