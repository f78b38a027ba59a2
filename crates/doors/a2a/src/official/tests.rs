//! What a stream tells adds up to what the task shows, from wherever one begins to listen.

use std::sync::Arc;

use jackfield_core::{
    agent::Profile,
    hub::Hub,
    limits::Limits,
    principal::Principal,
    store::{LogItem, StoreError, TaskRecord, TaskState, memory::MemoryStore},
};
use jackfield_kit::{
    auth::Gatekeeper,
    testing::{Manner, Scripted},
};
use jackfield_model as event;
use jackfield_model::{
    AgentId, Answer, Ask, AskKind, CallId, Chunk, ChunkKind, Done, DoneState, End, Event, Failure,
    File, FileSource, Reason, RequestId, SessionId, TaskId,
};
use jiff::Timestamp;
use proptest::prelude::*;

use super::{
    InboundRequest,
    renderer::UpdateRenderer,
    snapshot::{TaskDetail, TaskSnapshot},
};
use crate::A2aDoor;
use crate::wire::official::{
    A2aVersion,
    error::A2aErrorKind,
    model::{
        A2aState, Artifact, Configuration, Message, Part, PartContent, Role, SendParams,
        StreamItem, Task,
    },
};

const ALL: TaskDetail = TaskDetail {
    history: None,
    artifacts: true,
};

const AT: Timestamp = Timestamp::UNIX_EPOCH;

pub(super) fn record() -> TaskRecord {
    let call = CallId::new();
    TaskRecord {
        id: TaskId::from(call),
        call,
        principal: "ann".into(),
        token: None,
        caller: "ann".into(),
        door: "a2a".into(),
        agent: AgentId::parse("bob").unwrap(),
        session: SessionId::parse("talk").unwrap(),
        request: RequestId::parse("r").unwrap(),
        state: TaskState::Working,
        needs_auth: false,
        sent: true,
        sent_at: Some(AT),
        cancelling: false,
        handle: None,
        epoch: 0,
        log_end: 0,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        parent: None,
        wait_until: None,
        failure: None,
        callback: None,
        unread: None,
        followers: Vec::new(),
        once: None,
        context: Default::default(),
    }
}

fn story_of(items: &[LogItem]) -> TaskSnapshot {
    let mut snapshot = TaskSnapshot::new(&record(), false, usize::MAX);
    items
        .iter()
        .cloned()
        .for_each(|item| snapshot.add(item, AT));
    snapshot
}

fn message(text: &str) -> LogItem {
    LogItem::Message(event::Message::text(text))
}

fn chunk(kind: ChunkKind, text: &str) -> LogItem {
    LogItem::Event(Event::Chunk(Chunk {
        kind,
        ..Chunk::text(text)
    }))
}

fn text(text: &str) -> LogItem {
    chunk(ChunkKind::Text, text)
}

fn ask(kind: AskKind) -> LogItem {
    LogItem::Event(Event::Ask(Ask {
        id: "q".into(),
        kind,
        text: "which?".into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    }))
}

fn done(done: Done) -> LogItem {
    LogItem::End(End::Done(Box::new(done)))
}

#[test]
fn a_result_adds_to_the_reply_what_was_not_streamed() {
    for (streamed, result, wanted) in [
        ("", "all", "all"),
        ("all", "all", "all"),
        ("all", "all of it", "all of it"),
        ("all", "something else", "all"),
    ] {
        let end = done(Done {
            result: Some(result.to_owned()),
            ..Done::default()
        });
        let task = story_of(&[message("hi"), text(streamed), end]).into_task(ALL);
        let [part] = &*task.artifacts[0].parts else {
            panic!("{task:?}");
        };
        assert!(
            matches!(&part.content, PartContent::Text(text) if text == wanted),
            "{streamed:?}, then {result:?}: {part:?}"
        );
    }
}

/// The words of all text parts.
fn words(artifact: &Artifact) -> String {
    let texts = artifact.parts.iter().map(|part| match &part.content {
        PartContent::Text(text) => text.clone(),
        PartContent::Bytes(bytes) => format!("<{bytes}>"),
        PartContent::Url(url) => format!("<{url}>"),
        PartContent::Data(data) => format!("<{data}>"),
    });
    texts.collect()
}

/// What a reader of a stream knows in the end, who begins with a task.
fn listen(mut task: Task, items: Vec<StreamItem>) -> (A2aState, Vec<(String, String)>) {
    for item in items {
        match item {
            StreamItem::Status(update) => task.status = update.status,
            StreamItem::Artifact(update) => {
                let had = task
                    .artifacts
                    .iter_mut()
                    .find(|had| had.id == update.artifact.id);
                match had {
                    Some(had) if update.append => had.parts.extend(update.artifact.parts),
                    Some(had) => *had = update.artifact,
                    None => {
                        assert!(!update.append, "nothing is appended to what nobody has");
                        task.artifacts.push(update.artifact);
                    }
                }
            }
            StreamItem::Task(_) | StreamItem::Message(_) => panic!("a task comes once"),
        }
    }
    let mut made: Vec<_> = task
        .artifacts
        .iter()
        .map(|artifact| (artifact.id.clone(), words(artifact)))
        .collect();
    made.sort();
    (task.status.state, made)
}

/// Any log of one turn after another.
fn log() -> impl Strategy<Value = Vec<LogItem>> {
    let event = prop_oneof![
        "[a-z ]{0,8}".prop_map(|words| text(&words)),
        "[a-z]{1,4}".prop_map(|words| chunk(ChunkKind::Thinking, &words)),
        ("[ab]", "[a-z]{1,4}", any::<bool>()).prop_map(|(id, words, last)| {
            LogItem::Event(Event::Artifact(event::Artifact {
                id: format!("made-{id}"),
                parts: vec![event::Part::Text(words)],
                last,
                ..event::Artifact::default()
            }))
        }),
        Just(ask(AskKind::Approval)),
        Just(ask(AskKind::Input)),
        Just(LogItem::Answer("q".into(), Answer::default())),
    ];
    let end = prop_oneof![
        Just(End::Cancelled),
        Just(End::Failed(Failure::new(Reason::Timeout, "late"))),
        (
            prop_oneof![
                Just(DoneState::Completed),
                Just(DoneState::InputRequired),
                Just(DoneState::Rejected)
            ],
            proptest::option::of("[a-z]{1,6}")
        )
            .prop_map(|(state, result)| End::Done(Box::new(Done {
                state,
                result,
                ..Done::default()
            }))),
    ];
    let turn = (proptest::collection::vec(event, 0..8), end).prop_map(|(events, end)| {
        let mut turn = vec![message("hi")];
        turn.extend(events);
        turn.push(LogItem::End(end));
        turn
    });
    proptest::collection::vec(turn, 1..4).prop_map(|turns| turns.concat())
}

proptest! {
    #[test]
    fn a_stream_adds_up_to_the_task_from_wherever_one_begins(log in log(), begin in any::<prop::sample::Index>()) {
        let begin = begin.index(log.len()) + 1;
        let snapshot = story_of(&log[..begin]);
        let mut renderer = UpdateRenderer::after(&snapshot);
        let mut told = Vec::new();
        for (pos, item) in log[begin..].iter().enumerate() {
            renderer.render(pos as u64, AT, item.clone(), &mut told);
        }
        let heard = listen(snapshot.into_task(ALL), told);
        let shown = listen(story_of(&log).into_task(ALL), Vec::new());
        prop_assert_eq!(heard, shown);
    }
}

#[test]
fn the_reply_is_an_artifact_and_the_agents_word_in_the_history() {
    let task = story_of(&[
        message("hi"),
        text("he"),
        text("llo"),
        done(Done::default()),
    ]);
    let task = task.into_task(ALL);
    assert_eq!(task.status.state, A2aState::Completed);
    assert!(task.status.message.is_none());
    assert_eq!(
        task.artifacts.iter().map(words).collect::<Vec<_>>(),
        ["hello"]
    );
    let roles: Vec<_> = task.history.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Agent]);
}

#[test]
fn files_that_come_with_the_end_are_an_artifact_of_their_own() {
    let end = Done {
        attachments: vec![File {
            name: Some("a.txt".into()),
            mime: None,
            source: FileSource::Bytes("aGk=".into()),
        }],
        ..Done::default()
    };
    let task = story_of(&[message("hi"), done(end)]).into_task(ALL);
    assert_eq!(task.artifacts.len(), 1);
    assert_eq!(
        task.artifacts[0].parts[0].filename.as_deref(),
        Some("a.txt")
    );
}

#[test]
fn a_question_is_the_status_and_part_of_the_history_until_it_is_answered() {
    let mut log = vec![message("book"), ask(AskKind::Input)];
    let task = story_of(&log).into_task(ALL);
    assert_eq!(task.status.state, A2aState::InputRequired);
    assert!(task.status.message.is_some());
    let answer = Answer {
        content: Some("Rome".into()),
        ..Answer::default()
    };
    log.push(LogItem::Answer("q".into(), answer));
    let task = story_of(&log).into_task(ALL);
    assert_eq!(task.status.state, A2aState::Working);
    let roles: Vec<_> = task.history.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Agent, Role::User]);
}

#[test]
fn a_question_too_long_for_the_status_is_told_in_the_reply() {
    let long = "which? ".repeat(20_000);
    for streamed in ["", "which? "] {
        let end = done(Done {
            state: DoneState::InputRequired,
            result: Some(long.clone()),
            ..Done::default()
        });
        let log = [message("hi"), text(streamed), end];
        let mut renderer = UpdateRenderer::after(&story_of(&log[..1]));
        let mut told = Vec::new();
        for item in &log[1..] {
            renderer.render(0, AT, item.clone(), &mut told);
        }
        let Some(StreamItem::Status(last)) = told.last() else {
            panic!("{told:?}");
        };
        let asked = &last.status.message.as_ref().unwrap().parts[0].content;
        assert!(
            matches!(asked, PartContent::Text(text) if text.len() <= 64 << 10 && long.starts_with(text)),
            "the status repeats the beginning only"
        );
        let heard = listen(story_of(&log[..1]).into_task(ALL), told);
        assert_eq!(heard.1, [("reply".to_owned(), long.clone())]);
        assert_eq!(heard, listen(story_of(&log).into_task(ALL), Vec::new()));
    }
}

#[test]
fn an_approval_that_is_the_owners_to_give_leaves_the_task_working() {
    let task = story_of(&[message("hi"), text("x"), ask(AskKind::Approval)]);
    assert_eq!(task.into_task(ALL).status.state, A2aState::Working);
}

#[test]
fn the_last_messages_are_shown_as_many_as_are_wanted() {
    let log = [message("a"), text("b"), done(Done::default())];
    for (wanted, shown) in [(None, 2), (Some(0), 0), (Some(1), 1), (Some(9), 2)] {
        let how = TaskDetail {
            history: wanted,
            artifacts: false,
        };
        let task = story_of(&log).into_task(how);
        assert_eq!((task.history.len(), task.artifacts.len()), (shown, 0));
    }
}

#[test]
fn a_task_that_is_larger_than_may_be_shown_says_so_and_still_has_its_end() {
    let mut snapshot = TaskSnapshot::new(&record(), false, 400);
    for item in [
        message("hi"),
        text(&"x".repeat(1000)),
        done(Done::default()),
    ] {
        snapshot.add(item, AT);
    }
    let task = snapshot.into_task(ALL);
    assert_eq!(task.status.state, A2aState::Completed);
    assert!(task.metadata.unwrap().get().contains("truncated"));
}

#[test]
fn words_that_belong_to_an_artifact_of_their_own_are_told_and_shown_under_its_name() {
    let piece = |artifact: &str, text: &str| {
        let extra = format!(r#"{{"artifact":"{artifact}","name":"Report"}}"#);
        LogItem::Event(Event::Chunk(Chunk {
            extra: Some(event::Json::parse(&extra).unwrap()),
            ..Chunk::text(text)
        }))
    };
    let log = [
        message("hi"),
        piece("a", "one "),
        piece("b", "other"),
        piece("a", "two"),
        done(Done::default()),
    ];
    let shown = story_of(&log).into_task(ALL);
    let made: Vec<_> = shown
        .artifacts
        .iter()
        .map(|artifact| (artifact.id.as_str(), words(artifact)))
        .collect();
    assert_eq!(made, [("a", "one two".into()), ("b", "other".into())]);
    assert_eq!(shown.artifacts[0].name.as_deref(), Some("Report"));
    let mut renderer = UpdateRenderer::after(&story_of(&log[..1]));
    let mut told = Vec::new();
    for item in &log[1..] {
        renderer.render(0, AT, item.clone(), &mut told);
    }
    let heard = listen(story_of(&log[..1]).into_task(ALL), told);
    assert_eq!(heard, listen(shown, Vec::new()));
}

#[test]
fn pieces_of_an_artifact_add_up_by_the_rule_of_all_protocols() {
    let piece = |name: Option<&str>, parts: Vec<Part>, append| {
        let artifact = Artifact {
            name: name.map(str::to_owned),
            parts,
            ..super::snapshot::bare("a".to_owned())
        };
        let piece = super::translate::artifact_from(artifact, append, false);
        LogItem::Event(Event::Artifact(piece))
    };
    let page = Part {
        media_type: Some("text/markdown".to_owned()),
        ..Part::text("# three")
    };
    let task = story_of(&[
        message("hi"),
        piece(Some("Draft"), vec![Part::text("one")], false),
        piece(None, vec![Part::text(" two")], true),
        piece(Some("Report"), vec![page.clone()], true),
        piece(None, vec![Part::text("four")], true),
    ])
    .into_task(ALL);
    let [made] = &*task.artifacts else {
        panic!("{task:?}");
    };
    assert_eq!(made.name.as_deref(), Some("Report"));
    let parts: Vec<_> = made
        .parts
        .iter()
        .map(|part| match &part.content {
            PartContent::Text(text) => (text.as_str(), part.media_type.as_deref()),
            other => panic!("{other:?}"),
        })
        .collect();
    let markdown = Some("text/markdown");
    let wanted = [("one two", None), ("# three", markdown), ("four", None)];
    assert_eq!(parts, wanted);
}

#[tokio::test]
async fn a_stream_whose_log_cannot_be_read_ends_with_an_error() {
    let store = Arc::new(MemoryStore::default());
    let hub = Hub::open(store, Limits::default()).await.unwrap();
    let manner = Manner::default();
    let local = Principal::local();
    let _agent = Scripted::attach(&hub, &local, "echo", Profile::default(), manner);
    let a2a = Arc::new(A2aDoor::new(hub.clone(), Gatekeeper::new(hub, true)));
    let (head, ()) = http::Request::new(()).into_parts();
    let inbound = InboundRequest::new(a2a, Some("echo"), A2aVersion::V10, &head).unwrap();
    let params = SendParams {
        tenant: None,
        message: Message::new("m", Role::User, vec![Part::text("hi")]),
        configuration: Configuration::default(),
        metadata: None,
    };
    let mut updates = inbound.stream(params).await.unwrap();
    updates.broken(&StoreError::Failed("the disk is gone".into()));
    let mut told = Vec::new();
    while let Some(update) = updates.next().await {
        told.push(update.map(|update| update.item));
    }
    assert!(
        matches!(told.first(), Some(Ok(StreamItem::Task(_)))),
        "{told:?}"
    );
    let Some(Err(fault)) = told.last() else {
        panic!("it looks like a whole answer: {told:?}");
    };
    assert_eq!(fault.kind, A2aErrorKind::Internal);
    assert!(fault.message.contains("broke off"), "{}", fault.message);
}
