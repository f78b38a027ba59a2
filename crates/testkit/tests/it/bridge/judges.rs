//! An outside judge: another author's WebSocket client runs the whole life cycle of the published client, in both
//! versions.

use std::process::Command;

use jackfield_testkit::judge;

use crate::bridge::quiet_hub;

#[tokio::test]
async fn python_websockets_lives_the_life_of_the_published_client() {
    let hub = quiet_hub().await;
    judge("JACKFIELD_JUDGE_PYTHON", "bridge.py", |python, script| {
        let mut command = Command::new(python);
        command.arg(script).arg(hub.addr().to_string());
        command.env("JACKFIELD_PLATFORM_SECRET", hub.platform_secret());
        command
    })
    .await;
}
