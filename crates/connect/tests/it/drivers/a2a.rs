//! A2A servers: a second hub stands in for a server that the first hub can't reach.

use jackfield_connect::{
    Driver as _, Reaper,
    drivers::a2a::{A2aDriver, A2aSettings},
};
use jackfield_sdk::{Agent, AgentFailure, Artifact, File, HubAddress};
use jackfield_testkit::TestHub;
use serde_json::json;
use tokio::{sync::mpsc, task::JoinSet};

use crate::drivers::{fixture::Fixture, server::Server};

/// A server with a single agent; stopped when dropped.
struct Remote {
    url: String,
    _hub: TestHub,
    _agent: JoinSet<()>,
}

async fn remote(agent: Agent) -> Remote {
    let hub = TestHub::start().await;
    let url = hub.url(&format!("/a2a/agents/{}", agent.id()));
    let agent = agent.hub(HubAddress::new(&hub.url("")).unwrap());
    let (sender, mut attached) = mpsc::channel(1);
    let mut running = JoinSet::new();
    running.spawn(async move {
        let attached = move || {
            // The receiver is gone after a cut.
            sender.try_send(()).ok();
        };
        agent.run_with(attached).await.unwrap();
    });
    attached.recv().await.unwrap();
    Remote {
        url,
        _hub: hub,
        _agent: running,
    }
}

fn driver(url: &str) -> A2aDriver {
    let settings = A2aSettings {
        url: url.to_owned(),
        ..A2aSettings::default()
    };
    A2aDriver::new(settings).unwrap()
}

#[tokio::test]
async fn all_that_a_server_says_and_makes_arrives() {
    let agent = Agent::new("bob")
        .description("writes")
        .skill("write")
        .on_message(|message, reply| async move {
            reply.thinking("hm").await?;
            reply.text(format!("you said {}", message.text)).await?;
            let file = File::bytes(*b"hi!").name("a.txt").mime("text/plain");
            reply
                .artifact(Artifact::new("draft").name("draft").file(file))
                .await?;
            Ok(())
        });
    let (fixture, remote) = (Fixture::new().await, remote(agent).await);
    let bob = driver(&remote.url);
    bob.check().await.unwrap();
    let profile = bob.self_description();
    assert_eq!(profile.description.as_deref(), Some("writes"));
    assert_eq!(profile.skills.len(), 1);
    let amy = fixture.connect(bob, &Reaper::new()).await;
    let replies = fixture.ask("s", "hello").await;
    assert!(replies.contains(&json!({"thinking": "hm"})), "{replies:#?}");
    assert!(
        replies.contains(&json!({"text": "you said hello"})),
        "{replies:#?}"
    );
    let made = replies.iter().find_map(|event| event.get("artifact"));
    let made = jackfield_testkit::with_files(made.unwrap().clone()).await;
    assert_eq!(made["name"], "draft");
    assert!(made.to_string().contains("a.txt"), "{made}");
    assert_eq!(replies.last().unwrap()["done"]["state"], "completed");
    amy.stop().await;
}

#[tokio::test]
async fn a_question_of_a_server_is_put_to_the_caller_and_the_answer_comes_back() {
    let agent = Agent::new("bob").on_message(|_, reply| async move {
        let tone = reply.ask("which tone?").await?.text;
        Ok(reply.text(format!("so be it: {tone}")).await?)
    });
    let (fixture, remote) = (Fixture::new().await, remote(agent).await);
    let amy = fixture.connect(driver(&remote.url), &Reaper::new()).await;
    let mut call = fixture.send("s", "hello").await;
    let ask = loop {
        let (name, data) = call.next().await.unwrap();
        if name == "ask" {
            break data;
        }
    };
    assert_eq!(ask["text"], "which tone?");
    let answer = json!({"ask_id": ask["id"], "content": "mild"});
    let path = format!("/v1/calls/{}/answer", call.id);
    let (status, _) = fixture.hub.web().post(&path, answer).await;
    assert!(status < 300, "{status}");
    let rest = call.rest().await;
    assert!(
        rest.contains(&json!({"text": "so be it: mild"})),
        "{rest:#?}"
    );
    amy.stop().await;
}

#[tokio::test]
async fn a_cancel_reaches_the_server() {
    let (sender, mut drops) = mpsc::channel(1);
    let agent = Agent::new("bob").on_message(move |_, reply| {
        /// Reports the drop of the handler.
        struct Dropped(mpsc::Sender<()>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.try_send(()).ok();
            }
        }
        let dropped = Dropped(sender.clone());
        async move {
            let _dropped = dropped;
            reply.text("working").await?;
            std::future::pending::<()>().await;
            Ok(())
        }
    });
    let (fixture, remote) = (Fixture::new().await, remote(agent).await);
    let amy = fixture.connect(driver(&remote.url), &Reaper::new()).await;
    let mut call = fixture.send("s", "hello").await;
    assert_eq!(call.text().await, "working");
    fixture
        .hub
        .web()
        .post(&format!("/v1/calls/{}/cancel", call.id), json!({}))
        .await;
    drops.recv().await.unwrap();
    amy.stop().await;
}

#[tokio::test]
async fn a_conversation_is_the_same_at_the_server_also_after_a_restart() {
    let agent = Agent::new("bob").on_message(|message, reply| async move {
        Ok(reply.text(message.context_id.unwrap_or_default()).await?)
    });
    let (fixture, remote) = (Fixture::new().await, remote(agent).await);
    let mut contexts = Vec::new();
    for session in ["s", "s", "other"] {
        let amy = fixture.connect(driver(&remote.url), &Reaper::new()).await;
        contexts.push(fixture.ask(session, "hello").await[0]["text"].clone());
        amy.stop().await;
    }
    assert_eq!(contexts[0], contexts[1]);
    assert_ne!(contexts[0], contexts[2]);
}

#[tokio::test]
async fn what_goes_wrong_at_the_server_is_told() {
    let agent = Agent::new("bob")
        .on_message(|_, _| async move { Err(AgentFailure::new("quota", "no more today").into()) });
    let (fixture, remote) = (Fixture::new().await, remote(agent).await);
    let amy = fixture.connect(driver(&remote.url), &Reaper::new()).await;
    let replies = fixture.ask("s", "hello").await;
    let failed = &replies.last().unwrap()["failed"];
    assert!(
        failed["message"]
            .as_str()
            .unwrap()
            .contains("no more today"),
        "{replies:#?}"
    );
    amy.stop().await;
    let failure = driver(&Server::unreachable_url().await)
        .check()
        .await
        .unwrap_err();
    assert_eq!(failure.code, "adapter_crash");
    assert!(
        failure.message.contains("start it, or mend the URL"),
        "{}",
        failure.message
    );
}
