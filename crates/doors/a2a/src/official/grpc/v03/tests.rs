//! The messages against frames that the published Python client of 0.3 wrote.

use prost::Message as _;
use serde_json::json as value;

use super::*;
use crate::wire::official::model::{PartContent, Role};

const DEPTH: usize = 64;

/// A message with text, both kinds of files and data, and all options.
const SEND: &str = "0a6b0a026d311202633120012a070a0568656c6c6f2a10120e1204415038511a03612f622201662a1b12190a1768747470733a2f2f612e6578616d706c652f622e706e672a201a120a100a0e0a016e1209110000000000004540220a0a080a016b12031a01763a0575726e3a78123d0a0a746578742f706c61696e122b0a0170121668747470733a2f2f612e6578616d706c652f686f6f6b1a0174220b0a06426561726572120163180320011a090a070a016d12022001";
/// `hello`, by a client that does not wait: the configuration is there, and empty.
const BEGUN: &str = "0a0f0a026d3120012a070a0568656c6c6f1200";
/// A task that asks, with an artifact of text, file and data.
const TASK: &str = "0a83010a027431120263311a2a080612180a026d32120263311a02743120022a080a0677686963683f1a0c0880c3bbc2061080cab5ee0122340a0261311a016e2a030a01782a10120e1204415038511a03612f622201662a141a120a100a0e0a016e12091100000000000045402a170a026d31120263311a02743120012a070a0568656c6c6f";
/// The last update of a cancelled task.
const STATUS: &str = "1a1c0a027431120263311a1008051a0c0880c3bbc2061080cab5ee012001";
/// The last piece of an artifact.
const ARTIFACT: &str = "22170a027431120263311a090a0261312a030a017820012801";
/// A push config to create, and as an answer has it.
const CREATE: &str = "0a087461736b732f74311201701a510a227461736b732f74312f707573684e6f74696669636174696f6e436f6e666967732f70122b0a0170121668747470733a2f2f612e6578616d706c652f686f6f6b1a0174220b0a06426561726572120163";
const CONFIG: &str = "0a227461736b732f74312f707573684e6f74696669636174696f6e436f6e666967732f70122b0a0170121668747470733a2f2f612e6578616d706c652f686f6f6b1a0174220b0a06426561726572120163";

/// A card with all that cards of this door have.
const CARD: &str = "0a03616d791a1568747470733a2f2f612e6578616d706c652f6132613a02080142140a06626561726572120a120812066265617265724a0c0a0a0a06626561726572120062090a0173120153220178680172074a534f4e5250437a150a0d612e6578616d706c653a343433120447525043820105302e332e308a01140a01701201731a0c0a0a0a036b696412031a016b";

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

fn decoded<Asked: prost::Message + Default>(hex: &str) -> Asked {
    Asked::decode(bytes(hex).as_slice()).unwrap()
}

#[test]
fn a_message_is_read_with_all_it_carries() {
    let asked: proto::SendMessageRequest = decoded(SEND);
    let params = send(&asked, FileBytes::Twice, DEPTH).unwrap();
    let message = &params.message;
    assert_eq!((&*message.id, message.role), ("m1", Role::User));
    assert_eq!(message.context_id.as_deref(), Some("c1"));
    assert_eq!(message.extensions, ["urn:x"]);
    let contents: Vec<_> = message.parts.iter().map(|part| &part.content).collect();
    let [text, file, link, data] = contents[..] else {
        panic!("{contents:?}")
    };
    assert!(matches!(text, PartContent::Text(text) if text == "hello"));
    // The client wrote the text of the base64.
    assert!(matches!(file, PartContent::Bytes(base64) if base64 == "AP8Q"));
    assert!(matches!(link, PartContent::Url(url) if url == "https://a.example/b.png"));
    assert!(matches!(data, PartContent::Data(raw) if raw.get() == r#"{"n":42}"#));
    assert_eq!(message.parts[1].filename.as_deref(), Some("f"));
    assert_eq!(message.parts[1].media_type.as_deref(), Some("a/b"));
    let options = &params.configuration;
    assert_eq!(options.accepted_output_modes, ["text/plain"]);
    assert_eq!(options.history_length, Some(3));
    assert_eq!(options.return_immediately, Some(false));
    let push = options.push.as_ref().unwrap();
    assert_eq!(push.url, "https://a.example/hook");
    assert_eq!(params.metadata.unwrap().get(), r#"{"m":true}"#);

    let others = send(&asked, FileBytes::Once, DEPTH).unwrap();
    let file = &others.message.parts[1].content;
    assert!(matches!(file, PartContent::Bytes(base64) if base64 == "QVA4UQ=="));
}

#[test]
fn a_configuration_without_blocking_does_not_wait() {
    let begun: proto::SendMessageRequest = decoded(BEGUN);
    let params = send(&begun, FileBytes::Once, DEPTH).unwrap();
    assert_eq!(params.configuration.return_immediately, Some(true));
    let plain = proto::SendMessageRequest {
        configuration: None,
        ..begun
    };
    let params = send(&plain, FileBytes::Once, DEPTH).unwrap();
    assert_eq!(params.configuration.return_immediately, None);
}

#[test]
fn answers_are_written_byte_by_byte_as_the_published_client_does() {
    for hex in [TASK, STATUS, ARTIFACT] {
        for files in [FileBytes::Once, FileBytes::Twice] {
            let frame: proto::StreamResponse = decoded(hex);
            let item = v03_proto::read_item(files, &json(&frame).unwrap()).unwrap();
            let again = written_item(&item, files).unwrap();
            assert_eq!(again, frame);
            assert_eq!(again.encode_to_vec(), bytes(hex), "{frame:?}");
        }
    }
}

#[test]
fn a_push_config_keeps_its_name() {
    let asked: proto::CreatePushConfigRequest = decoded(CREATE);
    let body = json(&asked).unwrap();
    let params = A2aVersion::V03
        .push_from_body("t1", Some(&body), DEPTH)
        .unwrap();
    assert_eq!(params.config.id.as_deref(), Some("p"));
    let answer = OperationResult::Push(params.config);
    let told: proto::TaskPushNotificationConfig = written(&answer, FileBytes::Once).unwrap();
    assert_eq!(told.encode_to_vec(), bytes(CONFIG), "{told:?}");
}

#[test]
fn wrong_requests_name_their_field() {
    let mut asked: proto::SendMessageRequest = decoded(BEGUN);
    asked.request.as_mut().unwrap().message_id.clear();
    let fault = send(&asked, FileBytes::Once, DEPTH).unwrap_err();
    assert_eq!(fault.violations[0].0, "message.messageId");
    let fault = get(&proto::GetTaskRequest {
        name: "tasks/t".to_owned(),
        history_length: -1,
    })
    .unwrap_err();
    assert_eq!(fault.violations[0].0, "historyLength");
    let fault = get(&proto::GetTaskRequest::default()).unwrap_err();
    assert_eq!(fault.violations[0].0, "name");
}

#[test]
fn a_card_has_the_numbers_of_its_fields() {
    let card = value!({
        "protocolVersion": "0.3.0", "name": "amy", "url": "https://a.example/a2a",
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": "a.example:443", "transport": "GRPC"}],
        "capabilities": {"streaming": true, "stateTransitionHistory": false},
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        "security": [{"bearer": []}],
        "skills": [{"id": "s", "name": "S", "tags": ["x"]}],
        "supportsAuthenticatedExtendedCard": true,
        "signatures": [{"protected": "p", "signature": "s", "header": {"kid": "k"}}],
    });
    let card: proto::AgentCard = message(&card.to_string()).unwrap();
    assert_eq!(card, decoded(CARD), "as the published client writes it");
}
