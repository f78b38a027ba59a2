//! Nested teams, shown by the web client.

use jackfield_testkit::{Dropped, TestHub, WebClient};
use serde_json::json;

use crate::team::scenario::{MEMBERS, Shop, final_screen};

#[tokio::test]
async fn a_day_of_three_levels_ends_in_the_right_state() {
    let hub = TestHub::start().await;
    let mut shop = Shop::open(&hub).await;
    let mut user = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    shop.run_scenario(&hub, &mut user).await;
    user.until_rest(1).await;
    assert_eq!(user.screen.shown(), final_screen());
    assert_eq!(user.screen.lost(), Vec::<&(Dropped, String)>::new());
    assert_eq!(user.screen.dropped(Dropped::Seen), 0);
}

#[tokio::test]
async fn two_clients_see_the_same_events_under_the_same_numbers() {
    let hub = TestHub::start().await;
    let mut shop = Shop::open(&hub).await;
    let mut user = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    let mut other = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    shop.run_scenario(&hub, &mut user).await;
    let mut late = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    for client in [&mut user, &mut other, &mut late] {
        client.until_rest(1).await;
    }
    let numbers: Vec<_> = user.screen.passed().iter().map(|(_, it)| *it).collect();
    let all: Vec<_> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, all, "from 1 on, and none is missing");
    for client in [&other, &late] {
        assert_eq!(client.screen.passed(), user.screen.passed());
        assert_eq!(client.screen.shown(), user.screen.shown());
    }
}

#[tokio::test]
async fn each_team_of_the_tree_has_its_own_stream_and_its_own_names() {
    let hub = TestHub::start().await;
    let mut shop = Shop::open(&hub).await;
    let mut user = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    let mut backend = WebClient::open(hub.addr(), "team-backend", &["chief", "db/dba"]).await;
    let mut db = WebClient::open(hub.addr(), "team-db", &["dba"]).await;
    shop.run_scenario(&hub, &mut user).await;
    user.until_rest(1).await;
    backend.until_rest(1).await;
    db.until_rest(1).await;
    let scenario = final_screen();
    let members = &backend.screen.shown()["members"];
    assert_eq!(members["db/dba"], scenario["members"]["backend/db/dba"]);
    // An outside caller isn't a member of this team.
    assert_eq!(
        members["chief"]["messages"],
        json!([{"segments": [{"text": "All fine."}]}])
    );
    assert_eq!(db.screen.text("dba"), "there are 3 rows");
    assert_ne!(db.screen.run(), user.screen.run());
}

#[tokio::test]
async fn the_user_speaks_to_a_nested_member_and_its_tools_are_approved_there() {
    let hub = TestHub::start().await;
    let mut shop = Shop::open(&hub).await;
    let mut user = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    user.say("how many rows?", Some("backend/db/dba")).await;
    let request = shop.dba.expect_message("how many rows?").await;
    shop.dba
        .asks(&request, "Sql", "sql_1", json!({"query": "count"}))
        .await;
    user.decide("sql_1", true).await;
    shop.dba.is_told(&request, "sql_1", true, "go on").await;
    shop.dba.send_text(&request, "3").await;
    shop.dba.ends(&request).await;
    user.until_rest(1).await;
    assert_eq!(user.screen.text("backend/db/dba"), "3");
    assert_eq!(user.screen.status("backend/db/dba"), "idle");
    assert_eq!(user.screen.text("lead"), "");
    assert_eq!(user.screen.lost(), Vec::<&(Dropped, String)>::new());
}

/// The published client builds its members without nested teams.
#[tokio::test]
async fn a_client_that_knows_only_leaf_names_shows_nested_members_by_their_route() {
    let hub = TestHub::start().await;
    let mut shop = Shop::open(&hub).await;
    let mut leaves =
        WebClient::open(hub.addr(), "shop", &["lead", "dev", "ada", "chief", "dba"]).await;
    let mut blind = WebClient::open(hub.addr(), "shop", &["lead", "dev", "ada"]).await;
    let mut user = WebClient::open(hub.addr(), "shop", &MEMBERS).await;
    shop.run_scenario(&hub, &mut user).await;
    leaves.until_rest(1).await;
    blind.until_rest(1).await;
    let mut shown = leaves.screen.shown();
    let members = shown["members"].as_object_mut().unwrap();
    // The expected leaf members exist, without any event.
    for name in ["chief", "dba"] {
        let unused = json!({"status": "uninitialized", "messages": []});
        assert_eq!(members.remove(name), Some(unused));
    }
    assert_eq!(shown, final_screen());
    assert!(blind.screen.dropped(Dropped::UnknownMember) > 0);
    assert_eq!(blind.screen.text("lead"), "I look. Two files. Done.");
    assert_eq!(blind.screen.text("backend/db/dba"), "");
}
