//! The frames of our extensions, and what passes through a hub without being understood.

use super::*;
use crate::bridge::downlink::{
    AcknowledgedAnswer, Answer, Message, MessageMeta, Registered, ResumeGrant, RtcRelay,
};
use crate::bridge::uplink::{AnswerProgress, CallProgress, Register, ResumeState};

#[test]
fn every_frame_of_an_extension_is_written_as_it_was_read() {
    for text in [
        r#"{"type":"register","agent_id":"a","token":"t","bridge_version":"2","agent_type":"sdk","capabilities":[],"name":"A","description":"d","extensions":["resume","artifacts","input","meta"],"resume":{"token":"x","open":[{"request_id":"r","sent":3}],"calls":[{"call_id":"c","got":2}]}}"#,
        r#"{"type":"register","agent_id":"a","bridge_version":"2","capabilities":[],"resume":{"token":"x","open":[]}}"#,
        r#"{"type":"register","agent_id":"a","bridge_version":"2","capabilities":["sum"],"profile":{"skills": [{"id":"sum","name":"Sums"}]}}"#,
        r#"{"type":"chunk","request_id":"r","delta":"x","seq":1}"#,
        r#"{"type":"done","request_id":"r","result":"x","state":"input_required","usage":{"tokens": 3},"stop_reason":"end_turn","seq":9}"#,
        r#"{"type":"error","request_id":"r","code":"quota","message":"no more","seq":2}"#,
        r#"{"type":"artifact","request_id":"r","artifact_id":"a","name":"n","parts":[{"text":"x"}],"append":false,"last":true,"seq":4}"#,
        r#"{"type":"ask","request_id":"r","ask_id":"q","kind":"approval","text":"may I?","tool_name":"rm","tool_call_id":"c","arguments":{"path":"/"},"schema":{"type":"object"},"seq":5}"#,
        r#"{"type":"ask","request_id":"r","ask_id":"q","kind":"input","text":""}"#,
        r#"{"type":"discover_agents","capability":"x","limit":5}"#,
        r#"{"type":"rtc_signal","transfer_id":"t","target_agent_id":"b","signal_type":"candidate","payload":"{\"mid\":0}"}"#,
    ] {
        assert_eq!(rewrite(&read(text)), text);
    }
    for text in [
        r#"{"type":"registered","status":"ok","extensions":["resume"],"resume":{"token":"x","grace_ms":30000,"open":[{"request_id":"r","have":2}],"gone":["old"]}}"#,
        r#"{"type":"message","session_id":"s","request_id":"r","content":"c","attachments":[],"meta":{"message_id":"m","task_id":"t","context_id":"x","parts":[{"text":"c"}],"metadata":{"k":1},"caller":"me","parent":"p"}}"#,
        r#"{"type":"ack","request_id":"r","seq":7}"#,
        r#"{"type":"answer","request_id":"r","ask_id":"q","content":"yes","parts":[],"approved":true,"reason":"why not"}"#,
        r#"{"type":"answer","request_id":"r","ask_id":"q","approved":false}"#,
        r#"{"type":"discover_agents_result","agents":[{"id":"a","name":"A","agent_type":"","capabilities":[],"is_online":false,"description":"d"}]}"#,
        r#"{"type":"error","code":"invalid_message","message":"m","request_id":"r","call_id":"c","field":"f","frame_type":"t"}"#,
    ] {
        assert_eq!(rewrite_downlink(&read_downlink(text)), text);
    }
}

#[test]
fn a_resuming_agent_says_what_it_sent() {
    let Uplink::Register(register) = read(
        r#"{"type":"register","agent_id":"a","bridge_version":2,"extensions":["resume","x-new"],"resume":{"token":"x","open":[{"request_id":"r","sent":3},{"request_id":"q"}],"calls":[{"call_id":"c","got":2},{"call_id":"d"}],"more":1}}"#,
    ) else {
        panic!("no register");
    };
    assert_eq!(register.extensions, [extension::RESUME, "x-new"]);
    let sent = |request_id: &'static str, sent| AnswerProgress {
        request_id: request_id.into(),
        sent,
    };
    let got = |call_id: &'static str, got| CallProgress {
        call_id: call_id.into(),
        got,
    };
    assert_eq!(
        register.resume,
        Some(ResumeState {
            token: "x".into(),
            open: vec![sent("r", 3), sent("q", 0)],
            calls: Some(vec![got("c", 2), got("d", 0)]),
        })
    );
}

#[test]
fn an_agent_reads_what_the_hub_kept() {
    let Downlink::Registered(registered) = read_downlink(
        r#"{"type":"registered","status":"ok","extensions":["resume",1],"resume":{"token":"y","grace_ms":30000,"open":[{"request_id":"r","have":2},{"have":1},null],"gone":["old",null]}}"#,
    ) else {
        panic!("not registered");
    };
    assert_eq!(
        registered,
        Registered {
            extensions: vec!["resume".into()],
            resume: Some(ResumeGrant {
                token: "y".into(),
                grace_ms: 30_000,
                open: vec![AcknowledgedAnswer {
                    request_id: "r".into(),
                    have: 2
                }],
                gone: vec!["old".into()],
            }),
        }
    );
    for text in [
        r#"{"type":"registered","status":"ok"}"#,
        r#"{"type":"registered","status":"ok","extensions":"x","resume":{"grace_ms":1}}"#,
    ] {
        assert!(
            matches!(read_downlink(text), Downlink::Registered(read) if read == Registered::default())
        );
    }
    let refused = r#"{"type":"registered","status":"error"}"#;
    assert!(matches!(read_downlink(refused), Downlink::Refused(error) if error.is_empty()));
}

#[test]
fn our_agents_announce_version_2() {
    let register = uplink::register(&Register {
        agent_id: "a".into(),
        extensions: extension::ALL.map(Into::into).to_vec(),
        ..Register::default()
    });
    assert_eq!(
        register,
        r#"{"type":"register","agent_id":"a","bridge_version":"2","capabilities":[],"extensions":["resume","artifacts","input","meta"]}"#
    );
}

#[test]
fn the_unknown_fields_of_a_signal_survive_but_nobody_speaks_for_the_hub() {
    let Uplink::RtcSignal(signal) = read(
        r#"{"type":"rtc_signal","transfer_id":"t","target_agent_id":"b","signal_type":"offer","payload":{"sdp": "v=0"},"trickle":true,"session_id":"s","x\"y":[ 1 ],"from_agent_id":"mallory","client_id":"../..","ice_servers":[]}"#,
    ) else {
        panic!("no signal");
    };
    let relayed = downlink::rtc_signal_relay(&RtcRelay {
        transfer_id: signal.transfer_id,
        from_agent_id: "a".into(),
        signal_type: signal.signal_type,
        payload: signal.payload,
        extra: signal.extra,
        ..RtcRelay::default()
    });
    assert_eq!(
        relayed,
        r#"{"type":"rtc_signal_relay","transfer_id":"t","from_agent_id":"a","signal_type":"offer","payload":{"sdp": "v=0"},"trickle":true,"session_id":"s","x\"y":[ 1 ]}"#
    );
    assert_eq!(rewrite_downlink(&read_downlink(&relayed)), relayed);
    for (payload, expected) in [(r#","payload":null"#, Some("null")), ("", None)] {
        let text = format!(
            r#"{{"type":"rtc_signal","transfer_id":"t","target_agent_id":"b","signal_type":"poll"{payload}}}"#
        );
        let Uplink::RtcSignal(signal) = read(&text) else {
            panic!("no signal");
        };
        assert_eq!(signal.payload.map(RawValue::get), expected);
    }
}

#[test]
fn attachments_keep_what_their_sender_wrote() {
    let written = r#"{"url": "u", "size": 3}"#;
    let text = format!(r#"{{"type":"done","request_id":"r","attachments":[{written}]}}"#);
    let Uplink::Done(done) = read(&text) else {
        panic!("no done");
    };
    assert_eq!(done.attachments, [Attachment::new("", "u", "")]);
    assert_eq!(uplink::done(&done), text);
    let message = downlink::message(&Message {
        attachments: done.attachments,
        ..Message::default()
    });
    assert!(message.contains(written), "{message}");
}

#[test]
fn lone_surrogates_survive_a_hop_and_decode_to_something() {
    let text = r#"{"type":"chunk","request_id":"r","delta":"a\ud83d"}"#;
    let Uplink::Chunk(chunk) = read(text) else {
        panic!("no chunk");
    };
    assert_eq!(chunk.delta.decode(), "a\u{fffd}");
    assert_eq!(uplink::chunk(&chunk), text);
}

#[test]
fn absent_metadata_and_answers_stay_absent() {
    assert_eq!(
        downlink::message(&Message {
            meta: Some(MessageMeta::default()),
            ..Message::default()
        }),
        r#"{"type":"message","session_id":"","request_id":"","content":"","attachments":[],"meta":{}}"#
    );
    assert_eq!(
        downlink::answer(&Answer::default()),
        r#"{"type":"answer","request_id":"","ask_id":""}"#
    );
    let text = r#"{"type":"answer","request_id":"r","ask_id":"q","approved":"yes","content":1}"#;
    let Downlink::Answer(answer) = read_downlink(text) else {
        panic!("no answer");
    };
    assert!(answer.approved.is_none() && answer.content.is_none());
}
