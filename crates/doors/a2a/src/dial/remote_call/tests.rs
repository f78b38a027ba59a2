//! What a remote is told of work that is given up.

mod logins;
mod restarts;

use jackfield_core::limits::Limits;
use jackfield_kit::outbound::{Outbound, OutboundRules};

use super::*;
use crate::dial::{
    credentials::Credentials,
    endpoint::{Dialect, RemoteEndpoint},
    scripted::{ScriptStep, ScriptedRequest, ScriptedServer, json, stream_head},
};
use crate::wire::{
    card::Binding,
    official::{
        A2aVersion,
        model::{Part, Role},
    },
};

const TASK: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}"#;
const CANCELED: &str = r#"{"jsonrpc":"2.0","id":$ID,"result":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}}}"#;

#[tokio::test]
async fn a_server_that_shows_life_before_it_names_the_task_is_told_to_stop_all_the_same() {
    let stream = vec![
        stream_head(),
        ScriptStep::Say(": a sign of life\n\n".to_owned()),
        ScriptStep::Say(format!("data: {TASK}\n\n")),
        ScriptStep::Hang,
    ];
    let cancel = json(CANCELED);
    let mut server = ScriptedServer::start(vec![stream, cancel]).await;
    let rules = OutboundRules {
        allow_private: true,
        ..OutboundRules::default()
    };
    let place = RemoteEndpoint {
        url: server.url.clone(),
        binding: Binding::JsonRpc,
        dialect: Dialect::Official,
        version: A2aVersion::V10,
        tenant: None,
        streams: true,
    };
    let line = Arc::new(RemoteClient::new(
        Outbound::new(&rules).unwrap(),
        place,
        Arc::new(Credentials::none()),
        Limits::default().message,
    ));
    let params = SendParams {
        tenant: None,
        message: Message::new("m", Role::User, vec![Part::text("work")]),
        configuration: Configuration::default(),
        metadata: None,
    };
    let source = AnswerReader::stream(line.clone(), params, HeaderMap::new());
    stop(&line, AnswerTranslator::default(), Some(source)).await;
    let asked = server.asked_so_far();
    let asked: Vec<_> = asked.iter().map(ScriptedRequest::json).collect();
    let methods: Vec<_> = asked.iter().map(|call| &call["method"]).collect();
    assert_eq!(methods, ["SendStreamingMessage", "CancelTask"]);
    assert_eq!(asked[1]["params"]["id"], "t");
}
