//! Ends of calls: everything that is open is closed, once.

use jackfield_model::{Failure, Reason};

use super::*;

fn failed(text: &'static str) -> End {
    End::Failed(Failure::new(Reason::Agent("quota".into()), text))
}

/// Text, a tool that is written, one that runs, one that waits for leave, one that was denied.
fn busy() -> Scene {
    let mut scene = Scene::new();
    scene.chunk(r#"{"kind": "tool_start", "text": "ls", "tool_call_id": "runs"}"#);
    scene.text("a");
    scene.chunk(r#"{"kind": "tool_start", "text": "ls", "tool_call_id": "written"}"#);
    scene.approval(r#"{"id": "q1", "text": "", "tool_name": "ls", "tool_call_id": "asked"}"#);
    let of =
        scene.approval(r#"{"id": "q2", "text": "", "tool_name": "ls", "tool_call_id": "denied"}"#);
    scene.answer(&of, AskKind::Approval, r#"{"approved": false}"#);
    scene.told.clear();
    scene
}

#[test]
fn done_closes_the_tools_and_completes() {
    let mut scene = busy();
    scene.done(
        r#"{"result": "unheard", "usage": {"total_tokens":3}, "attachments": [
        {"name": "a.png", "mime": "image/png", "uri": "http://x/a"}, {"uri": "http://x/b"}]}"#,
    );
    scene.tells(&[
        "failed runs ls the agent did not report a result",
        "end written ls",
        "runs written ls",
        "failed written ls the agent did not report a result",
        "may-not asked ls not answered",
        "made T:file_1 a.png image http://x/a whole",
        "made T:file_2 T:file_2 file http://x/b whole",
        r#"complete a {"total_tokens":3}"#,
        "is Idle",
    ]);
}

#[test]
fn a_failure_breaks_the_tools_and_is_an_error() {
    let mut scene = busy();
    scene.ended(&failed("no more"));
    scene.tells(&[
        "failed runs ls no more",
        "end written ls",
        "runs written ls",
        "failed written ls no more",
        "may-not asked ls no more",
        "error agent no more",
        "is Error no more",
    ]);
    let mut scene = Scene::new();
    scene.ended(&failed(" "));
    scene.tells(&["error agent agent", "is Error agent"]);
}

#[test]
fn a_cancel_breaks_the_tools_and_completes_nothing() {
    let mut scene = busy();
    scene.ended(&End::Cancelled);
    scene.tells(&[
        "failed runs ls cancelled",
        "end written ls",
        "runs written ls",
        "failed written ls cancelled",
        "may-not asked ls cancelled",
        "error cancelled stopped before it was done",
        "is Idle",
    ]);
}

#[test]
fn an_answer_that_began_before_the_story_is_cut_unless_it_is_repeated_whole() {
    for (done, expected) in [
        ("{}", "cut the end"),
        (r#"{"result": "all to the end"}"#, "complete all to the end"),
    ] {
        let mut scene = Scene::new();
        scene.renderer.mark_resumed();
        scene.text("the end");
        scene.done(done);
        let told: Vec<String> = scene.told.iter().map(line).collect();
        assert_eq!(told[told.len() - 2..], [expected, "is Idle"]);
    }
}

#[test]
fn the_whole_answer_is_the_text_that_was_streamed_or_else_the_result() {
    for (text, done, expected) in [
        ("said", r#"{"result": "result"}"#, "complete said"),
        ("", r#"{"result": "result"}"#, "complete result"),
        ("", "{}", "complete"),
        (
            "",
            r#"{"result": "r", "state": "input_required"}"#,
            "complete r",
        ),
        ("", r#"{"result": "r", "state": "rejected"}"#, "complete r"),
    ] {
        let mut scene = Scene::new();
        scene.chunk(r#"{"kind": "thinking", "text": "hm"}"#);
        scene.text(text);
        scene.done(done);
        let told: Vec<String> = scene.told.iter().map(line).collect();
        assert_eq!(told[told.len() - 2..], [expected, "is Idle"], "{done}");
    }
}

#[test]
fn a_result_that_was_being_joined_is_told_before_the_end() {
    let mut scene = Scene::new();
    scene.chunk(r#"{"kind": "tool_result", "text": "{}", "tool_name": "ls", "tool_call_id": "c"}"#);
    scene.told.clear();
    scene.ended(&failed("no more"));
    scene.tells(&["gave c ls {}", "error agent no more", "is Error no more"]);
}

#[test]
fn nothing_is_told_after_the_end() {
    let mut scene = busy();
    scene.ended(&End::done());
    scene.told.clear();
    scene.ended(&End::Cancelled);
    scene.text("more");
    scene.artifact(r#"{"id": "a", "parts": []}"#);
    let of = scene.approval(r#"{"id": "q9", "text": "", "tool_name": "ls"}"#);
    assert_eq!((&*of.id, &*of.tool), ("q9", "ls"));
    scene.answer(&of, AskKind::Approval, r#"{"approved": true}"#);
    scene.tells(&[]);
}

#[test]
fn what_follows_a_cut_is_not_joined_to_what_came_before_it() {
    let mut scene = Scene::bounded(5);
    scene.text("1234é");
    scene.text("6");
    scene.ended(&End::done());
    let told: Vec<String> = scene.told.iter().map(line).collect();
    assert_eq!(told[told.len() - 2], "cut 1234 [… 3 more bytes]");
}
