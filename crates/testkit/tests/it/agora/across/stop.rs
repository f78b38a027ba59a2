//! The hub stops with open calls: callers receive the end of their calls before the disconnect.

use std::time::Duration;

use serde_json::json;

use super::{ask, caller_and_fake, done};

#[tokio::test]
async fn what_an_agent_says_last_reaches_the_caller_before_a_stopping_hub_hangs_up() {
    // Repeated, since two things happen at once.
    for _ in 0..10 {
        let (hub, mut caller, mut fake) = caller_and_fake().await;
        caller.send(ask("in time")).await;
        let answered = fake.next_call().await;
        let serving = async {
            while !hub.hub().is_stopping() {
                tokio::task::yield_now().await;
            }
            answered.finish(done("because"));
        };
        let hearing = async {
            let reply = caller.frame().await;
            assert_eq!(reply["payload"]["request_id"], "in time", "{reply}");
            assert_eq!(caller.closed().await.0, 1001);
            caller.gone().await;
        };
        tokio::join!(hub.hub().stop(Duration::from_secs(10)), serving, hearing);
    }
}

#[tokio::test]
async fn a_caller_whose_call_is_cut_off_by_a_stop_is_told_so_before_it_is_disconnected() {
    for _ in 0..10 {
        let (hub, mut caller, mut fake) = caller_and_fake().await;
        caller.send(ask("too long")).await;
        let _serving = fake.next_call().await;
        let hearing = async {
            let last_frame = caller.frame().await;
            assert_eq!(
                (
                    &last_frame["type"],
                    &last_frame["code"],
                    &last_frame["request_id"]
                ),
                (&json!("error"), &json!("stopping"), &json!("too long"))
            );
            assert_eq!(caller.closed().await.0, 1001);
            caller.gone().await;
        };
        tokio::join!(hub.stop(Duration::ZERO), hearing);
    }
}
