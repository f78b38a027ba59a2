//! The service of version 0.3, in raw frames: a client writes the bytes of its messages, and reads those of the answers.

use jackfield_model::{End, Event};
use reqwest::Response;
use tonic::Code;

use crate::grpc::harness::{A2aHub, answer};

/// A message, as far as these tests send it.
#[derive(Clone, PartialEq, prost::Message)]
struct SendRequest {
    #[prost(message, optional, tag = "1")]
    message: Option<Said>,
    #[prost(message, optional, tag = "2")]
    configuration: Option<Configuration>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Configuration {
    #[prost(bool, tag = "4")]
    blocking: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Said {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "3")]
    task_id: String,
    #[prost(int32, tag = "4")]
    role: i32,
    #[prost(message, repeated, tag = "5")]
    content: Vec<Part>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Part {
    #[prost(string, tag = "1")]
    text: String,
}

/// A request that names something.
#[derive(Clone, PartialEq, prost::Message)]
struct Named {
    #[prost(string, tag = "1")]
    name: String,
}

/// An answer, as far as these tests read it.
#[derive(Clone, PartialEq, prost::Message)]
struct Answer {
    #[prost(message, optional, tag = "1")]
    task: Option<Task>,
    #[prost(message, optional, tag = "3")]
    status: Option<StatusUpdate>,
    #[prost(message, optional, tag = "4")]
    artifact: Option<ArtifactUpdate>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Task {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(message, optional, tag = "3")]
    status: Option<Status>,
    #[prost(message, repeated, tag = "4")]
    artifacts: Vec<Artifact>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(int32, tag = "1")]
    state: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Artifact {
    #[prost(message, repeated, tag = "5")]
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusUpdate {
    #[prost(message, optional, tag = "3")]
    status: Option<Status>,
    #[prost(bool, tag = "4")]
    is_final: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ArtifactUpdate {
    #[prost(message, optional, tag = "3")]
    artifact: Option<Artifact>,
}

const COMPLETED: i32 = 3;
const CANCELLED: i32 = 5;
const ROOT: &str = "/a2a.v1.A2AService/";

/// Posts a frame with this message. `tenant` is sent as metadata.
async fn post(hub: &A2aHub, path: &str, tenant: &str, message: &impl prost::Message) -> Response {
    let message = message.encode_to_vec();
    let mut frame = vec![0];
    frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend(message);
    let request = hub.ask(reqwest::Method::POST, path);
    let request = request.header("content-type", "application/grpc");
    let request = request.header("te", "trailers").header("tenant", tenant);
    request.body(frame).send().await.unwrap()
}

/// The messages of an answer.
async fn messages<Told: prost::Message + Default>(response: Response) -> Vec<Told> {
    assert_eq!(response.headers().get("grpc-status"), None, "{response:?}");
    let body = response.bytes().await.unwrap();
    let mut rest = &body[..];
    let mut told = Vec::new();
    while let Some((head, more)) = rest.split_at_checked(5) {
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        told.push(Told::decode(&more[..length]).unwrap());
        rest = &more[length..];
    }
    told
}

async fn only<Told: prost::Message + Default>(response: Response) -> Told {
    let mut told = messages(response).await;
    assert_eq!(told.len(), 1);
    told.remove(0)
}

/// The code and the text of a refusal.
fn refused(response: &Response) -> (Code, String) {
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    let code = header("grpc-status").parse::<i32>().unwrap();
    (Code::from_i32(code), header("grpc-message"))
}

fn said(words: &str) -> SendRequest {
    let content = vec![Part {
        text: words.to_owned(),
    }];
    let message = Said {
        id: "m1".to_owned(),
        role: 1,
        content,
        ..Said::default()
    };
    SendRequest {
        message: Some(message),
        configuration: Some(Configuration { blocking: true }),
    }
}

fn named(name: impl Into<String>) -> Named {
    Named { name: name.into() }
}

fn words(artifacts: &[Artifact]) -> String {
    let parts = artifacts.iter().flat_map(|artifact| &artifact.parts);
    parts.map(|part| part.text.as_str()).collect()
}

#[tokio::test]
async fn the_metadata_names_the_agent_and_the_task_is_found_by_its_resource_name() {
    let running = A2aHub::start().await;
    let (mut echo, _other) = (running.attach("echo"), running.attach("other"));
    let path = format!("{ROOT}SendMessage");
    let sent = said("hello");
    let sending = post(&running, &path, "echo", &sent);
    let (answered, ()) = tokio::join!(sending, answer(&mut echo, "hello back"));
    let task = only::<Answer>(answered).await.task.unwrap();
    assert_eq!(task.status.unwrap().state, COMPLETED);
    assert_eq!(words(&task.artifacts), "hello back");
    let name = named(format!("tasks/{}", task.id));
    let got = post(&running, &format!("{ROOT}GetTask"), "", &name).await;
    assert_eq!(only::<Task>(got).await.id, task.id);
    // A task is hidden below the name of another agent.
    let foreign = post(&running, &format!("{ROOT}GetTask"), "other", &name).await;
    assert_eq!(refused(&foreign).0, Code::NotFound);
}

#[tokio::test]
async fn below_the_address_of_an_agent_no_metadata_is_needed() {
    let running = A2aHub::start().await;
    let (mut echo, _other) = (running.attach("echo"), running.attach("other"));
    let sent = said("hello");
    let path = format!("/a2a/agents/echo{ROOT}SendMessage");
    let sending = post(&running, &path, "", &sent);
    let (answered, ()) = tokio::join!(sending, answer(&mut echo, "hi"));
    let task = only::<Answer>(answered).await.task.unwrap();
    assert_eq!(words(&task.artifacts), "hi");
}

#[tokio::test]
async fn a_stream_ends_with_an_update_that_says_so() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let sent = said("hello");
    let path = format!("{ROOT}SendStreamingMessage");
    let streaming = async { messages::<Answer>(post(&running, &path, "echo", &sent).await).await };
    let serving = async {
        let call = echo.next_call().await;
        call.push(Event::text("one "));
        call.push(Event::text("two"));
        call.finish(End::done());
    };
    let (told, ()) = tokio::join!(streaming, serving);
    assert!(told[0].task.is_some(), "{told:?}");
    let pieces = told
        .iter()
        .filter_map(|it| it.artifact.as_ref()?.artifact.clone());
    let begun = told[0]
        .task
        .as_ref()
        .map_or("".to_owned(), |it| words(&it.artifacts));
    assert_eq!(begun + &words(&pieces.collect::<Vec<_>>()), "one two");
    let last = told.last().unwrap().status.clone().unwrap();
    assert!(last.is_final && last.status.unwrap().state == COMPLETED);
    assert!(
        told[..told.len() - 1]
            .iter()
            .all(|it| it.status.as_ref().is_none_or(|it| !it.is_final))
    );
}

#[tokio::test]
async fn a_client_that_does_not_wait_gets_a_task_that_it_can_cancel() {
    let running = A2aHub::start().await;
    let mut echo = running.attach("echo");
    let begun = SendRequest {
        configuration: Some(Configuration::default()),
        ..said("take your time")
    };
    let sent = post(&running, &format!("{ROOT}SendMessage"), "echo", &begun).await;
    let task = only::<Answer>(sent).await.task.unwrap();
    let serving = echo.next_call().await;
    let name = named(format!("tasks/{}", task.id));
    let cancelled = post(&running, &format!("{ROOT}CancelTask"), "", &name).await;
    let cancelled = only::<Task>(cancelled).await;
    assert_eq!(cancelled.status.unwrap().state, CANCELLED);
    assert_eq!(echo.next_cancel().await, serving.call().id);
    let followed = post(&running, &format!("{ROOT}CancelTask"), "", &name).await;
    assert_eq!(refused(&followed).0, Code::FailedPrecondition);
}

#[tokio::test]
async fn what_is_wrong_is_named_and_nothing_runs() {
    let running = A2aHub::start().await;
    let (echo, other) = (running.attach("echo"), running.attach("other"));
    let unknown = named("tasks/0199c2f0-1111-7aaa-8bbb-123456789abc");
    for (method, message, code, text) in [
        ("GetTask", unknown.clone(), Code::NotFound, ""),
        ("TaskSubscription", unknown.clone(), Code::NotFound, ""),
        ("GetTask", named("x"), Code::InvalidArgument, "tasks/{id}"),
        ("CancelTask", named(""), Code::InvalidArgument, "tasks/{id}"),
        (
            "GetTaskPushNotificationConfig",
            unknown.clone(),
            Code::InvalidArgument,
            "pushNotificationConfigs",
        ),
        // A method of 1.0.
        (
            "ListTasks",
            unknown.clone(),
            Code::Unimplemented,
            "a2a.v1.A2AService",
        ),
        (
            "GetAgentCard",
            named(""),
            Code::Unauthenticated,
            "Authorization",
        ),
    ] {
        let response = post(&running, &format!("{ROOT}{method}"), "", &message).await;
        let (found, said) = refused(&response);
        assert_eq!(found, code, "{method}: {said}");
        let plain = said.replace("%7B", "{").replace("%7D", "}");
        assert!(plain.contains(text), "{method}: {said}");
    }
    let path = format!("{ROOT}SendMessage");
    let nobody = post(&running, &path, "nobody", &said("x")).await;
    assert_eq!(refused(&nobody).0, Code::NotFound);
    let unclear = post(&running, &path, "", &said("x")).await;
    let (code, text) = refused(&unclear);
    assert_eq!(code, Code::InvalidArgument);
    assert!(text.contains("tenant"), "{text}");
    let empty = SendRequest::default();
    let empty = post(&running, &path, "echo", &empty).await;
    assert_eq!(refused(&empty).0, Code::InvalidArgument);
    assert!(echo.has_nothing_to_do() && other.has_nothing_to_do());
}
