//! `invite`: the line that brings an agent of another machine.

use jackfield_testkit::TestHub;

use crate::run::Cli;

#[tokio::test]
async fn an_invite_is_one_line_to_copy_and_what_it_is_good_for_is_said_beside_it() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let made = cli.run(&["invite", "amy"]).await.ok();
    let line = made.out.trim_end_matches('\n').to_owned();
    let url = line.strip_prefix("jackfield connect --setup ");
    let url = url.and_then(|rest| rest.strip_suffix(" claude"));
    let url = url.unwrap_or_else(|| panic!("{line}"));
    assert!(url.starts_with(&hub.url("/invite/")), "{url}");
    let made = made.says(&format!("agent-mesh connect --setup {url}"));
    made.says("15 minutes").says("public_url");
    let made = cli
        .run(&["invite", "amy", "--type", "exec", "--json"])
        .await;
    let made = made.ok().json();
    let command = made["command"].as_str().unwrap();
    assert!(command.ends_with(" exec COMMAND"), "{command}");
    assert!(
        made["bridge_command"].is_null(),
        "that client starts no commands"
    );
}

#[tokio::test]
async fn an_invite_for_what_is_no_agent_is_refused() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    cli.run(&["invite", "a/b"]).await.code(2);
    cli.run(&["invite", "amy", "--type", "ghost"]).await.code(2);
    let nowhere = cli.at_hub("http://127.0.0.1:1");
    nowhere.run(&["invite", "amy"]).await.code(3);
}
