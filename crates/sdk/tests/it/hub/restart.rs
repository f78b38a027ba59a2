//! A hub that restarts while an agent is working.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use jackfield_sdk::{Agent, Event};
use jackfield_testkit::TestHub;
use tokio::sync::watch;

use crate::hub::background::{BackgroundAgent, client};

/// Restarts the hub on the same address.
async fn restart(mut served: TestHub) -> TestHub {
    served.config.listen = served.addr();
    served.restart().await
}

#[tokio::test]
async fn a_kept_call_goes_on_when_the_hub_was_restarted() -> anyhow::Result<()> {
    let mut served = TestHub::start().await;
    let (step, steps) = watch::channel(0);
    let worked = Arc::new(AtomicU64::new(0));
    let count = worked.clone();
    let agent = Agent::new("bob").on_message(move |_, reply| {
        count.fetch_add(1, Ordering::Relaxed);
        let mut steps = steps.clone();
        async move {
            for number in 0..30 {
                steps.wait_for(|step| *step >= number).await?;
                reply.text(format!("{number} ")).await?;
            }
            let name = reply.ask("who are you?").await?;
            Ok(reply.text(name.text).await?)
        }
    });
    let mut bob = BackgroundAgent::start(agent, served.addr()).await;
    let hub = client(served.addr());
    let mut call = hub.call("bob").text("x").durable().start().await?;
    let mut text = String::new();
    for number in 0..30 {
        step.send_replace(number);
        if number % 10 == 5 {
            served = restart(served).await;
            bob.is_attached().await;
        }
        while !text.ends_with(&format!("{number} ")) {
            match call.next().await? {
                Some(Event::Chunk(chunk)) => text += &chunk.text,
                other => panic!("{other:?}"),
            }
        }
    }
    let Some(Event::Ask(ask)) = call.next().await? else {
        panic!("it asks")
    };
    served = restart(served).await;
    bob.is_attached().await;
    call.answer(&ask.id, "ann").await?;
    let expected: String = (0..30).map(|number| format!("{number} ")).collect();
    assert_eq!(text + &call.text().await?, expected + "ann");
    assert_eq!(worked.load(Ordering::Relaxed), 1);
    drop(served);
    Ok(())
}

#[tokio::test]
async fn a_live_call_does_not_and_its_handler_is_dropped() -> anyhow::Result<()> {
    let served = TestHub::start().await;
    let (working_sender, mut working) = watch::channel(false);
    let agent = Agent::new("bob").on_message(move |message, reply| {
        let working_sender = working_sender.clone();
        async move {
            if message.text == "again" {
                return Ok(reply.text("yes").await?);
            }
            struct Dropped(watch::Sender<bool>);
            impl Drop for Dropped {
                fn drop(&mut self) {
                    self.0.send_replace(false);
                }
            }
            working_sender.send_replace(true);
            let _dropped = Dropped(working_sender);
            reply.text("working").await?;
            std::future::pending().await
        }
    });
    let mut bob = BackgroundAgent::start(agent, served.addr()).await;
    let hub = client(served.addr());
    let mut call = hub.call("bob").text("x").start().await?;
    assert!(matches!(call.next().await?, Some(Event::Chunk(_))));
    let _served = restart(served).await;
    assert!(call.next().await.is_err());
    bob.is_attached().await;
    working.wait_for(|working| !working).await?;
    assert_eq!(hub.ask("bob", "again").await?, "yes");
    Ok(())
}
