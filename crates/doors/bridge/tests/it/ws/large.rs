//! Large answers: chunks above the limit of one, and ends that repeat more than a frame holds.

use std::sync::Arc;

use jackfield_bridge::{BridgeLimits, PlatformSettings};
use jackfield_core::{
    call::Reply,
    limits::Limits,
    store::{LogItem, memory::MemoryStore},
    task::TaskItem,
    units::Size,
};
use jackfield_model::{Chunk, ChunkKind, End, Event, Reason};
use serde_json::json;
use tokio::task::JoinSet;

use crate::ws::harness::*;

const MIB: usize = 1 << 20;

fn chunks(events: Vec<Event>) -> Vec<Chunk> {
    let chunk = |event| match event {
        Event::Chunk(chunk) => chunk,
        other => panic!("{other:?}"),
    };
    events.into_iter().map(chunk).collect()
}

#[tokio::test]
async fn a_chunk_above_the_limit_is_split_between_characters() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    let replies = door.call("a", "r-1", "a picture");
    agent.frame().await;
    // Three bytes each: no limit in MiB falls between two of them.
    let picture = "€".repeat(MIB);
    agent
        .send(json!({
            "type": "chunk", "request_id": "r-1", "delta": picture,
            "kind": "tool_result", "tool_name": "shot", "tool_call_id": "t-1",
        }))
        .await;
    agent
        .send(json!({"type": "done", "request_id": "r-1"}))
        .await;
    let (events, end) = all_of(replies).await;
    assert!(matches!(end, End::Done(_)), "{end:?}");
    let parts = chunks(events);
    assert!(parts.len() > 2, "{}", parts.len());
    for part in &parts {
        assert!(part.text.len() <= MIB, "{}", part.text.len());
        let tool = (part.tool_name.as_deref(), part.tool_call_id.as_deref());
        assert_eq!(
            (part.kind, tool),
            (ChunkKind::ToolResult, (Some("shot"), Some("t-1")))
        );
    }
    let whole: String = parts.into_iter().map(|part| part.text).collect();
    assert_eq!(whole.len(), picture.len());
    assert!(whole == picture);
}

#[tokio::test]
async fn a_numbered_chunk_above_the_limit_is_heard_once_and_acknowledged() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    let mut hearing = JoinSet::new();
    hearing.spawn(all_of(door.call("a", "r-1", "much")));
    agent.word().await;
    let much = "x".repeat(2 * MIB + 5);
    for _ in 0..2 {
        agent.send(chunk("r-1", 1, &much)).await;
        agent.acked("r-1", 1).await;
    }
    agent.send(done("r-1", 2)).await;
    let (events, _) = hearing.join_next().await.unwrap().unwrap();
    let heard: usize = chunks(events).iter().map(|chunk| chunk.text.len()).sum();
    assert_eq!(heard, much.len());
}

#[tokio::test]
async fn a_numbered_chunk_of_a_kept_call_stays_whole() {
    let door = BridgeHub::open().await;
    let (mut agent, _) = door.resumable("a").await;
    let task = door
        .hub
        .tasks()
        .start(BridgeHub::request("a", "r-1", "much"))
        .await;
    let task = task.unwrap();
    agent.word().await;
    agent.send(chunk("r-1", 1, &"x".repeat(2 * MIB))).await;
    agent.acked("r-1", 1).await;
    let mut log = task.subscribe(None);
    let mut texts = Vec::new();
    while texts.is_empty() {
        if let Some(TaskItem::Row { item, .. }) = soon(log.next()).await.unwrap()
            && let LogItem::Event(Event::Chunk(chunk)) = item
        {
            texts.push(chunk.text.len());
        }
    }
    assert_eq!(texts, [2 * MIB]);
}

#[tokio::test]
async fn an_answer_above_a_frame_does_not_fail_for_its_end_that_repeats_it() {
    let door = BridgeHub::open().await;
    let mut agent = door.agent("a").await;
    let mut replies = door.call("a", "r-1", "a novel");
    agent.frame().await;
    let page = "p".repeat(MIB);
    for _ in 0..9 {
        agent
            .send(json!({"type": "chunk", "request_id": "r-1", "delta": page}))
            .await;
        let mut heard = 0;
        while heard < page.len() {
            match soon(replies.next()).await {
                Some(Reply::Event(Event::Chunk(chunk))) => heard += chunk.text.len(),
                other => panic!("{other:?}"),
            }
        }
    }
    let offer = json!({"transfer_id": "t", "zip_size": 1, "zip_sha256": "00", "file_count": 1});
    agent
        .send(json!({"type": "done", "request_id": "r-1", "result": page.repeat(9), "file_transfer_offer": offer}))
        .await;
    let End::Done(done) = end_of(&mut replies).await else {
        panic!("it is done")
    };
    assert_eq!(done.result, None, "callers have it as chunks");
    assert!(done.file_transfer_offer.is_some());
    assert!(agent.sync().await.is_empty(), "it is connected still");
}

#[tokio::test]
async fn a_frame_above_the_limit_fails_its_call_and_names_the_limit() {
    let limits = Limits {
        frame: Size::kib(256),
        ..Limits::default()
    };
    let platform = PlatformSettings {
        limits: BridgeLimits {
            frame_of_end: Size::kib(512),
            ..BridgeLimits::default()
        },
        ..PlatformSettings::default()
    };
    let store = Arc::new(MemoryStore::default());
    let door = BridgeHub::open_as(store, limits, true, platform).await;
    for said in [0, 400 << 10] {
        let mut agent = door.agent("a").await;
        let mut replies = door.call("a", "r-1", "a novel");
        agent.frame().await;
        for _ in 0..said / (100 << 10) {
            let delta = "x".repeat(100 << 10);
            agent
                .send(json!({"type": "chunk", "request_id": "r-1", "delta": delta}))
                .await;
        }
        let result = "x".repeat(600 << 10);
        agent
            .send(json!({"type": "done", "request_id": "r-1", "result": result}))
            .await;
        let End::Failed(failure) = end_of(&mut replies).await else {
            panic!("not failed")
        };
        assert_eq!(failure.reason, Reason::Agent("internal_error".into()));
        let limit = if said == 0 { 256 << 10 } else { 512 << 10 };
        assert!(
            failure.text.contains(&format!("{limit} bytes")),
            "{failure:?}"
        );
        assert_eq!(agent.closed().await.0, 1009);
    }
}
