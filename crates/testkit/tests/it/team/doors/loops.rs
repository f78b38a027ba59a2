//! Chains and loops through teams: a call to a team is a single hop, like a call to its
//! coordinator.

use jackfield_testkit::TestHub;
use serde_json::{Value, json};

use crate::team::{duo, make_team, members::MemberAgent};

fn expect_loop(refused: &Value, call: &str) {
    assert_eq!(
        (&refused["type"], &refused["call_id"], &refused["code"]),
        (
            &json!("call_agent_error"),
            &json!(call),
            &json!("rate_limited")
        ),
        "{refused}"
    );
}

#[tokio::test]
async fn a_coordinator_that_calls_its_own_team_again_and_again_is_cut_off() {
    let (_hub, mut lead, _dev, mut user) = duo().await;
    user.say("go", None).await;
    let first = lead.expect_message("go").await;
    lead.calls(&first, "duo", "c-1", "again").await;
    let second = lead.expect_message("again").await;
    lead.calls(&second, "duo", "c-2", "and again").await;
    expect_loop(&lead.line.frame().await, "c-2");
    // By the coordinator's own id as well.
    lead.calls(&second, "agent-lead", "c-3", "and again").await;
    expect_loop(&lead.line.frame().await, "c-3");
    lead.send_text(&second, "enough").await;
    lead.ends(&second).await;
    assert_eq!(lead.reply_text("c-1").await, "enough");
    lead.ends(&first).await;
    user.until_rest(1).await;
    assert_eq!(user.screen.text("lead"), "enough");
    assert_eq!(user.screen.team_status(), "idle");
}

#[tokio::test]
async fn a_chain_of_teams_has_at_most_eight_hops() {
    let hub = TestHub::start().await;
    let mut leads = Vec::new();
    for number in 0..9 {
        let agent = format!("agent-{number}");
        leads.push(MemberAgent::join(&hub, &agent).await);
        let members = json!([{"name": "lead", "agent": agent}]);
        make_team(&hub, &format!("team-{number}"), members).await;
    }
    let _events = hub.platform().relay("team-0", "r-0").await;
    let mut request = leads[0].expect_message("hi").await;
    for number in 1..9 {
        let call = format!("c-{number}");
        let team = format!("team-{number}");
        leads[number - 1].calls(&request, &team, &call, &call).await;
        if number == 8 {
            expect_loop(&leads[7].line.frame().await, &call);
            leads[8].line.expect_no_bridge_frame().await;
            return;
        }
        request = leads[number].expect_message(&call).await;
    }
}
