//! What viewers see: one numbering for all, the tail, gaps, and only what they may.

use jackfield_model::Json;

use super::*;
use crate::team::event::TeamStatus;
use crate::team::teams::{CheckedEnvelope, ClaimedSource, EnvelopeClaim};

fn events(viewing: &mut FeedReader) -> Vec<Arc<FeedEvent>> {
    let mut seen = Vec::new();
    viewing.read_batch(usize::MAX, &mut seen);
    seen.into_iter()
        .filter_map(|seen| match seen {
            FeedItem::Event(told) => Some(told),
            FeedItem::Missed(_) => None,
        })
        .collect()
}

fn sequences(viewing: &mut FeedReader) -> Vec<u64> {
    events(viewing).iter().map(|told| told.sequence).collect()
}

fn publication(hub: &Rig, by: &Principal, name: &str) -> Result<CheckedEnvelope, Failure> {
    let claim = EnvelopeClaim {
        teams: vec![Some("t")],
        nodes: Vec::new(),
        said: ClaimedSource::Member {
            name,
            agent: None,
            status: None,
        },
    };
    hub.teams.publisher(by, "t")?.check(&claim, "")
}

fn publish(hub: &Rig, text: &str) -> u64 {
    let one = publication(hub, &ann(), "lead").unwrap();
    let json = Json::parse(text).unwrap();
    hub.teams.publish(&ann(), "t", vec![(one, json)]).unwrap().1
}

async fn small() -> (Rig, Attached, Arc<Line>) {
    let hub = hub_with(|limits| {
        limits.tail = Size(8 << 10);
        limits.ring = Size(64 << 10);
    })
    .await;
    let (attached, line) = agent(&hub, "a");
    team(&hub, "t", &["lead=a"]);
    (hub, attached, line)
}

#[tokio::test]
async fn all_viewers_see_the_same_numbers_from_one_on_whenever_they_come() {
    let (hub, _a, line) = small().await;
    let mut early = view(&hub, "t");
    let _call = hub.calls().open(to("t", "hi")).unwrap();
    say(line.next(), "x");
    let mut late = view(&hub, "t");
    let numbers = sequences(&mut early);
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    assert_eq!(sequences(&mut late), numbers);
    assert_eq!(sequences(&mut late), [0; 0]);
}

#[tokio::test]
async fn what_people_say_to_the_team_is_shown_and_what_other_agents_say_is_not() {
    let (hub, _a, line) = small().await;
    let (_b, _) = agent(&hub, "b");
    let mut viewing = view(&hub, "t");
    let _call = hub.calls().open(to("t", "hi")).unwrap();
    let _other = hub.calls().open(from("b", "t", "psst")).unwrap();
    assert_eq!(line.texts(), ["hi", "psst"]);
    let heard = seen_and_heard(&mut viewing);
    let told: Vec<_> = heard
        .iter()
        .filter(|line| line.contains(" told "))
        .collect();
    assert_eq!(told, ["lead is told by ann: hi"]);
    assert_eq!(heard[0], "[] Running");
    assert!(!heard.iter().any(|line| line.contains("psst")), "{heard:?}");
}

#[tokio::test]
async fn a_viewer_that_comes_back_goes_on_after_what_it_had() {
    let (hub, _a, _) = small().await;
    for _ in 0..5 {
        publish(&hub, "{}");
    }
    let after = |run: Option<&str>, sequence| {
        let since = ReplayStart::After(run.map(str::to_owned), sequence);
        hub.teams.view(&ann(), "t", &since).unwrap().1
    };
    assert_eq!(sequences(&mut after(None, 3)), [4, 5]);
    let (run, _) = after(None, 0).run().unwrap();
    assert_eq!(sequences(&mut after(Some(&run.id), 4)), [5]);
    assert_eq!(sequences(&mut after(None, 5)), [0; 0]);
    // What it says to have of another run says nothing about this one.
    assert_eq!(sequences(&mut after(Some("run_0"), 4)), [1, 2, 3, 4, 5]);
    let mut now = hub.teams.view(&ann(), "t", &ReplayStart::Now).unwrap().1;
    assert_eq!(sequences(&mut now), [0; 0]);
    publish(&hub, "{}");
    assert_eq!(sequences(&mut now), [6]);
}

#[tokio::test]
async fn memory_is_bounded_and_who_lags_too_far_is_told_what_is_gone() {
    let (hub, _a, _) = small().await;
    let mut stalled = view(&hub, "t");
    let mut quick = view(&hub, "t");
    let mut read = Vec::new();
    for _ in 0..1000 {
        publish(&hub, "{}");
        read.extend(sequences(&mut quick));
    }
    assert_eq!(read, (1..=1000).collect::<Vec<_>>());
    let lines = seen(&mut stalled);
    let rest = lines.len() as u64 - 1;
    assert_eq!(lines[0], format!("missed 1..={}", 1000 - rest));
    assert!((60..70).contains(&rest), "{rest}");
    // Once it has read, only the tail is kept, for those who come.
    publish(&hub, "{}");
    let tail = sequences(&mut view(&hub, "t"));
    assert!((7..10).contains(&tail.len()), "{tail:?}");
    assert_eq!(tail.last(), Some(&1001));
    let since = ReplayStart::After(None, 500);
    let mut back = hub.teams.view(&ann(), "t", &since).unwrap().1;
    assert!(seen(&mut back)[0].starts_with("missed 501..="));
}

#[tokio::test]
async fn a_viewer_is_woken_and_reads_in_steps() {
    let (hub, _a, _) = small().await;
    let mut viewing = view(&hub, "t");
    let reader = async {
        let mut sequences = Vec::new();
        while sequences.len() < 40 {
            if let Some(FeedItem::Event(told)) = viewing.next().await {
                sequences.push(told.sequence);
            }
        }
        sequences
    };
    let writer = async {
        for _ in 0..40 {
            publish(&hub, "{}");
            tokio::task::yield_now().await;
        }
    };
    let (sequences, ()) = tokio::join!(reader, writer);
    assert_eq!(sequences, (1..=40).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_viewer_of_a_removed_team_is_told() {
    let (hub, _a, _) = small().await;
    let mut viewing = view(&hub, "t");
    publish(&hub, "{}");
    drop(hub.teams.remove(&ann(), &id("t")).unwrap());
    assert!(matches!(viewing.next().await, Some(FeedItem::Event(_))));
    assert!(viewing.next().await.is_none());
}

#[tokio::test]
async fn whoever_may_only_call_a_team_sees_what_came_of_their_own_calls() {
    let (hub, _a, line) = small().await;
    hub.agents()
        .change(&ann(), &id("t"), Some(Share::Everyone), None)
        .unwrap();
    publish(&hub, "{}");
    let mut his = hub.teams.view(&bob(), "t", &ReplayStart::Tail).unwrap().1;
    let _hers = hub.calls().open(to("t", "hers")).unwrap();
    let _his = hub.calls().open(Request {
        principal: bob(),
        ..to("t", "his")
    });
    let (hers, of_bob) = (line.next(), line.next());
    hers.push(Event::text("secret"));
    of_bob.push(Event::text("for you"));
    let lines = seen(&mut his);
    assert!(lines.contains(&"lead says for you".to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("secret")));
    assert!(!lines.iter().any(|line| line.contains("published")));
    let watcher = scoped("bob", &["watch:t"]);
    let mut all = hub.teams.view(&watcher, "t", &ReplayStart::Tail).unwrap().1;
    assert!(seen(&mut all).contains(&"lead says secret".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_rested_is_over_and_the_next_one_counts_from_one_again() {
    let (hub, _a, line) = small().await;
    let mut viewing = view(&hub, "t");
    publish(&hub, "{}");
    let (first, _) = viewing.run().unwrap();
    tokio::time::advance(Duration::from_secs(599)).await;
    hub.teams.registry.rest_at(Instant::now());
    assert_eq!(viewing.run().unwrap().0.id, first.id);
    tokio::time::advance(Duration::from_secs(2)).await;
    hub.teams.registry.rest_at(Instant::now());
    assert!(viewing.run().is_none());
    // What it did not read is gone with the run.
    assert_eq!(sequences(&mut viewing), [0; 0]);
    publish(&hub, "{}");
    assert_eq!(sequences(&mut viewing), [1]);
    assert_ne!(viewing.run().unwrap().0.id, first.id);
    // One in which somebody works does not rest.
    let _call = hub.calls().open(to("t", "hi")).unwrap();
    let serving = line.next();
    tokio::time::advance(Duration::from_secs(3600)).await;
    hub.teams.registry.rest_at(Instant::now());
    assert!(viewing.run().is_some());
    drop(serving);
}

#[tokio::test]
async fn a_stop_is_shown_and_with_it_how_everybody_ended() {
    let (hub, _a, line) = small().await;
    let mut viewing = view(&hub, "t");
    let _call = hub.calls().open(to("t", "hi")).unwrap();
    let _serving = line.next();
    hub.stop(Duration::ZERO).await;
    let lines = seen(&mut viewing);
    let (at_stop, ends) = lines.split_at(3);
    assert_eq!(at_stop[2], "[] ShuttingDown");
    assert_eq!(ends, ["lead failed stopping", "lead is Error"]);
    assert_eq!(
        hub.teams.get(&ann(), "t").unwrap().status,
        TeamStatus::ShuttingDown
    );
}

#[tokio::test]
async fn members_publish_only_as_themselves() {
    let hub = hub().await;
    let ((_a, _), (_b, _)) = (agent(&hub, "a"), agent(&hub, "b"));
    team(&hub, "t", &["lead=a", "dev=b"]);
    let as_b = ann().as_agent(id("b"));
    assert_eq!(
        publication(&hub, &as_b, "dev").unwrap().agent,
        Some(id("b"))
    );
    assert_eq!(
        reason(publication(&hub, &as_b, "lead")),
        Reason::Unauthorized
    );
    assert_eq!(reason(publication(&hub, &ann(), "nobody")), Reason::Invalid);
    assert_eq!(reason(publication(&hub, &bob(), "lead")), Reason::NotFound);
    for (said, by, expected) in [
        (ClaimedSource::Board, &as_b, Reason::Unauthorized),
        (
            ClaimedSource::Team(TeamStatus::Idle),
            &as_b,
            Reason::Unauthorized,
        ),
    ] {
        let claim = EnvelopeClaim {
            teams: vec![None],
            nodes: Vec::new(),
            said,
        };
        assert_eq!(
            reason(
                hub.teams
                    .publisher(by, "t")
                    .and_then(|it| it.check(&claim, ""))
            ),
            expected
        );
    }
    let forged = EnvelopeClaim {
        teams: vec![Some("other")],
        nodes: Vec::new(),
        said: ClaimedSource::Board,
    };
    let failure = hub
        .teams
        .publisher(&ann(), "t")
        .unwrap()
        .check(&forged, "[2].")
        .unwrap_err();
    assert!(failure.text.contains("[2].team_id"), "{failure}");
    let nested = EnvelopeClaim {
        teams: vec![Some("t"), None],
        nodes: vec!["ghost"],
        said: ClaimedSource::Board,
    };
    let failure = hub
        .teams
        .publisher(&ann(), "t")
        .unwrap()
        .check(&nested, "")
        .unwrap_err();
    assert!(failure.text.contains("sub_team_node_name"), "{failure}");
}

#[tokio::test]
async fn boards_and_published_events_of_a_team_are_seen_in_its_owners_teams_around_it() {
    let hub = hub().await;
    let (_a, _) = agent(&hub, "a");
    team(&hub, "in", &["a"]);
    team(&hub, "t", &["lead=a", "sub=@in"]);
    let mut around = view(&hub, "t");
    let task = crate::team::board::NewTask {
        name: "scan".to_owned(),
        assignee: "a".to_owned(),
        description: String::new(),
        dependencies: Vec::new(),
    };
    drop(hub.teams.add_tasks(&ann(), "in", vec![task], None).unwrap());
    assert_eq!(seen(&mut around), ["[sub] board + scan"]);
    // A team of somebody else sees nothing of it.
    hub.agents()
        .change(&ann(), &id("in"), Some(Share::Everyone), None)
        .unwrap();
    hub.agents()
        .change(&ann(), &id("a"), Some(Share::Everyone), None)
        .unwrap();
    let his = spec(&["a", "x=@in"]);
    hub.teams.create(&bob(), &id("his"), his).unwrap();
    let mut stranger = hub.teams.view(&bob(), "his", &ReplayStart::Tail).unwrap().1;
    let change = crate::team::board::TaskChange {
        status: Some(crate::team::board::BoardStatus::Completed),
        ..Default::default()
    };
    drop(
        hub.teams
            .change_task(&ann(), "in", "scan", change, None)
            .unwrap(),
    );
    assert_eq!(seen(&mut around), ["[sub] board task_0001 Completed by a"]);
    assert_eq!(seen(&mut stranger), [""; 0]);
}

#[tokio::test]
async fn an_agent_is_viewed_alone_whoever_calls_it() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let mut viewing = hub
        .teams
        .view_agent(&ann(), "a", &ReplayStart::Now)
        .unwrap();
    let _call = hub.calls().open(to("a", "hi")).unwrap();
    say(line.next(), "x");
    let mut expected = vec!["[] Running".to_owned()];
    expected.extend(says("a", "x"));
    expected.push("[] Idle".to_owned());
    assert_eq!(seen(&mut viewing), expected);
    assert!(
        hub.teams
            .view_agent(&bob(), "a", &ReplayStart::Now)
            .is_err()
    );
}

#[tokio::test]
async fn the_stage_of_a_viewer_that_is_just_coming_is_not_forgotten() {
    let hub = hub().await;
    let (_a, line) = agent(&hub, "a");
    let feed = hub.teams.registry.open_agent_feed(&id("a"));
    // The sweeper comes between.
    hub.teams.registry.rest_at(Instant::now());
    let mut viewing = FeedReader::new(feed, None, &ReplayStart::Now);
    let _call = hub.calls().open(to("a", "hi")).unwrap();
    line.next().push(Event::text("hello"));
    let mut seen = Vec::new();
    viewing.read_batch(usize::MAX, &mut seen);
    assert!(!seen.is_empty(), "it sees what the agent does");
    drop(viewing);
}
