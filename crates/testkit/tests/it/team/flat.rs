//! A team of two members, shown and controlled by the web client.

use jackfield_testkit::{Dropped, WebClient, relay_to};
use serde_json::json;

use crate::team::{duo, members::MemberAgent};

#[tokio::test]
async fn an_answer_that_is_given_whole_is_shown_once() {
    let (_hub, mut lead, _dev, mut user) = duo().await;
    user.say("hello", None).await;
    let request = lead.expect_message("hello").await;
    lead.line
        .send(json!({"type": "done", "request_id": request, "result": "Hi."}))
        .await;
    user.until_rest(1).await;
    // The user's own message is missing: the page shows it without an event.
    assert_eq!(
        user.screen.shown()["members"]["lead"],
        json!({"status": "idle", "messages": [{"segments": [{"text": "Hi."}]}]})
    );
    assert_eq!(user.screen.lost(), Vec::<&(Dropped, String)>::new());
}

#[tokio::test]
async fn messages_of_one_user_are_one_conversation_and_one_after_another() {
    let (_hub, mut lead, _dev, mut user) = duo().await;
    user.say("one", None).await;
    user.say("two", None).await;
    for (number, words) in ["one", "two"].into_iter().enumerate() {
        let request = lead.expect_message(words).await;
        lead.send_text(&request, words).await;
        lead.ends(&request).await;
        user.until(words, |screen| screen.text("lead").contains(words))
            .await;
        assert_eq!(user.screen.text("lead"), ["one", "onetwo"][number]);
    }
    user.until("idle", |screen| screen.status("lead") == "idle")
        .await;
    assert_eq!(
        user.screen.shown()["members"]["lead"]["messages"],
        json!([{"segments": [{"text": "one"}]}, {"segments": [{"text": "two"}]}])
    );
}

#[tokio::test]
async fn a_member_that_fails_is_shown_with_its_error_and_the_others_go_on() {
    let (_hub, mut lead, mut dev, mut user) = duo().await;
    user.say("go", None).await;
    let request = lead.expect_message("go").await;
    lead.calls(&request, "agent-dev", "c-1", "try").await;
    let work = dev.expect_message("try").await;
    dev.uses(&work, "Bash", "bash_1", r#"{"cmd":"make"}"#).await;
    dev.fails(&work, "quota", "no more today").await;
    let refused = lead.line.frame().await;
    assert_eq!(refused["type"], "call_agent_chunk", "{refused}");
    let refused = lead.line.frame().await;
    assert_eq!(refused["type"], "call_agent_chunk", "{refused}");
    let refused = lead.line.frame().await;
    assert_eq!(refused["type"], "call_agent_error", "{refused}");
    lead.send_text(&request, "Tomorrow.").await;
    lead.ends(&request).await;
    user.until_rest(1).await;
    let members = &user.screen.shown()["members"];
    assert_eq!(members["dev"]["status"], "error");
    assert_eq!(
        members["dev"]["messages"],
        json!([{"segments": [
            {"from": "agent-lead", "note": "try"},
            {"tool": "Bash", "id": "bash_1", "state": "error", "arguments": {"cmd": "make"}, "error": "no more today"},
            {"error": "agent", "message": "no more today"},
        ]}])
    );
    assert_eq!(members["lead"]["status"], "idle");
    assert_eq!(user.screen.team_status(), "idle");
    assert_eq!(user.screen.lost(), Vec::<&(Dropped, String)>::new());
}

#[tokio::test]
async fn a_member_that_crashes_is_shown_so_and_works_again_when_it_is_back() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    user.say("go", None).await;
    let request = lead.expect_message("go").await;
    lead.calls(&request, "agent-dev", "c-1", "try").await;
    let work = dev.expect_message("try").await;
    dev.send_text(&work, "I tr").await;
    user.until("it speaks", |screen| screen.text("dev") == "I tr")
        .await;
    drop(dev);
    assert_eq!(lead.line.frame().await["type"], "call_agent_chunk");
    let lost = lead.line.frame().await;
    assert_eq!(
        (&lost["type"], &lost["code"]),
        (&json!("call_agent_error"), &json!("agent_offline"))
    );
    user.until("it failed", |screen| screen.status("dev") == "error")
        .await;
    let mut dev = MemberAgent::join(&hub, "agent-dev").await;
    lead.calls(&request, "agent-dev", "c-2", "again").await;
    let work = dev.expect_message("again").await;
    dev.send_text(&work, "Done.").await;
    dev.ends(&work).await;
    assert_eq!(lead.reply_text("c-2").await, "Done.");
    lead.ends(&request).await;
    user.until_rest(1).await;
    let shown = &user.screen.shown()["members"]["dev"];
    assert_eq!(shown["status"], "idle");
    let messages = shown["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "{shown}");
    assert_eq!(messages[0]["segments"][1], json!({"text": "I tr"}));
    assert_eq!(messages[0]["segments"][2]["error"], "offline");
    assert_eq!(messages[1]["segments"][1], json!({"text": "Done."}));
}

#[tokio::test]
async fn a_stop_reaches_every_agent_that_works() {
    let (_hub, mut lead, mut dev, mut user) = duo().await;
    user.say("go", None).await;
    let request = lead.expect_message("go").await;
    lead.send_text(&request, "Wait").await;
    lead.calls(&request, "agent-dev", "c-1", "try").await;
    let work = dev.expect_message("try").await;
    dev.asks(&work, "Bash", "bash_1", json!({})).await;
    user.until("it asks", |screen| !screen.approvals().is_empty())
        .await;
    user.stop().await;
    dev.is_cancelled(&work).await;
    let told = [lead.line.frame().await, lead.line.frame().await];
    let kinds: Vec<_> = told.iter().map(|frame| frame["type"].as_str()).collect();
    assert!(kinds.contains(&Some("cancel")), "{told:?}");
    user.until_rest(1).await;
    assert_eq!(user.screen.team_status(), "idle");
    assert_eq!(user.screen.status("lead"), "idle");
    assert_eq!(user.screen.status("dev"), "idle");
    assert_eq!(user.screen.approvals(), []);
    assert_eq!(user.screen.text("lead"), "Wait");
}

#[tokio::test]
async fn a_strangers_direct_call_to_a_member_is_not_shown() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    let platform = hub.platform();
    let mut events = platform
        .stream("/api/relay", relay_to("agent-dev", "r-1"))
        .await;
    let secret = dev.expect_message("hi").await;
    dev.send_text(&secret, "a secret").await;
    user.say("go", None).await;
    let request = lead.expect_message("go").await;
    lead.calls(&request, "agent-dev", "c-1", "try").await;
    let work = dev.expect_message("try").await;
    dev.send_text(&secret, " indeed").await;
    dev.send_text(&work, "Done.").await;
    dev.ends(&work).await;
    dev.ends(&secret).await;
    events
        .expect(json!({"type": "chunk", "delta": "a secret"}))
        .await;
    assert_eq!(events.rest().await.len(), 2);
    lead.ends(&request).await;
    user.until_rest(1).await;
    assert_eq!(user.screen.text("dev"), "Done.");
    let shown = user.screen.shown().to_string();
    assert!(!shown.contains("secret"), "{shown}");
    assert_eq!(user.screen.lost(), Vec::<&(Dropped, String)>::new());
}

#[tokio::test]
async fn what_cannot_be_done_is_answered_and_changes_nothing_on_the_screen() {
    let (_hub, mut lead, _dev, mut user) = duo().await;
    let before = |user: &WebClient| user.screen.dropped(Dropped::UnknownMember);
    for message in [
        json!({"type": "SEND_MESSAGE", "payload": {"content": "hi", "target_member_name": "nobody"}}),
        json!({"type": "APPROVE_TOOL", "payload": {"invocation_id": "none", "agent_name": "dev"}}),
        json!({"type": "SING"}),
    ] {
        let count = before(&user) + 1;
        user.send(message).await;
        // Connection errors name no member, and this client shows only members' errors.
        user.until("it is refused", |screen| {
            screen.dropped(Dropped::UnknownMember) == count
        })
        .await;
        let refusal = &user.screen.lost().last().unwrap().1;
        assert!(refusal.contains(r#""type":"ERROR""#), "{refusal}");
    }
    user.say("still there?", None).await;
    let request = lead.expect_message("still there?").await;
    lead.send_text(&request, "Yes.").await;
    lead.ends(&request).await;
    user.until_rest(1).await;
    assert_eq!(user.screen.text("lead"), "Yes.");
}
