//! A team called like an agent, from every door: the coordinator gets the call, the stream of the team shows who works on
//! it, and the caller gets the whole answer.

mod a2a;
mod agora;
mod bridge;
mod loops;
mod own;
mod relay;

use jackfield_testkit::WebClient;

use crate::team::cast::Player;

/// What the team answers.
const ANSWER: &str = "The answer is 42.";

/// The coordinator asks the other member, and puts its word into the answer.
async fn work(lead: &mut Player, dev: &mut Player, words: &str) {
    let request = lead.hears(words).await;
    lead.says(&request, "The answer ").await;
    lead.calls(&request, "agent-dev", "c-1", "what is it?")
        .await;
    let asked = dev.hears("what is it?").await;
    dev.says(&asked, "42").await;
    dev.ends(&asked).await;
    assert_eq!(lead.hears_back("c-1").await, "42");
    lead.says(&request, "is 42.").await;
    lead.ends(&request).await;
}

/// The coordinator and the other member are in the middle of it; their requests.
async fn begin(lead: &mut Player, dev: &mut Player, words: &str) -> (String, String) {
    let request = lead.hears(words).await;
    lead.says(&request, "The answer ").await;
    lead.calls(&request, "agent-dev", "c-1", "what is it?")
        .await;
    (request, dev.hears("what is it?").await)
}

/// Both hear that their work is not wanted any more.
async fn expect_cancel(lead: &mut Player, dev: &mut Player, requests: &(String, String)) {
    dev.is_cancelled(&requests.1).await;
    let told = [lead.line.frame().await, lead.line.frame().await];
    let cancel = told.iter().find(|frame| frame["type"] == "cancel");
    assert_eq!(cancel.unwrap()["request_id"], *requests.0, "{told:?}");
}

/// The client has seen the work, this often by now.
async fn expect_shown(user: &mut WebClient, times: usize) {
    user.until_rest(times).await;
    assert_eq!(user.screen.text("lead"), ANSWER.repeat(times));
    assert_eq!(user.screen.text("dev"), "42".repeat(times));
    assert_eq!(user.screen.lost().len(), 0, "{:?}", user.screen.lost());
}
