//! Calls of tools: which chunk means which, what they are called with, and what they give.

use super::*;

/// `tool(kind, name, id, text)`; what is empty is not there, but for the text.
fn tool(scene: &mut Scene, kind: &str, name: &str, id: &str, text: &str) {
    let mut chunk = serde_json::json!({"kind": format!("tool_{kind}"), "text": text});
    for (key, value) in [("tool_name", name), ("tool_call_id", id)] {
        if !value.is_empty() {
            chunk[key] = value.into();
        }
    }
    scene.chunk(&chunk.to_string());
}

#[test]
fn a_tool_is_written_then_runs_then_gives_something() {
    let mut scene = Scene::new();
    tool(&mut scene, "start", "grep", "c1", "");
    tool(&mut scene, "input", "", "c1", r#"{"q":"#);
    tool(&mut scene, "input", "", "c1", "");
    tool(&mut scene, "input", "", "c1", r#""x"}"#);
    scene.tells(&[
        "start c1 ToolCall grep",
        "is ExecutingTool grep",
        r#"content c1 {"q":"#,
        r#"content c1 "x"}"#,
    ]);
    tool(&mut scene, "result", "", "c1", "[1,");
    tool(&mut scene, "result", "", "c1", "2]");
    scene.tells(&[
        r#"end c1 grep {"q":"x"}"#,
        r#"runs c1 grep {"q":"x"}"#,
        "is ProcessingToolResult",
    ]);
    scene.text("Two");
    scene.tells(&[
        "gave c1 grep [1,2]",
        "is AnalyzingLlmResponse",
        "start T:seg_1 Text",
        "content T:seg_1 Two",
    ]);
}

#[test]
fn a_result_that_begins_with_error_is_a_failure_however_it_is_cut() {
    for (pieces, told) in [
        (&["[error] no such file"][..], "failed c1 grep no such file"),
        (
            &["[err", "or] no such", " file"],
            "failed c1 grep no such file",
        ),
        (&["[error] "], "failed c1 grep it does not say why"),
        (&["[error] [1,2]"], "failed c1 grep [1,2]"),
        // What only looks like it is what the tool gave.
        (&["[error]"], r#"gave c1 grep "[error]""#),
        (&["1 [error] found"], r#"gave c1 grep "1 [error] found""#),
        (&["[errors] 0"], r#"gave c1 grep "[errors] 0""#),
    ] {
        let mut scene = Scene::new();
        tool(&mut scene, "start", "grep", "c1", "");
        for piece in pieces {
            tool(&mut scene, "result", "", "c1", piece);
        }
        scene.told.clear();
        scene.text("so");
        scene.told.truncate(1);
        scene.shows(&[told]);
        // It is over: the end of the call says nothing more of it.
        scene.done("{}");
        assert!(
            !scene
                .told
                .iter()
                .any(|telling| line(telling).contains("c1"))
        );
    }
    let mut scene = Scene::bounded(16);
    tool(&mut scene, "start", "grep", "c1", "");
    tool(&mut scene, "result", "", "c1", "[error] 0123456789");
    scene.told.clear();
    scene.done("{}");
    scene.told.truncate(1);
    scene.shows(&["failed c1 grep 01234567 [… 2 more bytes]"]);
}

#[test]
fn a_tool_has_the_name_and_the_arguments_that_its_start_says() {
    for (name, text, expected) in [
        ("grep", "", &["start c1 ToolCall grep"][..]),
        ("grep", "grep", &["start c1 ToolCall grep"]),
        (
            " grep ",
            "[1]",
            &["start c1 ToolCall grep", "content c1 [1]"],
        ),
        ("", "grep", &["start c1 ToolCall grep"]),
        (" ", " \n", &["start c1 ToolCall tool"]),
        ("", "", &["start c1 ToolCall tool"]),
    ] {
        let mut scene = Scene::new();
        tool(&mut scene, "start", name, "c1", text);
        scene.shows(expected);
    }
    let mut scene = Scene::new();
    let long = "x".repeat(200);
    tool(&mut scene, "start", "", "c1", &long);
    let name = "x".repeat(128);
    scene.shows(&[
        &format!("start c1 ToolCall {name}"),
        &format!("content c1 {long}"),
    ]);
}

#[test]
fn arguments_are_json_if_they_can_be_and_words_otherwise() {
    for (input, arguments) in [
        (r#" {"a":1} "#, r#" {"a":1}"#),
        ("7", " 7"),
        ("ls -l", r#" "ls -l""#),
        (r#"{"a":"#, r#" "{\"a\":""#),
        ("  ", ""),
        ("", ""),
    ] {
        let mut scene = Scene::new();
        tool(&mut scene, "start", "sh", "c1", "");
        tool(&mut scene, "input", "", "c1", input);
        scene.told.clear();
        scene.text("on");
        scene.told.truncate(2);
        scene.shows(&[
            &format!("end c1 sh{arguments}"),
            &format!("runs c1 sh{arguments}"),
        ]);
    }
}

#[test]
fn a_result_is_json_if_it_is_an_object_or_an_array_and_words_otherwise() {
    for (text, result) in [
        (r#"{"a":1}"#, r#" {"a":1}"#),
        (" [1]\n", " [1]"),
        ("7", r#" "7""#),
        ("null", r#" "null""#),
        ("[1", r#" "[1""#),
        ("", ""),
    ] {
        let mut scene = Scene::new();
        tool(&mut scene, "start", "sh", "c1", "");
        tool(&mut scene, "result", "", "c1", text);
        scene.told.clear();
        scene.chunk(r#"{"kind": "status", "text": ""}"#);
        scene.shows(&[&format!("gave c1 sh{result}")]);
    }
}

#[test]
fn what_is_too_long_is_cut_and_says_so_but_shown_whole_as_it_comes() {
    let mut scene = Scene::bounded(4);
    tool(&mut scene, "start", "sh", "c1", "");
    tool(&mut scene, "input", "", "c1", "[1,2");
    tool(&mut scene, "input", "", "c1", ",3]");
    tool(&mut scene, "result", "", "c1", "{é}");
    tool(&mut scene, "result", "", "c1", "abc");
    scene.text("o");
    scene.text("nward");
    scene.ended(&End::done());
    scene.shows(&[
        "start c1 ToolCall sh",
        "content c1 [1,2",
        "content c1 ,3]",
        r#"end c1 sh "[1,2 [… 3 more bytes]""#,
        r#"runs c1 sh "[1,2 [… 3 more bytes]""#,
        r#"gave c1 sh "{é} [… 3 more bytes]""#,
        "start T:seg_1 Text",
        "content T:seg_1 o",
        "content T:seg_1 nward",
        "end T:seg_1",
        "cut onwa [… 2 more bytes]",
    ]);
}

#[test]
fn arguments_of_all_open_tools_together_fit_into_the_bound() {
    let mut scene = Scene::bounded(8);
    for id in ["c1", "c2"] {
        tool(&mut scene, "start", "sh", id, "");
        tool(&mut scene, "input", "", id, "[1,22]");
    }
    scene.told.clear();
    scene.text("on");
    scene.told.truncate(4);
    scene.shows(&[
        "end c1 sh [1,22]",
        "runs c1 sh [1,22]",
        r#"end c2 sh "[1 [… 4 more bytes]""#,
        r#"runs c2 sh "[1 [… 4 more bytes]""#,
    ]);
}

#[test]
fn tools_at_the_same_time_are_told_apart_by_id_then_by_name_then_by_age() {
    let mut scene = Scene::new();
    tool(&mut scene, "start", "ls", "c1", "");
    tool(&mut scene, "start", "sh", "c2", "");
    tool(&mut scene, "start", "ls", "c3", "");
    tool(&mut scene, "input", "", "c1", "1");
    tool(&mut scene, "input", "sh", "", "2");
    tool(&mut scene, "input", "", "", "3");
    tool(&mut scene, "input", "else", " ", "4");
    tool(&mut scene, "result", "", "c1", "a");
    tool(&mut scene, "result", "", "c3", "b");
    tool(&mut scene, "result", "", "", "c");
    scene.ended(&End::Cancelled);
    scene.shows(&[
        "start c1 ToolCall ls",
        "start c2 ToolCall sh",
        "start c3 ToolCall ls",
        "content c1 1",
        "content c2 2",
        "content c3 3",
        "content c3 4",
        "end c1 ls 1",
        "runs c1 ls 1",
        r#"gave c1 ls "a""#,
        "end c3 ls 34",
        "runs c3 ls 34",
        r#"gave c3 ls "b""#,
        "end c2 sh 2",
        "runs c2 sh 2",
        r#"gave c2 sh "c""#,
        "error cancelled stopped before it was done",
    ]);
}

#[test]
fn statuses_follow_the_tools() {
    let mut scene = Scene::new();
    scene.text("a");
    tool(&mut scene, "start", "ls", "c1", "");
    tool(&mut scene, "start", "sh", "c2", "");
    tool(&mut scene, "result", "", "c1", "1");
    tool(&mut scene, "result", "", "c2", "1");
    scene.chunk(r#"{"kind": "thinking", "text": "b"}"#);
    scene.text("c");
    scene.statuses(&[
        "is AnalyzingLlmResponse",
        "is ExecutingTool ls",
        "is ExecutingTool sh",
        "is ProcessingToolResult",
        "is AnalyzingLlmResponse",
    ]);
}

#[test]
fn an_id_that_is_missing_used_or_not_usable_is_made() {
    let mut scene = Scene::new();
    let long = "x".repeat(257);
    for id in ["", " ", &long, "c1", "c1", &format!("{TURN}:seg_1")] {
        tool(&mut scene, "start", "ls", id, "");
    }
    // The agent still means its last one by it.
    tool(&mut scene, "input", "", "c1", "5");
    tool(&mut scene, "input", "", &format!("{TURN}:seg_1"), "6");
    scene.shows(&[
        "start T:tool_1 ToolCall ls",
        "start T:tool_2 ToolCall ls",
        "start T:tool_3 ToolCall ls",
        "start c1 ToolCall ls",
        "start T:tool_4 ToolCall ls",
        "start T:tool_5 ToolCall ls",
        "content T:tool_4 5",
        "content T:tool_5 6",
    ]);
}

#[test]
fn a_result_of_a_tool_that_never_started_starts_it() {
    let mut scene = Scene::new();
    tool(&mut scene, "result", "ls", "c9", "a");
    scene.chunk(r#"{"kind": "status", "text": ""}"#);
    scene.tells(&[
        "start c9 ToolCall ls",
        "is ExecutingTool ls",
        "end c9 ls",
        "runs c9 ls",
        "is ProcessingToolResult",
        r#"gave c9 ls "a""#,
    ]);
}

#[test]
fn what_comes_too_late_for_its_tool_is_a_remark() {
    let mut scene = Scene::new();
    tool(&mut scene, "start", "ls", "c1", "");
    scene.text("a");
    scene.told.clear();
    tool(&mut scene, "input", "", "c1", "{}");
    scene.shows(&["end T:seg_1", "log c1 ls {}"]);
    tool(&mut scene, "result", "", "c1", "a");
    scene.text("b");
    scene.told.clear();
    tool(&mut scene, "result", "", "c1", "more");
    tool(&mut scene, "result", "", "c1", " ");
    scene.shows(&["end T:seg_2", "log c1 ls more"]);
}

#[test]
fn an_artifact_lets_the_tools_run() {
    let mut scene = Scene::new();
    tool(&mut scene, "start", "draw", "c1", "");
    scene.artifact(r#"{"id": "a", "parts": []}"#);
    scene.shows(&[
        "start c1 ToolCall draw",
        "end c1 draw",
        "runs c1 draw",
        "made a a file whole",
    ]);
}

#[test]
fn the_oldest_tools_are_forgotten_first_those_that_are_over() {
    let mut scene = Scene::new();
    let max = super::super::tools::MAX_TOOLS;
    for n in 0..max {
        tool(&mut scene, "start", "ls", &format!("c{n}"), "");
    }
    tool(&mut scene, "result", "", "c7", "x");
    scene.chunk(r#"{"kind": "status", "text": ""}"#);
    scene.told.clear();

    // The one that is over goes without a word, then the oldest is closed.
    tool(&mut scene, "start", "ls", "new", "");
    tool(&mut scene, "start", "ls", "newer", "");
    // From now on no id of the agent is sure to be new.
    tool(&mut scene, "start", "ls", "c7", "");
    scene.shows(&[
        "start T:tool_1 ToolCall ls",
        "end c0 ls",
        "runs c0 ls",
        "failed c0 ls the agent did not report a result",
        "start T:tool_2 ToolCall ls",
        "end c1 ls",
        "runs c1 ls",
        "failed c1 ls the agent did not report a result",
        "start T:tool_3 ToolCall ls",
    ]);
}
