//! The remotes of the hub in the form of the door contract: [`Remotes`] is the [`Dialler`] of the door.

use futures_util::future::BoxFuture;
use jackfield_core::principal::Principal;
use jackfield_kit::dial::{
    AddedRemote, DialError, DialTarget, Dialler, RemoteErrorView, RemoteProtocol, RemoteState,
    RemoteView,
};
use jackfield_model::{AgentId, Failure, Reason};

use super::{
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
