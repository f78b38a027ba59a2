//! Whose a transfer is, and how many the book remembers.

use jackfield_core::store::{AgentRecord, memory::MemoryStore};
use jackfield_model::Owner;
use jiff::Timestamp;

use super::*;

fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

fn person(name: &str) -> Principal {
    Principal::person(Owner::parse(name).unwrap())
}

fn offer(id: &str) -> Offer {
    Offer {
        transfer_id: id.to_owned(),
        zip_size: 5,
        zip_sha256: "0".repeat(64),
        file_count: 1,
    }
}

fn offered(book: &Transfers, to: &Principal, id: &str, now: Instant) {
    book.offered(&agent("amy"), &agent("amy"), to, offer(id), now);
}

#[tokio::test(start_paused = true)]
async fn a_transfer_is_its_two_parties_and_strangers_learn_nothing() {
    let (book, amy, now) = (Transfers::default(), agent("amy"), Instant::now());
    let (ann, bob) = (person("ann"), person("bob"));
    offered(&book, &ann, "t", now);
    let found = book.of_caller(&ann, &amy, "t", now).unwrap();
    assert_eq!((&found.agent, &found.peer), (&amy, &None));
    let foreign = book.of_caller(&bob, &amy, "t", now).unwrap_err();
    let unknown = book.of_caller(&bob, &amy, "u", now).unwrap_err();
    assert_eq!(foreign, unknown);
    let elsewhere = book.of_caller(&ann, &agent("zoe"), "t", now).unwrap_err();
    assert_eq!(foreign, elsewhere);
    for other in [
        Principal::admin(Owner::parse("root").unwrap()),
        Principal::platform(),
        ann.as_agent(agent("annes")),
    ] {
        assert!(book.of_caller(&other, &amy, "t", now).is_err(), "{other:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_calls_is_the_other_party_and_its_owner_is_not() {
    let (book, amy, now) = (Transfers::default(), agent("amy"), Instant::now());
    let zoe = person("ann").as_agent(agent("zoe"));
    offered(&book, &zoe, "t", now);
    let found = book.of_caller(&zoe, &amy, "t", now).unwrap();
    assert_eq!(found.peer, Some(agent("zoe")));
    assert!(book.of_caller(&person("ann"), &amy, "t", now).is_err());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_called_as_a_team_is_found_by_both_names() {
    let (book, now) = (Transfers::default(), Instant::now());
    let ann = person("ann");
    book.offered(&agent("amy"), &agent("crew"), &ann, offer("t"), now);
    for name in ["amy", "crew"] {
        let found = book.of_caller(&ann, &agent(name), "t", now).unwrap();
        assert_eq!(found.agent, agent("amy"));
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_announces_under_an_id_that_is_somebody_elses_or_goes_the_other_way() {
    let (book, amy, now) = (Transfers::default(), agent("amy"), Instant::now());
    let (ann, bob) = (person("ann"), person("bob"));
    let announced = book.announced(&amy, &ann, offer("up"), now).unwrap();
    assert_eq!(announced.toward, Toward::Agent);
    assert!(
        book.announced(&amy, &ann, offer("up"), now).is_ok(),
        "again"
    );
    assert_eq!(
        book.announced(&amy, &bob, offer("up"), now),
        Err(not_yours())
    );
    offered(&book, &ann, "down", now);
    assert!(book.announced(&amy, &ann, offer("down"), now).is_err());
    let again = book.of_caller(&ann, &amy, "up", now).unwrap();
    book.withdraw(&again);
    assert!(book.of_caller(&ann, &amy, "up", now).is_err());
    assert!(book.announced(&amy, &bob, offer("up"), now).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_transfer_is_known_for_an_hour_or_until_its_agent_is_forgotten() {
    let (book, amy, now) = (Transfers::default(), agent("amy"), Instant::now());
    let ann = person("ann");
    offered(&book, &ann, "t", now);
    let almost = now + KNOWN_FOR - Duration::from_secs(1);
    assert!(book.find(&amy, "t", almost).is_some());
    assert!(book.find(&amy, "t", now + KNOWN_FOR).is_none());
    offered(&book, &ann, "t", now);
    book.forget(&amy);
    book.forget(&amy);
    assert!(book.find(&amy, "t", now).is_none());
    let book = book.index.lock();
    assert!(book.count == 0 && book.agents.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_book_is_bounded_and_a_caller_crowds_out_only_itself() {
    let (book, amy, now) = (Transfers::default(), agent("amy"), Instant::now());
    let (ann, bob) = (person("ann"), person("bob"));
    offered(&book, &bob, "bobs", now);
    for number in 0..=PER_CALLER {
        offered(&book, &ann, &format!("t{number}"), now);
    }
    assert!(book.find(&amy, "t0", now).is_none(), "the oldest of ann's");
    assert!(book.find(&amy, "t1", now).is_some());
    assert!(book.find(&amy, "bobs", now).is_some());
    for number in 0..PER_AGENT {
        offered(
            &book,
            &person(&format!("p{number}")),
            &number.to_string(),
            now,
        );
    }
    assert_eq!(book.index.lock().agents[&amy].len(), PER_AGENT);
    // In all: the one with the most makes room, and the others keep theirs.
    for number in 0..IN_ALL - 1 {
        let one = agent(&format!("a{number}"));
        book.offered(&one, &one, &ann, offer("t"), now);
    }
    assert_eq!(book.index.lock().count, IN_ALL);
    assert!(book.find(&agent("a0"), "t", now).is_some());
    // What is over makes room by itself.
    let (late, later) = (agent("late"), now + KNOWN_FOR);
    book.offered(&late, &late, &ann, offer("t"), later);
    assert_eq!(book.index.lock().count, 1);
}

/// A store that knows these agents.
async fn store(agents: &[&str]) -> Arc<dyn Store> {
    let store = MemoryStore::default();
    for id in agents {
        let record = AgentRecord {
            id: agent(id),
            owner: Owner::local(),
            door: "bridge".to_owned(),
            profile: Default::default(),
            share: Default::default(),
            settings: Default::default(),
            registered_at: Timestamp::now(),
            resume: None,
        };
        store.save_agent(record).await.unwrap();
    }
    Arc::new(store)
}

async fn kept(store: &Arc<dyn Store>) -> Vec<(String, String)> {
    let records = store.load_records("transfers").await.unwrap();
    let names = records.into_iter();
    names
        .map(|it| (it.agent.unwrap().to_string(), it.key))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_is_opened_again_knows_the_transfers_of_the_one_before() {
    let store = store(&["amy", "crew"]).await;
    let (ann, amy, now) = (person("ann"), agent("amy"), Instant::now());
    let before = Transfers::open(&store).await.unwrap();
    before.offered(&amy, &agent("crew"), &ann, offer("down"), now);
    before.announced(&amy, &ann, offer("up"), now).unwrap();
    let zoe = ann.as_agent(agent("zoe"));
    before.announced(&amy, &zoe, offer("gone"), now).unwrap();
    let gone = before.of_caller(&zoe, &amy, "gone", now).unwrap();
    before.withdraw(&gone);
    before.announced(&amy, &zoe, offer("hers"), now).unwrap();
    let after = Transfers::open(&store).await.unwrap();
    for (name, id, toward) in [
        ("amy", "down", Toward::Caller),
        ("crew", "down", Toward::Caller),
        ("amy", "up", Toward::Agent),
    ] {
        let found = after.of_caller(&ann, &agent(name), id, now).unwrap();
        assert_eq!((&found.agent, found.toward), (&amy, toward));
        assert!(
            after
                .of_caller(&person("bob"), &agent(name), id, now)
                .is_err()
        );
    }
    let hers = after.of_caller(&zoe, &amy, "hers", now).unwrap();
    assert_eq!(hers.peer, Some(agent("zoe")));
    assert!(after.find(&amy, "gone", now).is_none());
    // The store forgets them with the agent.
    store.remove_agent(amy.clone()).await.unwrap();
    let after = Transfers::open(&store).await.unwrap();
    assert!(after.find(&amy, "down", now).is_none());
    assert!(after.find(&agent("crew"), "down", now).is_some());
}

#[tokio::test(start_paused = true)]
async fn what_is_expired_or_evicted_leaves_the_store_too() {
    let store = store(&["amy", "zoe"]).await;
    let (ann, now) = (person("ann"), Instant::now());
    let book = Transfers::open(&store).await.unwrap();
    for number in 0..=PER_CALLER {
        offered(&book, &ann, &format!("t{number}"), now);
    }
    // An id that is announced again stays.
    offered(&book, &ann, "t5", now);
    let names = kept(&store).await;
    assert_eq!(names.len(), PER_CALLER);
    assert!(!names.contains(&("amy".to_owned(), "t0".to_owned())));
    assert!(names.contains(&("amy".to_owned(), "t5".to_owned())));
    let zoe = agent("zoe");
    let later = now + KNOWN_FOR / 2;
    book.offered(&zoe, &zoe, &ann, offer("t"), later);
    book.sweep(now);
    book.sweep(now + KNOWN_FOR);
    assert_eq!(kept(&store).await, [("zoe".to_owned(), "t".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn records_that_are_over_or_cannot_be_read_are_removed_at_the_start() {
    let store = store(&["amy"]).await;
    let (ann, amy, now) = (person("ann"), agent("amy"), Instant::now());
    let book = Transfers::open(&store).await.unwrap();
    offered(&book, &ann, "old", now);
    offered(&book, &ann, "good", now);
    let mut records = store.load_records("transfers").await.unwrap();
    let over = (Timestamp::now() - Duration::from_secs(1)).to_string();
    let mut value = records[0].value.to_value();
    value["until"] = over.into();
    records[0].value = jackfield_model::Json::of(&value).unwrap();
    records[1].key = "broken".to_owned();
    records[1].value = jackfield_model::Json::parse("[]").unwrap();
    store.save_records(records, true).await.unwrap();
    let after = Transfers::open(&store).await.unwrap();
    assert!(after.find(&amy, "old", now).is_none());
    assert!(after.find(&amy, "good", now).is_some());
    assert_eq!(kept(&store).await, [("amy".to_owned(), "good".to_owned())]);
}
