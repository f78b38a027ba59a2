//! File transfers between a caller and an SDK agent: offer, signals, and both directions through the hub.

use std::time::Duration;

use jackfield_sdk::{Agent, CallerSignal, Event, Hub, Offer, SignalError, Signaller};
use jackfield_testkit::{SOON, TestHub};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use crate::hub::background::{BackgroundAgent, client};

const CONTENT: &str = "a whole archive";
const WAIT: Duration = Duration::from_secs(20);

fn offer(id: &str) -> Offer {
    Offer {
        transfer_id: id.to_owned(),
        zip_size: CONTENT.len() as u64,
        zip_sha256: "ab".repeat(32),
        file_count: 1,
    }
}

/// An agent that offers an archive for every file request, and forwards received signals to the
/// test.
fn packer() -> (Agent, mpsc::Receiver<(CallerSignal, Signaller)>) {
    let (sender, signals) = mpsc::channel(16);
    let agent = Agent::new("packer")
        .on_message(|message, reply| async move {
            if message.with_files {
                reply.offer_files(offer(&message.client_id.unwrap_or_default()));
            }
            Ok(reply.text("packed").await?)
        })
        .on_signal(move |signal, signaller| sender.try_send((signal, signaller)).unwrap());
    (agent, signals)
}

async fn next(
    signals: &mut mpsc::Receiver<(CallerSignal, Signaller)>,
) -> (CallerSignal, Signaller) {
    timeout(SOON, signals.recv()).await.unwrap().unwrap()
}

/// The ticket and the offset of a `relay` signal.
fn ticket(signal: &CallerSignal) -> (String, usize) {
    assert_eq!(signal.signal_type, "relay");
    let answer: Value = serde_json::from_str(signal.payload.as_deref().unwrap()).unwrap();
    let offset = answer["offset"].as_u64().unwrap();
    let ticket = answer["ticket"].as_str().unwrap().to_owned();
    (ticket, usize::try_from(offset).unwrap())
}

/// Calls the packer for files, and returns its offer.
async fn offered(hub: &Hub, client_id: &str) -> Offer {
    let call = hub.call("packer").text("pack").with_files(client_id);
    let mut call = call.start().await.unwrap();
    loop {
        match call.next().await.unwrap() {
            Some(Event::Done(done)) => return done.offer().unwrap(),
            Some(_) => {}
            None => panic!("no end"),
        }
    }
}

#[tokio::test]
async fn an_offer_is_signalled_about_and_fetched_through_the_hub_from_any_byte_on() {
    let served = TestHub::start().await;
    let (agent, mut signals) = packer();
    let _packer = BackgroundAgent::start(agent, served.addr()).await;
    let hub = client(served.addr());
    assert_eq!(offered(&hub, "t1").await, offer("t1"));
    let transfer = hub.transfer("packer", "t1");
    let answering = async {
        let (signal, signaller) = next(&mut signals).await;
        assert_eq!(signal.signal_type, "offer");
        assert_eq!(signal.payload.as_deref(), Some("v=0"));
        let (id, to) = (&signal.transfer_id, &signal.from_agent_id);
        signaller.send(id, to, "answer", Some("v=1")).unwrap();
    };
    let (answer, ()) = tokio::join!(transfer.signal("offer", Some("v=0"), WAIT), answering);
    let answer = answer.unwrap();
    assert_eq!(answer.signals[0].signal_type, "answer");
    assert_eq!(answer.signals[0].payload.as_ref().unwrap(), "v=1");
    for from in [0, 5] {
        let sending = async {
            let (signal, _) = next(&mut signals).await;
            let (ticket, offset) = ticket(&signal);
            hub.send_by_ticket(&ticket, &CONTENT[offset..]).await
        };
        let fetching = async {
            let mut content = transfer.content(from).await?;
            assert_eq!(content.offset(), from);
            assert_eq!(content.length(), Some(CONTENT.len() as u64 - from));
            let mut got = Vec::new();
            while let Some(piece) = content.next().await? {
                got.extend_from_slice(&piece);
            }
            Ok::<_, jackfield_sdk::Error>(got)
        };
        let (sent, fetched) = tokio::join!(sending, fetching);
        sent.unwrap();
        let from = usize::try_from(from).unwrap();
        assert_eq!(fetched.unwrap(), &CONTENT.as_bytes()[from..]);
    }
    let refused = hub.transfer("packer", "t2").content(0).await.unwrap_err();
    assert_eq!(refused.code(), Some("unauthorized"));
}

#[tokio::test]
async fn an_announced_archive_reaches_the_agent_through_the_hub() {
    let served = TestHub::start().await;
    let (agent, mut signals) = packer();
    let _packer = BackgroundAgent::start(agent, served.addr()).await;
    let hub = client(served.addr());
    let announced = hub.announce("packer", &offer("up"), Some("c1")).await;
    assert_eq!(announced.unwrap().transfer_id, "up");
    let (signal, _) = next(&mut signals).await;
    assert_eq!(signal.signal_type, "prepare-upload");
    assert_eq!(signal.client_id.as_deref(), Some("c1"));
    let received: Offer = serde_json::from_str(signal.payload.as_deref().unwrap()).unwrap();
    assert_eq!(received, offer("up"));
    let receiving = async {
        let (signal, _) = next(&mut signals).await;
        let (ticket, offset) = ticket(&signal);
        assert_eq!(offset, 2);
        let mut content = hub.receive_by_ticket(&ticket).await.unwrap();
        let mut got = Vec::new();
        while let Some(piece) = content.next().await.unwrap() {
            got.extend_from_slice(&piece);
        }
        got
    };
    let transfer = hub.transfer("packer", "up");
    let (sent, got) = tokio::join!(transfer.upload(2, &CONTENT[2..]), receiving);
    sent.unwrap();
    assert_eq!(got, &CONTENT.as_bytes()[2..]);
}

#[tokio::test]
async fn an_agent_that_calls_another_for_files_is_the_party_of_what_is_offered() {
    let served = TestHub::start().await;
    let (agent, mut signals) = packer();
    let _packer = BackgroundAgent::start(agent, served.addr()).await;
    let asker = Agent::new("asker").on_message(|_, reply| async move {
        let mut call = reply.call_agent("packer", "pack").with_files().await?;
        while let Some(event) = call.next().await? {
            if let Event::Done(done) = event {
                let offer = done.offer().map(|offer| offer.zip_size);
                reply.text(format!("{offer:?}")).await?;
            }
        }
        Ok(())
    });
    let _asker = BackgroundAgent::start(asker, served.addr()).await;
    let hub = client(served.addr());
    // The call names no client, so the calling agent is the client: the packer gets `agent.asker` and offers for that
    // id.
    assert_eq!(hub.ask("asker", "go").await.unwrap(), "Some(15)");
    let _ = offered(&hub, "t1").await;
    let transfer = hub.transfer("packer", "t1");
    assert!(transfer.signal("poll", None, Duration::ZERO).await.is_ok());
    let acting = transfer.acting_as("asker");
    let refused = acting
        .signal("poll", None, Duration::ZERO)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("unauthorized"), "not the agent's");
    assert!(signals.try_recv().is_err());
}

#[tokio::test]
async fn a_signaller_says_that_there_is_no_connection() {
    let served = TestHub::start().await;
    let (agent, mut signals) = packer();
    let mut packer = JoinSet::new();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (attached, mut is_attached) = mpsc::channel(1);
    let agent = agent.hub(crate::hub::background::address(served.addr()));
    packer.spawn(agent.run_until(
        async move {
            stopped.await.ok();
        },
        move || attached.try_send(()).unwrap(),
    ));
    timeout(SOON, is_attached.recv()).await.unwrap().unwrap();
    let hub = client(served.addr());
    hub.announce("packer", &offer("up"), None).await.unwrap();
    let (signal, signaller) = next(&mut signals).await;
    let to = &signal.from_agent_id;
    signaller.send("up", to, "answer", None).unwrap();
    stop.send(()).unwrap();
    packer.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(
        signaller.send("up", to, "answer", None),
        Err(SignalError::Cut)
    );
}
