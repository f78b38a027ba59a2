//! What a peer gets from an agent: its words, its data, links to its files, or why there is nothing.

use jackfield_core::pipe::Pushed;
use jackfield_model::{Artifact, Ask, AskKind, Done, DoneState, File, FileSource, Json, Part};

use super::*;

#[tokio::test]
async fn what_an_agent_says_is_the_body_as_it_is() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &["poem"]);
    let host = host(&hub);
    let request =
        json!({"method": "POST", "path": "/agents/writer/poem", "input_data": "about \"rain\""});
    let serve = async {
        let call = writer.next_call().await;
        assert_eq!(call.call().message.joined_text(), "about \"rain\"");
        assert_eq!(call.call().principal.key(), format!("local/peer/{PEER}"));
        assert_eq!(
            call.call().message.metadata.as_ref().unwrap().get(),
            r#"{"skill":"poem"}"#
        );
        assert_eq!(call.call().door, "p2p");
        call.push(Event::text("Drip, "));
        call.push(Event::Chunk(Chunk::status("thinking of a rhyme")));
        call.push(Event::text("\"drop\"."));
        call.finish(End::done());
    };
    let (body, ()) = tokio::join!(whole(&host, &request), serve);
    assert_eq!(body, "Drip, \"drop\".");
}

#[tokio::test]
async fn every_spelling_of_a_request_reaches_the_agent() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &["poem"]);
    let host = host(&hub);
    for (request, words) in [
        (
            json!({"method": "post", "path": "/agents/writer/ask", "input_data": "a"}),
            "a",
        ),
        (
            json!({"method": "POST", "path": "agents/writer", "input": "b", "unknown": [1]}),
            "b",
        ),
        (
            json!({"method": "POST", "path": "/agents/{agent_id}/{skill}", "params": {"agent_id": "writer", "skill": "poem"}, "input_data": "c"}),
            "c",
        ),
        (
            json!({"method": "POST", "path": "/agents/writer/ask", "params": null, "input_data": {"d": 1}}),
            r#"{"d":1}"#,
        ),
        (
            json!({"method": "POST", "path": "/{goal}", "params": {"goal": "plan / a trip?"}}),
            "plan / a trip?",
        ),
        (
            json!({"method": "POST", "path": "/write a song"}),
            "write a song",
        ),
    ] {
        let serve = async {
            let call = writer.next_call().await;
            assert_eq!(
                call.call().message.joined_text_and_data(),
                words,
                "{request}"
            );
            call.finish(End::done());
        };
        let (body, ()) = tokio::join!(whole(&host, &request), serve);
        assert_eq!(body, "", "{request}");
    }
}

#[tokio::test]
async fn data_is_json_and_files_are_links() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let request = json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"});
    let artifact = |id: &str, part| {
        Event::Artifact(Artifact {
            id: id.to_owned(),
            parts: vec![part],
            ..Artifact::default()
        })
    };
    let table = || Part::Data(Json::parse(r#"{"rows": 2}"#).unwrap());
    let serve = async {
        let call = writer.next_call().await;
        call.push(artifact("a", table()));
        call.finish(End::done());
        let call = writer.next_call().await;
        call.push(artifact("a", table()));
        call.push(artifact("b", Part::Text("notes".into())));
        let attachments = vec![File {
            name: Some("a.csv".into()),
            mime: Some("text/csv".into()),
            source: FileSource::Uri("https://files.example/a.csv".into()),
        }];
        call.finish(End::Done(Box::new(Done {
            attachments,
            ..Done::default()
        })));
    };
    let ask = async {
        let alone = whole(&host, &request).await;
        (alone, whole(&host, &request).await)
    };
    let ((alone, all), ()) = tokio::join!(ask, serve);
    assert_eq!(alone, r#"{"rows": 2}"#);
    let all: Value = serde_json::from_str(&all).unwrap();
    let link = json!({"name": "a.csv", "mime": "text/csv", "url": "https://files.example/a.csv"});
    assert_eq!(
        all,
        json!({"text": "notes", "data": [{"rows": 2}], "files": [link]})
    );
}

#[tokio::test]
async fn an_agent_that_gives_its_answer_only_at_the_end_is_heard() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let request = json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"});
    let serve = async {
        let call = writer.next_call().await;
        call.finish(End::Done(Box::new(Done {
            result: Some("all of it".into()),
            ..Done::default()
        })));
    };
    let (body, ()) = tokio::join!(whole(&host, &request), serve);
    assert_eq!(body, "all of it");
}

#[tokio::test]
async fn questions_and_refusals_of_an_agent_are_errors() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let request = json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"});
    let ended = |state| {
        End::Done(Box::new(Done {
            state,
            result: Some("which one?".into()),
            ..Done::default()
        }))
    };
    let serve = async {
        let asking = writer.next_call().await;
        let pushed = asking.ask(Ask {
            id: "1".into(),
            kind: AskKind::Input,
            text: "which one?".into(),
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            schema: None,
        });
        assert_ne!(pushed, Pushed::Ended);
        // Whoever asked has gone, so the agent is told to stop.
        assert_eq!(writer.next_cancel().await, asking.call().id);
        writer
            .next_call()
            .await
            .finish(ended(DoneState::InputRequired));
        writer.next_call().await.finish(ended(DoneState::Rejected));
        let failure = Failure::new(Reason::Agent("quota".into()), "no tokens left");
        writer.next_call().await.finish(End::Failed(failure));
        drop(writer.next_call().await);
    };
    let ask = async {
        for (code, text) in [
            (400, "which one?"),
            (400, "which one?"),
            (502, "refused the request: which one?"),
            (502, "no tokens left"),
            (502, "disconnected"),
        ] {
            let told = refused(&host, &request, code).await;
            assert!(told.contains(text), "{told}");
        }
    };
    tokio::join!(ask, serve);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_too_long_is_stopped_and_the_peer_told() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let request = json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"});
    let before = tokio::time::Instant::now();
    let told = refused(&host, &request, 504).await;
    assert!(
        told.contains("within 10 s") && told.contains("stream"),
        "{told}"
    );
    assert_eq!(before.elapsed().as_secs(), 10);
    let call = writer.next_call().await;
    assert_eq!(writer.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn leaving_cancels_the_call_at_the_agent() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let request =
        json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"}).to_string();
    let call = {
        let mut answer = Box::pin(host.answer(
            PEER,
            Origin::Elsewhere,
            request.as_bytes(),
            HandoffProtocol::Plain,
        ));
        tokio::select! {
            answer = &mut answer => panic!("{answer:?}"),
            call = writer.next_call() => call,
        }
    };
    assert_eq!(writer.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn a_call_that_somebody_cancels_resets_the_stream() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let request =
        json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"}).to_string();
    let cancel = async {
        let call = writer.next_call().await;
        hub.calls()
            .cancel(&Principal::local(), call.call().id)
            .unwrap();
    };
    let answer = host.answer(
        PEER,
        Origin::Elsewhere,
        request.as_bytes(),
        HandoffProtocol::Plain,
    );
    let (answer, ()) = tokio::join!(answer, cancel);
    assert!(matches!(answer, HandoffReply::Reset), "{answer:?}");
}

#[tokio::test]
async fn a_trace_goes_along_and_a_broken_one_does_not() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (trace, passed_on) in [(good, Some(good)), ("nonsense\n", None)] {
        let request = json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x", "traceparent": trace});
        let serve = async {
            let call = writer.next_call().await;
            assert_eq!(call.call().traceparent.as_deref(), passed_on);
            call.finish(End::done());
        };
        tokio::join!(whole(&host, &request), serve);
    }
}
