//! What handoffs promise, against agents whose part the test plays. Requests and answers are raw JSON. This file is the
//! scaffold.

mod abuse;
mod cards;
mod endpoints;
mod good;
mod nodes;
mod streamed;
mod streams;

use std::collections::HashSet;

use jackfield_core::{agent::Profile, limits::Limits, store::memory::MemoryStore};
use jackfield_kit::{
    files::Files,
    testing::{Manner, Scripted},
};
use jackfield_model::{Chunk, End, Event, Skill};
use jackfield_peer::serve::FrameOutput;
use serde_json::{Value, json};

use super::*;

type Frames = jackfield_peer::serve::Frames<HandoffWork>;

/// A peer.
const PEER: &str = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";
/// One that nobody knows.
const STRANGER: &str = "12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X";

async fn hub() -> Hub {
    Hub::open(Arc::new(MemoryStore::default()), Limits::default())
        .await
        .unwrap()
}

fn terms() -> HandoffTerms {
    HandoffTerms {
        allowed: Allowed::Only(HashSet::from([PEER.to_owned()])),
        default_agent: AgentId::parse("writer").ok(),
        ..HandoffTerms::default()
    }
}

fn host(hub: &Hub) -> HubHost {
    HubHost::new(hub.clone(), Files::for_hub(hub), terms(), [])
}

fn manner(door: &'static str) -> Manner {
    Manner {
        door,
        is_lively: false,
        ..Manner::default()
    }
}

fn profile(name: &str, skills: &[&str]) -> Profile {
    let skills = skills.iter().map(|id| Skill {
        id: (*id).to_owned(),
        ..Skill::default()
    });
    Profile {
        name: name.to_owned(),
        description: Some(format!("{name} does its work.")),
        skills: skills.collect(),
        ..Profile::default()
    }
}

fn agent(hub: &Hub, id: &str, skills: &[&str]) -> Scripted {
    agent_of(hub, "local", id, skills, "bridge")
}

fn agent_of(hub: &Hub, owner: &str, id: &str, skills: &[&str], door: &'static str) -> Scripted {
    let owner = Principal::admin(Owner::parse(owner).unwrap());
    Scripted::attach(hub, &owner, id, profile(id, skills), manner(door))
}

/// Hands off and expects one body.
async fn whole(host: &HubHost, request: &Value) -> String {
    match host
        .answer(
            PEER,
            Origin::Elsewhere,
            request.to_string().as_bytes(),
            HandoffProtocol::Plain,
        )
        .await
    {
        HandoffReply::Whole(body) => String::from_utf8(body).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Hands off and expects to be refused with this code.
async fn refused(host: &HubHost, request: &Value, code: u16) -> String {
    let body = whole(host, request).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["code"], code, "{request} -> {body}");
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["code", "error"]);
    body["error"].as_str().unwrap().to_owned()
}

/// All lines of a streamed handoff.
async fn lines(mut frames: Frames) -> Vec<Value> {
    let mut lines = Vec::new();
    while let Some(piece) = frames.next().await {
        match piece {
            FrameOutput::Lines(text) => {
                assert!(text.ends_with('\n'));
                lines.extend(
                    text.lines()
                        .map(|line| serde_json::from_str::<Value>(line).unwrap()),
                );
            }
            FrameOutput::Reset => lines.push(json!("reset")),
        }
    }
    lines
}

async fn framed(host: &HubHost, request: &Value) -> Frames {
    match host
        .answer(
            PEER,
            Origin::Elsewhere,
            request.to_string().as_bytes(),
            HandoffProtocol::Framed,
        )
        .await
    {
        HandoffReply::Frames(frames) => *frames,
        other => panic!("{other:?}"),
    }
}
