//! Where a task stands is one story, whoever asks: the answer, the stream, a look, the list and each of its filters.

use jackfield_core::{call::AgentHandle, principal::Principal, store::LogItem, task::TaskItem};
use jackfield_model::{
    Artifact, Ask, AskKind, Chunk, ChunkKind, Done, DoneState, End, Event, Failure, Reason, TaskId,
};
use serde_json::{Value, json};

use crate::official::{
    callers::{ALL, Binding, Caller},
    harness::{A2aHub, all_of},
};

/// What an agent does with a call, and where that leaves the task.
type Way = (&'static str, fn(&AgentHandle), Option<End>);

fn done(state: DoneState, needs_auth: bool) -> Option<End> {
    Some(End::Done(Box::new(Done {
        state,
        needs_auth,
        result: Some("so it is".to_owned()),
        ..Done::default()
    })))
}

fn failed(reason: Reason) -> Option<End> {
    Some(End::Failed(Failure::new(reason, "so it is")))
}

fn question() -> Ask {
    Ask {
        id: "q".into(),
        kind: AskKind::Input,
        text: "which?".into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}

fn works(serving: &AgentHandle) {
    serving.push(Event::text("x"));
}

fn asks(serving: &AgentHandle) {
    serving.ask(question());
}

fn ways() -> Vec<Way> {
    let nothing: fn(&AgentHandle) = |_| {};
    vec![
        ("working", works, None),
        ("input-required", asks, None),
        ("completed", nothing, done(DoneState::Completed, false)),
        (
            "input-required",
            nothing,
            done(DoneState::InputRequired, false),
        ),
        (
            "auth-required",
            nothing,
            done(DoneState::InputRequired, true),
        ),
        ("rejected", nothing, done(DoneState::Rejected, false)),
        ("rejected", nothing, failed(Reason::Busy)),
        (
            "rejected",
            nothing,
            failed(Reason::from_agent_code("rate_limited")),
        ),
        ("failed", nothing, failed(Reason::Timeout)),
        ("failed", nothing, failed(Reason::from_agent_code("quota"))),
        ("failed", nothing, failed(Reason::from_agent_code("loop"))),
        (
            "canceled",
            nothing,
            failed(Reason::from_agent_code("cancelled")),
        ),
        ("canceled", nothing, Some(End::Cancelled)),
    ]
}

/// Plays the agent; a call that is not over stays open as long as it is held.
fn act(serving: AgentHandle, does: fn(&AgentHandle), end: Option<End>) -> Option<AgentHandle> {
    does(&serving);
    let Some(end) = end else {
        return Some(serving);
    };
    serving.finish(end);
    None
}

/// What the status says besides when.
fn said(task: &Value) -> Value {
    let status = &task["status"];
    let message = status.get("message").or_else(|| status.get("update"));
    json!([status["state"], message])
}

/// Waits until what the agent did is written down: its end, or the first thing that it said.
async fn settled(hub: &A2aHub, id: &str, is_over: bool) {
    let id = TaskId::parse(id).unwrap();
    let task = hub.hub.tasks().find(&Principal::local(), id).await;
    let task = task.unwrap();
    if is_over {
        return task.over().await;
    }
    let mut rows = task.subscribe(None);
    while let Some(TaskItem::Row { item, .. }) = rows.next().await.unwrap() {
        if matches!(item, LogItem::Event(_)) {
            return;
        }
    }
}

#[tokio::test]
async fn a_look_the_list_and_its_filters_say_the_same_of_every_state() {
    const STATES: [&str; 8] = [
        "submitted",
        "working",
        "input-required",
        "auth-required",
        "completed",
        "failed",
        "canceled",
        "rejected",
    ];
    for binding in [Binding::Rpc10, Binding::Rpc03] {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let mut open = Vec::new();
        let mut tasks = Vec::new();
        for (state, does, end) in ways() {
            let id = caller.begun(caller.send_only("hello")).await;
            let serving = agent.next_call().await;
            let is_over = end.is_some();
            open.extend(act(serving, does, end));
            settled(&hub, &id, is_over).await;
            let task = binding.result(&caller.ok(caller.get(&id)).await);
            assert_eq!(task["status"]["state"], binding.state(state), "{task}");
            tasks.push((id, state, said(&task)));
        }
        let all = binding.result(&caller.ok(caller.list("pageSize", "100")).await);
        let listed = all["tasks"].as_array().unwrap();
        assert_eq!(listed.len(), tasks.len());
        for (id, state, told) in &tasks {
            let found = listed.iter().find(|it| it["id"] == **id).unwrap();
            assert_eq!(said(found), *told, "{state}");
        }
        for state in STATES {
            let name = format!("{:?}", binding.state(state));
            let page = binding.result(&caller.ok(caller.list("status", &name)).await);
            let page = page["tasks"].as_array().unwrap();
            let mut found: Vec<_> = page.iter().map(|it| it["id"].as_str().unwrap()).collect();
            let those = tasks.iter().filter(|(_, its, _)| *its == state);
            let mut wanted: Vec<_> = those.map(|(id, ..)| id.as_str()).collect();
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{state}");
        }
    }
}

#[tokio::test]
async fn the_answer_and_the_stream_end_where_a_look_says_the_task_stands() {
    for (state, does, end) in ways() {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, Binding::Rpc10);
        let state = caller.binding.state(state);
        let is_working = end.is_none() && state == "TASK_STATE_WORKING";
        if is_working {
            continue;
        }
        let mut open = Vec::new();
        let mut acts = async |end: Option<End>| {
            let serving = agent.next_call().await;
            open.extend(act(serving, does, end));
        };
        let (body, ()) = tokio::join!(caller.ok(caller.send("hello")), acts(end.clone()));
        let task = caller.binding.sent_task(&body);
        assert_eq!(task["status"]["state"], state, "{task}");
        let id = task["id"].as_str().unwrap();
        let look = caller.binding.result(&caller.ok(caller.get(id)).await);
        assert_eq!(said(&look), said(&task));
        let mut stream = caller.open(caller.stream("hello")).await;
        acts(end).await;
        let told = all_of(&mut stream).await;
        let last = &told.last().unwrap()["result"]["statusUpdate"];
        assert_eq!(last["status"]["state"], state, "{told:?}");
    }
}

#[tokio::test]
async fn a_task_that_waits_for_its_caller_says_so_whatever_the_agent_does_meanwhile() {
    for binding in ALL.into_iter().filter(|it| it.is_new()) {
        let hub = A2aHub::start().await;
        let mut agent = hub.attach("echo");
        let caller = Caller::new(&hub, binding);
        let id = caller.begun(caller.send_only("hello")).await;
        let serving = agent.next_call().await;
        asks(&serving);
        settled(&hub, &id, false).await;
        let waiting = binding.state("input-required");
        let mut stream = caller.open(caller.subscribe(&id)).await;
        let first = caller.next(&mut stream).await.unwrap();
        assert_eq!(first["task"]["status"]["state"], waiting);
        serving.push(Event::Chunk(Chunk {
            kind: ChunkKind::Thinking,
            ..Chunk::text("hm")
        }));
        serving.push(Event::Artifact(Artifact {
            id: "a".into(),
            last: true,
            ..Artifact::default()
        }));
        let made = caller.next(&mut stream).await.unwrap();
        assert!(made["artifactUpdate"].is_object(), "{made}");
        let look = binding.result(&caller.ok(caller.get(&id)).await);
        assert_eq!(said(&look), said(&first["task"]));
        assert_eq!(look["status"]["message"]["parts"][0]["text"], "which?");
        serving.finish(End::done());
        let over = caller.next(&mut stream).await.unwrap();
        let over = &over["statusUpdate"]["status"]["state"];
        assert_eq!(*over, binding.state("completed"));
    }
}
