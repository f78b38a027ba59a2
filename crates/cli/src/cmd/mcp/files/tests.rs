use super::*;

fn folder() -> AnswerFolder {
    AnswerFolder {
        folder: "/files".into(),
        client_id: "me".to_owned(),
        flags: String::new(),
        wanted: Mutex::default(),
    }
}

fn message(method: &str, params: &Value) -> RpcMessage {
    RpcMessage::read(&json!({"id": 1, "method": method, "params": params}).to_string()).unwrap()
}

#[test]
fn the_hub_gets_the_client_id_in_place_of_the_argument() {
    for (tool, files, is_wanted) in [
        ("call_agent", json!(true), true),
        ("task", json!(true), true),
        ("call_agent", json!(false), false),
    ] {
        let arguments = json!({"agent": "amy", "files": files});
        let mut call = message("tools/call", &json!({"name": tool, "arguments": arguments}));
        let request = folder().prepare(&mut call).unwrap();
        assert_eq!(matches!(request, FilesRequest::Answer(_)), is_wanted);
        let params = call.params_mut();
        assert_eq!(params["arguments"], json!({"agent": "amy"}), "{tool}");
        let client = if is_wanted { json!("me") } else { Value::Null };
        assert_eq!(params["_meta"][CLIENT], client);
    }
    let arguments = json!({"files": "yes"});
    let mut call = message(
        "tools/call",
        &json!({"name": "task", "arguments": arguments}),
    );
    let refused = folder().prepare(&mut call).unwrap_err();
    assert_eq!(refused, "argument \"files\": must be true or false");
    // Other tools have no such argument, and the hub says so.
    let params = json!({"name": "cancel", "arguments": {"files": true}});
    let mut call = message("tools/call", &params);
    assert!(matches!(folder().prepare(&mut call), Ok(FilesRequest::No)));
    assert_eq!(*call.params_mut(), params);
}

#[test]
fn the_tools_that_answer_have_the_argument() {
    let tools = ["find_agents", "call_agent", "task", "cancel"];
    let tools = tools.map(|name| json!({"name": name, "inputSchema": {"properties": {}}}));
    let mut result = json!({ "tools": tools });
    add_argument(&mut result);
    let has = |at: usize| result["tools"][at]["inputSchema"]["properties"][FILES].is_object();
    assert_eq!([0, 1, 2, 3].map(has), [false, true, true, false]);
}

#[test]
fn the_files_of_a_task_are_wanted_once() {
    let folder = folder();
    folder.wanted.lock().push_back("t".to_owned());
    assert!(!folder.takes("other") && folder.takes("t") && !folder.takes("t"));
}

#[test]
fn a_model_reads_the_paths_and_what_is_missing() {
    let mut result = json!({"content": [], "structuredContent": {"state": "completed"}});
    let saved = SavedFiles {
        paths: vec!["/files/t/a.txt".to_owned()],
        notes: vec!["not saved: b.txt: it is at https://b.example".to_owned()],
    };
    saved.add_to(&mut result);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "Files of the answer, on this machine:\n- /files/t/a.txt\nnot saved: b.txt: it is at https://b.example"
    );
    let told = &result["structuredContent"]["saved"];
    assert_eq!(told["files"], json!(["/files/t/a.txt"]));
}
