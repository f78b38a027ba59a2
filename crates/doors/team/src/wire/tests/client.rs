//! What viewers say, in the forms that the published client and our own use.

use super::*;

fn message(text: &str) -> ClientMessage {
    read_client_message(text, &EnvelopeLimits::default())
        .unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

fn decision(text: &str) -> ToolDecision {
    match message(text) {
        ClientMessage::Decide { decision, .. } => decision,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_goes_to_the_coordinator_unless_it_names_a_member() {
    assert_eq!(
        message(r#"{"type":"SEND_MESSAGE","payload":{"content":"hello"}}"#),
        ClientMessage::SendMessage {
            content: "hello".into(),
            target: None,
            context_file_paths: vec![],
            image_urls: vec![],
            message_id: None,
        }
    );
    for (field, expected) in [
        (r#""target_member_name":"dev""#, Some("dev")),
        (r#""target":"dev""#, Some("dev")),
        (r#""agent_name":"dev""#, Some("dev")),
        (
            r#""agent_name":"dba","member_route_key":"backend/dba""#,
            Some("backend/dba"),
        ),
        (r#""target_member_name":"","agent_name":null"#, None),
    ] {
        let text = format!(r#"{{"type":"SEND_MESSAGE","payload":{{"content":"",{field}}}}}"#);
        let ClientMessage::SendMessage { target, .. } = message(&text) else {
            panic!("{text}");
        };
        assert_eq!(target.as_deref(), expected, "{text}");
    }
}

#[test]
fn files_and_images_are_read_in_either_spelling() {
    for fields in [
        r#""context_file_paths":["a","b"],"image_urls":["c"]"#,
        r#""contextFilePaths":["a","b"],"imageUrls":["c"]"#,
        r#""contextFilePaths":["a","b"],"context_file_paths":null,"imageUrls":["c"]"#,
    ] {
        let text = format!(r#"{{"type":"SEND_MESSAGE","payload":{{"content":"x",{fields}}}}}"#);
        assert_eq!(
            message(&text),
            ClientMessage::SendMessage {
                content: "x".into(),
                target: None,
                context_file_paths: vec!["a".into(), "b".into()],
                image_urls: vec!["c".into()],
                message_id: None,
            }
        );
    }
}

#[test]
fn a_stop_needs_no_payload() {
    for text in [
        r#"{"type":"STOP_GENERATION"}"#,
        r#"{"type":"STOP_GENERATION","payload":null}"#,
        r#"{"type":"STOP_GENERATION","payload":{}}"#,
    ] {
        assert_eq!(
            message(text),
            ClientMessage::StopGeneration { target: None }
        );
    }
    assert_eq!(
        message(r#"{"type":"STOP_GENERATION","payload":{"target_member_name":"dev"}}"#),
        ClientMessage::StopGeneration {
            target: Some("dev".into())
        }
    );
}

#[test]
fn a_decision_names_the_invocation_and_may_name_the_member() {
    assert_eq!(
        message(
            r#"{"type":"APPROVE_TOOL","payload":{"invocation_id":"call_1","agent_name":"lead"}}"#
        ),
        ClientMessage::Decide {
            approve: true,
            decision: ToolDecision {
                invocation_id: "call_1".into(),
                target: Some("lead".into()),
                run: None,
                reason: None,
            }
        }
    );
    assert_eq!(
        message(
            r#"{"type":"DENY_TOOL","payload":{"invocation_id":"call_1","reason":"no","approval_token":null}}"#
        ),
        ClientMessage::Decide {
            approve: false,
            decision: ToolDecision {
                invocation_id: "call_1".into(),
                target: None,
                run: None,
                reason: Some("no".into()),
            }
        }
    );
}

#[test]
fn a_token_is_read_in_either_spelling_and_counts_more_than_the_name_beside_it() {
    for token in [
        r#"{"teamRunId":"run_1","runVersion":1,"invocationId":"call_1","invocationVersion":1,"targetMemberName":"backend/lead"}"#,
        r#"{"team_run_id":"run_1","run_version":"1","invocation_id":"call_1","invocation_version":"2","target_member_name":"backend/lead"}"#,
        r#"{"teamRunId":"run_1","invocation_id":"call_1","targetMemberName":"backend/lead"}"#,
    ] {
        for fields in [
            format!(r#""approval_token":{token}"#),
            format!(r#""approvalToken":{token},"invocation_id":"""#),
            format!(
                r#""invocation_id":"call_1","agent_name":"lead","member_route_key":"x/lead","approval_token":{token}"#
            ),
        ] {
            let text = format!(r#"{{"type":"APPROVE_TOOL","payload":{{{fields}}}}}"#);
            assert_eq!(
                decision(&text),
                ToolDecision {
                    invocation_id: "call_1".into(),
                    target: Some("backend/lead".into()),
                    run: Some("run_1".into()),
                    reason: None,
                }
            );
        }
    }
}

#[test]
fn the_token_that_we_write_is_the_token_that_we_read() {
    let event = OutgoingEvent {
        path: &NESTED,
        ..lead(AgentEventData::ApprovalRequested {
            invocation_id: "call \"1\"",
            tool_name: "rm",
            arguments: raw("{}"),
            turn_id: None,
            message: None,
        })
    };
    let asked = value(&flat(&event));
    let answer = serde_json::json!({
        "type": "APPROVE_TOOL",
        "payload": {
            "invocation_id": asked["payload"]["invocation_id"],
            "agent_name": asked["payload"]["agent_name"],
            "approval_token": asked["payload"]["approval_token"],
        }
    });
    assert_eq!(
        decision(&answer.to_string()),
        ToolDecision {
            invocation_id: "call \"1\"".into(),
            target: Some("backend/db/lead".into()),
            run: Some("run_1".into()),
            reason: None,
        }
    );
}
