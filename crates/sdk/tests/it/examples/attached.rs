//! Examples that attach to a hub.

use jackfield_sdk::{ChunkKind, DoneState, Event, File, Hub, HubAddress, Part};
use jackfield_testkit::{SOON, TestHub};
use serde_json::json;
use tokio::{process::Child, time::timeout};

use crate::examples::program::{example, first_line, terminate};

/// A running, attached example with its hub.
struct Attached {
    program: Child,
    hub: Hub,
    _served: TestHub,
}

async fn attached(name: &str, agent: &str, arguments: &[&str]) -> Attached {
    let served = TestHub::start().await;
    let mut program = example(name)
        .args(arguments)
        .env("JACKFIELD_HUB", served.url(""))
        .spawn()
        .unwrap();
    let line = first_line(program.stderr.take().unwrap()).await;
    assert!(line.starts_with(&format!("{agent} is attached")), "{line}");
    let hub = Hub::new(HubAddress::new(&served.url("")).unwrap()).unwrap();
    Attached {
        program,
        hub,
        _served: served,
    }
}

/// Calls the agent of an example. Returns the text and the other chunks.
async fn ask_example(name: &str, agent: &str, text: &str) -> (String, Vec<String>) {
    let attached = attached(name, agent, &[]).await;
    let mut call = attached.hub.call(agent).text(text).start().await.unwrap();
    let (mut words, mut other_chunks) = (String::new(), Vec::new());
    while let Some(event) = call.next().await.unwrap() {
        if let Event::Chunk(chunk) = event {
            match chunk.kind {
                ChunkKind::Text => words += &chunk.text,
                _ => other_chunks.push(chunk.text),
            }
        }
    }
    (words, other_chunks)
}

#[tokio::test]
async fn the_workflow_of_the_examples_works_at_a_hub() {
    let (words, other_chunks) = ask_example("workflow", "report", "tea, cake").await;
    assert_eq!(words, "Let us speak of tea. Let us speak of cake. ");
    assert_eq!(other_chunks, ["step outline", "tea\ncake", "step write"]);
}

#[tokio::test]
async fn the_team_of_the_examples_works_at_a_hub() {
    let (words, _) = ask_example("team", "desk", "tea").await;
    assert_eq!(words, "Somebody says: tea is a fine idea. I doubt it.");
}

#[tokio::test]
async fn the_conformance_agent_behaves_by_the_ids_of_messages() {
    let arguments = ["--id", "tck", "--kit", "v1"];
    let attached = attached("conformance", "tck", &arguments).await;
    let agents = attached.hub.agents().await.unwrap();
    let [tck] = &agents[..] else {
        panic!("{agents:?}")
    };
    let skill = &tck.rest["skills"][0];
    assert_eq!(
        (&skill["id"], &skill["name"]),
        (&json!("tck"), &json!("Conformance"))
    );
    let call = attached.hub.call("tck").text("hello");
    for (id, state) in [
        ("tck-complete-task-1", DoneState::Completed),
        ("tck-input-required-1", DoneState::InputRequired),
        ("tck-reject-task-1", DoneState::Rejected),
    ] {
        let mut call = call.clone().message_id(id).start().await.unwrap();
        let done = loop {
            match call.next().await.unwrap() {
                Some(Event::Done(done)) => break done,
                Some(_) => {}
                None => panic!("no end"),
            }
        };
        assert_eq!(done.state, state, "{id}");
    }
    let id = "tck-artifact-file-url-1";
    let mut call = call.message_id(id).start().await.unwrap();
    let Some(Event::Artifact(made)) = call.next().await.unwrap() else {
        panic!("nothing was made")
    };
    let file = File::at("https://example.com/output.txt");
    let file = file.name("output.txt").mime("text/plain");
    assert_eq!(made.parts, [Part::File(file)]);
}

#[tokio::test]
async fn the_conformance_agent_takes_the_hub_as_an_option_and_explains_its_options() {
    let served = TestHub::start().await;
    let url = served.url("");
    let mut program = example("conformance")
        .args(["--hub", &url, "--kit", "v03"])
        .spawn()
        .unwrap();
    let line = first_line(program.stderr.take().unwrap()).await;
    assert!(line.starts_with("conformance is attached"), "{line}");
    for arguments in [&["--kit", "v2"][..], &["--id"], &["--what", "x"]] {
        let ran = example("conformance").args(arguments).output();
        let output = timeout(SOON, ran).await.unwrap().unwrap();
        assert!(!output.status.success());
        let error_text = String::from_utf8(output.stderr).unwrap();
        assert!(
            error_text.contains("usage: conformance [--hub URL]"),
            "{error_text}"
        );
    }
}

#[tokio::test]
async fn an_example_that_is_terminated_says_goodbye() {
    for (name, agent) in [
        ("echo", "echo"),
        ("team", "desk"),
        ("workflow", "report"),
        ("conformance", "conformance"),
    ] {
        let mut attached = attached(name, agent, &[]).await;
        terminate(&mut attached.program).await;
        // The hub would wait for an agent with a cut connection.
        let answer = timeout(SOON, attached.hub.ask(agent, "hello")).await;
        let refused = answer.expect("an answer in time").unwrap_err();
        assert_eq!(refused.code(), Some("offline"), "{name}");
    }
}
