//! The workflow and the team that attach to a hub.

use jackfield_sdk::{Address, Event, Hub};
use jackfield_testkit::TestHub;

use crate::program::{example, first_line};

/// What the agent of an example says to a text: its words, and what it says besides.
async fn told(name: &str, agent: &str, text: &str) -> (String, Vec<String>) {
    let served = TestHub::start().await;
    let mut program = example(name)
        .env("JACKFIELD_HUB", served.url(""))
        .spawn()
        .unwrap();
    let line = first_line(program.stderr.take().unwrap()).await;
    assert!(line.starts_with(&format!("{agent} is attached")), "{line}");
    let hub = Hub::new(Address::new(&served.url("")).unwrap()).unwrap();
    let mut call = hub.call(agent).text(text).start().await.unwrap();
    let (mut words, mut besides) = (String::new(), Vec::new());
    while let Some(event) = call.next().await.unwrap() {
        if let Event::Chunk(chunk) = event {
            match chunk.kind.as_str() {
                "text" => words += &chunk.text,
                _ => besides.push(chunk.text),
            }
        }
    }
    (words, besides)
}

#[tokio::test]
async fn the_workflow_of_the_examples_works_at_a_hub() {
    let (words, besides) = told("workflow", "report", "tea, cake").await;
    assert_eq!(words, "Let us speak of tea. Let us speak of cake. ");
    assert_eq!(besides, ["step outline", "tea\ncake", "step write"]);
}

#[tokio::test]
async fn the_team_of_the_examples_works_at_a_hub() {
    let (words, _) = told("team", "desk", "tea").await;
    assert_eq!(words, "Somebody says: tea is a fine idea. I doubt it.");
}
