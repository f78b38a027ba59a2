//! Unknown fields pass unchanged between a caller and a server of the same version.

use serde_json::json;

use crate::a2a_remote::{
    callers::{Caller, V1, V03},
    server::RemoteFixture,
    servers::{NODE_03, PYTHON_1},
};

#[tokio::test]
async fn fields_that_nobody_knows_pass_between_a_caller_and_a_server_of_version_0_3() {
    let Some(fixture) = RemoteFixture::start(NODE_03).await else {
        return;
    };
    let mut caller = V03::join(&fixture.hub).await;
    let mut message = V03::message("hello");
    message["unheardOf"] = json!({"deep": [1, "two"]});
    message["metadata"] = json!({"colour": "blue"});
    let answer = caller.send(message).await;
    let artifact = &answer["task"]["artifacts"][0];
    assert_eq!(
        artifact["unheardOf"],
        json!({"deep": [1, "two"]}),
        "{answer}"
    );
    assert_eq!(artifact["metadata"], json!({"colour": "blue"}), "{answer}");
}

#[tokio::test]
async fn metadata_passes_between_a_caller_and_a_server_of_version_1_0() {
    let Some(fixture) = RemoteFixture::start(PYTHON_1).await else {
        return;
    };
    let mut caller = V1::join(&fixture.hub).await;
    let mut message = V1::message("hello");
    message["metadata"] = json!({"colour": "blue"});
    let answer = caller.send(message).await;
    let artifact = &answer["task"]["artifacts"][0];
    assert_eq!(artifact["metadata"], json!({"colour": "blue"}), "{answer}");
}
