//! Coming back: the retained tail with its own numbers, from a number on, and what is gone.

use jackfield_core::units::Size;
use jackfield_model::Event;
use jackfield_team::TeamLimits;
use serde_json::Value;

use crate::ws::harness::*;

/// Lets the team's one member say so many words, on the word of somebody else than the viewer.
async fn talk(hub: &TeamHub, viewer: &mut Viewer, boss: &mut Scripted, words: usize) -> Vec<Value> {
    let mut speaker = hub.view("/ws/agent-team/web?replay=false").await;
    speaker.say("go", None).await;
    let working = boss.next_call().await;
    for word in 0..words {
        working.push(Event::text(format!("{word} ")));
    }
    working.finish(done());
    viewer.until_idle().await
}

#[tokio::test]
async fn whoever_comes_back_gets_the_tail_with_its_own_numbers() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let live = talk(&hub, &mut viewer, &mut boss, 5).await;

    let mut again = hub.view("/ws/agent-team/web").await;
    assert_eq!(again.until_idle().await, live);

    // Idle closes what the client shows of a member: it is not said before what is told again.
    let mut again = hub.view("/ws/agent-team/web").await;
    let kinds = [
        again.frame().await,
        again.frame().await,
        again.frame().await,
    ];
    let kinds = kinds.map(|frame| frame["type"].clone());
    assert_eq!(kinds, ["CONNECTED", "TEAM_STATUS", "TEAM_STATUS"]);

    let mut later = hub.view("/ws/agent-team/web?after_sequence=4").await;
    assert_eq!(later.until_idle().await, live[4..]);

    // Nothing of the past, then what comes.
    let mut fresh = hub.view("/ws/agent-team/web?replay=false").await;
    fresh.until("AGENT_STATUS").await;
    let next = talk(&hub, &mut viewer, &mut boss, 1).await;
    assert_eq!(fresh.until_idle().await, next);
    assert_eq!(sequences(&next)[0], live.len() as u64 + 1);
}

#[tokio::test]
async fn whoever_comes_back_after_a_restart_misses_nothing_of_the_new_run() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let live = talk(&hub, &mut viewer, &mut boss, 3).await;
    let stamp = &live[0]["payload"]["team_stream_event_envelope"];
    let run = stamp["team_run_id"].as_str().unwrap();

    // The numbers of another run are not those of this one, whether it has come to them or not.
    for number in [2, live.len() as u64, 396] {
        let cursor = format!("after_sequence={number}&team_run_id=run_of_yesterday");
        let mut back = hub.view(&format!("/ws/agent-team/web?{cursor}")).await;
        assert_eq!(back.until_idle().await, live, "{cursor}");
    }
    // Nor is one that this run has not come to, when the viewer does not say of which it is.
    let mut back = hub.view("/ws/agent-team/web?after_sequence=396").await;
    assert_eq!(back.until_idle().await, live);

    let cursor = format!("after_sequence=4&team_run_id={run}");
    let mut back = hub.view(&format!("/ws/agent-team/web?{cursor}")).await;
    assert_eq!(back.until_idle().await, live[4..]);
    // Whoever has all of it is shown nothing again, with the run or without.
    let mut last = live.len();
    for of_run in [String::new(), format!("&team_run_id={run}")] {
        let cursor = format!("after_sequence={last}{of_run}");
        let mut back = hub.view(&format!("/ws/agent-team/web?{cursor}")).await;
        back.until("TEAM_STATUS").await;
        let next = talk(&hub, &mut viewer, &mut boss, 1).await;
        assert_eq!(back.until_idle().await, next, "{cursor}");
        last += next.len();
    }
}

#[tokio::test]
async fn what_is_gone_is_said() {
    let limits = TeamLimits {
        ring: Size::kib(8),
        tail: Size::kib(4),
        ..TeamLimits::default()
    };
    let hub = TeamHub::start_limited(limits).await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    // Nobody views, so that nobody holds anything back.
    let local = jackfield_core::principal::Principal::local();
    let message = jackfield_model::Message::text("go");
    let said = hub
        .teams
        .send_message(&local, "web", None, message, None)
        .await;
    said.unwrap();
    let working = boss.next_call().await;
    for word in 0..50 {
        working.push(Event::text(format!("{word} ")));
    }
    let mut viewer = hub.view("/ws/agent-team/web?after_sequence=2").await;
    let gap = viewer.until("GAP").await;
    assert_eq!(gap["from_sequence"], 3);
    let last_gone = gap["to_sequence"].as_u64().unwrap();
    let next = viewer.frame().await;
    assert_eq!(sequences(std::slice::from_ref(&next)), [last_gone + 1]);
    assert_eq!(
        next["payload"]["team_stream_event_envelope"]["team_run_id"],
        gap["team_run_id"]
    );
    working.finish(done());
    let rest = sequences(&viewer.until_idle().await);
    assert!(rest.windows(2).all(|two| two[1] == two[0] + 1));
}

#[tokio::test]
async fn a_burst_reaches_every_viewer_whole_and_one_that_does_not_read_holds_up_nobody() {
    let hub = TeamHub::start().await;
    let mut agents = hub.nested();
    let mut stalled = hub.viewer("web").await;
    let mut viewers = [hub.viewer("web").await, hub.viewer("web").await];
    stalled.say("go", Some("dba")).await;
    let working = agents[3].next_call().await;
    let count = 1500;
    let talking = tokio::task::spawn_blocking(move || {
        for word in 0..count {
            // Of two kinds, so that none is joined to the one before.
            let kind = if word % 2 == 0 {
                jackfield_model::ChunkKind::Text
            } else {
                jackfield_model::ChunkKind::Thinking
            };
            working.push(chunk(kind, "word", None));
        }
        working.finish(done());
    });
    for viewer in &mut viewers {
        let frames = viewer.until_idle().await;
        let numbers: Vec<u64> = (1..=frames.len() as u64).collect();
        assert_eq!(sequences(&frames), numbers);
        let words = frames
            .iter()
            .filter(|frame| frame["type"] == "SEGMENT_CONTENT");
        assert_eq!(words.count(), count);
    }
    soon(talking).await.unwrap();
    drop(stalled);
}
