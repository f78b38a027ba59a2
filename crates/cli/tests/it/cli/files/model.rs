//! Files of an answer for a model: `jackfield mcp --files DIR`.

use std::{fs, os::unix::fs::symlink, path::Path};

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use super::{amy, files};
use crate::{cli::mcp::Mcp, run::Cli};

/// An MCP server that writes files to `got`.
async fn server(cli: &Cli) -> Mcp {
    Mcp::greeted_with(cli, &["mcp", "--files", "got"], &[]).await
}

/// Answers the next message as `eve`, with these attachments.
async fn hands_over(eve: &mut Raw, attachments: &Value) {
    let frame = eve.frame().await;
    assert_eq!(frame["with_files"], true, "{frame}");
    let request = frame["request_id"].clone();
    eve.send(json!({"type": "done", "request_id": request, "attachments": attachments}))
        .await;
}

/// The paths that a model is told.
fn paths(result: &Value) -> Vec<String> {
    let saved = &result["structuredContent"]["saved"];
    let paths = saved["files"]
        .as_array()
        .unwrap_or_else(|| panic!("{result}"));
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.as_str().unwrap().to_owned())
        .collect();
    let text = result["content"].to_string();
    assert!(
        paths.iter().all(|path| text.contains(path.as_str())),
        "{result}"
    );
    paths
}

#[tokio::test]
async fn a_model_gets_the_paths_of_files_whose_names_lead_nowhere_else() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let mut mcp = server(&cli).await;
    let attachments = json!([
        {"filename": "a.txt", "name": "a.txt", "url": "data:text/plain;base64,aGk="},
        {"filename": "../evil.txt", "name": "../evil.txt", "url": "data:,evil"},
        {"filename": "/etc/evil", "name": "/etc/evil", "url": "data:,worse"},
        {"filename": "a.txt", "name": "a.txt", "url": "data:,other"},
        {"filename": "far.txt", "name": "far.txt", "url": "https://example.com/far.txt"},
    ]);
    let arguments = json!({"agent": "eve", "message": "go", "files": true});
    mcp.tool(1, "call_agent", arguments).await;
    hands_over(&mut eve, &attachments).await;
    let result = mcp.result(1).await;
    let told = &result["structuredContent"];
    let task = told["task"].as_str().unwrap();
    let folder = cli.home().join("got").join(task);
    let first = paths(&result);
    assert_eq!(first.len(), 4, "{result}");
    for path in &first {
        let path = Path::new(path);
        assert!(path.is_absolute() && path.starts_with(&folder), "{result}");
        assert!(path.is_file(), "{result}");
    }
    let there = files(&folder);
    assert_eq!(there["a.txt"], b"hi");
    assert_eq!(there["a-2.txt"], b"other");
    assert_eq!(there.len(), 4, "{:?}", there.keys());
    assert!(!cli.home().join("got/evil.txt").exists());
    let notes = told["saved"]["notes"].to_string();
    assert!(
        notes.contains("far.txt: it is at https://example.com/far.txt"),
        "{notes}"
    );

    // The model changes one of them and asks again: nothing is replaced.
    fs::write(folder.join("a.txt"), "mine").unwrap();
    mcp.tool(2, "task", json!({"task": task, "files": true}))
        .await;
    let again = mcp.result(2).await;
    assert_eq!(paths(&again).len(), 4, "{again}");
    assert_eq!(files(&folder)["a.txt"], b"mine");
    assert_eq!(mcp.end().await, 0);
}

#[tokio::test]
async fn the_files_that_an_agent_keeps_come_as_a_folder() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(
        &cli,
        "mkdir -p deep && echo one > deep/one.txt && echo made",
    )
    .await;
    let mut mcp = server(&cli).await;
    let arguments = json!({"agent": "amy", "message": "go", "files": true});
    mcp.tool(1, "call_agent", arguments).await;
    let result = mcp.result(1).await;
    let paths = paths(&result);
    assert!(
        paths.iter().any(|path| path.ends_with("deep/one.txt")),
        "{result}"
    );
    let one = paths.iter().find(|path| path.ends_with("one.txt")).unwrap();
    assert_eq!(fs::read_to_string(one).unwrap(), "one\n");
    assert_eq!(mcp.end().await, 0);
}

#[tokio::test]
async fn a_link_in_the_way_of_a_file_is_not_followed() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let mut mcp = server(&cli).await;
    let begun = json!({"agent": "eve", "message": "go", "files": true, "wait_seconds": 0});
    mcp.tool(1, "call_agent", begun).await;
    let begun = mcp.result(1).await;
    let task = begun["structuredContent"]["task"].as_str().unwrap();
    assert_eq!(begun["structuredContent"].get("saved"), None, "{begun}");
    let folder = cli.home().join("got").join(task);
    fs::create_dir_all(&folder).unwrap();
    fs::write(cli.home().join("secret"), "mine").unwrap();
    symlink(cli.home().join("secret"), folder.join("a.txt")).unwrap();
    let attachments = json!([{"filename": "a.txt", "name": "a.txt", "url": "data:,theirs"}]);
    hands_over(&mut eve, &attachments).await;
    mcp.tool(2, "task", json!({"task": task, "files": true}))
        .await;
    let result = mcp.result(2).await;
    assert_eq!(
        paths(&result),
        [folder.join("a-2.txt").display().to_string()]
    );
    assert_eq!(
        fs::read_to_string(cli.home().join("secret")).unwrap(),
        "mine"
    );
}

#[tokio::test]
async fn a_task_that_is_polled_brings_its_files_with_its_result() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let mut mcp = Mcp::start_with(&cli, &["mcp", "--files", "got"], &[]);
    let arguments = json!({"agent": "eve", "message": "go", "files": true});
    let call = json!({"name": "call_agent", "arguments": arguments});
    mcp.modern(1, "tools/call", call).await;
    let task = mcp.result(1).await["taskId"].clone();
    let attachments = json!([{"filename": "a.txt", "name": "a.txt", "url": "data:,hi"}]);
    hands_over(&mut eve, &attachments).await;
    let mut id = 1;
    let mut ended = Value::Null;
    while ended["status"] != "completed" {
        id += 1;
        mcp.modern(id, "tasks/get", json!({"taskId": task})).await;
        ended = mcp.result(id).await;
    }
    let folder = cli.home().join("got").join(task.as_str().unwrap());
    let expected = folder.join("a.txt").display().to_string();
    assert_eq!(paths(&ended["result"]), [expected]);
    assert_eq!(files(&folder)["a.txt"], b"hi");
}

#[tokio::test]
async fn an_agent_without_files_is_told_as_such() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let mut mcp = server(&cli).await;
    let arguments = json!({"agent": "eve", "message": "go", "files": true});
    mcp.tool(1, "call_agent", arguments).await;
    hands_over(&mut eve, &json!([])).await;
    let result = mcp.result(1).await;
    assert_eq!(paths(&result), Vec::<String>::new());
    let notes = &result["structuredContent"]["saved"]["notes"];
    assert_eq!(*notes, json!(["The agent gave no files."]));
    assert!(
        !cli.home().join("got").exists(),
        "no folder is made for nothing"
    );
}

#[tokio::test]
async fn without_a_folder_there_is_no_such_argument() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _eve = hub.bridge("eve").await;
    let arguments = json!({"agent": "eve", "message": "go", "files": true});
    let schema = |listed: &Value| {
        let tools = listed["tools"].as_array().unwrap();
        let tool = tools
            .iter()
            .find(|tool| tool["name"] == "call_agent")
            .unwrap();
        tool["inputSchema"]["properties"]["files"].clone()
    };
    let mut mcp = Mcp::greeted(&cli, &[]).await;
    mcp.request(1, "tools/list", json!({})).await;
    assert_eq!(schema(&mcp.result(1).await), Value::Null);
    mcp.tool(2, "call_agent", arguments.clone()).await;
    let refused = mcp.result(2).await;
    assert_eq!(refused["isError"], true);
    assert!(
        refused["content"].to_string().contains("files"),
        "{refused}"
    );

    let mut mcp = server(&cli).await;
    mcp.request(1, "tools/list", json!({})).await;
    assert_eq!(schema(&mcp.result(1).await)["type"], "boolean");
    let wrong = json!({"agent": "eve", "message": "go", "files": "all"});
    mcp.tool(2, "call_agent", wrong).await;
    let refused = mcp.result(2).await;
    assert_eq!(refused["isError"], true);
    assert!(
        refused["content"]
            .to_string()
            .contains("must be true or false"),
        "{refused}"
    );
    let listed = cli.run(&["task", "ls", "--json"]).await.ok();
    assert!(
        !listed.out.contains("eve"),
        "nothing was called: {}",
        listed.out
    );
}

#[tokio::test]
async fn a_folder_that_is_none_is_refused_at_the_start() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    fs::write(cli.home().join("got"), "a file").unwrap();
    let run = cli.run(&["mcp", "--files", "got"]).await.code(2);
    run.stderr_has("--files got: got is not a folder; name one with --files DIR");
}
