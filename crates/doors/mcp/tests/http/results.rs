//! What tools give back: who there is, answers whole and in pieces, files, and what is too long.

use jackfield_core::{
    agent::{Keep, Settings},
    principal::Principal,
};
use jackfield_model::{AgentId, Artifact, Chunk, Done, End, Event, File, FileSource, Json, Part};
use serde_json::{Value, json};

use crate::harness::{McpHub, response_of, words};

fn done(result: &str) -> End {
    End::Done(Box::new(Done {
        result: Some(result.to_owned()),
        ..Done::default()
    }))
}

#[tokio::test]
async fn agents_are_found_by_words_by_skill_and_by_being_there() {
    let hub = McpHub::start().await;
    let local = Principal::local();
    let _amy = hub.attach_for(&local, "amy", "Translates German letters");
    let _ben = hub.attach_for(&local, "ben", "Reviews Rust code");
    let mut cat = hub.attach_for(&local, "cat", "Reviews German contracts");
    cat.leave();
    for (arguments, ids) in [
        (json!({}), json!(["amy", "ben", "cat"])),
        (json!({"query": "reviews"}), json!(["ben", "cat"])),
        (json!({"query": "GERMAN reviews"}), json!(["cat"])),
        (json!({"query": "german", "online": true}), json!(["amy"])),
        (json!({"skill": "BEN-skill"}), json!(["ben"])),
        (
            json!({"skill": "some skill", "limit": 2}),
            json!(["amy", "ben"]),
        ),
        (json!({"query": "quantum"}), json!([])),
    ] {
        let result = hub.tool("find_agents", arguments.clone()).await;
        let agents = result["structuredContent"]["agents"].as_array().unwrap();
        let found: Vec<_> = agents.iter().map(|agent| &agent["id"]).collect();
        assert_eq!(json!(found), ids, "{arguments}");
    }
    let result = hub
        .tool("find_agents", json!({"query": "german", "limit": 1}))
        .await;
    assert_eq!(
        result["structuredContent"],
        json!({
            "agents": [{
                "id": "amy", "name": "Agent amy", "description": "Translates German letters",
                "skills": [{"id": "amy-skill", "name": "Some Skill"}], "state": "online", "door": "local",
            }],
            "total": 2,
        })
    );
    assert_eq!(
        words(&result),
        "1 of 2 agents:\n- amy (online, local), Agent amy: Translates German letters [skills: amy-skill]"
    );
}

#[tokio::test]
async fn an_answer_is_the_result_and_its_session_goes_on() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let arguments = json!({"agent": "amy", "message": "hi", "data": {"n": [1, 2]}});
    let answering = async {
        let serving = amy.next_call().await;
        assert_eq!(serving.call().door, "mcp");
        assert_eq!(
            serving.call().message.joined_text_and_data(),
            "hi\n{\"n\":[1,2]}"
        );
        serving.push(Event::text("Hello, "));
        serving.push(Event::text("wörld"));
        serving.finish(done("Hello, wörld"));
    };
    let (result, ()) = tokio::join!(hub.tool("call_agent", arguments), answering);
    let told = &result["structuredContent"];
    assert_eq!(result["isError"], false);
    assert_eq!(told["state"], "completed");
    assert_eq!(told["text"], "Hello, wörld");
    assert_eq!(told["more"], false);
    assert_eq!(
        result["content"][0],
        json!({"type": "text", "text": "Hello, wörld"})
    );
    let (task, session) = (told["task"].as_str().unwrap(), told["session"].clone());
    assert!(words(&result).contains(&format!("[state: completed, task: {task}")));
    let again = json!({"agent": "amy", "message": "and?", "session": session});
    let answering = async {
        let serving = amy.next_call().await;
        assert_eq!(json!(serving.call().session.as_str()), session);
        // One that says all of it at the end only.
        serving.finish(done("fine"));
    };
    let (result, ()) = tokio::join!(hub.tool("call_agent", again), answering);
    assert_eq!(result["structuredContent"]["text"], "fine");
    assert_eq!(result["structuredContent"]["session"], session);
}

#[tokio::test]
async fn progress_tells_the_words_as_they_come_and_names_the_task() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let arguments = json!({"agent": "amy", "message": "hi"});
    let mut reader = hub.begin("call_agent", arguments, Some("token-1")).await;
    let serving = amy.next_call().await;
    let task = json!(serving.call().task.unwrap().to_string());
    let progress = |data: Value, number: f64| {
        assert_eq!(data["method"], "notifications/progress");
        assert_eq!(data["params"]["progressToken"], "token-1");
        assert_eq!(data["params"]["progress"], number);
        assert_eq!(data["params"]["_meta"]["jackfield/task"], task);
        data["params"]["message"].as_str().unwrap().to_owned()
    };
    let first = progress(reader.next().await.unwrap().data, 1.0);
    assert!(first.starts_with("amy has it, task "), "{first}");
    serving.push(Event::text("one "));
    // The next piece is only sent when this one was read: nothing waits for the end.
    assert_eq!(progress(reader.next().await.unwrap().data, 2.0), "one ");
    serving.push(Event::text("two"));
    serving.push(Event::Chunk(Chunk::status("thinking it over")));
    assert_eq!(progress(reader.next().await.unwrap().data, 3.0), "two");
    assert_eq!(
        progress(reader.next().await.unwrap().data, 4.0),
        "thinking it over"
    );
    serving.finish(End::done());
    let response = response_of(&mut reader).await;
    assert_eq!(response["result"]["structuredContent"]["text"], "one two");
}

#[tokio::test]
async fn one_who_waited_long_enough_waits_again_and_gets_what_is_new() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let arguments = json!({"agent": "amy", "message": "hi", "wait_seconds": 0});
    let begun = hub.tool("call_agent", arguments).await;
    let told = &begun["structuredContent"];
    assert_eq!(told["state"], "working");
    assert_eq!(begun["isError"], false);
    assert!(told["note"].as_str().unwrap().contains("call task"));
    let serving = amy.next_call().await;
    serving.push(Event::text("one é"));
    let task = told["task"].clone();
    // Told at once when it is there.
    let mut looked = Value::Null;
    for _ in 0..1000 {
        looked = hub
            .tool("task", json!({"task": task, "wait_seconds": 0}))
            .await["structuredContent"]
            .clone();
        if looked["text"] != "" {
            break;
        }
    }
    assert_eq!(looked["text"], "one é");
    assert_eq!(looked["state"], "working");
    let after = looked["cursor"].clone();
    let waiting = hub.tool("task", json!({"task": task, "after": after}));
    let answering = async {
        serving.push(Event::text("é two"));
        serving.finish(done("one éé two"));
    };
    let (waited, ()) = tokio::join!(waiting, answering);
    let waited = &waited["structuredContent"];
    assert_eq!(waited["state"], "completed");
    assert_eq!(waited["text"], "é two", "only what is new");
    let whole = hub.tool("task", json!({"task": task})).await;
    assert_eq!(whole["structuredContent"]["text"], "one éé two");
    let nothing = hub
        .tool("task", json!({"task": task, "after": waited["cursor"]}))
        .await;
    assert_eq!(nothing["structuredContent"]["text"], "");
    assert_eq!(nothing["structuredContent"]["state"], "completed");
    let unknown = hub
        .tool("task", json!({"task": task, "after": "9-1"}))
        .await;
    assert_eq!(unknown["structuredContent"]["text"], "one éé two");
}

#[tokio::test]
async fn a_long_answer_is_cut_and_the_rest_is_read_by_its_cursor() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let long = "0123456é".repeat(30_000);
    let answering = async {
        let serving = amy.next_call().await;
        serving.push(Event::text(long.clone()));
        serving.finish(End::done());
    };
    let arguments = json!({"agent": "amy", "message": "hi"});
    let (result, ()) = tokio::join!(hub.tool("call_agent", arguments), answering);
    let mut told = result["structuredContent"].clone();
    assert!(
        told["note"].as_str().unwrap().contains("for the rest"),
        "{}",
        told["note"]
    );
    let mut read = told["text"].as_str().unwrap().to_owned();
    assert!(read.len() <= 100 << 10);
    for _ in 0..5 {
        if told["more"] == false {
            break;
        }
        let arguments = json!({"task": told["task"], "after": told["cursor"]});
        told = hub.tool("task", arguments).await["structuredContent"].clone();
        read.push_str(told["text"].as_str().unwrap());
    }
    assert_eq!(told["state"], "completed");
    assert_eq!(told["more"], false);
    assert!(read == long, "{} of {}", read.len(), long.len());
    let answering = async { amy.next_call().await.finish(done(&long)) };
    let arguments = json!({"agent": "amy", "message": "hi"});
    let (result, _) = tokio::join!(hub.tool("call_agent", arguments), answering);
    let told = &result["structuredContent"];
    assert!(told["text"].as_str().unwrap().len() <= 100 << 10);
    let note = told["note"].as_str().unwrap();
    assert!(note.contains("GET /v1/calls/"), "{note}");
}

#[tokio::test]
async fn files_and_artifacts_come_as_links() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let file = |name: &str, source| File {
        name: Some(name.to_owned()),
        mime: Some("text/plain".to_owned()),
        source,
    };
    let bytes = file("a.txt", FileSource::Bytes("aGVsbG8=".into()));
    let linked = file(
        "b.txt",
        FileSource::Uri("https://example.com/b.txt".to_owned()),
    );
    let answering = async {
        let serving = amy.next_call().await;
        let mut artifact = Artifact {
            id: "report".to_owned(),
            name: Some("Report".to_owned()),
            parts: vec![Part::Text("first ".to_owned()), Part::File(bytes)],
            ..Artifact::default()
        };
        serving.push(Event::Artifact(artifact.clone()));
        artifact.append = true;
        artifact.parts = vec![
            Part::Text("second".to_owned()),
            Part::Data(Json::parse("{\"n\":1}").unwrap()),
        ];
        serving.push(Event::Artifact(artifact));
        serving.finish(End::Done(Box::new(Done {
            attachments: vec![linked],
            ..Done::default()
        })));
    };
    let arguments = json!({"agent": "amy", "message": "hi"});
    let (result, ()) = tokio::join!(hub.tool("call_agent", arguments), answering);
    let told = &result["structuredContent"];
    let artifact = &told["artifacts"][0];
    assert_eq!(artifact["text"], "first second");
    assert_eq!(artifact["data"], json!([{"n": 1}]));
    let url = artifact["files"][0]["url"].as_str().unwrap();
    let path = url
        .split_once("/v1/")
        .map(|(_, path)| format!("/v1/{path}"));
    let fetched = hub.ask(reqwest::Method::GET, &path.unwrap()).send().await;
    assert_eq!(fetched.unwrap().text().await.unwrap(), "hello");
    assert_eq!(
        told["files"],
        json!([{"name": "b.txt", "mime": "text/plain", "url": "https://example.com/b.txt"}])
    );
    let links = result["content"].as_array().unwrap().iter();
    let links: Vec<_> = links
        .filter(|block| block["type"] == "resource_link")
        .collect();
    assert_eq!(links.len(), 2, "{result}");
    assert_eq!(links[1]["uri"], "https://example.com/b.txt");
}

#[tokio::test]
async fn an_agent_whose_words_are_not_kept_still_answers() {
    let hub = McpHub::start().await;
    let mut amy = hub.attach("amy");
    let settings = Settings {
        store: Keep::None,
        ..Settings::default()
    };
    let id = AgentId::parse("amy").unwrap();
    hub.hub
        .agents()
        .change(&Principal::local(), &id, None, Some(settings))
        .unwrap();
    let answering = async {
        let serving = amy.next_call().await;
        serving.push(Event::text("secret"));
        serving.finish(End::done());
    };
    let arguments = json!({"agent": "amy", "message": "hi"});
    let (result, ()) = tokio::join!(hub.tool("call_agent", arguments), answering);
    assert_eq!(result["structuredContent"]["text"], "secret");
}
