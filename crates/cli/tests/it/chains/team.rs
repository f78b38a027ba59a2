//! The team: a coordinator made with our SDK, which forwards the peer's answer, and the peer as a member. A viewer
//! watches the team.

use std::sync::Arc;

use jackfield_sdk::{Agent, Event, HubAddress};
use jackfield_testkit::{Raw, SOON};
use serde_json::{Value, json};
use tokio::{
    sync::{
        Semaphore,
        mpsc::{self, Receiver, Sender},
    },
    task::JoinSet,
    time::timeout,
};

use crate::chains::hub::Hub;

/// The team's id.
pub(crate) const TEAM: &str = "squad";

/// The coordinator's own closing text.
pub(crate) const CLOSING_TEXT: &str = "So says the guest.\n";

/// Larger than the number of events between two checks of a test.
const ROOM: usize = 16;

/// The team.
pub(crate) struct TestTeam {
    viewer: Raw,
    /// Ids of the coordinator's calls.
    calls: Receiver<String>,
    /// A notification for each unfinished call.
    stopped: Receiver<()>,
    attached: Receiver<()>,
    /// A permit for each closing text of the coordinator.
    closing_permits: Arc<Semaphore>,
    _lead: JoinSet<()>,
}

/// Reports a handler that was dropped before its end.
struct Unfinished(Option<Sender<()>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            // The test may be over.
            sender.try_send(()).ok();
        }
    }
}

fn lead(
    peer: String,
    closing_permits: Arc<Semaphore>,
    calls: Sender<String>,
    stopped: Sender<()>,
) -> Agent {
    Agent::new("lead").on_message(move |message, reply| {
        let (peer, closing_permits) = (peer.clone(), closing_permits.clone());
        let (calls, stopped) = (calls.clone(), stopped.clone());
        async move {
            let mut unfinished = Unfinished(Some(stopped));
            calls.send(message.call.expect("the hub names it")).await?;
            let mut call = reply.call_agent(peer, message.text).await?;
            let outcome = loop {
                match call.next().await {
                    Ok(Some(Event::Chunk(chunk))) => reply.text(chunk.text).await?,
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            if outcome.is_ok() {
                closing_permits.acquire().await?.forget();
                reply.text(CLOSING_TEXT).await?;
            }
            unfinished.0 = None;
            Ok(outcome?)
        }
    })
}

impl TestTeam {
    pub(crate) async fn join(hub: &Hub, peer: &str) -> Self {
        let (calls_sender, calls) = mpsc::channel(ROOM);
        let (tell_stopped, stopped) = mpsc::channel(ROOM);
        let (tell_attached, mut attached) = mpsc::channel(ROOM);
        let closing_permits = Arc::new(Semaphore::new(0));
        let agent = lead(
            peer.to_owned(),
            closing_permits.clone(),
            calls_sender,
            tell_stopped,
        );
        let agent = agent.hub(HubAddress::new(&hub.url()).expect("an address"));
        let mut running = JoinSet::new();
        running.spawn(async move {
            let attached = move || tell_attached.try_send(()).expect("there is room");
            agent.run_with(attached).await.expect("it is not replaced");
        });
        soon(attached.recv()).await.expect("it runs");
        let members = json!([{"name": "lead", "agent": "lead"}, {"name": "guest", "agent": peer}]);
        let team = json!({"id": TEAM, "coordinator": "lead", "members": members});
        let (status, made) = hub.post("/v1/teams", &team).await;
        assert_eq!(status, 201, "{made}");
        Self {
            viewer: Raw::connect(hub.addr, &format!("/ws/agent-team/{TEAM}")).await,
            calls,
            stopped,
            attached,
            closing_permits,
            _lead: running,
        }
    }

    /// Returns the id of the coordinator's next call.
    pub(crate) async fn next_request(&mut self) -> String {
        soon(self.calls.recv()).await.expect("it runs")
    }

    /// Lets the coordinator end.
    pub(crate) fn may_end(&self) {
        self.closing_permits.add_permits(1);
    }

    /// Waits until a call of the coordinator is cancelled.
    pub(crate) async fn until_stopped(&mut self) {
        soon(self.stopped.recv()).await.expect("it runs");
    }

    /// Waits until the coordinator is attached again.
    pub(crate) async fn until_attached_again(&mut self) {
        soon(self.attached.recv()).await.expect("it runs");
    }

    /// Returns the viewer's next event of this type for this member.
    pub(crate) async fn next_event(&mut self, kind: &str, member: &str) -> Value {
        loop {
            let mut frame = self.viewer.frame().await;
            let payload = frame["payload"].take();
            // Events of the snapshot have no sequence number.
            let is_new = payload["team_stream_event_envelope"]["sequence"].is_u64();
            let is_theirs = member.is_empty() || payload["agent_name"] == member;
            if is_new && frame["type"] == kind && is_theirs {
                return payload;
            }
        }
    }

    /// Waits until the viewer sees an idle team.
    pub(crate) async fn wait_until_team_idle(&mut self) {
        while self.next_event("TEAM_STATUS", "").await["new_status"] != "idle" {}
    }
}

async fn soon<T>(something: impl Future<Output = T>) -> T {
    let something = timeout(SOON, something).await;
    something.expect("it happens in time")
}
