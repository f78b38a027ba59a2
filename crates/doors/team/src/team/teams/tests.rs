//! Teams: who may make and see them, how calls find their place in a run, and what its viewers see and may do.

mod changing;
mod making;
mod restart;
mod rig;
mod runs;
mod steering;
mod viewing;

use std::time::Duration;

use jackfield_core::{
    agent::{Profile, Settings},
    call::AgentHandle,
    hub::{Attached, Request, Wanted},
    store::{TaskState, memory::MemoryStore},
    task::Task,
    units::Size,
};
use jackfield_model::{Answer, End, Event, Message};
use tokio::time::Instant;

use self::rig::*;
use super::*;
use crate::team::{
    MemberKind, MemberSpec, TeamSpec,
    board::BoardChange,
    event::{EventBody, MemberEvent},
    feed::{FeedEvent, FeedItem, FeedReader, ReplayStart},
    teams::TeamView,
    tree::route_key,
};

/// A team with these members, the first of which leads it: `name=agent`, or `name=@team`.
fn spec(members: &[&str]) -> TeamSpec {
    let member = |text: &&str| {
        let (name, of) = text.split_once('=').unwrap_or((text, text));
        MemberSpec {
            name: name.into(),
            of: match of.strip_prefix('@') {
                Some(team) => MemberKind::Team(id(team)),
                None => MemberKind::Agent(id(of)),
            },
        }
    };
    let members: Vec<_> = members.iter().map(member).collect();
    TeamSpec {
        name: String::new(),
        description: None,
        coordinator: members[0].name.clone(),
        members,
    }
}

/// Makes ann's team.
fn team(hub: &Rig, name: &str, members: &[&str]) -> TeamView {
    hub.teams
        .create(&ann(), &id(name), spec(members))
        .unwrap()
        .0
}

fn view(hub: &Rig, name: &str) -> FeedReader {
    hub.teams.view(&ann(), name, &ReplayStart::Tail).unwrap().1
}

/// A request of ann's agent `from`.
fn from(agent: &str, target: &str, text: &str) -> Request {
    Request {
        principal: ann().as_agent(id(agent)),
        ..to(target, text)
    }
}

/// All that a viewer has not seen yet of what the team does, one line each.
fn seen(viewing: &mut FeedReader) -> Vec<String> {
    let mut seen = seen_and_heard(viewing);
    seen.retain(|line| !line.contains(" is told by "));
    seen
}

/// The same, with what others say to the team.
fn seen_and_heard(viewing: &mut FeedReader) -> Vec<String> {
    let mut seen = Vec::new();
    viewing.read_batch(usize::MAX, &mut seen);
    seen.iter()
        .map(|seen| match seen {
            FeedItem::Event(told) => line(told),
            FeedItem::Missed(missed) => format!("missed {}..={}", missed.from, missed.to),
        })
        .collect()
}

fn line(told: &FeedEvent) -> String {
    let team = told.path.iter().map(|node| node.name.to_string());
    let team = team.collect::<Vec<_>>().join("/");
    match &*told.body {
        EventBody::Team { new, error, .. } => {
            let error = error.as_ref().map(|error| format!(": {error}"));
            format!("[{team}] {new:?}{}", error.unwrap_or_default())
        }
        EventBody::Board(BoardChange::Created { added, .. }) => {
            let names: Vec<_> = added.iter().map(|task| task.name.as_str()).collect();
            format!("[{team}] board + {}", names.join(" "))
        }
        EventBody::Board(BoardChange::Status { task, new, by, .. }) => {
            format!("[{team}] board {task} {new:?} by {by}")
        }
        EventBody::Published(json) => format!("[{team}] published {}", json.get()),
        EventBody::Member { name, event, .. } => {
            format!("{} {}", route_key(&told.path, name), event_line(event))
        }
    }
}

fn event_line(event: &MemberEvent) -> String {
    match event {
        MemberEvent::SegmentStart { kind, .. } => format!("begins {kind:?}"),
        MemberEvent::SegmentContent { delta, .. } => format!("says {delta}"),
        MemberEvent::SegmentEnd { .. } => "ends".to_owned(),
        MemberEvent::Status(change) => format!("is {:?}", change.new),
        MemberEvent::Complete { content, .. } => format!("said {content}"),
        MemberEvent::ApprovalRequested { of, .. } => format!("asks for {}", of.tool),
        MemberEvent::Approved { of, .. } => format!("may {}", of.tool),
        MemberEvent::Denied { of, reason } => format!("may not {}: {reason}", of.tool),
        MemberEvent::ToolStarted { of, .. } => format!("runs {}", of.tool),
        MemberEvent::ToolSucceeded { of, .. } => format!("ran {}", of.tool),
        MemberEvent::ToolFailed { of, .. } => format!("could not {}", of.tool),
        MemberEvent::Log { entry, .. } => format!("logs {entry}"),
        MemberEvent::MemberMessage {
            sender, content, ..
        } => format!("hears from {sender}: {content}"),
        MemberEvent::OutsideMessage {
            sender, content, ..
        } => format!("is told by {sender}: {content}"),
        MemberEvent::Artifact(made) => format!("made {}", made.path),
        MemberEvent::Error { code, .. } => format!("failed {code}"),
    }
}

/// What a member shows that says one word and is done.
fn says(route: &str, text: &str) -> Vec<String> {
    [
        "is ProcessingUserInput",
        "is AnalyzingLlmResponse",
        "begins Text",
        &format!("says {text}"),
        "ends",
        &format!("said {text}"),
        "is Idle",
    ]
    .map(|what| format!("{route} {what}"))
    .to_vec()
}

/// Lets ann say something to a member of `all`.
async fn say_to(hub: &Rig, target: &str) -> Arc<Task> {
    let (ann, message) = (ann(), Message::text("go"));
    let said = hub
        .teams
        .send_message(&ann, "all", Some(target), message, None)
        .await;
    until_idle().await;
    said.unwrap().expect("it is no answer")
}

fn say(serving: AgentHandle, text: &str) {
    serving.push(Event::text(text));
    serving.finish(End::done());
}
