//! Messages, text, reasoning, status lines and artifacts.

use super::*;

fn heard(scene: &Scene, message: &str) -> MemberEvent {
    let sender = AgentId::parse("lead-1").unwrap();
    let message = serde_json::from_str(message).unwrap();
    scene
        .renderer
        .member_message(&sender, &"dev".into(), &message)
}

#[test]
fn a_message_is_heard_with_its_words_and_its_data() {
    let mut scene = Scene::new();
    let message = r#"{"parts": [{"text": "take this"}, {"data": {"n":1}}]}"#;
    let event = heard(&scene, message);
    scene.told.push(RenderedStep::Event(event));
    let told = &mut scene.told;
    scene.renderer.opened(&mut |telling| told.push(telling));
    scene.tells(&[
        "lead-1 to dev take this\n{\"n\":1}",
        "is ProcessingUserInput",
    ]);
}

#[test]
fn text_is_one_segment_until_something_else_comes() {
    let mut scene = Scene::new();
    scene.text("Two ");
    scene.text("");
    scene.text("files");
    scene.tells(&[
        "is AnalyzingLlmResponse",
        "start T:seg_1 Text",
        "content T:seg_1 Two ",
        "content T:seg_1 files",
    ]);
    for (other, follows) in [
        (
            r#"{"kind": "thinking", "text": "hm"}"#,
            "start T:seg_2 Reasoning",
        ),
        (
            r#"{"kind": "tool_start", "text": "ls"}"#,
            "start T:tool_1 ToolCall ls",
        ),
        (
            r#"{"kind": "tool_input", "text": "{"}"#,
            "start T:tool_1 ToolCall tool",
        ),
        (
            r#"{"kind": "tool_result", "text": "a"}"#,
            "start T:tool_1 ToolCall tool",
        ),
    ] {
        let mut scene = Scene::new();
        scene.text("a");
        scene.told.clear();
        scene.chunk(other);
        let told: Vec<String> = scene.told.iter().map(line).collect();
        assert_eq!(told[..2], ["end T:seg_1", follows], "{other}");
    }
}

#[test]
fn an_artifact_an_ask_and_the_end_end_the_text_too() {
    let others: [fn(&mut Scene); 3] = [
        |scene| scene.artifact(r#"{"id": "a", "parts": []}"#),
        |scene| {
            scene.ask("input", r#"{"id": "q", "text": "why?"}"#);
        },
        |scene| scene.ended(&End::Cancelled),
    ];
    for other in others {
        let mut scene = Scene::new();
        scene.text("a");
        scene.told.clear();
        other(&mut scene);
        assert_eq!(line(&scene.told[0]), "end T:seg_1");
    }
}

#[test]
fn reasoning_is_a_segment_of_its_own_and_text_after_it_a_new_one() {
    let mut scene = Scene::new();
    scene.text("a");
    scene.chunk(r#"{"kind": "thinking", "text": "b"}"#);
    scene.chunk(r#"{"kind": "thinking", "text": ""}"#);
    scene.text("c");
    scene.tells(&[
        "is AnalyzingLlmResponse",
        "start T:seg_1 Text",
        "content T:seg_1 a",
        "end T:seg_1",
        "start T:seg_2 Reasoning",
        "content T:seg_2 b",
        "end T:seg_2",
        "start T:seg_3 Text",
        "content T:seg_3 c",
    ]);
}

#[test]
fn a_status_line_interrupts_neither_text_nor_a_tool_that_is_written() {
    let mut scene = Scene::new();
    scene.text("a");
    scene.chunk(r#"{"kind": "status", "text": "busy"}"#);
    scene.chunk(r#"{"kind": "status", "text": " \n"}"#);
    scene.text("b");
    scene.shows(&[
        "start T:seg_1 Text",
        "content T:seg_1 a",
        "start T:tool_1 ToolCall status",
        "end T:tool_1 status",
        "runs T:tool_1 status",
        "log T:tool_1 status busy",
        "content T:seg_1 b",
    ]);
    scene.chunk(r#"{"kind": "tool_start", "text": "", "tool_name": "ls", "tool_call_id": "c1"}"#);
    scene.chunk(r#"{"kind": "status", "text": "nearly"}"#);
    scene.chunk(r#"{"kind": "tool_input", "text": "{}", "tool_call_id": "c1"}"#);
    scene.shows(&[
        "end T:seg_1",
        "start c1 ToolCall ls",
        "log c1 ls nearly",
        "content c1 {}",
    ]);
    scene.chunk(r#"{"kind": "tool_result", "text": "x", "tool_call_id": "c1"}"#);
    scene.chunk(r#"{"kind": "status", "text": "after"}"#);
    scene.shows(&[
        "end c1 ls {}",
        "runs c1 ls {}",
        "gave c1 ls \"x\"",
        "log T:tool_1 status after",
    ]);
}

#[test]
fn an_artifact_has_the_kind_name_and_address_of_its_first_file() {
    for (artifact, expected) in [
        (
            r#"{"id": "a1", "name": "plan", "parts": [{"text": "x"}]}"#,
            "made a1 plan text whole",
        ),
        (
            r#"{"id": "a1", "name": " ", "parts": [{"text": "x"}, {"file": {"name": "p.png", "mime": "image/png", "uri": "http://x/p"}}]}"#,
            "made a1 p.png image http://x/p whole",
        ),
        (
            r#"{"id": "a1", "parts": [{"file": {"mime": "Audio/ogg", "uri": "http://x/p"}}], "append": true}"#,
            "made a1 a1 audio http://x/p part",
        ),
        (
            r#"{"id": "a1", "parts": [{"file": {"mime": "video/mp4", "uri": "u"}}], "append": true, "last": true}"#,
            "made a1 a1 video u whole",
        ),
        (
            r#"{"id": "a1", "parts": [{"file": {"mime": "text/plain", "uri": "u"}}]}"#,
            "made a1 a1 file u whole",
        ),
        (
            r#"{"id": "a1", "parts": [{"text": "x"}, {"data": 1}]}"#,
            "made a1 a1 file whole",
        ),
        (r#"{"id": "a1", "parts": []}"#, "made a1 a1 file whole"),
    ] {
        let mut scene = Scene::new();
        scene.artifact(artifact);
        scene.tells(&[expected]);
    }
}

#[test]
fn bytes_are_never_shown_but_linked_if_they_can_be() {
    let artifact = r#"{"id": "a", "parts": [{"file": {"name": "a.txt", "bytes": "aGk="}}]}"#;
    let mut scene = Scene::new();
    scene.artifact(artifact);
    let made = |scene: &Scene| match &scene.told[..] {
        [RenderedStep::Event(MemberEvent::Artifact(made))] => made.clone(),
        other => panic!("{other:?}"),
    };
    let url = made(&scene).url.unwrap();
    assert!(url.starts_with("http://hub/v1/files/"), "{url}");

    let mut nowhere = Scene::new();
    nowhere.files = Files::new(&Limits::default());
    nowhere.artifact(artifact);
    assert_eq!(made(&nowhere).url, None);
}

#[test]
fn a_long_message_is_cut_and_says_so() {
    let mut scene = Scene::bounded(5);
    let event = heard(&scene, r#"{"parts": [{"text": "1234é6"}]}"#);
    scene.told.push(RenderedStep::Event(event));
    scene.shows(&["lead-1 to dev 1234 [… 3 more bytes]"]);
}
