//! Connections and frames are counted under their detected door.

use jackfield_testkit::{SOON, TestHub, bridge_register};
use serde_json::json;

use super::is_taken_by_bridge;

/// The value of a metric; 0 if missing.
fn metric(hub: &TestHub, name: &str) -> u64 {
    let metrics = hub.hub().metrics().render();
    let value = metrics.lines().find_map(|line| line.strip_prefix(name));
    value.map_or(0, |value| value.trim().parse().unwrap())
}

fn connections(hub: &TestHub) -> [u64; 2] {
    ["agora", "bridge"]
        .map(|door| metric(hub, &format!("jackfield_connections{{door=\"{door}\"}}")))
}

/// Frames of a door: in, out.
fn frames(hub: &TestHub, door: &str) -> [u64; 2] {
    ["in", "out"].map(|direction| {
        let labels = format!("{{door=\"{door}\",direction=\"{direction}\"}}");
        metric(hub, &format!("jackfield_frames_total{labels}"))
    })
}

#[tokio::test]
async fn an_agent_is_counted_under_its_own_door_however_it_came_in() {
    let hub = TestHub::start().await;
    let _asked = hub.bridge("a").await;
    assert_eq!(connections(&hub), [0, 1]);
    let mut told = hub.connect().await;
    told.send(bridge_register("b")).await;
    is_taken_by_bridge(&mut told).await;
    assert_eq!(connections(&hub), [0, 2]);
    let _agora = hub.agora("c").await;
    assert_eq!(connections(&hub), [1, 2]);
    assert_eq!(frames(&hub, "bridge"), [2, 2]);
    assert_eq!(frames(&hub, "agora"), [1, 1]);
    let bytes = bridge_register("a").to_string().len() * 2;
    let counted = "jackfield_bytes_total{door=\"bridge\",direction=\"in\"}";
    assert_eq!(metric(&hub, counted), bytes as u64);
}

#[tokio::test]
async fn every_frame_is_counted_once_also_those_of_a_batch_and_the_last_words() {
    let hub = TestHub::start().await;
    let mut raw = hub.agora("a").await;
    for _ in 0..500 {
        assert!(raw.feed(&json!({"type": "ping"})).await);
    }
    assert!(raw.flush().await);
    for _ in 0..500 {
        raw.expect(json!({"type": "pong"})).await;
    }
    assert_eq!(frames(&hub, "agora"), [501, 501]);
    // A frame that's too large: its error is the last frame sent, and the frame itself isn't
    // counted.
    raw.send_raw(0x81, &vec![b' '; (8 << 20) + 1]).await;
    raw.expect_error(json!({"code": "too_large"})).await;
    raw.gone().await;
    drop(raw);
    until_nobody_is_connected(&hub).await;
    assert_eq!(frames(&hub, "agora"), [501, 502]);
}

#[tokio::test]
async fn who_leaves_without_a_word_is_counted_no_more() {
    let hub = TestHub::start().await;
    let (silent, asked) = (hub.connect().await, hub.connect_bridge("a").await);
    silent.close().await;
    asked.close().await;
    until_nobody_is_connected(&hub).await;
    assert_eq!(
        (frames(&hub, "agora"), frames(&hub, "bridge")),
        ([0; 2], [0; 2])
    );
}

/// Polls the hub, since clients can't see the end of a session.
async fn until_nobody_is_connected(hub: &TestHub) {
    let gone = async {
        while connections(hub) != [0, 0] {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SOON, gone).await.expect("all leave");
}
