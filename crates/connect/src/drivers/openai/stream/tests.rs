//! Pieces of answers as OpenAI documents them, and as Ollama, vLLM and others are known to send them.

use serde_json::json;

use super::*;

fn heard(pieces: &[&str]) -> (CompletionReader, Vec<OutputItem>) {
    let mut hearing = CompletionReader::default();
    let mut said = Vec::new();
    for piece in pieces {
        said.extend(hearing.read_event(piece).unwrap());
    }
    (hearing, said)
}

fn text(text: &str) -> OutputItem {
    OutputItem::Text(text.to_owned())
}

#[test]
fn words_come_as_they_are_and_the_end_tells_usage_and_reason() {
    let (hearing, said) = heard(&[
        r#"{"id":"chatcmpl-123","object":"chat.completion.chunk","model":"gpt-4o-mini","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-123","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}],"usage":null}"#,
        r#"{"id":"chatcmpl-123","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-123","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"id":"chatcmpl-123","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#,
        "[DONE]",
    ]);
    assert_eq!(said, [text("Hel"), text("lo")]);
    assert!(hearing.is_over());
    let (end, words) = hearing.end("here").unwrap();
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11});
    assert_eq!(
        end,
        [
            OutputItem::Usage(usage),
            OutputItem::StopReason("stop".to_owned())
        ]
    );
    assert_eq!(words, "Hello");
}

#[test]
fn reasoning_is_thinking_whatever_it_is_called() {
    for field in ["reasoning_content", "reasoning"] {
        let piece = json!({"choices": [{"delta": {field: "hm", "content": null}}]});
        let (_, said) = heard(&[&piece.to_string()]);
        assert_eq!(said, [OutputItem::Thinking("hm".to_owned())]);
    }
}

#[test]
fn calls_of_tools_start_once_and_their_input_is_joined_to_them() {
    let (hearing, said) = heard(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"get_weather","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"loc"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"call_b","function":{"name":"f","arguments":"{}"}},{"index":0,"function":{"arguments":"\":1}"}}]}}]}"#,
        // Ollama: whole calls, each at the same place.
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_c","function":{"name":"g","arguments":{"x":1}}}]}}]}"#,
        "[DONE]",
    ]);
    let start = |name: &str, id: &str| OutputItem::ToolStart {
        name: name.to_owned(),
        id: id.to_owned(),
    };
    let input = |id: &str, text: &str| OutputItem::ToolInput {
        id: id.to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(
        said,
        [
            start("get_weather", "call_a"),
            input("call_a", "{\"loc"),
            start("f", "call_b"),
            input("call_b", "{}"),
            input("call_a", "\":1}"),
            start("g", "call_c"),
            input("call_c", "{\"x\":1}"),
        ]
    );
    // Nobody carries them out, and nobody is to think so.
    let failed = |id: &str| OutputItem::ToolResult {
        id: id.to_owned(),
        text: "[error] not carried out: no tools are offered to this model".to_owned(),
    };
    let (end, _) = hearing.end("here").unwrap();
    assert_eq!(end, ["call_a", "call_b", "call_c"].map(failed));
}

#[test]
fn a_whole_answer_is_heard_too() {
    let (hearing, said) = heard(&[
        r#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"length"}],"usage":{"total_tokens":3}}"#,
    ]);
    assert_eq!(said, [text("Hello")]);
    let (end, words) = hearing.end("here").unwrap();
    assert_eq!(end[1], OutputItem::StopReason("length".to_owned()));
    assert_eq!(words, "Hello");
}

#[test]
fn an_answer_that_just_stops_is_a_crash() {
    let (hearing, _) = heard(&[r#"{"choices":[{"delta":{"content":"Hel"}}]}"#]);
    let failure = hearing.end("http://h").unwrap_err();
    assert_eq!(failure.code, "adapter_crash");
    assert!(failure.message.contains("http://h"), "{}", failure.message);
    // One that says so itself has ended, with a reason or without.
    let (hearing, _) = heard(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#, "[DONE]"]);
    assert_eq!(hearing.end("http://h").unwrap(), (vec![], "x".to_owned()));
}

#[test]
fn an_error_in_the_stream_and_nonsense_are_told_apart() {
    let failure = |data| CompletionReader::default().read_event(data).unwrap_err();
    let error = failure(r#"{"error":{"message":"out of memory","code":500}}"#);
    assert_eq!(
        (error.code.as_str(), error.message.as_str()),
        ("agent_error", "out of memory")
    );
    for nonsense in ["<html>", "{}", r#"{"choice":[]}"#, ""] {
        assert_eq!(failure(nonsense).code, "adapter_crash", "{nonsense}");
    }
    let long = "x".repeat(9000);
    assert!(failure(&long).message.len() < 300);
}

#[test]
fn models_and_complaints_are_found_in_what_servers_answer() {
    let list = r#"{"object":"list","data":[{"id":"llama3.2:latest","object":"model"},{"id":"b"},{"x":1}]}"#;
    assert_eq!(models(list).unwrap(), ["llama3.2:latest", "b"]);
    assert_eq!(models(r#"{"data":[]}"#).unwrap(), [""; 0]);
    assert_eq!(models("<html>"), None);
    for (body, text) in [
        (
            r#"{"error":{"message":"model 'x' not found"}}"#,
            "model 'x' not found",
        ),
        (r#"{"error":"no"}"#, "no"),
        (r#"{"detail":"Not Found"}"#, "Not Found"),
        (r#"{"error":{"a":1}}"#, r#"{"a":1}"#),
        ("plain words ", "plain words"),
        ("", "it does not say why"),
    ] {
        assert_eq!(complaint(body), text);
    }
}
