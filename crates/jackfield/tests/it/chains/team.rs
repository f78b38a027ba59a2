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
pub(crate) const AMEN: &str = "So says the guest.\n";

/// Larger than the number of events between two checks of a test.
const ROOM: usize = 16;

/// The team.
pub(crate) struct Crew {
    viewer: Raw,
    /// Ids of the coordinator's calls.
    asked: Receiver<String>,
    /// A notification for each unfinished call.
    stopped: Receiver<()>,
    attached: Receiver<()>,
    /// A permit for each closing text of the coordinator.
    amen: Arc<Semaphore>,
    _lead: JoinSet<()>,
}

/// Reports a handler that was dropped before its end.
struct Unfinished(Option<Sender<()>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            // The test may be over.
            tell.try_send(()).ok();
        }
    }
}

fn lead(guest: String, amen: Arc<Semaphore>, asked: Sender<String>, stopped: Sender<()>) -> Agent {
    Agent::new("lead").on_message(move |message, reply| {
        let (guest, amen) = (guest.clone(), amen.clone());
        let (asked, stopped) = (asked.clone(), stopped.clone());
        async move {
            let mut unfinished = Unfinished(Some(stopped));
            asked.send(message.call.expect("the hub names it")).await?;
            let mut call = reply.call_agent(guest, message.text).await?;
            let outcome = loop {
                match call.next().await {
                    Ok(Some(Event::Chunk(chunk))) => reply.text(chunk.text).await?,
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            if outcome.is_ok() {
                amen.acquire().await?.forget();
                reply.text(AMEN).await?;
            }
            unfinished.0 = None;
            Ok(outcome?)
        }
    })
}

impl Crew {
    pub(crate) async fn join(hub: &Hub, guest: &str) -> Self {
        let (tell_asked, asked) = mpsc::channel(ROOM);
        let (tell_stopped, stopped) = mpsc::channel(ROOM);
        let (tell_attached, mut attached) = mpsc::channel(ROOM);
        let amen = Arc::new(Semaphore::new(0));
        let agent = lead(guest.to_owned(), amen.clone(), tell_asked, tell_stopped);
        let agent = agent.hub(HubAddress::new(&hub.url()).expect("an address"));
        let mut running = JoinSet::new();
        running.spawn(async move {
            let attached = move || tell_attached.try_send(()).expect("there is room");
            agent.run_with(attached).await.expect("it is not replaced");
        });
        soon(attached.recv()).await.expect("it runs");
        let members = json!([{"name": "lead", "agent": "lead"}, {"name": "guest", "agent": guest}]);
        let team = json!({"id": TEAM, "coordinator": "lead", "members": members});
        let (status, made) = hub.post("/v1/teams", &team).await;
        assert_eq!(status, 201, "{made}");
        Self {
            viewer: Raw::connect(hub.addr, &format!("/ws/agent-team/{TEAM}")).await,
            asked,
            stopped,
            attached,
            amen,
            _lead: running,
        }
    }

    /// Returns the id of the coordinator's next call.
    pub(crate) async fn is_asked(&mut self) -> String {
        soon(self.asked.recv()).await.expect("it runs")
    }

    /// Lets the coordinator end.
    pub(crate) fn may_end(&self) {
        self.amen.add_permits(1);
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
    pub(crate) async fn shows(&mut self, kind: &str, member: &str) -> Value {
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
    pub(crate) async fn shows_rest(&mut self) {
        while self.shows("TEAM_STATUS", "").await["new_status"] != "idle" {}
    }
}

async fn soon<T>(something: impl Future<Output = T>) -> T {
    let something = timeout(SOON, something).await;
    something.expect("it happens in time")
}
